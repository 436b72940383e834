// SPDX-License-Identifier: Apache-2.0
/* What follows which end, and the number of requests under each fault for a day of virtual time. */
#include "agent/kube/watch/pace.h"
#include "test/check.h"
#include <errno.h>

#define LONG_OPEN (7 * USEC_PER_MIN)

struct row {
	struct pace_end end;
	enum watch_step step;
	bool trouble;
	bool waits;
};

static const struct row rows[] = {
	{{STEP_LIST, 200, 0, 1000, 0}, STEP_STREAM, false, false},
	{{STEP_LIST, 200, -EBADMSG, 1000, 0}, STEP_LIST, true, true},
	{{STEP_LIST, 200, -EMSGSIZE, 1000, 0}, STEP_LIST, true, true},
	{{STEP_LIST, 0, -ETIMEDOUT, 30 * USEC_PER_SEC, 0}, STEP_LIST, true, true},
	{{STEP_LIST, 0, -ETIMEDOUT, 300 * USEC_PER_SEC, 0}, STEP_LIST, true, true},
	{{STEP_LIST, 410, 0, 1000, 0}, STEP_LIST, false, true},
	{{STEP_LIST, 403, 0, 1000, 0}, STEP_LIST, true, true},
	{{STEP_LIST, 302, 0, 1000, 0}, STEP_LIST, true, true},
	{{STEP_STREAM, 200, 0, LONG_OPEN, 0}, STEP_STREAM, false, false},
	{{STEP_STREAM, 200, 0, 1000, 0}, STEP_STREAM, false, true},
	{{STEP_STREAM, 200, -ECONNRESET, LONG_OPEN, 0}, STEP_STREAM, false, false},
	{{STEP_STREAM, 200, -EPROTO, LONG_OPEN, 0}, STEP_STREAM, false, false},
	{{STEP_STREAM, 200, -ECONNRESET, 1000, 0}, STEP_STREAM, true, true},
	{{STEP_STREAM, 0, -ETIMEDOUT, LONG_OPEN, 0}, STEP_STREAM, true, false},
	{{STEP_STREAM, 200, -EMSGSIZE, 1000, 0}, STEP_LIST, true, true},
	{{STEP_STREAM, 410, 0, LONG_OPEN, 0}, STEP_LIST, false, false},
	{{STEP_STREAM, 410, 0, 1000, 0}, STEP_LIST, false, true},
	{{STEP_STREAM, 500, 0, LONG_OPEN, 0}, STEP_STREAM, true, false},
	{{STEP_STREAM, 429, 0, LONG_OPEN, USEC_PER_SEC}, STEP_STREAM, true, true},
	{{STEP_STREAM, 504, 0, 1000, USEC_PER_SEC}, STEP_STREAM, true, true},
};

TEST(rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pace p = {.backoff.random = i};
		struct pace_next next = pace_next(&p, &rows[i].end, USEC_PER_HOUR);
		int before = check_failures;

		CHECK_EQ(next.step, rows[i].step);
		CHECK_EQ(next.trouble, rows[i].trouble);
		CHECK_EQ(next.delay > 0, rows[i].waits);
		if (check_failures > before)
			fprintf(stderr, "row %zu\n", i);
	}
}

TEST(retry_after)
{
	struct pace p = {.backoff.random = 3};
	struct pace_end end = {STEP_LIST, 429, 0, 1000, 20 * USEC_PER_SEC};

	CHECK_EQ(pace_next(&p, &end, 0).delay, 20 * USEC_PER_SEC);
	/* A short one does not let us in faster than the back-off. */
	end.retry_after = USEC_PER_MSEC;
	CHECK(pace_next(&p, &end, 0).delay >= 2 * BACKOFF_FIRST_USEC);
	end.retry_after = USEC_PER_DAY;
	CHECK_EQ(pace_next(&p, &end, 0).delay, PACE_RETRY_MAX_USEC);
}

TEST(refusals)
{
	struct pace p = {.backoff.random = 3};
	struct pace_end no = {STEP_LIST, 403, 0, 1000, 0}, yes = {STEP_LIST, 200, 0, 1000, 0};

	for (int i = 1; i < PACE_REFUSALS; i++)
		CHECK(pace_next(&p, &no, 0).delay < USEC_PER_MIN);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pace_next(&p, &no, 0).delay, PACE_REFUSED_USEC);
	pace_next(&p, &yes, 0);
	CHECK(pace_next(&p, &no, 0).delay < USEC_PER_MIN);
}

/* A server that ends every list with `list` and every stream with `stream`, for a day. */
static void check_rate(const struct pace_end *list, const struct pace_end *stream, uint64_t seed)
{
	struct pace p = {.backoff.random = seed};
	enum watch_step step = STEP_LIST;
	unsigned minute = 0, total = 0;
	usec_t now = 0, minute_end = USEC_PER_MIN;
	int before = check_failures;

	while (now < USEC_PER_DAY) {
		const struct pace_end *end = step == STEP_LIST ? list : stream;
		struct pace_next next;

		for (; now >= minute_end; minute_end += USEC_PER_MIN)
			minute = 0;
		total++;
		minute++;
		CHECK(minute <= 14);
		now += end->lasted;
		next = pace_next(&p, end, now);
		now += next.delay;
		step = next.step;
	}
	/* Two a minute in the long run, twice that with a list before each watch; and never asleep:
	 * even waits of 10 min after watches of 11 min make 69. */
	CHECK(total <= 24 * 60 * 4 + 20);
	CHECK(total >= 65);
	if (check_failures > before)
		fprintf(stderr, "list %u/%d stream %u/%d lasted %llu: %u requests\n", list->status,
			list->error, stream->status, stream->error,
			(unsigned long long)stream->lasted, total);
}

TEST(rates)
{
	static const unsigned codes[] = {0,   200, 204, 302, 400, 401, 403, 404, 409,
					 410, 413, 422, 429, 500, 502, 503, 504};
	static const int errors[] = {0,         -ECONNREFUSED, -ECONNRESET, -ETIMEDOUT,
				     -EMSGSIZE, -EPROTO,       -EBADMSG,    -EKEYREJECTED};
	static const usec_t spans[] = {
		0, 1000, USEC_PER_SEC, 29 * USEC_PER_SEC, 31 * USEC_PER_SEC, 11 * USEC_PER_MIN};
	static const usec_t waits[] = {0, 1, USEC_PER_SEC, USEC_PER_HOUR};
	const struct pace_end good = {STEP_LIST, 200, 0, 1000, 0};
	uint64_t seed = 1;

	for (size_t c = 0; c < ARRAY_SIZE(codes); c++)
		for (size_t i = 0; i < ARRAY_SIZE(errors) * ARRAY_SIZE(spans) * ARRAY_SIZE(waits);
		     i++) {
			struct pace_end end = {STEP_STREAM, codes[c],
					       errors[i % ARRAY_SIZE(errors)],
					       spans[i / ARRAY_SIZE(errors) % ARRAY_SIZE(spans)],
					       waits[i / ARRAY_SIZE(errors) / ARRAY_SIZE(spans)]};
			struct pace_end list = end;

			check_rate(&good, &end, seed++);
			list.step = STEP_LIST;
			check_rate(&list, &end, seed++);
		}
}
