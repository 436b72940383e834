// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/boost.h"
#include "policy/base/quantity.h"
#include "policy/base/text.h"
#include <assert.h>
#include <errno.h>

/* A larger factor is a typing error. */
#define FACTOR_MAX 100u
/* A container that takes longer to become ready is not starting: the boost would not end, and
 * history would get no sample. */
#define BOOST_MOST_USEC USEC_PER_HOUR

/* --- the rule */

/* "2x" */
static int parse_factor(const char *s, uint32_t *ret)
{
	uint64_t n;
	const char *end = text_number(s, &n);

	if (end == NULL || end - s > 3 || strcmp(end, "x") != 0 || n < 1 || n > FACTOR_MAX)
		return -EINVAL;
	*ret = (uint32_t)n;
	return 0;
}

/* "2x" or "+500m" */
static int parse_amount(const char *s, struct boost_rule *ret)
{
	int r;

	if (s[0] != '+')
		return parse_factor(s, &ret->factor);
	r = quantity_parse_cpu(s + 1, &ret->add_milli);
	return r == 0 && ret->add_milli == 0 ? -EINVAL : r;
}

int boost_parse(const char *text, struct boost_rule *ret)
{
	char amount[QUANTITY_TEXT_SIZE];
	size_t n = strcspn(text, " ");
	struct boost_rule rule = {0};
	int r;

	if (n == 0 || n >= sizeof amount || text[n] != ' ')
		return -EINVAL;
	memcpy(amount, text, n);
	amount[n] = '\0';
	r = parse_amount(amount, &rule);
	if (r == 0)
		r = duration_parse(text + n + 1, &rule.after_usec);
	if (r == 0)
		*ret = rule;
	return r;
}

/* --- the law */

static bool applies(const struct boost_input *in)
{
	return (in->rule.factor > 0 || in->rule.add_milli > 0) && in->original_milli != LIMIT_MAX &&
	       in->held_milli != LIMIT_MAX;
}

static usec_t end_of(const struct boost_input *in)
{
	usec_t end = add_sat(in->started_at, BOOST_MOST_USEC);

	/* ready_since before the start comes from an earlier run, or from the pod as a whole. */
	if (in->ready_since != 0)
		end = MIN(end, add_sat(MAX(in->ready_since, in->started_at), in->rule.after_usec));
	return end;
}

static uint64_t boosted(const struct boost_input *in, uint64_t base)
{
	uint64_t from = MAX(base, in->original_milli), limit;

	if (in->rule.factor > 0)
		limit = mul_div(from, in->rule.factor, 1);
	else
		limit = add_sat(from, in->rule.add_milli);
	return round_up(limit, CPU_QUANTUM_MILLI);
}

static uint64_t below_ceiling(const struct boost_input *in, uint64_t limit)
{
	uint64_t most = MAX(round_down(in->ceiling_milli, CPU_QUANTUM_MILLI), CPU_QUANTUM_MILLI);

	return MIN(limit, most);
}

/* A new run. The base of a boost that is still written stays the base. */
static void boost_begin(struct boost *b, const struct boost_input *in)
{
	*b = (struct boost){
		.started_at = in->started_at,
		.base_milli = b->written ? b->base_milli : in->held_milli,
		.written = b->written,
	};
}

static void move_on(struct boost *b, const struct boost_input *in)
{
	bool active = applies(in) && in->now < end_of(in);

	switch (b->phase) {
	case BOOST_NONE:
		if (active) {
			if (!b->written)
				b->base_milli = in->held_milli;
			b->phase = BOOST_ACTIVE;
		} else if (b->written) {
			b->phase = BOOST_ENDING;
		} else if (applies(in)) {
			b->phase = BOOST_OVER;
		}
		break;
	case BOOST_ACTIVE:
		if (active)
			break;
		b->phase = b->written ? BOOST_ENDING : BOOST_OVER;
		b->ended_at = in->now;
		break;
	default:
		break;
	}
}

void boost_step(struct boost *b, const struct boost_input *in, struct boost_decision *ret)
{
	assert(in->now >= in->started_at);
	*ret = (struct boost_decision){.phase = BOOST_NONE};
	if (in->started_at == 0)
		return;
	if (in->started_at != b->started_at)
		boost_begin(b, in);
	move_on(b, in);
	ret->phase = b->phase;
	if (b->phase == BOOST_ACTIVE) {
		ret->limit_milli = below_ceiling(in, boosted(in, b->base_milli));
		ret->next_at = end_of(in);
	} else if (b->phase == BOOST_ENDING) {
		ret->limit_milli = below_ceiling(in, b->base_milli);
		ret->next_at = in->now;
	}
	ret->write = ret->limit_milli != 0 && in->may_write && in->mode != MODE_OFF;
}

void boost_written(struct boost *b)
{
	if (b->phase == BOOST_ACTIVE)
		b->written = true;
}

void boost_put_back(struct boost *b, usec_t now)
{
	if (b->written)
		b->ended_at = now;
	b->written = false;
	if (b->phase != BOOST_NONE)
		b->phase = BOOST_OVER;
}

bool boost_covers(const struct boost *b, usec_t from, usec_t to)
{
	if (b->phase == BOOST_NONE || to <= b->started_at)
		return false;
	return b->phase != BOOST_OVER || from < b->ended_at;
}

/* --- start-up */

/* As with a startup boost: history would get no sample of a container that never becomes Ready. */
#define STARTUP_MOST_USEC USEC_PER_HOUR

void startup_set(struct startup *s, const struct startup_life *life)
{
	if (life->started_at != s->started_at)
		*s = (struct startup){.started_at = life->started_at};
	s->probed = life->probed;
	/* The pod's condition may name an earlier time than the one at which it was seen. */
	if (life->ready_since != 0 && (s->first_ready == 0 || life->ready_since < s->first_ready))
		s->first_ready = life->ready_since;
}

usec_t startup_end(const struct startup *s, const struct tuning_startup *t)
{
	usec_t most = add_sat(s->started_at, STARTUP_MOST_USEC);

	if (s->started_at == 0)
		return 0;
	if (!s->probed)
		return add_sat(s->started_at, t->unprobed_usec);
	if (s->first_ready == 0)
		return most;
	return MIN(most, add_sat(MAX(s->first_ready, s->started_at), t->ready_usec));
}

bool startup_covers(const struct startup *s, const struct tuning_startup *t, usec_t from, usec_t to)
{
	return to > s->started_at && from < startup_end(s, t);
}
