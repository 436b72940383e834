// SPDX-License-Identifier: Apache-2.0
/* Rules for pods in the configuration: what they select, which value wins, what is refused. */
#include "test/agent/annotation_rule.h"
#include "test/check.h"
#include <errno.h>
#include <unistd.h>

#define HEAD "apiVersion: " CONFIG_API_VERSION "\nkind: " CONFIG_KIND "\n"
#define ALL  "3 down cpu 0-0 memory 0-0 controlled 0"

static int load(const char *pods, struct config *ret, struct config_errors *errs)
{
	char text[2048];
	int r;

	snprintf(text, sizeof text, HEAD "%s\n", pods);
	*errs = (struct config_errors){0};
	r = config_load_text("f", text, strlen(text), ret, errs);
	if (r < 0)
		return r;
	r = annotation_check_config(ret, "f", errs);
	if (r < 0)
		config_free(ret);
	return r;
}

static void load_good(const char *pods, struct config *ret)
{
	struct config_errors errs;

	if (load(pods, ret, &errs) == 0)
		return;
	CHECK_STR(errs.text[0], "");
	exit(check_result());
}

/* --- what a rule selects --- */

static const struct {
	const char *match, *namespace, *labels, *owner;
	bool want;
} selected[] = {
	{"{namespace: shop}", "shop", NULL, NULL, true},
	{"{namespace: shop}", "shop-2", NULL, NULL, false},
	{"{namespace: \"shop*\"}", "shop-2", NULL, NULL, true},
	{"{namespace: [a, \"team-?\"]}", "team-b", NULL, NULL, true},
	{"{namespace: [a, \"team-?\"]}", "b", NULL, NULL, false},
	{"{labels: app=web}", "a", "app=web", NULL, true},
	{"{labels: app=web}", "a", "tier=front,app=web,x=y", NULL, true},
	{"{labels: app=web}", "a", "app=web2", NULL, false},
	{"{labels: app=web}", "a", "my-app=web", NULL, false},
	{"{labels: app=web}", "a", NULL, NULL, false},
	{"{labels: [app=web, tier=]}", "a", "app=web,tier=", NULL, true},
	{"{labels: [app=web, tier=front]}", "a", "app=web,tier=back", NULL, false},
	{"{labels: {app.kubernetes.io/name: web, tier: front}}", "a",
	 "tier=front,app.kubernetes.io/name=web", NULL, true},
	{"{labels: {app.kubernetes.io/name: web, tier: front}}", "a", "tier=front", NULL, false},
	{"{owner: Deployment}", "a", NULL, "Deployment", true},
	{"{owner: Deployment}", "a", NULL, "StatefulSet", false},
	{"{owner: [Job, CronJob]}", "a", NULL, "CronJob", true},
	{"{owner: Deployment}", "a", NULL, NULL, false},
	{"{namespace: \"*\", labels: a=b, owner: Job}", "x", "a=b", "Job", true},
	{"{namespace: y, labels: a=b, owner: Job}", "x", "a=b", "Job", false},
};

TEST(selected)
{
	for (size_t i = 0; i < ARRAY_SIZE(selected); i++) {
		struct kube_pod pod = {.namespace = (char *)selected[i].namespace,
				       .labels = (char *)selected[i].labels,
				       .owner = (char *)selected[i].owner};
		struct config c;
		const struct annotation_input in = {&c, &pod, NULL, false, false};
		char text[512];

		snprintf(text, sizeof text, "pods: [{match: %s, mode: Auto}]", selected[i].match);
		load_good(text, &c);
		CHECK_EQ(annotation_opted_in(&in), selected[i].want);
		if (annotation_opted_in(&in) != selected[i].want)
			fprintf(stderr, "\t%s\n", selected[i].match);
		config_free(&c);
	}
}

/* --- which value wins --- */

static const char *text_of(const struct container_rule *r)
{
	static char text[256];

	snprintf(text, sizeof text, "%s%s %u %s cpu %llu-%llu memory %llu-%llu controlled %d%s%s%s",
		 mode_name(r->rule.mode), r->in_place_or_recreate ? "*" : "", r->rule.resources,
		 r->rule.scale_down ? "down" : "up", (unsigned long long)r->rule.cpu_milli.min,
		 (unsigned long long)r->rule.cpu_milli.max,
		 (unsigned long long)(r->rule.mem_bytes.min / MIB),
		 (unsigned long long)(r->rule.mem_bytes.max / MIB), (int)r->controlled,
		 r->named ? "" : " unnamed", r->rule.boost.after_usec != 0 ? " boost" : "",
		 r->allow_restart ? " restart" : "");
	if (r->has_rollout)
		snprintf(text + strlen(text), sizeof text - strlen(text), " rollout %u",
			 r->rollout_percent);
	return text;
}

#define SHOP   "pods: [{match: {namespace: shop}, "
#define APP(x) "{\"containerPolicies\":[{\"containerName\":\"app\"," x "}]}"

static const struct {
	const char *config;
	struct kube_annotation a[4]; /* of shop/web-0 */
	int verdict;
	const char *want; /* of the container app */
} wins[] = {
	{"", .verdict = -ENOENT, .want = "Off 0 up cpu 0-0 memory 0-0 controlled 0 unnamed"},
	{SHOP "mode: Auto}]", .want = "Auto " ALL},
	{SHOP "mode: InPlaceOrRecreate}]", .want = "Auto* " ALL},
	/* A rule without a mode opts no pod in; its other keys apply to pods that opt in. */
	{SHOP "max-cpu: 2}]", .verdict = -ENOENT,
	 .want = "Off 0 up cpu 0-0 memory 0-0 controlled 0 unnamed"},
	{SHOP "max-cpu: 2}]", .a = {{"mode", "Auto"}},
	 .want = "Auto 3 down cpu 0-2000 memory 0-0 controlled 0"},
	/* The first entry that matches, alone. */
	{SHOP "mode: Initial}, {match: {namespace: \"*\"}, mode: Auto, max-cpu: 2}]",
	 .want = "Initial " ALL},
	/* All keys of an annotation. */
	{SHOP "mode: Auto, resources: [memory], controlled-values: RequestsOnly, min-memory: 64Mi, "
	      "max-memory: 1Gi, scale-down: false, allow-restart: true, startup-boost: 2x 30s}]",
	 .want = "Auto 2 up cpu 0-0 memory 64-1024 controlled 2 boost restart"},
	{SHOP "mode: Auto, rollout: 25%}]", .want = "Auto " ALL " rollout 25"},
	/* The pod wins, key by key. */
	{SHOP "mode: Auto, rollout: 25%}]", .a = {{"rollout", "100%"}}, .want = "Auto " ALL},
	{SHOP "mode: Auto, rollout: 25%}]", .a = {{"rollout", "0%"}},
	 .want = "Auto " ALL " rollout 0"},
	{SHOP "mode: Auto, rollout: 25%}]", .a = {{"mode", "Off"}}, .want = "Off " ALL},
	{SHOP "mode: Auto}]", .a = {{"mode", "Off"}}, .want = "Off " ALL},
	{SHOP "mode: Off}]", .a = {{"mode", "Auto"}}, .want = "Auto " ALL},
	{SHOP "mode: InPlaceOrRecreate}]", .a = {{"mode", "Auto"}}, .want = "Auto " ALL},
	{SHOP "mode: Auto, resources: cpu, controlled-values: RequestsOnly, scale-down: false, "
	      "allow-restart: true}]",
	 .a = {{"resources", "both"},
	       {"controlled-values", "LimitsOnly"},
	       {"scale-down", "true"},
	       {"allow-restart", "false"}},
	 .want = "Auto " ALL},
	{SHOP "mode: Auto, max-cpu: 2, min-memory: 64Mi}]",
	 .a = {{"max-cpu", "none"}, {"min-memory", "32Mi"}},
	 .want = "Auto 3 down cpu 0-0 memory 32-0 controlled 0"},
	/* The other bound of the rule becomes the pod's. */
	{SHOP "mode: Auto, max-cpu: 2, min-memory: 64Mi}]",
	 .a = {{"min-cpu", "3"}, {"max-memory", "32Mi"}},
	 .want = "Auto 3 down cpu 3000-3000 memory 32-32 controlled 0"},
	/* The pod's policy wins over explicit keys of the rule, and these over the rule's. */
	{SHOP "mode: Auto, max-cpu: 2, containers: \"*\", controlled-values: RequestsOnly}]",
	 .a = {{"policy", APP("\"maxAllowed\":{\"cpu\":\"4\"}")}},
	 .want = "Auto 3 down cpu 0-4000 memory 0-0 controlled 2"},
	{SHOP "mode: Auto, max-cpu: 2, policy: '" APP("\"maxAllowed\":{\"cpu\":\"4\"}") "'}]",
	 .want = "Auto 3 down cpu 0-2000 memory 0-0 controlled 0"},
	{SHOP "mode: Auto, containers: app}]", .a = {{"policy", APP("\"mode\":\"Off\"")}},
	 .want = "Auto " ALL " unnamed"},
	{SHOP "mode: Auto, containers: [log, sidecar]}]", .want = "Auto " ALL " unnamed"},
	{SHOP "mode: Auto, containers: log}]", .a = {{"containers", "app"}}, .want = "Auto " ALL},
	/* Without the pod's own mode, what is wrong with its annotations counts as well. */
	{SHOP "mode: Auto}]", .a = {{"max-cpu", "much"}}, .verdict = -EINVAL, .want = "Off " ALL},
	/* The administrator's bounds win over both. */
	{"kubernetes: {highestMode: Initial, maxCpu: 1, minMemory: 1Gi}\n" SHOP
	 "mode: Auto, max-cpu: 2, max-memory: 64Mi}]",
	 .want = "Initial 3 down cpu 0-1000 memory 1024-1024 controlled 0"},
	/* Weaker than the rule: the defaults. */
	{"defaults: {max-cpu: 4, scale-down: false}\n" SHOP "mode: Auto, max-cpu: none}]",
	 .want = "Auto 3 up cpu 0-0 memory 0-0 controlled 0"},
};

TEST(wins)
{
	for (size_t i = 0; i < ARRAY_SIZE(wins); i++) {
		struct kube_pod pod = {.namespace = (char *)"shop",
				       .annotations = (struct kube_annotation *)wins[i].a};
		struct annotation_error err;
		struct container_rule rule;
		struct config c;

		while (pod.annotation_count < ARRAY_SIZE(wins[i].a) &&
		       wins[i].a[pod.annotation_count].key != NULL)
			pod.annotation_count++;
		load_good(wins[i].config, &c);
		CHECK_EQ(annotation_rule(&(struct annotation_input){&c, &pod, NULL, false, false},
					 "app", &rule, &err),
			 wins[i].verdict);
		CHECK_STR(text_of(&rule), wins[i].want);
		config_free(&c);
	}
}

#define WRONG "namespace shop: vscaled.dev/"

/* Between the pod and the rule. What is wrong with it freezes what is sized, unless the pod has the
 * key itself; nothing else is sized. */
static const struct {
	const char *config;
	struct kube_annotation ns[4], pod;
	int verdict;
	const char *want, *wrong;
	enum mode frozen;
} namespaces[] = {
	{"", {{"mode", "Auto"}}, .want = "Auto " ALL},
	{"", {{"mode", "Auto"}}, .pod = {"mode", "Off"}, .want = "Off " ALL},
	{"", {{"mode", "Off"}}, .pod = {"mode", "Auto"}, .want = "Auto " ALL},
	{SHOP "mode: Auto}]", {{"mode", "Off"}}, .want = "Off " ALL},
	{SHOP "max-cpu: 2, max-memory: 64Mi}]",
	 {{"mode", "Initial"}, {"max-cpu", "3"}},
	 .pod = {"min-memory", "128Mi"},
	 .want = "Initial 3 down cpu 0-3000 memory 128-128 controlled 0"},
	{"kubernetes: {highestMode: Off}", {{"mode", "Auto"}}, .want = "Off " ALL},
	/* No mode anywhere. */
	{"",
	 {{"max-cpu", "3"}},
	 .verdict = -ENOENT,
	 .want = "Off 0 up cpu 0-0 memory 0-0 controlled 0 unnamed"},
	{"",
	 {{"mode", "Auto"}, {"max-cpu", "much"}, {"max-memory", "1Gi"}},
	 .verdict = -EINVAL,
	 .want = "Off 3 down cpu 0-0 memory 0-1024 controlled 0",
	 .wrong = WRONG
	 "max-cpu: \"much\" is not valid; allowed: an amount of CPU from 10m to 100k, or none",
	 .frozen = MODE_AUTO},
	{"",
	 {{"mode", "Auto"}, {"max-cpu", "much"}},
	 .pod = {"max-cpu", "2"},
	 .want = "Auto 3 down cpu 0-2000 memory 0-0 controlled 0"},
	{"",
	 {{"mode", "Off"}, {"mod", "Auto"}},
	 .verdict = -EINVAL,
	 .want = "Off " ALL,
	 .wrong = WRONG "mod is unknown; did you mean vscaled.dev/mode?"},
	/* What it was meant to be is not known: the rule's mode does not count. */
	{SHOP "mode: Off}]",
	 {{"mode", "On"}},
	 .verdict = -EINVAL,
	 .want = "Off " ALL,
	 .wrong = WRONG
	 "mode: \"On\" is not valid; allowed: Off, Initial, Auto or InPlaceOrRecreate, in any case",
	 .frozen = MODE_AUTO},
	{"kubernetes: {highestMode: Off}",
	 {{"mode", "On"}},
	 .verdict = -EINVAL,
	 .want = "Off " ALL,
	 .wrong = WRONG
	 "mode: \"On\" is not valid; allowed: Off, Initial, Auto or InPlaceOrRecreate, in any "
	 "case"},
	{"",
	 {{"mode", "Auto"}, {"min-cpu", "3"}, {"max-cpu", "2"}, {"scale-down", "false"}},
	 .verdict = -EINVAL,
	 .want = "Off 3 up cpu 0-0 memory 0-0 controlled 0",
	 .wrong = WRONG "min-cpu (3) is above max-cpu (2) of container *; allowed: at most that",
	 .frozen = MODE_AUTO},
};

TEST(namespaces)
{
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		struct kube_namespace ns = {(char *)"shop",
					    (struct kube_annotation *)namespaces[i].ns, 0};
		struct kube_pod pod = {
			.namespace = (char *)"shop",
			.annotations = (struct kube_annotation *)&namespaces[i].pod,
			.annotation_count = namespaces[i].pod.key != NULL,
		};
		struct annotation_error err;
		struct container_rule rule;
		struct config c;

		while (ns.annotation_count < ARRAY_SIZE(namespaces[i].ns) &&
		       namespaces[i].ns[ns.annotation_count].key != NULL)
			ns.annotation_count++;
		load_good(namespaces[i].config, &c);
		CHECK_EQ(annotation_rule(&(struct annotation_input){&c, &pod, &ns, false, false},
					 "app", &rule, &err),
			 namespaces[i].verdict);
		CHECK_STR(text_of(&rule), namespaces[i].want);
		CHECK_STR(err.text, namespaces[i].wrong != NULL ? namespaces[i].wrong : "");
		CHECK_EQ(rule.frozen_mode, namespaces[i].frozen);
		config_free(&c);
	}
}

TEST(sources)
{
	struct kube_annotation own[] = {{(char *)"max-cpu", (char *)"1"},
					{(char *)"status", (char *)"{}"}};
	struct kube_pod pod = {
		.namespace = (char *)"shop", .annotations = own, .annotation_count = 2};
	struct kube_annotation of_namespace[] = {{(char *)"max-cpu", (char *)"3"},
						 {(char *)"resources", (char *)"memory"}};
	const struct kube_namespace ns = {(char *)"shop", of_namespace, 2};
	struct annotation_source got[4];
	OWN(config_free) struct config c;
	struct annotation_input in = {&c, &pod, NULL, false, false};

	load_good(SHOP "mode: Auto,\n  max-cpu: 2, resources: [cpu]}]", &c);
	CHECK_EQ(annotation_sources(&in, got, 4), 3);
	CHECK_STR(got[0].key, "max-cpu");
	CHECK_STR(got[0].value, "1");
	CHECK(got[0].rule == NULL);
	CHECK_STR(got[1].key, "mode");
	CHECK(got[1].rule == &c.pods[0]);
	CHECK_STR(got[2].value, "cpu");
	CHECK_STR(c.pods[0].file, "f");
	CHECK_EQ(c.pods[0].line, 3);
	CHECK_EQ(annotation_sources(&in, got, 2), 2);
	in.namespace = &ns;
	CHECK_EQ(annotation_sources(&in, got, 4), 3);
	CHECK_STR(got[0].value, "1");
	CHECK_STR(got[1].value, "memory");
	CHECK(got[1].namespace == &ns && got[1].rule == NULL);
	CHECK(got[2].rule == &c.pods[0]);
}

/* --- what is refused --- */

#define MATCHES "allowed: a section with one or more of namespace, labels, owner"

static const struct {
	const char *config, *message;
} refused[] = {
	{"pods: all", "f:3: pods: a single value; allowed: a list of sections with match"},
	{"pods: [all]", "f:3: pods[0]: a single value; allowed: a section that begins with match"},
	{"pods: [{mode: Auto}]", "f:3: pods[0].match: missing; " MATCHES},
	{"pods: [{match: {}, mode: Auto}]", "f:3: pods[0].match: empty; " MATCHES},
	{"pods: [{match: shop}]", "f:3: pods[0].match: a single value; " MATCHES},
	{"pods: [{match: {name: shop}}]", "f:3: pods[0].match.name: unknown key; " MATCHES},
	{"pods: [{match: {namespace: []}}]",
	 "f:3: pods[0].match.namespace: \"a list\" is not valid; allowed: a namespace or glob, or "
	 "a list of them"},
	{"pods: [{match: {namespace: Shop}}]",
	 "f:3: pods[0].match.namespace: \"Shop\" is not valid; allowed: a namespace or glob, or a "
	 "list of them"},
	{"pods: [{match: {namespace: [a, [b]]}}]",
	 "f:3: pods[0].match.namespace: \"a list\" is not valid; allowed: a namespace or glob, or "
	 "a list of them"},
	{"pods:\n- match:\n    labels: [a=b, app]",
	 "f:5: pods[0].match.labels: \"app\" is not valid; allowed: key=value, a list of them, or "
	 "a section with key: value"},
	{"pods: [{match: {labels: {app: \"a b\"}}}]",
	 "f:3: pods[0].match.labels: \"a b\" is not valid; allowed: key=value, a list of them, or "
	 "a section with key: value"},
	{"pods: [{match: {owner: deployment}}]",
	 "f:3: pods[0].match.owner: \"deployment\" is not valid; allowed: a kind as Deployment, "
	 "StatefulSet, DaemonSet, CronJob, or a list of them"},
	{SHOP "\n  Mode: Auto}]",
	 "f:4: pods[0].Mode: unknown key; allowed: match, or an annotation"},
	{SHOP "\n  max-cpus: 2}]",
	 "f:4: pods[0].max-cpus: vscaled.dev/max-cpus is unknown; did you mean "
	 "vscaled.dev/max-cpu?"},
	{SHOP "mode: Auto},\n  {match: {owner: Job},\n   mode: Of}]",
	 "f:5: pods[1].mode: \"Of\" is not valid; allowed: Off, Initial, Auto or InPlaceOrRecreate,"
	 " in any case"},
	{SHOP "max-cpu: 1m}]",
	 "f:3: pods[0].max-cpu: \"1m\" is out of range; allowed: an amount of CPU from 10m to "
	 "100k, or none"},
	{SHOP "mode: }]",
	 "f:3: pods[0].mode: \"\" is not valid; allowed: the value of the annotation "
	 "vscaled.dev/mode"},
	{SHOP "policy: {containerPolicies: []}}]",
	 "f:3: pods[0].policy: \"a section\" is not valid; allowed: the value of the annotation "
	 "vscaled.dev/policy"},
	{SHOP "policy: \"{\"}]", "f:3: pods[0].policy: byte 1: a string was expected"},
	{SHOP "status: x}]", "f:3: pods[0].status: is written by vscaled; allowed: remove it"},
	{SHOP "pod-budget: Resize}]",
	 "f:3: pods[0].pod-budget: counts on a pod itself alone; allowed: remove it"},
	{SHOP "min-cpu: 3, max-cpu: 2}]",
	 "f:3: pods[0]: vscaled.dev/min-cpu (3) is above max-cpu (2) of container *; "
	 "allowed: at most that"},
};

TEST(refused)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct config_errors errs;
		struct config c;

		CHECK_EQ(load(refused[i].config, &c, &errs), -EBADMSG);
		CHECK_EQ(errs.count, 1);
		CHECK_STR(errs.text[0], refused[i].message);
	}
}

/* The configuration as shown can be loaded again, with the same result. */
TEST(dump)
{
	OWN(drop_free) char *first = NULL, *second = NULL;
	struct config c, again;
	struct config_errors errs = {0};
	cJSON *tree;

	load_good("pods:\n- match: {namespace: [a, \"b*\"], labels: {x: y}, owner: Job}\n"
		  "  mode: Auto\n  containers: [app, -log]\n- match: {owner: Job}\n",
		  &c);
	tree = config_dump_json(&c);
	first = cJSON_PrintUnformatted(tree);
	cJSON_Delete(tree);
	CHECK(strstr(first, "\"pods\":[{\"match\":{\"namespace\":[\"a\",\"b*\"],\"labels\":"
			    "[\"x=y\"],\"owner\":[\"Job\"]},\"mode\":\"Auto\",\"containers\":"
			    "\"app,-log\"},{\"match\":{\"owner\":[\"Job\"]}}]") != NULL);
	CHECK_EQ(config_load_text("f", first, strlen(first), &again, &errs), 0);
	tree = config_dump_json(&again);
	second = cJSON_PrintUnformatted(tree);
	cJSON_Delete(tree);
	CHECK_STR(second, first);
	config_free(&again);
	config_free(&c);
}

/* A file is read and its rules are checked at once; *ret stays as it is when it is wrong. */
TEST(file)
{
	char path[] = "/tmp/vscaled-rules-XXXXXX";
	struct config c = {.unit_count = 77};
	struct config_errors errs = {0};
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	dprintf(fd, HEAD SHOP "mode: On}]\n");
	CHECK_EQ(annotation_load_config(path, &c, &errs), -EBADMSG);
	CHECK_EQ(c.unit_count, 77);
	CHECK_EQ(errs.count, 1);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	dprintf(fd, HEAD SHOP "mode: Auto}]\n");
	errs = (struct config_errors){0};
	CHECK_EQ(annotation_load_config(path, &c, &errs), 0);
	CHECK_EQ(c.pod_rule_count, 1);
	config_free(&c);
	close(fd);
	unlink(path);
}
