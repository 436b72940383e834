// SPDX-License-Identifier: Apache-2.0
/* vscalectl report: answers of many nodes, summed up by workload. */
#include "test/agent/report_answers.h"
#include <unistd.h>

static uint64_t amount(const cJSON *o, const char *object, const char *key)
{
	return json_amount(object != NULL ? json_object(o, object) : o, key);
}

TEST(sum)
{
	OWN(drop_json) cJSON *report = summed(two_nodes, NULL);
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rows");
	const cJSON *log = cJSON_GetArrayItem(rows, 0), *web = cJSON_GetArrayItem(rows, 1);
	const cJSON *total = json_object(report, "total");

	CHECK_EQ(cJSON_GetArraySize(rows), 2);
	CHECK_STR(json_text(log, "workload"), "log");
	CHECK_EQ(amount(log, NULL, "confidence_permille"), 1000);
	CHECK_EQ(amount(log, "cpu", "reclaimable"), 0);
	CHECK_EQ(amount(log, "memory", "requested"), 0);
	CHECK_EQ(amount(log, "memory", "request"), VIEW_NONE);
	CHECK_STR(json_text(web, "owner"), "Deployment");
	CHECK_EQ(amount(web, NULL, "pods"), 2);
	CHECK_EQ(amount(web, NULL, "confidence_permille"), 400);
	CHECK_EQ(amount(web, NULL, "throttled_permille"), 20);
	CHECK_EQ(amount(web, NULL, "oom_kills"), 3);
	CHECK_EQ(amount(web, "cpu", "request"), 600);
	CHECK_EQ(amount(web, "cpu", "limit"), 1000);
	CHECK_EQ(amount(web, "cpu", "use_max"), 90);
	CHECK_EQ(amount(web, "cpu", "target"), 100);
	CHECK_EQ(amount(web, "cpu", "requested"), 1100);
	/* Of each pod by its own upper bound. */
	CHECK_EQ(amount(web, "cpu", "reclaimable"), 300 + 450);
	CHECK_EQ(amount(web, "cpu", "over_target"), 400 + 510);
	CHECK_EQ(amount(web, "memory", "reclaimable"), 0);
	CHECK_EQ(amount(total, NULL, "nodes"), 2);
	CHECK_EQ(amount(total, NULL, "containers"), 3);
	CHECK_EQ(amount(total, "cpu", "requested"), 1200);
	CHECK_EQ(amount(total, "cpu", "over_target"), 910);
	CHECK_EQ(amount(total, "cpu", "reclaimable"), 750);
}

TEST(namespace)
{
	OWN(drop_json) cJSON *report = summed(two_nodes, "infra");

	CHECK_EQ(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(report, "rows")), 1);
	CHECK_EQ(amount(json_object(report, "total"), "cpu", "requested"), 100);
}

#define PART(pod, percent, part, kills)                                                            \
	WEB(pod, "\"request\":500,\"target\":100,\"use_p95\":90,\"limit\":700", "")                \
	"\"rollout\":\"" part "\",\"rollout_percent\":" percent ",\"oom_kills\":" kills            \
	",\"undos\":2,\"throttled_permille\":30,\"counted_usec\":7200000000}"

/* Sized and unsized one below the other; sums and patch have one row of the container. */
TEST(rollout)
{
	static const char want[] = "\nROLLOUT   CONTAINER  SHARE  PART     PODS  24h THROTTLED  "
				   "24h OOM KILLS  UNDONE  COUNTED FOR  CPU P95  LIMIT  MEMORY P95 "
				   " LIMIT\n"
				   "shop/web  app        25 %   sized    1     3 %            4    "
				   "          2       2 h          90m      700m   -           -\n"
				   "shop/web  app        25 %   unsized  2     3 %            1    "
				   "          4       2 h          90m      700m   -           -\n";
	OWN(drop_json)
	cJSON *report = summed(NODE("n", PART("web-1", "25", "unsized", "1") "," PART(
						 "web-0", "25", "sized",
						 "4") "," PART("web-2", "25", "unsized", "0")),
			       NULL);
	char *text;
	size_t size;
	struct ctl c = {.out = open_memstream(&text, &size), .err = stderr};

	CHECK_EQ(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(report, "rows")), 1);
	CHECK_EQ(amount(json_object(report, "total"), NULL, "containers"), 3);
	report_table(&c, report);
	fclose(c.out);
	CHECK(strstr(text, want) != NULL);
	if (strstr(text, want) == NULL)
		fputs(text, stderr);
	free(text);
	c.out = open_memstream(&text, &size);
	report_patch(&c, report);
	fclose(c.out);
	CHECK(strstr(strstr(text, "- name: \"app\"") + 1, "- name: \"app\"") == NULL);
	free(text);
}

#define KIND(kind, container, target)                                                              \
	"{\"namespace\":\"shop\",\"workload\":\"api\",\"owner\":\"" kind                           \
	"\",\"container\":\"" container "\",\"qos_class\":\"Burstable\",\"cpu\":{\"request\":500," \
	"\"limit\":9000,\"target\":" target "},\"memory\":{}}"

/* A CronJob and a Deployment of one name: rows and patches of their own, all containers of one
 * workload in one patch. */
TEST(kinds)
{
	OWN(drop_json)
	cJSON *report = summed(
		NODE("n", KIND("Deployment", "b", "100") "," KIND("CronJob", "a", "3500") "," KIND(
				  "Deployment", "a", "120")),
		NULL);
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(report, "rows");
	char *text, *second;
	size_t size;
	struct ctl c = {.out = open_memstream(&text, &size), .err = stderr};

	CHECK_EQ(cJSON_GetArraySize(rows), 3);
	CHECK_EQ(amount(cJSON_GetArrayItem(rows, 0), "cpu", "target"), 3500);
	report_patch(&c, report);
	fclose(c.out);
	CHECK(strstr(text, "---\napiVersion: batch/v1\nkind: CronJob\n") == text);
	second = strstr(text, "---\napiVersion: apps/v1\nkind: Deployment\n");
	CHECK(second != NULL && strstr(second + 1, "---\n") == NULL);
	CHECK(second != NULL && strstr(second, "cpu: 120m") != NULL &&
	      strstr(second, "cpu: 100m") != NULL && strstr(second, "3500m") == NULL);
	free(text);
}

TEST(csv_is_safe)
{
	OWN(drop_json)
	cJSON *report =
		summed(NODE("n", "{\"namespace\":\"=1+1\",\"workload\":\"a,b\",\"container\":"
				 "\"c\\nd\"}"),
		       NULL);
	char *text;
	size_t size;
	struct ctl c = {.out = open_memstream(&text, &size), .err = stderr};

	report_csv(&c, report);
	fclose(c.out);
	CHECK(strstr(text, "\n,,,,1,") != NULL);
	CHECK(strchr(strchr(text, '\n') + 1, '\n') == text + size - 1);
	free(text);
}

/* How many of a text's answers are left out; *ret_taken are not, *ret_said is owned. */
static size_t left_out(const char *text, int *ret_taken, char **ret_said)
{
	OWN(drop_json) cJSON *all = cJSON_CreateArray();
	size_t size, n;
	struct ctl c = {.err = open_memstream(ret_said, &size)};

	n = report_read(&c, "file", text, all);
	fclose(c.err);
	*ret_taken = cJSON_GetArraySize(all);
	return n;
}

/* A damaged answer is named, and costs none of the others. */
TEST(partial)
{
	static const char text[] = "# node n1, pod a\n" NODE(
		"n1",
		"") "\n# node n2, pod b\n"
		    "{\"version\":1,\"node\":\"n2\",\"containers\":[{},\n"
		    "# node n3, pod c\n\n# node n4, pod d\n" NODE(
			    "n4",
			    "") "# node n5, pod e\n<html>\n# node n6, pod f\n{\"version\":2}\n"
				"# node n7, pod g\n" NODE("n7", "") "# node n8, pod h\n";
	static const char want[] = "vscalectl: no report of node n2, pod b: not JSON\n"
				   "vscalectl: no report of node n3, pod c: it is empty\n"
				   "vscalectl: no report of node n5, pod e: not JSON\n"
				   "vscalectl: no report of node n6, pod f: not a report of "
				   "version 1\n"
				   "vscalectl: no report of node n8, pod h: it is empty\n";
	char *said;
	int taken;

	CHECK_EQ(left_out(text, &taken, &said), 5);
	CHECK_EQ(taken, 3);
	CHECK_STR(said, want);
	free(said);
	/* Without names, the line; an unfinished answer does not take the next one along. */
	CHECK_EQ(left_out(NODE("n1", "") "{\"version\":1,\"containers\":[\n" NODE("n2", ""), &taken,
			  &said),
		 1);
	CHECK_EQ(taken, 2);
	CHECK_STR(said, "vscalectl: no report in file:2: not JSON\n");
	free(said);
	/* A mark of the byte order. */
	CHECK_EQ(left_out("\xef\xbb\xbf" NODE("n1", ""), &taken, &said), 0);
	CHECK_EQ(taken, 1);
	free(said);
	/* A name is that of one answer, taken or left out. */
	CHECK_EQ(left_out("# n1\n" NODE("n1", "") "{\n# n2\n<html>\n{\n", &taken, &said), 3);
	CHECK_EQ(taken, 1);
	CHECK_STR(said, "vscalectl: no report in file:3: not JSON\n"
			"vscalectl: no report of n2: not JSON\n"
			"vscalectl: no report in file:6: not JSON\n");
	free(said);
}

static int run(const char *text, char **ret_out, char **ret_err)
{
	char path[] = "/tmp/vscaled-report-XXXXXX";
	char *arguments[] = {path};
	size_t out_size, err_size;
	FILE *f = fdopen(mkstemp(path), "w");
	struct ctl c = {.out = open_memstream(ret_out, &out_size),
			.err = open_memstream(ret_err, &err_size),
			.arguments = arguments,
			.argument_count = 1};
	int r;

	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
	r = ctl_report(&c);
	fclose(c.out);
	fclose(c.err);
	unlink(path);
	return r;
}

TEST(partial_status)
{
	char *out, *err;

	CHECK_EQ(run(two_nodes, &out, &err), CTL_OK);
	CHECK_STR(err, "");
	free(out);
	free(err);
	CHECK_EQ(run(NODE("n", WEB("web-0", "\"request\":100", "") "\"oom_kills\":0}") "# n2\nx\n",
		     &out, &err),
		 CTL_ERROR);
	CHECK(strstr(out, "shop/web") != NULL);
	CHECK(strstr(err, "no report of n2: not JSON\n") != NULL);
	CHECK(strstr(err, "partial: 1 of 2 answers are left out") != NULL);
	free(out);
	free(err);
	CHECK_EQ(run("x", &out, &err), CTL_ERROR);
	CHECK_STR(out, "");
	free(out);
	free(err);
}

/* 100 columns with any name, a unit without a namespace, and what is too small is named. */
TEST(table)
{
	static const char text[] = NODE(
		"n",
		"{\"namespace\":\"a-namespace-of-some-length\",\"workload\":\"a-workload-whose-name"
		"-alone-has-sixty-letters-which-is-the-most-there-is\",\"container\":\"c\","
		"\"oom_kills\":2,\"cpu\":{\"request\":1100,\"limit\":2250,\"target\":1200,"
		"\"peak\":3350,\"max\":3000},\"memory\":{\"request\":1181116006,"
		"\"limit\":1288490188,\"target\":1395864371,\"peak\":1503238553}},"
		"{\"workload\":\"web.service\",\"owner\":\"Unit\",\"cpu\":{\"limit\":500,"
		"\"target\":100,\"peak\":120}}");
	OWN(drop_free) char *out = NULL;
	struct ctl c = {.price = {0.031, 0.004}, .color = true, .err = stderr};
	OWN(drop_json) cJSON *all = cJSON_CreateArray(), *report = NULL;
	size_t size;

	CHECK_EQ(report_read(&c, "test", text, all), 0);
	report = report_sum(&c, all);
	c.out = open_memstream(&out, &size);
	report_table(&c, report);
	fclose(c.out);
	CHECK(strstr(out, "\033[31mkilled 2, under\033[0m") != NULL);
	CHECK(strstr(out, "2250m -> 3000m ") != NULL);
	CHECK(strstr(out, "1.10Gi -> 1.30Gi") != NULL);
	CHECK(strstr(out, "\nweb.serv..  ") != NULL && strstr(out, "500m -> 120m") != NULL);
	CHECK(strstr(out, "below them: 0.10 CPUs and 0.20 GiB") != NULL);
	CHECK(strstr(out, "In a month of 730 h: 0.00 saved, 2.84 missing.") != NULL);
	for (const char *at = out; *at != '\0'; at += strcspn(at, "\n") + 1)
		CHECK(strcspn(at, "\n") <= 100 + (strstr(at, "\033") != NULL ? 9 : 0));
}

TEST(bad)
{
	static const char *const texts[] = {
		"",
		" \n",
		"[",
		"[]",
		"null",
		"{}",
		"{\"version\":2,\"containers\":[]}",
		"{\"version\":1}",
		"{\"version\":1,\"containers\":{}}",
		"{\"version\":1,\"containers\":[]} x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char *said;
		int taken;

		CHECK_EQ(left_out(texts[i], &taken, &said), 1);
		CHECK(said[0] != '\0');
		free(said);
	}
	/* Containers that are none do no harm. */
	for (size_t i = 0; i < 3; i++) {
		static const char *const odd[] = {NODE("n", "1,null,\"x\",[]"),
						  NODE("n", "{\"cpu\":[],\"memory\":1}"),
						  NODE("n", "{\"cpu\":{\"request\":-1e300}}")};
		OWN(drop_json) cJSON *report = summed(odd[i], NULL);

		CHECK(report != NULL);
	}
}
