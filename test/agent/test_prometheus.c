// SPDX-License-Identifier: Apache-2.0
/* What a Prometheus server is asked, and what is taken of its answers. */
#include "agent/prometheus/prometheus.h"
#include "test/check.h"
#include <errno.h>

static struct prometheus_query query = {
	.namespace = "shop",
	.owner = "Deployment",
	.workload = "web.v2",
	.container = "app",
	.matchers = "",
	.end_real = 1800000123 * USEC_PER_SEC,
	.range_usec = 2 * USEC_PER_HOUR,
	.step_usec = 5 * USEC_PER_MIN,
};

static void test_path(void)
{
	static char long_matchers[2000];
	char path[PROMETHEUS_PATH_BYTES];

	CHECK_EQ(prometheus_path(&query, RESOURCE_CPU, path), 0);
	CHECK_STR(path, "/api/v1/query_range?query=max%28rate%28container_cpu_usage_seconds_total"
			"%7Bnamespace%3D%22shop%22%2Cpod%3D~%22web%5C%5C.v2-%5Ba-z0-9%5D%7B1%2C12"
			"%7D-%5Ba-z0-9%5D%7B5%7D%22%2Ccontainer%3D%22app%22%7D%5B300s%5D%29%29"
			"&start=1799992800&end=1800000000&step=300");
	query.owner = "StatefulSet";
	query.matchers = "cluster=\"a\"";
	CHECK_EQ(prometheus_path(&query, RESOURCE_MEMORY, path), 0);
	CHECK(strstr(path, "max%28container_memory_working_set_bytes%7B") != NULL);
	CHECK(strstr(path, "web%5C%5C.v2-%5B0-9%5D%2B%22") != NULL);
	CHECK(strstr(path, "%2Ccluster%3D%22a%22%7D%29&start") != NULL);
	memset(long_matchers, '"', sizeof long_matchers - 1);
	query.matchers = long_matchers;
	CHECK_EQ(prometheus_path(&query, RESOURCE_MEMORY, path), -ENAMETOOLONG);
	query.matchers = "";
}

#define MATRIX(series)                                                                             \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"
#define ONE(values) MATRIX("{\"metric\":{},\"values\":[" values "]}")

static int parse(const char *text, struct past_sample **ret, size_t *ret_count)
{
	struct prometheus_error err;

	return prometheus_parse(text, strlen(text), ret, ret_count, &err);
}

static void test_answer(void)
{
	struct past_sample *s;
	size_t n;

	CHECK_EQ(parse(ONE("[1800000000,\"0.25\"],[1800000300.5,\"NaN\"],[1800000600,\"3e-1\"]"),
		       &s, &n),
		 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(s[0].at_real, 1800000000 * USEC_PER_SEC);
	CHECK(s[0].value == 0.25);
	CHECK(s[1].value == 0.3);
	free(s);
	CHECK_EQ(parse(MATRIX(""), &s, &n), 0);
	CHECK_EQ(n, 0);
	CHECK(s == NULL);
}

/* Whatever else an answer is: refused, with a text. */
static void test_lies(void)
{
	static const char *const lies[] = {
		"",
		"<html>",
		"[]",
		"{}",
		"{\"status\":\"error\",\"error\":\"x\"}",
		"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}",
		"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":{}}}",
		MATRIX("{\"metric\":{},\"values\":[]},{\"metric\":{},\"values\":[]}"),
		MATRIX("{\"metric\":{}}"),
		ONE("[1800000000,0.25]"),
		ONE("[\"1800000000\",\"0.25\"]"),
		ONE("[1800000000,\"0.25\",1]"),
		ONE("[1800000000,\"\"]"),
		ONE("[1800000000,\"0.25x\"]"),
		ONE("[1800000000,\"-1\"]"),
		ONE("[1800000000,\"+Inf\"]"),
		ONE("[1800000000,\"1e17\"]"),
		ONE("[-5,\"1\"]"),
		ONE("[1e300,\"1\"]"),
		ONE("[1800000000,\"1\"],[1800000000,\"1\"]"),
		ONE("[1800000000,\"1\"],[1700000000,\"1\"]"),
		ONE("7"),
	};
	struct prometheus_error err;
	struct past_sample *s;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		err.text[0] = '\0';
		if (prometheus_parse(lies[i], strlen(lies[i]), &s, &n, &err) != -EBADMSG)
			fprintf(stderr, "taken: %s\n", lies[i]);
		CHECK_EQ(prometheus_parse(lies[i], strlen(lies[i]), &s, &n, &err), -EBADMSG);
		CHECK(err.text[0] != '\0');
		CHECK(s == NULL && n == 0);
	}
}

static void test_refusal(void)
{
	static const char text[] =
		"{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse\\nerror\"}";
	struct prometheus_error err;

	prometheus_refusal(text, sizeof text - 1, &err);
	CHECK_STR(err.text, "parse error");
	prometheus_refusal("nope", 4, &err);
	CHECK_STR(err.text, "");
}

/* Samples of Prometheus beside what was observed: the recommendation is that of a node which has
 * observed all of it, within 5 %. */
static void test_history(void)
{
	static struct past_sample cpu[8 * 288], memory[8 * 288];
	const struct tuning_history *t = &tuning_default.history;
	const usec_t begin = 1799000000 * USEC_PER_SEC, end = begin + 8 * USEC_PER_DAY;
	struct history own, past;
	struct recommendation want, got;

	history_init(&own, t);
	history_init(&past, t);
	/* By day twice as much as by night; 10 s at a time. */
	for (usec_t at = begin; at < end; at += 10 * USEC_PER_SEC) {
		bool day = at / (12 * USEC_PER_HOUR) % 2;
		uint64_t milli = (day ? 600 : 300) + at / (10 * USEC_PER_SEC) % 7 * 10;
		struct cpu_rates r = {
			10 * USEC_PER_SEC, 10 * USEC_PER_SEC, milli, milli, 0, 0, 0, 0};
		size_t i = (at - begin) / (5 * USEC_PER_MIN);

		history_add_cpu(&own, &r, at);
		history_add_memory(&own, t, (day ? 200 : 100) * MIB, false, at);
		cpu[i].at_real = memory[i].at_real = begin + i * 5 * USEC_PER_MIN;
		cpu[i].value += (double)milli / 1000 / 30;
		memory[i].value = (double)((day ? 200 : 100) * MIB);
	}
	/* The new node has seen ten minutes. */
	for (usec_t at = end; at < end + 10 * USEC_PER_MIN; at += 10 * USEC_PER_SEC) {
		struct cpu_rates r = {10 * USEC_PER_SEC, 10 * USEC_PER_SEC, 330, 330, 0, 0, 0, 0};

		history_add_cpu(&own, &r, at);
		history_add_cpu(&past, &r, at);
	}
	history_add_past(&past, t, &(struct past_series){cpu, ARRAY_SIZE(cpu), 5 * USEC_PER_MIN},
			 &(struct past_series){memory, ARRAY_SIZE(memory), 5 * USEC_PER_MIN});
	history_recommend(&own, t, 1, &want);
	history_recommend(&past, t, 1, &got);
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		double apart = (double)got.resource[r].target / (double)want.resource[r].target - 1;

		fprintf(stderr,
			"resource %d: target %llu, of the observed history %llu: %+.2f %%\n", r,
			(unsigned long long)got.resource[r].target,
			(unsigned long long)want.resource[r].target, 100 * apart);
		CHECK(apart > -0.05 && apart < 0.05);
	}
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		CHECK(got.confidence_permille[r] >= 1000);
	history_drop(&own);
	history_drop(&past);
}

int main(void)
{
	test_path();
	test_answer();
	test_lies();
	test_refusal();
	test_history();
	return check_result();
}
