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

/* --- VPA's two bucket tables as data: first * (1.05^n - 1) / 0.05. The unit test computes them
 * anew with histogram_options_exponential() and compares every bit --- */

/* log(1.05) */
#define LOG_RATIO 0.04879016416943205

// clang-format off
const struct histogram_options histogram_cpu = {
	.buckets = HISTOGRAM_BUCKETS,
	.first = 0.01,
	.growth = 1.05 - 1,
	.log_ratio = LOG_RATIO,
	.epsilon = 1e-4,
	.start = {
	0.0, 0.01, 0.020499999999999987, 0.031524999999999997, 0.043101249999999966,
	0.055256312499999981, 0.068019128124999939, 0.081420084531249978, 0.09549108875781244,
	0.11026564319570306, 0.12577892535548821, 0.14206787162326262, 0.1591712652044257,
	0.17712982846464703, 0.19598631988787929, 0.2157856358822734, 0.23657491767638703,
	0.25840366356020639, 0.2813238467382167, 0.30539003907512757, 0.33065954102888384,
	0.35719251808032804, 0.3850521439843444, 0.4143047511835618, 0.44501998874273974,
	0.47727098817987673, 0.51113453758887062, 0.54669126446831418, 0.58402582769172984,
	0.62322711907631645, 0.66438847503013188, 0.70760789878163888, 0.75298829372072063,
	0.80063770840675674, 0.85066959382709451, 0.90320307351844953, 0.95836322719437173,
	1.0162813885540904, 1.0770954579817946, 1.1409502308808848, 1.2079977424249289,
	1.2783976295461754, 1.3523175110234842, 1.4299333865746584, 1.5114300559033911,
	1.5970015586985611, 1.6868516366334887, 1.7811942184651637, 1.8802539293884217,
	1.984266625857843, 2.093479957150735, 2.2081539550082718, 2.3285616527586854,
	2.4549897353966195, 2.5877392221664501, 2.7271261832747733, 2.8734824924385118,
	3.0271566170604376, 3.1885144479134597, 3.3579401703091327, 3.5358371788245888,
	3.7226290377658189, 3.9187604896541082, 4.1246985141368153, 4.3409334398436563,
	4.5679801118358387, 4.8063791174276309, 5.056698073299013, 5.3195329769639628,
	5.595509625812161, 5.885285107102769, 6.1895493624579094, 6.5090268305808037,
	6.8444781721098433, 7.196702080715335, 7.5665371847511027, 7.9548640439886569,
	8.3626072461880927, 8.7907376084974942, 9.2402744889223722, 9.71228821336849,
	10.207902624036915, 10.728297755238762, 11.274712643000699, 11.848448275150734,
	12.450870688908269, 13.083414223353682, 13.74758493452137, 14.444964181247435,
	15.177212390309808, 15.946073009825298, 16.753376660316565, 17.601045493332393,
	18.491097767999015, 19.42565265639896, 20.406935289218918, 21.437282053679859,
	22.519146156363849, 23.655103464182044, 24.847858637391148, 26.100251569260699,
	27.41526414772374, 28.796027355109924, 30.245828722865426, 31.768120159008692,
	33.366526166959133, 35.044852475307088, 36.807095099072448, 38.657449854026062,
	40.600322346727374, 42.640338464063724, 44.782355387266939, 47.031473156630277,
	49.393046814461798, 51.87269915518489, 54.47633411294413, 57.210150818591337,
	60.080658359520889, 63.094691277496935, 66.259425841371794, 69.582397133440381,
	73.071516990112414, 76.735092839618034, 80.581847481598942, 84.62093985567887,
	88.86198684846282, 93.315086190885921, 97.990840500430267, 102.90038252545179,
	108.05540165172437, 113.46817173431059, 119.15158032102612, 125.11915933707742,
	131.38511730393131, 137.96437316912784, 144.87259182758427, 152.12622141896347,
	159.74253248991164, 167.73965911440726, 176.13664207012758, 184.95347417363396,
	194.21114788231571, 203.93170527643142, 214.13829054025308, 224.8552050672657,
	236.10796532062903, 247.92336358666046, 260.32953176599347, 273.35600835429318,
	287.03380877200783, 301.39549921060819, 316.47527417113866, 332.3090378796955,
	348.9344897736803, 366.39121426236431, 384.72077497548258, 403.96681372425667,
	424.17515441046964, 445.39391213099299, 467.6736077375428, 491.06728812441986,
	515.63065253064087, 541.42218515717286, 568.50329441503163, 596.93845913578309,
	626.79538209257237, 658.14515119720079, 691.06240875706101, 725.62552919491384,
	761.91680565465981, 800.02264593739267, 840.03377823426229, 882.04546714597552,
	926.15774050327445, 972.47562752843794, 1021.1094089048601,
	},
};

const struct histogram_options histogram_memory = {
	.buckets = HISTOGRAM_BUCKETS,
	.first = 1e7,
	.growth = 1.05 - 1,
	.log_ratio = LOG_RATIO,
	.epsilon = 1e-4,
	.start = {
	0.0, 10000000.0, 20499999.999999989, 31524999.999999996, 43101249.999999963,
	55256312.499999978, 68019128.124999925, 81420084.53124997, 95491088.757812425,
	110265643.19570306, 125778925.35548821, 142067871.62326261, 159171265.20442569,
	177129828.46464702, 195986319.88787928, 215785635.88227338, 236574917.67638698,
	258403663.56020641, 281323846.7382167, 305390039.07512754, 330659541.02888387,
	357192518.08032811, 385052143.98434442, 414304751.18356174, 445019988.74273974,
	477270988.17987674, 511134537.58887058, 546691264.46831417, 584025827.69172978,
	623227119.07631636, 664388475.03013194, 707607898.78163886, 752988293.72072077,
	800637708.40675676, 850669593.82709455, 903203073.51844943, 958363227.1943717,
	1016281388.5540904, 1077095457.9817946, 1140950230.8808846, 1207997742.4249289,
	1278397629.5461752, 1352317511.0234842, 1429933386.5746584, 1511430055.9033911,
	1597001558.698561, 1686851636.6334884, 1781194218.4651637, 1880253929.3884215,
	1984266625.8578429, 2093479957.1507351, 2208153955.0082717, 2328561652.7586856,
	2454989735.3966193, 2587739222.16645, 2727126183.2747731, 2873482492.4385118,
	3027156617.0604377, 3188514447.9134598, 3357940170.3091331, 3535837178.8245883,
	3722629037.7658191, 3918760489.6541085, 4124698514.1368155, 4340933439.8436565,
	4567980111.8358393, 4806379117.4276314, 5056698073.2990131, 5319532976.9639626,
	5595509625.8121624, 5885285107.1027689, 6189549362.4579086, 6509026830.5808029,
	6844478172.1098433, 7196702080.7153349, 7566537184.7511034, 7954864043.988657,
	8362607246.1880922, 8790737608.4974937, 9240274488.9223728, 9712288213.3684902,
	10207902624.036915, 10728297755.23876, 11274712643.000698, 11848448275.150734,
	12450870688.90827, 13083414223.353682, 13747584934.52137, 14444964181.247437,
	15177212390.309809, 15946073009.825298, 16753376660.316566, 17601045493.332394,
	18491097767.999016, 19425652656.39896, 20406935289.218914, 21437282053.679859,
	22519146156.363853, 23655103464.182045, 24847858637.391148, 26100251569.260696,
	27415264147.72374, 28796027355.109924, 30245828722.865425, 31768120159.00869,
	33366526166.959126, 35044852475.307083, 36807095099.072449, 38657449854.026062,
	40600322346.727371, 42640338464.063728, 44782355387.26693, 47031473156.630272,
	49393046814.4618, 51872699155.184891, 54476334112.944122, 57210150818.591331,
	60080658359.520889, 63094691277.496933, 66259425841.371796, 69582397133.440369,
	73071516990.112396, 76735092839.618027, 80581847481.598938, 84620939855.678864,
	88861986848.46283, 93315086190.885925, 97990840500.430267, 102900382525.45178,
	108055401651.72438, 113468171734.31058, 119151580321.02612, 125119159337.07741,
	131385117303.9313, 137964373169.12787, 144872591827.58426, 152126221418.96347,
	159742532489.91165, 167739659114.40723, 176136642070.12759, 184953474173.63394,
	194211147882.3157, 203931705276.43143, 214138290540.25308, 224855205067.26569,
	236107965320.62903, 247923363586.66043, 260329531765.9935, 273356008354.29315,
	287033808772.00781, 301395499210.60815, 316475274171.13861, 332309037879.6955,
	348934489773.68036, 366391214262.36432, 384720774975.4826, 403966813724.25671,
	424175154410.4696, 445393912130.99298, 467673607737.54279, 491067288124.4198,
	515630652530.64087, 541422185157.17285, 568503294415.03162, 596938459135.78308,
	626795382092.57227, 658145151197.20081, 691062408757.06104, 725625529194.91394,
	761916805654.65967, 800022645937.39258, 840033778234.26245, 882045467145.97546,
	926157740503.27454, 972475627528.43787, 1021109408904.86,
	},
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
