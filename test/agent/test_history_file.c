// SPDX-License-Identifier: Apache-2.0
/* The history between two runs: nothing changes by saving and loading, and it stays bounded. */
#include "agent/state/history_file.h"
#include "test/check.h"
#include "test/policy/same.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define START (1700000000 * USEC_PER_SEC)

static uint64_t seed = 20240601;

/* xorshift64 */
static uint64_t next_random(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* A mostly idle unit: a few active seconds an hour, over days. */
static void live(struct history *h, const struct tuning_history *t, usec_t from, int minutes)
{
	for (int i = 0; i < minutes; i++) {
		usec_t now = from + (usec_t)i * USEC_PER_MIN;
		struct cpu_rates r = {
			.span_usec = USEC_PER_MIN,
			.active_usec = i % 60 == 0 ? 3 * USEC_PER_SEC : 0,
			.demand_milli = 200 + next_random(1500),
		};

		history_add_cpu(h, &r, now);
		history_add_memory(h, t, 100 * MIB + next_random(50 * MIB), false, now);
		history_observe_memory(h, USEC_PER_MIN - 1);
	}
}

static struct history_record sample(const struct tuning_history *t, int minutes)
{
	struct history_record r = {
		.seen_realtime_usec = START + (usec_t)minutes * USEC_PER_MIN,
		.floor = {{450, START}, {300 * MIB, START + 1}},
		.backoff = {{0, 0}, {4 * USEC_PER_MIN, START + USEC_PER_HOUR}},
	};

	history_init(&r.history, t);
	live(&r.history, t, START, minutes);
	return r;
}

static bool same_recommendation(const struct history *a, const struct history *b,
				const struct tuning_history *t)
{
	struct recommendation of_a, of_b;

	memset(&of_a, 0, sizeof of_a);
	memset(&of_b, 0, sizeof of_b);
	history_recommend(a, t, 1, &of_a);
	history_recommend(b, t, 1, &of_b);
	return memcmp(&of_a, &of_b, sizeof of_a) == 0;
}

TEST(exact)
{
	static const int minutes[] = {0, 1, 59, 24 * 60, 4 * 24 * 60};
	const struct tuning_history *t = &tuning_default.history;

	for (size_t i = 0; i < ARRAY_SIZE(minutes); i++) {
		OWN(history_store_free) struct history_store s = {0}, loaded = {0};
		OWN(drop_free) char *text = NULL;
		OWN(history_record_drop)
		struct history_record r = sample(t, minutes[i]), back = {0};
		size_t len;

		CHECK_EQ(history_store_put(&s, "unit:a.service", &r), 0);
		CHECK_EQ(history_encode(&s, &text, &len), 0);
		CHECK_EQ(record_lines(text, len, history_line, &loaded), 0);
		CHECK_EQ(history_store_get(&loaded, "unit:a.service", t, &back), 0);
		CHECK(same_histogram(&back.history.cpu, &r.history.cpu));
		CHECK(same_histogram(&back.history.memory, &r.history.memory));
		CHECK(memcmp(back.history.observed_usec, r.history.observed_usec,
			     sizeof r.history.observed_usec) == 0);
		CHECK_EQ(back.history.window_end_real, r.history.window_end_real);
		CHECK_EQ(back.history.window_peak, r.history.window_peak);
		CHECK_EQ(back.seen_realtime_usec, r.seen_realtime_usec);
		CHECK_EQ(back.floor[RESOURCE_CPU].value, 450);
		CHECK_EQ(back.floor[RESOURCE_MEMORY].since_real, START + 1);
		CHECK_EQ(back.backoff[RESOURCE_MEMORY].span_usec, 4 * USEC_PER_MIN);
		CHECK_EQ(back.backoff[RESOURCE_MEMORY].until_realtime_usec, START + USEC_PER_HOUR);
		CHECK(same_recommendation(&back.history, &r.history, t));
		/* And both go on alike. */
		seed = i + 1;
		live(&r.history, t, r.seen_realtime_usec, 100);
		seed = i + 1;
		live(&back.history, t, r.seen_realtime_usec, 100);
		CHECK(same_recommendation(&back.history, &r.history, t));
		if (minutes[i] == 4 * 24 * 60)
			fprintf(stderr, "a line after 4 days: %zu bytes\n", len);
	}
}

/* Another half life: the shape stays, and old weight counts for as much as it had faded to. */
TEST(half_life)
{
	OWN(history_store_free) struct history_store s = {0};
	struct tuning_history t = tuning_default.history;
	OWN(history_record_drop) struct history_record r = sample(&t, 4 * 24 * 60), back = {0};

	CHECK_EQ(history_store_put(&s, "a", &r), 0);
	for (int i = 0; i < 3; i++) {
		t.half_life_usec = (usec_t[]){USEC_PER_HOUR, 10 * USEC_PER_DAY,
					      HISTOGRAM_HALF_LIFE_MAX_USEC}[i];
		history_record_drop(&back);
		CHECK_EQ(history_store_get(&s, "a", &t, &back), 0);
		CHECK_EQ(back.history.cpu.half_life_usec, t.half_life_usec);
		CHECK(memcmp(back.history.observed_usec, r.history.observed_usec,
			     sizeof r.history.observed_usec) == 0);
		CHECK_EQ(back.history.window_end_real, 0);
		for (double p = 0.05; p < 1; p += 0.1) {
			CHECK(histogram_percentile(&back.history.cpu, p) ==
			      histogram_percentile(&r.history.cpu, p));
			CHECK(histogram_percentile(&back.history.memory, p) ==
			      histogram_percentile(&r.history.memory, p));
		}
		/* A week of memory windows at a higher level outweighs what was. */
		for (int day = 0; day < 14; day++)
			history_add_memory(&back.history, &t, GIB, false,
					   r.seen_realtime_usec + (usec_t)day * USEC_PER_DAY);
		CHECK(histogram_percentile(&back.history.memory, 0.5) > 900.0 * MIB);
	}
}

TEST(store)
{
	OWN(history_store_free) struct history_store s = {0};
	const struct tuning_history *t = &tuning_default.history;
	OWN(history_record_drop) struct history_record r = sample(t, 10), back = {0};
	char long_key[1100];

	CHECK_EQ(history_store_get(&s, "b", t, &back), -ENOENT);
	CHECK_EQ(history_store_put(&s, "b", &r), 0);
	CHECK_EQ(history_store_put(&s, "c", &r), 0);
	r.floor[RESOURCE_CPU].value = 7;
	CHECK_EQ(history_store_put(&s, "a", &r), 0);
	CHECK_EQ(history_store_put(&s, "b", &r), 0);
	CHECK_EQ(s.count, 3);
	CHECK_EQ(history_store_get(&s, "b", t, &back), 0);
	CHECK_EQ(back.floor[RESOURCE_CPU].value, 7);
	history_store_remove(&s, "b");
	history_store_remove(&s, "b");
	CHECK_EQ(history_store_put(&s, "", &r), -EINVAL);
	memset(long_key, 'x', sizeof long_key);
	long_key[sizeof long_key - 1] = '\0';
	CHECK_EQ(history_store_put(&s, long_key, &r), -EINVAL);
	CHECK_EQ(s.count, 2);
	CHECK_EQ(s.bytes, strlen(s.items[0].line) + strlen(s.items[1].line));
}

TEST(prune)
{
	OWN(history_store_free) struct history_store s = {0};
	OWN(history_record_drop) struct history_record r = sample(&tuning_default.history, 0);
	usec_t now = START + 20 * USEC_PER_DAY;

	r.seen_realtime_usec = now - 8 * USEC_PER_DAY;
	CHECK_EQ(history_store_put(&s, "just", &r), 0);
	r.seen_realtime_usec--;
	CHECK_EQ(history_store_put(&s, "gone", &r), 0);
	/* The wall clock went back since. */
	r.seen_realtime_usec = now + USEC_PER_DAY;
	CHECK_EQ(history_store_put(&s, "ahead", &r), 0);
	history_store_prune(&s, now);
	CHECK_EQ(s.count, 2);
	CHECK_STR(s.items[0].key, "ahead");
	CHECK_STR(s.items[1].key, "just");
	CHECK_EQ(s.bytes, strlen(s.items[0].line) + strlen(s.items[1].line));
}

/* A node whose pods have names of their own, 180 new ones an hour: memory is flat after a day, and
 * what runs is never dropped. */
TEST(churn)
{
	OWN(history_store_free) struct history_store s = {0};
	OWN(history_record_drop) struct history_record r = sample(&tuning_default.history, 0);
	size_t bytes = 0;
	char key[32];

	for (unsigned hour = 0; hour < 48; hour++) {
		r.seen_realtime_usec = START + hour * USEC_PER_HOUR;
		for (unsigned i = 0; i < 25; i++) {
			snprintf(key, sizeof key, "live/%05u", i);
			CHECK_EQ(history_store_put(&s, key, &r), 0);
		}
		CHECK_EQ(history_store_prune(&s, r.seen_realtime_usec),
			 hour * 180 > HISTORY_GONE_MAX);
		CHECK(s.count <= HISTORY_GONE_MAX + 180 + 25);
		CHECK_STR(s.items[s.count - 1].key, "live/00024");
		bytes = hour == 24 ? s.bytes : bytes;
		for (unsigned i = 0; i < 180; i++) {
			snprintf(key, sizeof key, "gone/%05u", hour * 180 + i);
			r.seen_realtime_usec++;
			CHECK_EQ(history_store_put(&s, key, &r), 0);
		}
	}
	CHECK_EQ(history_store_prune(&s, START + 48 * USEC_PER_HOUR), true);
	CHECK(s.bytes <= bytes + 25 * strlen(s.items[0].line));
	CHECK_STR(s.items[0].key, "gone/07641");
}

/* Beyond the bounds the workloads unseen for longest go, not the newest. */
TEST(bounds)
{
	OWN(history_store_free) struct history_store s = {0}, back = {0};
	OWN(drop_free) char *text = NULL;
	OWN(history_record_drop) struct history_record small = sample(&tuning_default.history, 0);
	OWN(history_record_drop) struct history_record big = sample(&tuning_default.history, 600);
	char key[32];
	size_t len;

	for (unsigned i = 0; i < HISTORY_COUNT_MAX + 5; i++) {
		snprintf(key, sizeof key, "%05u", i);
		small.seen_realtime_usec = START + (usec_t)(i * 7919 % 10007);
		if (history_store_put(&s, key, &small) != 0)
			break;
	}
	CHECK_EQ(s.count, HISTORY_COUNT_MAX);
	CHECK(strcmp(s.items[0].key, "00000") > 0);
	CHECK_EQ(histogram_reserve(&big.history.cpu, 0, HISTOGRAM_BUCKETS - 1), 0);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		big.history.cpu.weight[i] = 1.0 / (double)(3 * i + 7);
	for (unsigned i = 0; i < 6000; i++) {
		snprintf(key, sizeof key, "%05u", i);
		big.seen_realtime_usec = START + USEC_PER_DAY + i;
		if (history_store_put(&s, key, &big) != 0)
			break;
	}
	CHECK(s.bytes <= HISTORY_BYTES_MAX && s.bytes > HISTORY_BYTES_MAX - 10000);
	CHECK_STR(s.items[s.count - 1].key, "05999");
	CHECK_EQ(history_encode(&s, &text, &len), 0);
	CHECK_EQ(len, s.bytes);
	CHECK_EQ(record_lines(text, len, history_line, &back), 0);
	CHECK_EQ(back.count, s.count);
	CHECK_EQ(back.bytes, s.bytes);
}

TEST(refused)
{
	OWN(history_store_free) struct history_store s = {0}, back = {0};
	OWN(drop_free) char *text = NULL, *twice = NULL;
	OWN(history_record_drop) struct history_record r = sample(&tuning_default.history, 120);
	size_t len;

	CHECK_EQ(history_store_put(&s, "a", &r), 0);
	CHECK_EQ(history_encode(&s, &text, &len), 0);
	for (size_t cut = 1; cut < len; cut++)
		CHECK_EQ(record_lines(text, cut, history_line, &back), -EBADMSG);
	twice = malloc(2 * len);
	memcpy(twice, text, len);
	memcpy(twice + len, text, len);
	CHECK_EQ(record_lines(twice, 2 * len, history_line, &back), -EBADMSG);
	history_store_free(&back);
	/* A weight that no arithmetic survives, a half life of nothing. */
	memcpy(strstr(twice, "memory_weights="), "memory_weights=0:7fe0000000000000\n", 34);
	len = (size_t)(strchr(twice, '\n') + 1 - twice);
	CHECK_EQ(record_lines(twice, len, history_line, &back), -EBADMSG);
	CHECK(back.items == NULL);
}

static int save(int dir, const struct history_store *s)
{
	OWN(drop_free) char *text = NULL;
	size_t len = 0;
	int r = history_encode(s, &text, &len);

	return r < 0 ? r : state_file_save(dir, &history_state, text, len);
}

TEST(file)
{
	OWN(history_store_free) struct history_store s = {0}, back = {0};
	char path[] = "/tmp/vscaled-history-XXXXXX", aside[STATE_ASIDE_MAX];
	OWN(history_record_drop) struct history_record r = sample(&tuning_default.history, 60);
	int dir = open(mkdtemp(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_EQ(history_store_put(&s, "new", &r), 0);
	r.seen_realtime_usec = 1;
	CHECK_EQ(history_store_put(&s, "old", &r), 0);
	history_store_prune(&s, START + USEC_PER_HOUR);
	CHECK_EQ(s.count, 1);
	CHECK_EQ(save(dir, &s), 0);
	CHECK_EQ(history_load(dir, aside, &back), 0);
	CHECK_EQ(back.count, 1);
	CHECK_STR(back.items[0].line, s.items[0].line);
	CHECK_EQ(state_file_save(dir, &history_state, "x\n", 2), 0);
	history_store_free(&back);
	CHECK_EQ(history_load(dir, aside, &back), -EBADMSG);
	CHECK_STR(aside, "history.damaged-1");
	CHECK_EQ(unlinkat(dir, aside, 0), 0);
	close(dir);
	CHECK_EQ(rmdir(path), 0);
}
