// SPDX-License-Identifier: Apache-2.0
/* vscalectl report -o patch: requests and limits for the workloads' templates. */
#include "test/agent/report_answers.h"
#include <unistd.h>

/* Owned. */
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

/* Requests that are 10 % off their targets, by owner, with names quoted. */
TEST(patch)
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
	OWN(drop_free) char *patch = patch_of(two_nodes);

	CHECK_STR(patch, want);
}

/* A request above the limit would be refused: that of the template follows, not the one in force.
 */
TEST(patch_above_limit)
{
	static const char want[] = "          requests:\n            cpu: 230m\n"
				   "            memory: 101Mi\n"
				   "          limits:\n            cpu: 230m\n"
				   "            memory: 101Mi\n";
	OWN(drop_free)
	char *patch = patch_of(NODE(
		"n", WEB("web-0", "\"request\":100,\"limit\":400,\"original\":200,\"target\":230",
			 "\"limit\":105381888,\"target\":105381000") "\"oom_kills\":0}"));

	CHECK(strstr(patch, want) != NULL);
}

#define EQUAL                                                                                      \
	WEB("web-0", "\"request\":500,\"limit\":500,\"target\":100,\"peak\":200",                  \
	    "\"request\":104857600,\"limit\":104857600,\"target\":31457280,\"peak\":52428800")

#define GUARANTEED_MEMORY(request, original, peak)                                                 \
	NODE("n", WEB("web-0", "\"request\":500,\"limit\":500,\"peak\":500",                       \
		      "\"request\":" request ",\"limit\":" request ",\"original\":" original       \
		      ",\"peak\":" peak) "\"qos_class\":\"Guaranteed\"}")

/* The patch of an answer that an agent gives of a Guaranteed pod. Owned. */
static char *patch_guaranteed(unsigned trust_permille)
{
	char text[1024];

	snprintf(text, sizeof text,
		 "{\"version\":1,\"node\":\"n\",\"containers\":[{\"namespace\":\"shop\","
		 "\"workload\":\"web\",\"owner\":\"Deployment\",\"pod\":\"web-0\","
		 "\"container\":\"app\",\"qos_class\":\"Guaranteed\",\"mode\":\"Auto\","
		 "\"confidence_permille\":0,\"trust_permille\":%u,\"cpu\":{\"request\":500,"
		 "\"limit\":400,\"original\":500,\"use_p50\":0,\"use_p95\":0,\"use_max\":0,"
		 "\"lower\":0,\"target\":100,\"upper\":0,\"peak\":200},"
		 "\"memory\":{\"request\":104857600,\"limit\":104857600,\"original\":104857600,"
		 "\"use_p50\":0,\"use_p95\":0,\"use_max\":0,\"lower\":0,\"target\":31457280,"
		 "\"upper\":0,\"peak\":52428800}}]}\n",
		 trust_permille);
	return patch_of(text);
}

/* The pod keeps its class: the CPU limit is lowered with the request, to the peak and as far as
 * the laws would lower it: what other pods publish gives confidence, but not all of that. */
TEST(patch_guaranteed)
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
TEST(patch_guaranteed_memory)
{
	static const char stays[] =
		"# shop/web, container app: the memory request stays: in a Guaranteed pod it "
		"is also the limit, and a lower one could be below a heap setting.\n";
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

/* Targets of a tenth of the requests, within bounds. */
#define BOUNDED(cpu, memory)                                                                       \
	WEB("web-0", "\"request\":500,\"limit\":1000,\"target\":50" cpu,                           \
	    "\"request\":104857600,\"limit\":1073741824,\"target\":10485760" memory)               \
	"\"qos_class\":\"Burstable\"}"

/* Never outside what the owner, the administrator and the LimitRange allow. */
TEST(patch_bounds)
{
	static const struct {
		const char *answer;
		const char *want; /* NULL: no patch */
	} cases[] = {
		/* An older agent, whose answer has no bounds. */
		{BOUNDED("", ""), "cpu: 50m\n            memory: 10Mi\n"},
		{BOUNDED(",\"min\":100", ",\"min\":33558528"),
		 "cpu: 100m\n            memory: 33Mi\n"},
		{BOUNDED(",\"min\":500", ",\"min\":100000000"), NULL},
		/* No MiB above the maximum. */
		{BOUNDED(",\"max\":40", ",\"max\":1000448"),
		 "cpu: 40m\n            memory: 977Ki\n"},
		/* A minimum of the limit raises no request. */
		{BOUNDED(",\"min\":600", ",\"min\":2147483648"), NULL},
		/* Less than 10 % off, before the target is rounded to MiB. */
		{WEB("web-0", "\"request\":100,\"limit\":200,\"target\":109",
		     "\"request\":5242880,\"limit\":10485760,\"target\":5662310") "\"qos_class\":"
										  "\"Burstable\"}",
		 NULL},
		/* Pods with different bounds: the highest minimum, the lowest maximum. */
		{BOUNDED(",\"min\":100,\"max\":300", "") "," BOUNDED(",\"min\":200,\"max\":400",
								     ""),
		 "cpu: 200m\n            memory: 10Mi\n"},
		{BOUNDED(",\"min\":200", "") "," BOUNDED(",\"max\":150", ",\"min\":20971520"),
		 "cpu: 150m\n            memory: 20Mi\n"},
	};
	char text[2048];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN(drop_free) char *patch = NULL;

		snprintf(text, sizeof text, NODE("n", "%s"), cases[i].answer);
		patch = patch_of(text);
		CHECK(cases[i].want != NULL ? strstr(patch, cases[i].want) != NULL
					    : strstr(patch, "requests:") == NULL);
	}
}

/* Limit and request are equal, and not below the minimum. */
TEST(patch_guaranteed_bounds)
{
	static const char want[] = "          requests:\n            cpu: 400m\n"
				   "            memory: 200Mi\n"
				   "          limits:\n            cpu: 400m\n"
				   "            memory: 200Mi\n";
	OWN(drop_free)
	char *patch = patch_of(
		NODE("n", WEB("web-0", "\"request\":500,\"original\":500,\"peak\":200,\"min\":400",
			      "\"request\":104857600,\"original\":104857600,\"peak\":52428800,"
			      "\"min\":209715200") "\"qos_class\":\"Guaranteed\","
						   "\"trust_permille\":1000}"));

	CHECK(strstr(patch, want) != NULL);
	CHECK(strchr(patch, '#') == NULL);
}

/* The answer of an agent without the QoS class: no request below an equal limit. */
TEST(patch_unknown_class)
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

#define WEB_FILE "shop_Deployment_web.yaml"

/* A file for each workload, replaced by the next run, which keeps what stays. A file that it has
 * not written is an error. */
TEST(directory)
{
	static const struct {
		const char *answer, *foreign; /* written by another before */
		int want;
		const char *file, *text;
	} cases[] = {
		{two_nodes, NULL, CTL_OK, WEB_FILE, "cpu: 100m\n            memory: 1Mi\n"},
		{two_nodes, NULL, CTL_OK, "kustomization.yaml",
		 "\npatches:\n- path: infra_DaemonSet_log.yaml\n"
		 "  target: {kind: DaemonSet, name: \"log\"}\n- path: " WEB_FILE},
		{NODE("n", WEB("web-0", "\"request\":100,\"target\":105",
			       "\"request\":1048576,\"target\":8388608") "\"oom_kills\":0}"),
		 NULL, CTL_OK, WEB_FILE, "cpu: 100m\n            memory: 8Mi\n"},
		{NODE("n", WEB("web-0", "\"request\":100,\"limit\":200,\"original\":100",
			       "") "\"qos_class\":\"Burstable\"}"),
		 NULL, CTL_OK, WEB_FILE, "          limits:\n            cpu: 100m\n"},
		{two_nodes, WEB_FILE, CTL_ERROR, WEB_FILE, "mine"},
		{two_nodes, "kustomization.yaml", CTL_ERROR, "kustomization.yaml", "mine"},
	};
	char dir[] = "/tmp/vscaled-patches-XXXXXX", path[128], text[1024];

	CHECK(mkdtemp(dir) != NULL && chdir(dir) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN(drop_json) cJSON *report = summed(cases[i].answer, NULL);
		OWN(drop_free) char *said = NULL;
		size_t size;
		struct ctl c = {
			.out = stdout, .err = open_memstream(&said, &size), .output_dir = "sizes"};
		FILE *f;

		snprintf(path, sizeof path, "sizes/%s", cases[i].foreign ? cases[i].foreign : "");
		f = cases[i].foreign != NULL ? fopen(path, "we") : NULL;
		CHECK(f == NULL || (fputs("mine", f) >= 0 && fclose(f) == 0));
		CHECK_EQ(report_patch(&c, report), cases[i].want);
		fclose(c.err);
		CHECK_EQ(said[0] != '\0', cases[i].want == CTL_ERROR);
		snprintf(path, sizeof path, "sizes/%s", cases[i].file);
		f = fopen(path, "re");
		CHECK(f != NULL);
		text[fread(text, 1, sizeof text - 1, f)] = '\0';
		fclose(f);
		CHECK(strstr(text, cases[i].text) != NULL);
	}
	snprintf(text, sizeof text, "rm -r %s", dir);
	CHECK_EQ(system(text), 0);
}

/* A pod without a controller has no template: that is said, and so is a kind that is not known.
 * What an agent may answer instead of a name stands in no patch. */
TEST(no_template)
{
	static const struct {
		const char *workload, *says;
	} rows[] = {
		{"web\",", "shop/web: no patch: it has no controller\n"},
		{"web\",\"owner\":\"Rollout\",", "shop/web: no patch for its kind, Rollout\n"},
		{"a\\\"b\",\"owner\":\"Deployment\",", "shop/a\"b: no patch: it is no name"},
		{"../x\",\"owner\":\"Deployment\",", "shop/../x: no patch: it is no name"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(drop_free) char *said = NULL;
		OWN(drop_json) cJSON *report = NULL;
		char answer[512];
		size_t size;
		struct ctl c = {.out = stdout, .err = open_memstream(&said, &size)};

		snprintf(answer, sizeof answer,
			 NODE("n", "{\"namespace\":\"shop\",\"workload\":\"%s"
				   "\"container\":\"c\",\"cpu\":{\"request\":100,"
				   "\"target\":200},\"memory\":{}}"),
			 rows[i].workload);
		report = summed(answer, NULL);
		CHECK_EQ(report_patch(&c, report), CTL_OK);
		fclose(c.err);
		CHECK(strstr(said, rows[i].says) != NULL);
	}
}
