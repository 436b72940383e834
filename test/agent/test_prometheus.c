// SPDX-License-Identifier: Apache-2.0
/* What a Prometheus server is asked, and what is taken of its answers. */
#include "agent/prometheus/prometheus.h"
#include "test/check.h"
#include <errno.h>
#include <regex.h>

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

TEST(path)
{
	static char long_matchers[2000];
	char path[PROMETHEUS_PATH_BYTES];

	CHECK_EQ(prometheus_path(&query, RESOURCE_CPU, path), 0);
	CHECK_STR(path,
		  "/api/v1/query_range?query=max%28rate%28container_cpu_usage_seconds_total%7Bnames"
		  "pace%3D%22shop%22%2Cpod%3D~%22web%5C%5C.v2-%5B456789bcdf%5D%7B1%2C10%7D-%5Bbcdfg"
		  "hjklmnpqrstvwxz2456789%5D%7B5%7D%22%2Ccontainer%3D%22app%22%7D%5B300s%5D%29%29&s"
		  "tart=1799992800&end=1800000000&step=300");
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

/* Does the query for this workload select the pod? */
static bool selects(const char *owner, const char *workload, const char *pod)
{
	char path[PROMETHEUS_PATH_BYTES], pattern[256] = "^";
	size_t n = 1;
	regex_t re;
	bool found;

	query.owner = owner;
	query.workload = workload;
	CHECK_EQ(prometheus_path(&query, RESOURCE_CPU, path), 0);
	for (const char *s = strstr(path, "pod%3D~%22") + 10; strncmp(s, "%22", 3) != 0; s++) {
		unsigned c = (unsigned char)*s;

		if (c == '%' && sscanf(s + 1, "%2x", &c) == 1)
			s += 2;
		pattern[n++] = (char)c;
	}
	strcpy(pattern + n, "$");
	CHECK_EQ(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	found = regexec(&re, pod, 0, NULL, 0) == 0;
	regfree(&re);
	return found;
}

TEST(pods)
{
	static const struct {
		const char *owner, *workload, *pod;
		bool selected;
	} rows[] = {
		{"Deployment", "api", "api-7d9c4b8f65-x7x7x", true},
		{"Deployment", "api", "api-5d4-x7x7x", true},
		{"Deployment", "api", "api-29405520-x7x7x", false}, /* of the CronJob */
		{"Deployment", "api", "api-v2-x7x7x", false},       /* of the DaemonSet api-v2 */
		{"Deployment", "api-v2", "api-v2-7d9c4b8f65-x7x7x", true},
		{"DaemonSet", "api-v2", "api-v2-x7x7x", true},
		{"DaemonSet", "api", "api-proxy", false},
		{"CronJob", "api", "api-29405520-x7x7x", true},
		{"StatefulSet", "api", "api-10", true},
#define LONG_46 "a-name-of-a-release-and-of-a-chart-which-is-46"
		{"Deployment", LONG_46, LONG_46 "-7d9c4b8f65-x7x7x", true},
		{"Deployment", LONG_46, LONG_46 "-other-x7x7x", false},
		/* Before what is drawn stand 58 characters at most. */
		{"Deployment", LONG_46 "s", LONG_46 "s-7d9c4b8f65x7x7x", true},
		{"Deployment", LONG_46 "-and-more", LONG_46 "-and-more-7dx7x7x", true},
		{"DaemonSet", LONG_46 "-and-more-than-that", LONG_46 "-and-more-thx7x7x", true},
		{"DaemonSet", LONG_46 "-and-more", LONG_46 "-and-more-x7x7x", true},
		{"DaemonSet", LONG_46 "-and-more", LONG_46 "-and-more-a-x7x7x", false},
		{"StatefulSet", LONG_46 "-and-more", LONG_46 "-and-more-12", true},
		{"CronJob", LONG_46 "-and", LONG_46 "-and-29405520x7x7x", true},
		{"Cluster", LONG_46 "-and-more-than-that", LONG_46 "-and-more-th-1", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(selects(rows[i].owner, rows[i].workload, rows[i].pod), rows[i].selected);
}

#define MATRIX(series)                                                                             \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"
#define ONE(values) MATRIX("{\"metric\":{},\"values\":[" values "]}")

static int parse(const char *text, struct past_sample **ret, size_t *ret_count)
{
	struct prometheus_error err;

	return prometheus_parse(text, strlen(text), ret, ret_count, &err);
}

TEST(answer)
{
	struct past_sample *s;
	size_t n;

	CHECK_OK(parse(ONE("[1800000000,\"0.25\"],[1800000300.5,\"NaN\"],[1800000400,\"+Inf\"],"
			   "[1800000600,\"3e-1\"]"),
		       &s, &n));
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
TEST(lies)
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
		ONE("[1800000000,\"1e17\"]"),
		ONE("[-5,\"1\"]"),
		ONE("[1e300,\"1\"]"),
		ONE("[1800000000,\"1\"],[1800000000,\"1\"]"),
		ONE("[1800000000,\"1\"],[1700000000,\"1\"]"),
		ONE("7"),
		MATRIX("") " behind the end",
		MATRIX("\"\xff\""),
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

TEST(refusal)
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
TEST(history)
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
