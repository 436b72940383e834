// SPDX-License-Identifier: Apache-2.0
/* vscalectl report: answers of many nodes, summed up by workload. */
#include "agent/base/json.h"
#include "agent/ctl/report.h"
#include "agent/view/report_json.h"
#include "test/check.h"
#include <string.h>
#include <unistd.h>

#define WEB(pod, cpu, memory)                                                                      \
	"{\"namespace\":\"shop\",\"workload\":\"web\",\"owner\":\"Deployment\",\"pod\":\"" pod     \
	"\",\"container\":\"app\",\"mode\":\"Off\",\"cpu\":{" cpu "},\"memory\":{" memory "},"
#define NODE(name, containers)                                                                     \
	"{\"version\":1,\"node\":\"" name "\",\"containers\":[" containers "]}\n"

static const char two_nodes[] = NODE(
	"node-2", WEB("web-b", "\"request\":500,\"use_max\":90,\"target\":100,\"upper\":200",
		      "\"request\":100,\"target\":300,\"upper\":400") "\"confidence_permille\":900,"
								      "\"oom_kills\":2}")
	NODE("node-1",
	     "{\"namespace\":\"infra\",\"workload\":\"log\",\"owner\":\"DaemonSet\",\"pod\":\"log-"
	     "1\","
	     "\"container\":\"log\",\"confidence_permille\":8000,\"cpu\":{\"request\":100,"
	     "\"target\":105,\"upper\":120},"
	     "\"memory\":{\"target\":1048577}}," WEB(
		     "web-a",
		     "\"request\":600,\"limit\":1000,\"use_max\":70,\"target\":90,\"upper\":"
		     "150",
		     "\"request\":100") "\"confidence_permille\":400,\"throttled_permille\":20,"
					"\"oom_kills\":1}");

static cJSON *summed(const char *text, const char *namespace)
{
	OWN(drop_json) cJSON *all = cJSON_CreateArray();
	struct ctl c = {.err = stderr};

	CHECK_EQ(report_read(&c, "test", text, all), 0);
	return report_sum(all, namespace);
}

static uint64_t amount(const cJSON *o, const char *object, const char *key)
{
	return json_amount(object != NULL ? json_object(o, object) : o, key);
}

static void test_sum(void)
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

static void test_namespace(void)
{
	OWN(drop_json) cJSON *report = summed(two_nodes, "infra");

	CHECK_EQ(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(report, "rows")), 1);
	CHECK_EQ(amount(json_object(report, "total"), "cpu", "requested"), 100);
}

/* What is 10 % off its target, and what it takes into account of names. */
static void test_patch(void)
{
	static const char want[] = "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n"
				   "  name: \"log\"\n  namespace: \"infra\"\nspec:\n  template:\n"
				   "    spec:\n      containers:\n      - name: \"log\"\n"
				   "        resources:\n          requests:\n"
				   "            memory: 2Mi\n---\napiVersion: apps/v1\n"
				   "kind: Deployment\nmetadata:\n  name: \"web\"\n"
				   "  namespace: \"shop\"\nspec:\n  template:\n    spec:\n"
				   "      containers:\n      - name: \"app\"\n        resources:\n"
				   "          requests:\n            cpu: 100m\n"
				   "            memory: 1Mi\n";
	OWN(drop_json) cJSON *report = summed(two_nodes, NULL);
	char *text;
	size_t size;
	struct ctl c = {.out = open_memstream(&text, &size), .err = stderr};

	report_patch(&c, report);
	fclose(c.out);
	CHECK_STR(text, want);
	free(text);
}

/* A request above the limit would be refused: that of the template follows, not the one in force.
 */
static void test_patch_above_limit(void)
{
	static const char want[] = "          requests:\n            cpu: 230m\n"
				   "            memory: 101Mi\n"
				   "          limits:\n            cpu: 230m\n"
				   "            memory: 101Mi\n";
	OWN(drop_json)
	cJSON *report = summed(
		NODE("n",
		     WEB("web-0", "\"request\":100,\"limit\":400,\"original\":200,\"target\":230",
			 "\"limit\":105381888,\"target\":105381000") "\"oom_kills\":0}"),
		NULL);
	char *text;
	size_t size;
	struct ctl c = {.out = open_memstream(&text, &size), .err = stderr};

	report_patch(&c, report);
	fclose(c.out);
	CHECK(strstr(text, want) != NULL);
	free(text);
}

static char *patch_of(const char *text)
{
	OWN(drop_json) cJSON *report = summed(text, NULL);
	char *patch;
	size_t size;
	struct ctl c = {.out = open_memstream(&patch, &size), .err = stderr};

	report_patch(&c, report);
	fclose(c.out);
	return patch;
}

#define EQUAL                                                                                      \
	WEB("web-0", "\"request\":500,\"limit\":500,\"target\":100,\"peak\":200",                  \
	    "\"request\":104857600,\"limit\":104857600,\"target\":31457280,\"peak\":52428800")

#define GUARANTEED_MEMORY(request, original, peak)                                                 \
	NODE("n", WEB("web-0", "\"request\":500,\"limit\":500,\"peak\":500",                       \
		      "\"request\":" request ",\"limit\":" request ",\"original\":" original       \
		      ",\"peak\":" peak) "\"qos_class\":\"Guaranteed\"}")

/* The patch of an answer that an agent gives of a Guaranteed pod. Owned. */
static char *patch_guaranteed(uint32_t trust_permille)
{
	const struct pod_view pod = {.namespace = "shop",
				     .workload = "web",
				     .owner = "Deployment",
				     .pod = "web-0",
				     .container = "app",
				     .qos_class = "Guaranteed",
				     .resources = {{.request = 500}, {.request = 100 * MIB}}};
	const struct unit_view v = {.pod = &pod,
				    .resources = {{.kernel = 400,
						   .original = 500,
						   .target = 100,
						   .peak = 200,
						   .confidence_permille = 1000,
						   .trust_permille = trust_permille},
						  {.kernel = 100 * MIB,
						   .original = 100 * MIB,
						   .target = 30 * MIB,
						   .peak = 50 * MIB}}};
	struct report_json r;
	char *text = NULL, *patch;

	CHECK_EQ(report_json_begin(&r, "n"), 0);
	report_json_add(&r, &v);
	CHECK_EQ(report_json_end(&r, &text), 0);
	patch = patch_of(text);
	free(text);
	return patch;
}

/* The pod keeps its class: the CPU limit is lowered with the request, to the peak and as far as
 * the laws would lower it: what other pods publish gives confidence, but not all of that. */
static void test_patch_guaranteed(void)
{
	static const struct {
		uint32_t trust_permille;
		const char *want; /* NULL: no patch */
	} cases[] = {
		{1000, "          requests:\n            cpu: 200m\n"
		       "          limits:\n            cpu: 200m\n"},
		{300, "          requests:\n            cpu: 350m\n"
		      "          limits:\n            cpu: 350m\n"},
		{0, NULL},
	};
	char *patch;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		patch = patch_guaranteed(cases[i].trust_permille);
		CHECK(cases[i].want != NULL ? strstr(patch, cases[i].want) != NULL
					    : strstr(patch, "requests:") == NULL);
		CHECK(strstr(patch, "memory:") == NULL);
		free(patch);
	}
	patch = patch_of(NODE("n", EQUAL "\"qos_class\":\"Burstable\"}"));
	CHECK(strstr(patch, "cpu: 100m\n            memory: 30Mi\n") != NULL);
	CHECK(strstr(patch, "limits:") == NULL);
	CHECK(strchr(patch, '#') == NULL);
	free(patch);
}

/* Memory of a Guaranteed pod is raised only, compared with the template. */
static void test_patch_guaranteed_memory(void)
{
	static const char stays[] =
		"# shop/web, container app: the memory request stays: in a Guaranteed pod it "
		"is also the limit, and a lower one could be below a heap setting or "
		"vscaled.dev/min-memory.\n";
	static const char raised[] = "          requests:\n            memory: 50Mi\n"
				     "          limits:\n            memory: 50Mi\n";
	char *patch = patch_of(GUARANTEED_MEMORY("104857600", "104857600", "52428800"));

	CHECK_STR(patch, stays);
	free(patch);
	patch = patch_of(GUARANTEED_MEMORY("41943040", "104857600", "52428800"));
	CHECK_STR(patch, stays);
	free(patch);
	patch = patch_of(GUARANTEED_MEMORY("41943040", "41943040", "52428800"));
	CHECK(strstr(patch, raised) != NULL);
	CHECK(strchr(patch, '#') == NULL);
	free(patch);
}

/* The answer of an agent that does not tell the class: no request below an equal limit. */
static void test_patch_unknown_class(void)
{
	static const char why[] = ": it equals the limit, the report does not tell the QoS class, "
				  "and a lower one would end Guaranteed.\n";
	char *patch = patch_of(NODE("n", EQUAL "\"oom_kills\":0}"));

	CHECK(strstr(patch, "# shop/web, container app: the cpu request stays") == patch);
	CHECK(strstr(patch, "the memory request stays") != NULL);
	CHECK(strstr(patch, why) != NULL);
	CHECK(strstr(patch, "requests:") == NULL);
	free(patch);
}

#define PART(pod, percent, part, kills)                                                            \
	WEB(pod, "\"request\":500,\"target\":100,\"use_p95\":90,\"limit\":700", "")                \
	"\"rollout\":\"" part "\",\"rollout_percent\":" percent ",\"oom_kills\":" kills            \
	",\"undos\":2,\"throttled_permille\":30,\"counted_usec\":7200000000}"

/* Sized and unsized one below the other; sums and patch have one row of the container. */
static void test_rollout(void)
{
	static const char want[] = "\nROLLOUT   CONTAINER  SHARE  PART     PODS  24h THROTTLED  "
				   "24h OOM KILLS  UNDONE  "
				   "COUNTED FOR  CPU P95  LIMIT  MEMORY P95  LIMIT\n"
				   "shop/web  app        25 %   sized    1     3 %            4    "
				   "          2       2 h      "
				   " "
				   "   90m      700m   -           -\n"
				   "shop/web  app        25 %   unsized  2     3 %            1    "
				   "          4       2 h      "
				   " "
				   "   90m      700m   -           -\n";
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

static void test_csv_is_safe(void)
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
static void test_partial(void)
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

static void test_partial_status(void)
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

static void test_bad(void)
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

int main(void)
{
	test_sum();
	test_namespace();
	test_patch();
	test_patch_above_limit();
	test_patch_guaranteed();
	test_patch_guaranteed_memory();
	test_patch_unknown_class();
	test_rollout();
	test_csv_is_safe();
	test_partial();
	test_partial_status();
	test_bad();
	return check_result();
}
