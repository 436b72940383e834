// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/drift.h"
#include "test/check.h"

#define US     1000 /* what we wrote */
#define PROP   1500 /* what we asked systemd for: with headroom */
#define OTHER  300
#define STORED 700

/* The classification, row by row. */
static const struct {
	const char *name;
	struct drift_facts f;
	enum drift_action want;
	bool counted;
} rows[] = {
	{"ours", .want = DRIFT_NONE, .f = {.expected = US, .observed = US, .not_deliberate = true}},
	{"a call of ours is in flight", .want = DRIFT_ECHO,
	 .f = {.expected = US, .observed = OTHER, .set_pending = true}},
	{"our property", .want = DRIFT_ECHO,
	 .f = {.expected = US, .observed = PROP, .property = PROP, .has_property = true}},
	{"a property we never sent", .want = DRIFT_COUNTED, .counted = true,
	 .f = {.expected = US, .observed = OTHER, .property = OTHER}},
	{"set-property by a user", .want = DRIFT_ADOPT, .counted = true,
	 .f = {.expected = US,
	       .observed = STORED,
	       .stored = STORED,
	       .property = PROP,
	       .has_stored = true,
	       .has_property = true}},
	{"the same file value during a reload", .want = DRIFT_REASSERT,
	 .f = {.expected = US,
	       .observed = STORED,
	       .stored = STORED,
	       .property = PROP,
	       .has_stored = true,
	       .has_property = true,
	       .not_deliberate = true}},
	{"systemd's stored value, nothing of ours there", .want = DRIFT_REASSERT,
	 .f = {.expected = US, .observed = STORED, .stored = STORED, .has_stored = true}},
	{"any value while a reload is going on", .want = DRIFT_REASSERT,
	 .f = {.expected = US, .observed = OTHER, .not_deliberate = true}},
	{"another property was set, the file says something else", .want = DRIFT_COUNTED,
	 .counted = true,
	 .f = {.expected = US,
	       .observed = OTHER,
	       .stored = STORED,
	       .property = PROP,
	       .has_stored = true,
	       .has_property = true}},
	{"unknown", .want = DRIFT_COUNTED, .counted = true,
	 .f = {.expected = US, .observed = OTHER}},
	{"unknown, to max", .want = DRIFT_COUNTED, .counted = true,
	 .f = {.expected = US, .observed = LIMIT_MAX}},
};

TEST(rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drift_memory m = {0};
		enum drift_action got =
			drift_classify(&tuning_default.common, &m, &rows[i].f, USEC_PER_HOUR);

		if (got != rows[i].want)
			fprintf(stderr, "row: %s\n", rows[i].name);
		CHECK_EQ(got, rows[i].want);
		CHECK_EQ(drift_count(&tuning_default.common, &m, USEC_PER_HOUR), rows[i].counted);
	}
}

static const struct drift_facts foreign = {.expected = US, .observed = OTHER};
static const struct drift_facts reload = {
	.expected = US, .observed = OTHER, .not_deliberate = true};

TEST(gives_way)
{
	const struct tuning_common *t = &tuning_default.common;
	struct drift_memory m = {0};
	usec_t now = USEC_PER_HOUR;

	for (int i = 0; i < 3; i++, now += USEC_PER_MIN)
		CHECK_EQ(drift_classify(t, &m, &foreign, now), DRIFT_COUNTED);
	CHECK_EQ(drift_classify(t, &m, &foreign, now), DRIFT_GIVE_WAY);
	CHECK_EQ(drift_count(t, &m, now), 4);
}

TEST(window)
{
	const struct tuning_common *t = &tuning_default.common;
	struct drift_memory m = {0};
	usec_t now = USEC_PER_HOUR;

	/* One every 3 min 20 s: never more than 3 in 10 min. */
	for (int i = 0; i < 50; i++, now += 200 * USEC_PER_SEC)
		CHECK_EQ(drift_classify(t, &m, &foreign, now), DRIFT_COUNTED);
	/* One a little sooner is the fourth. */
	now -= 2 * USEC_PER_SEC;
	CHECK_EQ(drift_classify(t, &m, &foreign, now), DRIFT_GIVE_WAY);
	now += t->foreign_window_usec;
	CHECK_EQ(drift_count(t, &m, now), 0);
	CHECK_EQ(drift_classify(t, &m, &foreign, now), DRIFT_COUNTED);
}

TEST(reloads)
{
	struct drift_memory m = {0};
	usec_t now = USEC_PER_HOUR;

	for (int i = 0; i < 100; i++, now += USEC_PER_SEC)
		CHECK_EQ(drift_classify(&tuning_default.common, &m, &reload, now), DRIFT_REASSERT);
	CHECK_EQ(drift_count(&tuning_default.common, &m, now), 0);
	CHECK_EQ(drift_classify(&tuning_default.common, &m, &foreign, now), DRIFT_COUNTED);
}

/* A maximum beyond what is remembered still ends. */
TEST(large_maximum)
{
	struct tuning_common t = tuning_default.common;
	struct drift_memory m = {0};
	int counted = 0;

	t.foreign_max = 1000;
	while (counted < 100 &&
	       drift_classify(&t, &m, &foreign, USEC_PER_HOUR + (usec_t)counted) == DRIFT_COUNTED)
		counted++;
	CHECK_EQ(counted, DRIFT_TIMES - 1);
}
