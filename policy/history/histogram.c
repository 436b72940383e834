// SPDX-License-Identifier: Apache-2.0
#include "policy/history/histogram.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* Beyond this many half lives the weights are scaled down before they overflow. */
#define DECAY_EXPONENT_MAX 100
/* Room is made for so many buckets at a time. */
#define ROOM_BUCKETS 4

uint32_t histogram_find(const struct histogram_options *o, double value)
{
	double bucket;

	/* Written so that a NaN ends here too. */
	if (!(value >= o->first))
		return 0;
	if (o->linear)
		bucket = value / o->first;
	else
		bucket = log(value * o->growth / o->first + 1) / o->log_ratio;
	return bucket < o->buckets - 1 ? (uint32_t)bucket : o->buckets - 1;
}

void histogram_init(struct histogram *h, const struct histogram_options *o, usec_t half_life_usec)
{
	*h = (struct histogram){
		.options = o,
		.half_life_usec = (int64_t)MIN(half_life_usec, HISTOGRAM_HALF_LIFE_MAX_USEC),
		.reference_usec = HISTOGRAM_YEAR_1_USEC,
		.min = (uint16_t)(o->buckets - 1),
	};
}

void histogram_drop(struct histogram *h)
{
	free(h->weight);
	if (h->options != NULL)
		histogram_init(h, h->options, (usec_t)h->half_life_usec);
}

int histogram_copy(const struct histogram *h, struct histogram *ret)
{
	struct histogram copy = *h;

	if (h->count > 0) {
		copy.weight = malloc(h->count * sizeof *copy.weight);
		if (copy.weight == NULL)
			return -ENOMEM;
		memcpy(copy.weight, h->weight, h->count * sizeof *copy.weight);
	}
	*ret = copy;
	return 0;
}

static bool has_room(const struct histogram *h, uint32_t bucket)
{
	return bucket - h->from < h->count; /* below `from` it wraps around */
}

int histogram_reserve(struct histogram *h, uint32_t first, uint32_t last)
{
	uint32_t from, end;
	double *weight;

	if (has_room(h, first) && has_room(h, last))
		return 0;
	from = first / ROOM_BUCKETS * ROOM_BUCKETS;
	end = last / ROOM_BUCKETS * ROOM_BUCKETS + ROOM_BUCKETS;
	if (h->count > 0) {
		from = MIN(from, (uint32_t)h->from);
		end = MAX(end, (uint32_t)h->from + h->count);
	}
	weight = calloc(end - from, sizeof *weight);
	if (weight == NULL)
		return -ENOMEM;
	if (h->count > 0)
		memcpy(weight + (h->from - from), h->weight, h->count * sizeof *weight);
	free(h->weight);
	h->weight = weight;
	h->from = (uint16_t)from;
	h->count = (uint16_t)(end - from);
	return 0;
}

double histogram_weight(const struct histogram *h, uint32_t bucket)
{
	return has_room(h, bucket) ? h->weight[bucket - h->from] : 0;
}

bool histogram_empty(const struct histogram *h)
{
	return histogram_weight(h, h->min) < h->options->epsilon;
}

void histogram_trim(struct histogram *h)
{
	double epsilon = h->options->epsilon;

	while (h->min < h->options->buckets - 1 && histogram_weight(h, h->min) < epsilon)
		h->min++;
	while (h->max > 0 && histogram_weight(h, h->max) < epsilon)
		h->max--;
}

void histogram_scale(struct histogram *h, double factor)
{
	for (uint32_t i = h->min; i <= h->max; i++)
		h->weight[i - h->from] *= factor;
	h->total *= factor;
	histogram_trim(h);
}

/* (a - b) in half lives. Spans beyond 292 years saturate, as they do in VPA. */
static double half_lives(const struct histogram *h, int64_t a_usec, int64_t b_usec)
{
	int64_t nsec;

	if (__builtin_mul_overflow(a_usec - b_usec, 1000, &nsec))
		nsec = a_usec < b_usec ? INT64_MIN : INT64_MAX;
	return (double)nsec / ((double)h->half_life_usec * 1000);
}

/* Moves the reference to the multiple of the half life nearest to t, halves up. */
static void shift_reference(struct histogram *h, int64_t t_usec)
{
	int64_t since = t_usec - HISTOGRAM_YEAR_1_USEC;
	int64_t past = since % h->half_life_usec;
	int64_t to = t_usec - past + (past * 2 < h->half_life_usec ? 0 : h->half_life_usec);
	double exponent = floor(half_lives(h, h->reference_usec, to) + 0.5);

	histogram_scale(h, exp2(exponent));
	h->reference_usec = to;
}

/* The factor that a weight at time t gets so that all weights fade alike. */
static double decay_factor(struct histogram *h, int64_t t_usec)
{
	if (h->half_life_usec == 0)
		return 1.0;
	if (t_usec > h->reference_usec + DECAY_EXPONENT_MAX * h->half_life_usec)
		shift_reference(h, t_usec);
	return exp2(half_lives(h, t_usec, h->reference_usec));
}

void histogram_add(struct histogram *h, double value, double weight, usec_t now)
{
	uint32_t bucket = histogram_find(h->options, value);
	double *w;

	if (histogram_reserve(h, bucket, bucket) < 0)
		return;
	weight *= decay_factor(h, (int64_t)now);
	w = &h->weight[bucket - h->from];
	*w += weight;
	h->total += weight;
	if (bucket >= h->min && bucket <= h->max)
		return;
	if (*w < h->options->epsilon)
		return;
	h->min = (uint16_t)MIN(h->min, bucket);
	h->max = (uint16_t)MAX(h->max, bucket);
}

/* Rounding must not leave a rest of what was subtracted. */
static double subtract(double from, double weight, double epsilon)
{
	from -= weight;
	return from < epsilon ? 0 : from;
}

void histogram_subtract(struct histogram *h, double value, double weight, usec_t now)
{
	uint32_t bucket = histogram_find(h->options, value);
	double epsilon = h->options->epsilon;

	weight *= decay_factor(h, (int64_t)now);
	h->total = subtract(h->total, weight, epsilon);
	if (has_room(h, bucket))
		h->weight[bucket - h->from] =
			subtract(h->weight[bucket - h->from], weight, epsilon);
	histogram_trim(h);
}

double histogram_percentile(const struct histogram *h, double p)
{
	double threshold = p * h->total, sum = 0;
	uint32_t bucket = h->min, last = h->options->buckets - 1;

	if (histogram_empty(h))
		return 0;
	for (; bucket < h->max; bucket++) {
		sum += h->weight[bucket - h->from];
		if (sum >= threshold)
			break;
	}
	return h->options->start[bucket < last ? bucket + 1 : last];
}

double histogram_percentile_interpolated(const struct histogram *h, double p, uint32_t first)
{
	const double *start = h->options->start;
	uint32_t bucket = MAX((uint32_t)h->min, first);
	double total = 0, below = 0, threshold, share, weight;

	for (uint32_t i = bucket; i <= h->max; i++)
		total += h->weight[i - h->from];
	if (total < h->options->epsilon)
		return 0;
	threshold = MAX(0.0, MIN(p, 1.0)) * total;
	while (bucket < h->max && below + h->weight[bucket - h->from] < threshold)
		below += h->weight[bucket++ - h->from];
	if (bucket == h->options->buckets - 1)
		return start[bucket];
	weight = histogram_weight(h, bucket);
	/* The last bucket can miss the threshold by a rounding error, never by more. */
	share = weight > 0 ? MIN((threshold - below) / weight, 1.0) : 0;
	return start[bucket] + share * (start[bucket + 1] - start[bucket]);
}

/* --- VPA's two bucket tables: first * (1.05^n - 1) / 0.05, of the powers as VPA computes them. The
 * unit test computes the tables anew and compares every bit --- */

/* log(1.05) */
#define LOG_RATIO 0.04879016416943205

// clang-format off
#define POWERS_LESS_ONE(B) \
	B(0.0) B(0.050000000000000044) B(0.10250000000000004) B(0.15762500000000013) B(0.21550625) \
	B(0.27628156250000013) B(0.340095640625) B(0.40710042265625024) B(0.4774554437890626) \
	B(0.5513282159785158) B(0.6288946267774416) B(0.7103393581163138) B(0.7958563260221292) \
	B(0.885649142323236) B(0.9799315994393972) B(1.0789281794113679) B(1.182874588381936) \
	B(1.2920183178010332) B(1.4066192336910848) B(1.526950195375639) B(1.6532977051444209) \
	B(1.7859625904016418) B(1.9252607199217238) B(2.0715237559178106) B(2.2250999437137007) \
	B(2.386354940899386) B(2.555672687944355) B(2.7334563223415733) B(2.920129138458652) \
	B(3.116135595381585) B(3.3219423751506625) B(3.5380394939081974) B(3.764941468603607) \
	B(4.003188542033787) B(4.2533479691354765) B(4.516015367592251) B(4.791816135971863) \
	B(5.081406942770457) B(5.385477289908978) B(5.704751154404429) B(6.039988712124649) \
	B(6.391988147730882) B(6.761587555117426) B(7.1496669328732985) B(7.5571502795169625) \
	B(7.985007793492812) B(8.43425818316745) B(8.905971092325826) B(9.401269646942117) \
	B(9.921333129289224) B(10.467399785753685) B(11.040769775041369) B(11.642808263793437) \
	B(12.274948676983108) B(12.938696110832263) B(13.635630916373879) B(14.36741246219257) \
	B(15.1357830853022) B(15.942572239567312) B(16.78970085154568) B(17.67918589412296) \
	B(18.61314518882911) B(19.59380244827056) B(20.623492570684096) B(21.704667199218303) \
	B(22.839900559179217) B(24.031895587138177) B(25.283490366495087) B(26.597664884819835) \
	B(27.977548129060832) B(29.42642553551387) B(30.947746812289573) B(32.54513415290405) \
	B(34.22239086054925) B(35.98351040357671) B(37.83268592375555) B(39.77432021994332) \
	B(41.8130362309405) B(43.95368804248751) B(46.201372444611906) B(48.56144106684249) \
	B(51.039513120184616) B(53.64148877619385) B(56.373563215003536) B(59.24224137575372) \
	B(62.2543534445414) B(65.41707111676847) B(68.73792467260691) B(72.22482090623724) \
	B(75.88606195154911) B(79.73036504912656) B(83.76688330158291) B(88.00522746666205) \
	B(92.45548883999516) B(97.12826328199488) B(102.03467644609466) B(107.18641026839938) \
	B(112.59573078181936) B(118.27551732091032) B(124.23929318695586) B(130.50125784630362) \
	B(137.07632073861882) B(143.98013677554974) B(151.22914361432726) B(158.8406007950436) \
	B(166.8326308347958) B(175.2242623765356) B(184.0354754953624) B(193.28724927013047) \
	B(203.00161173363705) B(213.20169232031884) B(223.91177693633486) B(235.1573657831516) \
	B(246.9652340723092) B(259.36349577592466) B(272.3816705647209) B(286.05075409295694) \
	B(300.4032917976047) B(315.47345638748493) B(331.29712920685927) B(347.9119856672022) \
	B(365.35758495056234) B(383.6754641980905) B(402.909237407995) B(423.1046992783947) \
	B(444.3099342423145) B(466.57543095443003) B(489.95420250215176) B(514.5019126272593) \
	B(540.2770082586223) B(567.3408586715534) B(595.7579016051311) B(625.5957966853877) \
	B(656.9255865196571) B(689.8218658456399) B(724.362959137922) B(760.631107094818) \
	B(798.7126624495589) B(838.698295572037) B(880.6832103506388) B(924.7673708681706) \
	B(971.0557394115793) B(1019.658526382158) B(1070.6914527012664) B(1124.2760253363294) \
	B(1180.5398266031461) B(1239.6168179333033) B(1301.6476588299686) B(1366.780041771467) \
	B(1435.1690438600403) B(1506.9774960530422) B(1582.3763708556946) B(1661.545189398479) \
	B(1744.672448868403) B(1831.9560713118233) B(1923.6038748774147) B(2019.8340686212853) \
	B(2120.87577205235) B(2226.9695606549667) B(2338.368038687716) B(2455.3364406221012) \
	B(2578.1532626532066) B(2707.1109257858666) B(2842.5164720751604) B(2984.692295678918) \
	B(3133.9769104628645) B(3290.725755986007) B(3455.312043785308) B(3628.1276459745727) \
	B(3809.584028273302) B(4000.113229686967) B(4200.168891171315) B(4410.227335729881) \
	B(4630.788702516376) B(4862.378137642194) B(5105.5470445243045)
#define CPU_START(power)    0.01 * (power) / (1.05 - 1),
#define MEMORY_START(power) 1e7 * (power) / (1.05 - 1),

const struct histogram_options histogram_cpu = {
	.buckets = HISTOGRAM_BUCKETS,
	.first = 0.01,
	.growth = 1.05 - 1,
	.log_ratio = LOG_RATIO,
	.epsilon = 1e-4,
	.start = {POWERS_LESS_ONE(CPU_START)},
};

const struct histogram_options histogram_memory = {
	.buckets = HISTOGRAM_BUCKETS,
	.first = 1e7,
	.growth = 1.05 - 1,
	.log_ratio = LOG_RATIO,
	.epsilon = 1e-4,
	.start = {POWERS_LESS_ONE(MEMORY_START)},
};
// clang-format on

/* --- the saved form */

/* 9999-12-31T23:59:59Z: beyond it the arithmetic of spans could overflow. */
#define REFERENCE_MAX_USEC (253402300799 * (int64_t)USEC_PER_SEC)

/* What would be loaded: the sum of its weights and the buckets around them. */
struct content {
	uint64_t sum;
	uint32_t first;
	uint32_t last;
};

static int check(const struct histogram *h, const struct checkpoint *c, struct content *ret)
{
	struct content content = {.first = UINT32_MAX};

	if (c == NULL || c->count > HISTOGRAM_BUCKETS)
		return -EINVAL;
	if (!(c->total >= 0) || !isfinite(c->total))
		return -EINVAL;
	if (c->reference_usec < HISTOGRAM_YEAR_1_USEC || c->reference_usec > REFERENCE_MAX_USEC)
		return -EINVAL;
	for (uint32_t i = 0; i < c->count; i++) {
		int32_t bucket = c->buckets[i].bucket;

		if (bucket < 0 || (uint32_t)bucket >= h->options->buckets)
			return -EINVAL;
		content.sum += c->buckets[i].weight;
		content.first = MIN(content.first, (uint32_t)bucket);
		content.last = MAX(content.last, (uint32_t)bucket);
	}
	*ret = content;
	return 0;
}

int checkpoint_load(struct histogram *h, const struct checkpoint *c)
{
	struct content content;
	double factor;
	int r = check(h, c, &content);

	if (r == 0 && content.sum > 0)
		r = histogram_reserve(h, MIN((uint32_t)h->min, content.first),
				      MAX((uint32_t)h->max, content.last));
	if (r < 0)
		return r;
	h->reference_usec = c->reference_usec;
	if (content.sum == 0)
		return 0;
	factor = c->total / (double)content.sum;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t bucket = (uint32_t)c->buckets[i].bucket;

		h->weight[bucket - h->from] += c->buckets[i].weight * factor;
		h->min = (uint16_t)MIN(h->min, bucket);
		h->max = (uint16_t)MAX(h->max, bucket);
	}
	h->total += c->total;
	histogram_trim(h);
	return 0;
}
