// SPDX-License-Identifier: Apache-2.0
/* Annotations to rules: the meaning of each, their precedence, and the errors of invalid ones. */
#include "test/agent/annotation_rule.h"
#include "test/check.h"
#include <ctype.h>
#include <errno.h>

#define MAX_ANNOTATIONS 6

struct pod_text {
	const char *key, *value;
};

static int rule_of(const struct config *c, const struct pod_text *a, const char *container,
		   struct container_rule *ret, struct annotation_error *err)
{
	struct kube_annotation list[MAX_ANNOTATIONS];
	struct kube_pod pod = {.annotations = list};

	while (pod.annotation_count < MAX_ANNOTATIONS && a[pod.annotation_count].key != NULL) {
		list[pod.annotation_count].key = (char *)a[pod.annotation_count].key;
		list[pod.annotation_count].value = (char *)a[pod.annotation_count].value;
		pod.annotation_count++;
	}
	return annotation_rule(&(struct annotation_input){c, &pod, NULL, false, false}, container,
			       ret, err);
}

static const char *text_of(const struct container_rule *r)
{
	static char text[256];

	snprintf(text, sizeof text,
		 "%s%s %u %s cpu %llu-%llu memory %llu-%llu controlled %d%s%s%s%s%s%s",
		 mode_name(r->rule.mode), r->in_place_or_recreate ? "*" : "", r->rule.resources,
		 r->rule.scale_down ? "down" : "up", (unsigned long long)r->rule.cpu_milli.min,
		 (unsigned long long)r->rule.cpu_milli.max,
		 (unsigned long long)(r->rule.mem_bytes.min / MIB),
		 (unsigned long long)(r->rule.mem_bytes.max / MIB), (int)r->controlled,
		 r->named ? "" : " unnamed", r->rule.boost.after_usec != 0 ? " boost" : "",
		 r->allow_restart ? " restart" : "", r->not_autoscaled ? " alone" : "",
		 r->rule.goal == GOAL_LATENCY ? " goal" : "", r->has_rollout ? " rollout" : "");
	if (r->rule.cpu_percentile_permille != 0 || r->rule.mem_margin_permille != 0)
		snprintf(text + strlen(text), sizeof text - strlen(text),
			 " percentile %u margin %u", r->rule.cpu_percentile_permille,
			 r->rule.mem_margin_permille);
	if (r->has_rollout)
		snprintf(text + strlen(text), sizeof text - strlen(text), " %u",
			 r->rollout_percent);
	return text;
}

#define ALL   "3 down cpu 0-0 memory 0-0 controlled 0"
#define AUTO  {"mode", "Auto"}
#define CP(x) "{\"containerPolicies\":[" x "]}"

static const struct {
	struct pod_text a[MAX_ANNOTATIONS];
	const char *container; /* NULL: app */
	const char *want;
} good[] = {
	{{AUTO}, .want = "Auto " ALL},
	{{{"mode", "off"}}, .want = "Off " ALL},
	{{{"mode", "INITIAL"}}, .want = "Initial " ALL},
	{{{"mode", "inplaceorrecreate"}}, .want = "Auto* " ALL},
	{{AUTO, {"resources", "cpu"}}, .want = "Auto 1 down cpu 0-0 memory 0-0 controlled 0"},
	{{AUTO, {"resources", "memory, cpu"}}, .want = "Auto " ALL},
	{{AUTO, {"resources", "Both"}}, .want = "Auto " ALL},
	{{AUTO, {"controlled-values", "RequestsAndLimits"}},
	 .want = "Auto 3 down cpu 0-0 memory 0-0 controlled 1"},
	{{AUTO, {"controlled-values", "requestsonly"}},
	 .want = "Auto 3 down cpu 0-0 memory 0-0 controlled 2"},
	{{AUTO,
	  {"min-cpu", "100m"},
	  {"max-cpu", "2"},
	  {"min-memory", "64Mi"},
	  {"max-memory", "1Gi"}},
	 .want = "Auto 3 down cpu 100-2000 memory 64-1024 controlled 0"},
	{{AUTO, {"scale-down", "false"}}, .want = "Auto 3 up cpu 0-0 memory 0-0 controlled 0"},
	{{AUTO, {"startup-boost", "2x 30s"}, {"goal", "latency"}},
	 .want = "Auto " ALL " boost goal"},
	{{AUTO, {"cpu-percentile", "99.5%"}, {"memory-margin", "30%"}},
	 .want = "Auto " ALL " percentile 995 margin 300"},
	{{AUTO, {"cpu-percentile", "none"}}, .want = "Auto " ALL},
	{{AUTO, {"startup-boost", "+500m 1m30s"}}, .want = "Auto " ALL " boost"},
	{{AUTO, {"allow-restart", "True"}}, .want = "Auto " ALL " restart"},
	{{AUTO, {"allow-restart", "false"}}, .want = "Auto " ALL},
	{{AUTO, {"autoscaled", "false"}}, .want = "Auto " ALL " alone"},
	{{AUTO, {"autoscaled", "True"}}, .want = "Auto " ALL},
	{{AUTO, {"rollout", "25%"}}, .want = "Auto " ALL " rollout 25"},
	{{AUTO, {"rollout", "0%"}}, .want = "Auto " ALL " rollout 0"},
	{{AUTO, {"rollout", "100%"}}, .want = "Auto " ALL},
	{{{"mode", "Off"}, {"rollout", "25%"}}, .want = "Off " ALL},
	{{AUTO, {"status", "{anything"}}, .want = "Auto " ALL},
	/* containers */
	{{AUTO, {"containers", "app"}}, .want = "Auto " ALL},
	{{AUTO, {"containers", "app"}}, .want = "Auto " ALL " unnamed", .container = "log"},
	{{AUTO, {"containers", "-istio-proxy"}}, .want = "Auto " ALL},
	{{AUTO, {"containers", "-istio-proxy"}},
	 .want = "Auto " ALL " unnamed",
	 .container = "istio-proxy"},
	{{AUTO, {"containers", "app , -istio-proxy"}}, .want = "Auto " ALL},
	{{AUTO, {"containers", "app,-istio-proxy"}},
	 .want = "Auto " ALL " unnamed",
	 .container = "log"},
	{{AUTO, {"containers", "*,-log"}}, .want = "Auto " ALL},
	{{AUTO, {"containers", "*,-log"}}, .want = "Auto " ALL " unnamed", .container = "log"},
	/* policy */
	{{AUTO, {"policy", "{}"}}, .want = "Auto " ALL},
	{{AUTO, {"policy", CP("{\"containerName\":\"app\",\"mode\":\"Off\"}")}},
	 .want = "Auto " ALL " unnamed"},
	{{AUTO, {"policy", CP("{\"containerName\":\"app\",\"mode\":\"Off\"}")}},
	 .want = "Auto " ALL,
	 .container = "log"},
	{{AUTO,
	  {"policy", CP("{\"containerName\":\"*\",\"mode\":\"Off\"},{\"containerName\":\"app\"}")}},
	 .want = "Auto " ALL},
	{{AUTO,
	  {"policy", CP("{\"containerName\":\"*\",\"mode\":\"Off\"},{\"containerName\":\"app\"}")}},
	 .want = "Auto " ALL " unnamed",
	 .container = "log"},
	{{AUTO,
	  {"policy", CP("{\"containerName\":\"app\",\"minAllowed\":{\"cpu\":\"5m\",\"memory\":"
			"\"50Mi\"},\"maxAllowed\":{\"cpu\":1,\"memory\":\"500Mi\"},"
			"\"controlledResources\":[\"memory\"],"
			"\"controlledValues\":\"RequestsOnly\"}")}},
	 .want = "Auto 2 down cpu 10-1000 memory 50-500 controlled 2"},
	{{AUTO, {"policy", CP("{\"containerName\":\"app\",\"controlledResources\":[]}")}},
	 .want = "Auto " ALL " unnamed"},
	/* the keys win over policy */
	{{AUTO,
	  {"policy", CP("{\"containerName\":\"app\",\"minAllowed\":{\"cpu\":\"50m\"},"
			"\"maxAllowed\":{\"cpu\":\"1\"},\"controlledResources\":[\"cpu\"],"
			"\"controlledValues\":\"RequestsOnly\"}")},
	  {"max-cpu", "2"},
	  {"resources", "memory"},
	  {"controlled-values", "LimitsOnly"}},
	 .want = "Auto 2 down cpu 50-2000 memory 0-0 controlled 0"},
	{{AUTO,
	  {"policy", CP("{\"containerName\":\"app\",\"maxAllowed\":{\"cpu\":\"1\"}}")},
	  {"max-cpu", "none"}},
	 .want = "Auto " ALL},
	{{AUTO,
	  {"policy", CP("{\"containerName\":\"app\",\"mode\":\"Off\"}")},
	  {"containers", "app"}},
	 .want = "Auto " ALL},
	{{AUTO,
	  {"policy", CP("{\"containerName\":\"*\",\"mode\":\"Off\"}")},
	  {"containers", "-log"}},
	 .want = "Auto " ALL " unnamed"},
	{{AUTO, {"policy", CP("{\"containerName\":\"*\",\"mode\":\"Off\"}")}, {"containers", "*"}},
	 .want = "Auto " ALL},
};

static void test_good(const struct config *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct annotation_error err;
		struct container_rule rule;

		CHECK_OK(rule_of(c, good[i].a, good[i].container ? good[i].container : "app", &rule,
				 &err));
		CHECK_STR(err.text, "");
		CHECK_STR(text_of(&rule), good[i].want);
	}
}

static const struct {
	struct pod_text a[MAX_ANNOTATIONS];
	const char *want;
} bad[] = {
	{{{"mode", "On"}},
	 "vscaled.dev/mode: \"On\" is not valid; allowed: Off, Initial, Auto or InPlaceOrRecreate, "
	 "in any case"},
	{{{"mode", ""}}, "vscaled.dev/mode: \"\" is not valid; allowed: Off, Initial"},
	{{AUTO, {"rollout", "25"}},
	 "vscaled.dev/rollout: \"25\" is not valid; allowed: a share from 0% to 100%"},
	{{AUTO, {"rollout", "101%"}}, "vscaled.dev/rollout: \"101%\" is out of range"},
	{{AUTO, {"rollout", "-1%"}}, "vscaled.dev/rollout: \"-1%\" is not valid"},
	{{AUTO, {"rollout", "2.5%"}}, "vscaled.dev/rollout: \"2.5%\" is not valid"},
	{{AUTO, {"rollout", "0025%"}}, "vscaled.dev/rollout: \"0025%\" is not valid"},
	{{AUTO, {"rollout", "%"}}, "vscaled.dev/rollout: \"%\" is not valid"},
	{{AUTO, {"max-cpus", "1"}},
	 "vscaled.dev/max-cpus is unknown; did you mean vscaled.dev/max-cpu?"},
	{{AUTO, {"Resource", "1"}},
	 "vscaled.dev/Resource is unknown; did you mean vscaled.dev/resources?"},
	{{AUTO, {"min-memroy", "1"}},
	 "vscaled.dev/min-memroy is unknown; did you mean vscaled.dev/min-memory?"},
	{{AUTO, {"resources", "cpu,cpu"}},
	 "vscaled.dev/resources: \"cpu,cpu\" is not valid; allowed: cpu,"},
	{{AUTO, {"resources", "gpu"}}, "vscaled.dev/resources: \"gpu\" is not valid"},
	{{AUTO, {"resources", ""}}, "vscaled.dev/resources: \"\" is not valid"},
	{{AUTO, {"controlled-values", "Limits"}},
	 "vscaled.dev/controlled-values: \"Limits\" is not valid"},
	{{AUTO, {"min-cpu", "1x"}},
	 "vscaled.dev/min-cpu: \"1x\" is not valid; allowed: an amount of CPU from 10m to 100k, or "
	 "none"},
	{{AUTO, {"min-cpu", "5m"}},
	 "vscaled.dev/min-cpu: \"5m\" is out of range; allowed: an amount"},
	{{AUTO, {"max-cpu", "-1"}}, "vscaled.dev/max-cpu: \"-1\" is not valid"},
	{{AUTO, {"max-memory", "1"}},
	 "vscaled.dev/max-memory: \"1\" is out of range; allowed: an amount "
	 "of memory from 1Mi to 1Pi, or none"},
	{{AUTO, {"max-memory", "99999999999999999999E"}},
	 "vscaled.dev/max-memory: \"99999999999999999999E\" is out of range"},
	{{AUTO, {"min-cpu", "2"}, {"max-cpu", "1"}},
	 "vscaled.dev/min-cpu (2) is above max-cpu (1) of container *; allowed: at most that"},
	{{AUTO,
	  {"min-memory", "2Gi"},
	  {"policy", CP("{\"containerName\":\"log\",\"maxAllowed\":{\"memory\":\"1Gi\"}}")}},
	 "vscaled.dev/min-memory (2Gi) is above max-memory (1Gi) of container log; allowed"},
	{{AUTO, {"containers", ""}}, "vscaled.dev/containers: \"\" is not valid"},
	{{AUTO, {"containers", "a,,b"}}, "vscaled.dev/containers: \"a,,b\" is not valid"},
	{{AUTO, {"containers", "../x"}}, "vscaled.dev/containers: \"../x\" is not valid"},
	{{AUTO, {"scale-down", "yes"}},
	 "vscaled.dev/scale-down: \"yes\" is not valid; allowed: true or"},
	{{AUTO, {"startup-boost", "2x"}}, "vscaled.dev/startup-boost: \"2x\" is not valid"},
	{{AUTO, {"startup-boost", "0x 1s"}}, "vscaled.dev/startup-boost: \"0x 1s\" is not valid"},
	{{AUTO, {"startup-boost", "101x 1s"}},
	 "vscaled.dev/startup-boost: \"101x 1s\" is not valid"},
	{{AUTO, {"startup-boost", "+1x 30 s"}},
	 "vscaled.dev/startup-boost: \"+1x 30 s\" is not valid"},
	{{AUTO, {"goal", "fast"}},
	 "vscaled.dev/goal: \"fast\" is not valid; allowed: savings, balanced or"},
	{{AUTO, {"cpu-percentile", "0.99"}}, "vscaled.dev/cpu-percentile: \"0.99\" is not valid"},
	{{AUTO, {"cpu-percentile", "49.9%"}},
	 "vscaled.dev/cpu-percentile: \"49.9%\" is out of range; allowed: a percentage from 50% "
	 "to"},
	{{AUTO, {"memory-margin", "0%"}}, "vscaled.dev/memory-margin: \"0%\" is out of range"},
	{{AUTO, {"policy", "x"}}, "vscaled.dev/policy: byte 0: a value was expected"},
	{{AUTO, {"policy", "[]"}}, "vscaled.dev/policy: not an object"},
	{{AUTO, {"policy", "{\"containerPolicys\":[]}"}},
	 "vscaled.dev/policy: \"containerPolicys\" is unknown or not supported"},
	{{AUTO, {"policy", CP("{}")}},
	 "vscaled.dev/policy: containerPolicies[0].containerName: allowed: a container's name, or "
	 "*"},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\"},{\"containerName\":\"a\"}")}},
	 "vscaled.dev/policy: containerPolicies[1].containerName: \"a\" twice"},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\",\"mode\":\"On\"}")}},
	 "vscaled.dev/policy: containerPolicies[0].mode: allowed: Auto, Off"},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\",\"minAllowed\":{\"cpu\":\"x\"}}")}},
	 "vscaled.dev/policy: containerPolicies[0].minAllowed.cpu: \"x\" is not a quantity"},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\",\"mode\":\"Off\",\"mode\":\"Auto\"}")}},
	 "vscaled.dev/policy: containerPolicies[0].mode: given twice"},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\",\"minAllowed\":{\"gpu\":\"1\"}}")}},
	 "vscaled.dev/policy: containerPolicies[0].minAllowed: \"gpu\" is unknown or not "
	 "supported"},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\",\"maxAllowed\":{\"cpu\":\"1M\"}}")}},
	 "vscaled.dev/policy: containerPolicies[0].maxAllowed.cpu: too large; allowed: at most "
	 "100000"},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\",\"controlledValues\":\"x\"}")}},
	 "vscaled.dev/policy: containerPolicies[0].controlledValues: allowed: RequestsAndLimits, "},
	{{AUTO, {"policy", CP("{\"containerName\":\"a\",\"controlledResources\":[\"gpu\"]}")}},
	 "vscaled.dev/policy: containerPolicies[0].controlledResources[0]: neither cpu nor memory"},
	/* tenants' text: short, and without anything a terminal or a log would act on */
	{{{"mode", "\x1b[2J\n\"\\\xff"}},
	 "vscaled.dev/mode: \"\\x1b[2J\\x0a\\\"\\\\\\xff\" is not valid"},
	{{{"mode",
	   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}},
	 "vscaled.dev/mode: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" is not valid; allowed: "
	 "Off"},
	{{AUTO, {"a\nb", "x"}}, "vscaled.dev/a\\x0ab is unknown; did you mean"},
};

static void test_bad(const struct config *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct annotation_error err;
		struct container_rule rule;

		CHECK_EQ(rule_of(c, bad[i].a, "app", &rule, &err), -EINVAL);
		if (strncmp(err.text, bad[i].want, strlen(bad[i].want)) != 0)
			CHECK_STR(err.text, bad[i].want);
		CHECK_EQ(rule.rule.mode, MODE_OFF);
		for (const char *p = err.text; *p != '\0'; p++)
			CHECK(isprint((unsigned char)*p));
	}
}

/* What is sized already stays so, unless an annotation that can be read says Off. */
static void test_frozen(const struct config *c)
{
	static const struct {
		struct pod_text a[MAX_ANNOTATIONS];
		const char *error; /* the beginning */
		enum mode frozen;
	} rows[] = {
		{{AUTO, {"mod", "Auto"}}, "vscaled.dev/mod is unknown", MODE_AUTO},
		{{{"mod", "Auto"}}, "vscaled.dev/mod is unknown", MODE_AUTO},
		{{{"Mode", "Off"}}, "vscaled.dev/Mode is unknown", MODE_AUTO},
		{{{"mode", "Of"}}, "vscaled.dev/mode: \"Of\" is not valid", MODE_AUTO},
		{{{"mode", "Initial"}, {"goal", "x"}}, "vscaled.dev/goal: \"x\"", MODE_INITIAL},
		{{{"mode", "Off"}, {"mod", "Auto"}}, "vscaled.dev/mod is unknown", MODE_OFF},
		{{{"mod", "Auto"}, {"mode", "Off"}}, "vscaled.dev/mod is unknown", MODE_OFF},
		{{{"node", "Auto"}, {"mode", "Auto"}}, "vscaled.dev/node is unknown", MODE_AUTO},
		/* Its containers are app and log. */
		{{AUTO, {"containers", "ap"}},
		 "vscaled.dev/containers: ap is no container of the pod; the first of it is app",
		 MODE_AUTO},
		{{AUTO, {"containers", "ap,-log"}}, "vscaled.dev/containers: ap is no", MODE_AUTO},
		{{AUTO, {"containers", "log,ap"}}, "vscaled.dev/containers: ap is no", MODE_AUTO},
		{{AUTO,
		  {"policy", "{\"containerPolicies\":[{\"containerName\":\"ap\"},"
			     "{\"containerName\":\"*\",\"mode\":\"Off\"}]}"}},
		 "vscaled.dev/policy: ap is no container of the pod",
		 MODE_AUTO},
		{{AUTO, {"containers", "log,*,-ap"}}, "", MODE_OFF},
		{{AUTO, {"containers", "-app"}}, "", MODE_OFF},
		{{{"max-cpu", "x"}}, NULL, MODE_OFF},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_annotation own[MAX_ANNOTATIONS];
		struct kube_container containers[] = {{.name = (char *)"app"},
						      {.name = (char *)"log"}};
		struct kube_pod pod = {.namespace = (char *)"shop",
				       .annotations = own,
				       .containers = containers,
				       .container_count = 2};
		struct annotation_error err;
		struct container_rule rule;
		int r;

		for (size_t n = 0; n < MAX_ANNOTATIONS && rows[i].a[n].key != NULL; n++)
			own[pod.annotation_count++] = (struct kube_annotation){
				(char *)rows[i].a[n].key, (char *)rows[i].a[n].value};
		r = annotation_rule(&(struct annotation_input){c, &pod, NULL, true, false}, "app",
				    &rule, &err);
		CHECK_EQ(r, rows[i].error == NULL ? -ENOENT : rows[i].error[0] ? -EINVAL : 0);
		if (rows[i].error != NULL &&
		    strncmp(err.text, rows[i].error, strlen(rows[i].error)) != 0)
			CHECK_STR(err.text, rows[i].error);
		CHECK_EQ(rule.frozen_mode, rows[i].frozen);
		CHECK(r == 0 || rule.rule.mode == MODE_OFF);
	}
}

static void test_absent(const struct config *c)
{
	static const struct pod_text none[] = {{NULL, NULL}},
				     status[] = {{"status", "x"}, {NULL, NULL}},
				     slip[] = {{"Mode", "Auto"}, {NULL, NULL}};
	struct annotation_error err;
	struct container_rule rule;

	CHECK_EQ(rule_of(c, none, "app", &rule, &err), -ENOENT);
	CHECK_STR(err.text, "");
	CHECK_EQ(rule_of(c, status, "app", &rule, &err), -ENOENT);
	CHECK_STR(err.text, "");
	CHECK_EQ(rule_of(c, slip, "app", &rule, &err), -ENOENT);
	CHECK_STR(err.text, "");
	CHECK(rule.rule.mode == MODE_OFF && !rule.named);
}

/* Longer than what is read, though well-formed. */
static void test_long_policy(const struct config *c)
{
	static char policy[20000] = "{\"containerPolicies\":[]";
	const struct pod_text a[] = {AUTO, {"policy", policy}, {NULL, NULL}};
	struct annotation_error err;
	struct container_rule rule;
	size_t n = strlen(policy);

	memset(policy + n, ' ', sizeof policy - n - 2);
	policy[sizeof policy - 2] = '}';
	CHECK_EQ(rule_of(c, a, "app", &rule, &err), -EINVAL);
	CHECK_STR(err.text, "vscaled.dev/policy: longer than the 16384 bytes that are read");
}

/* The administrator's configuration, and the result for a pod with Auto, 100m..2, 64Mi..1Gi. */
static const struct {
	const char *text;
	const char *want;
	const char *silent; /* of a pod that only says Auto */
} admins[] = {
	{"kubernetes: {maxCpu: 4, minMemory: 32Mi}",
	 "Auto 3 down cpu 100-2000 memory 64-1024 controlled 0",
	 "Auto 3 down cpu 0-4000 memory 32-0 controlled 0"},
	{"kubernetes: {maxCpu: 1}", "Auto 3 down cpu 100-1000 memory 64-1024 controlled 0",
	 "Auto 3 down cpu 0-1000 memory 0-0 controlled 0"},
	{"kubernetes: {minCpu: 3}", "Auto 3 down cpu 3000-3000 memory 64-1024 controlled 0",
	 "Auto 3 down cpu 3000-0 memory 0-0 controlled 0"},
	{"kubernetes: {maxCpu: 50m}", "Auto 3 down cpu 50-50 memory 64-1024 controlled 0",
	 "Auto 3 down cpu 0-50 memory 0-0 controlled 0"},
	{"kubernetes: {maxMemory: 512Mi, minMemory: 128Mi}",
	 "Auto 3 down cpu 100-2000 memory 128-512 controlled 0",
	 "Auto 3 down cpu 0-0 memory 128-512 controlled 0"},
	{"kubernetes: {highestMode: Initial}",
	 "Initial 3 down cpu 100-2000 memory 64-1024 controlled 0", "Initial " ALL},
	/* defaults apply only where the pod has no annotation */
	{"defaults: {min-cpu: 50m, max-cpu: 1, resources: cpu, scale-down: false}",
	 "Auto 1 up cpu 100-2000 memory 64-1024 controlled 0",
	 "Auto 1 up cpu 50-1000 memory 0-0 controlled 0"},
	{"defaults: {min-memory: 2Gi}", "Auto 3 down cpu 100-2000 memory 64-1024 controlled 0",
	 "Auto 3 down cpu 0-0 memory 2048-0 controlled 0"},
};

TEST(admin)
{
	static const struct pod_text pod[] = {AUTO,
					      {"min-cpu", "100m"},
					      {"max-cpu", "2"},
					      {"min-memory", "64Mi"},
					      {"max-memory", "1Gi"},
					      {NULL, NULL}};
	static const struct pod_text silent[] = {AUTO, {NULL, NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(admins); i++) {
		struct config_errors errs = {0};
		struct annotation_error err;
		struct container_rule rule;
		struct config c;
		char text[512];

		snprintf(text, sizeof text,
			 "apiVersion: " CONFIG_API_VERSION "\nkind: " CONFIG_KIND "\n%s\n",
			 admins[i].text);
		CHECK_EQ(config_load_text("f", text, strlen(text), &c, &errs), 0);
		if (errs.count > 0) {
			fprintf(stderr, "\t%s\n", errs.text[0]);
			continue;
		}
		CHECK_EQ(rule_of(&c, pod, "app", &rule, &err), 0);
		CHECK_STR(text_of(&rule), admins[i].want);
		CHECK_EQ(rule_of(&c, silent, "app", &rule, &err), 0);
		CHECK_STR(text_of(&rule), admins[i].silent);
		config_free(&c);
	}
}

/* The pod's bound overrides the default of the opposite bound. */
TEST(pod_overrides_defaults)
{
	static const struct pod_text pod[] = {
		AUTO, {"max-memory", "64Mi"}, {"min-cpu", "3"}, {NULL, NULL}};
	struct annotation_error err;
	struct container_rule rule;
	OWN(config_free) struct config c;

	CHECK_EQ(config_default(&c), 0);
	c.defaults.mem_bytes.min = GIB;
	c.defaults.cpu_milli.max = 1000;
	CHECK_EQ(rule_of(&c, pod, "app", &rule, &err), 0);
	CHECK_STR(text_of(&rule), "Auto 3 down cpu 3000-3000 memory 64-64 controlled 0");
}

int main(void)
{
	struct config c;

	CHECK_EQ(config_default(&c), 0);
	test_good(&c);
	test_bad(&c);
	test_frozen(&c);
	test_absent(&c);
	test_long_policy(&c);
	config_free(&c);
	check_run();
	return check_result();
}
