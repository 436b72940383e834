// SPDX-License-Identifier: Apache-2.0
/*
 * Annotations, a "key=value" in each line; "+key=value" is one of a rule of the configuration that
 * was not checked, "@key=value" one of the namespace. A rule keeps to the administrator's bounds
 * whatever they say, a refusal is Off and says why in printable text, and every container gets the
 * same verdict.
 */
#include "test/agent/annotation_rule.h"
#include "test/fuzz/fuzz.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX 16
#define INPUT_MAX 65536

static void require_of(int truth, const char *what, const char *text)
{
	if (truth)
		return;
	fprintf(stderr, "%s: %s\n", what, text);
	abort();
}

static void check_range(const struct range *r, const struct range *admin)
{
	require_of(r->min >= admin->min && r->max <= admin->max && r->max > 0, "beyond", "bounds");
	require_of(r->min <= r->max, "minimum above", "maximum");
}

static int check_rule(const struct annotation_input *in, const char *container)
{
	struct annotation_error err;
	struct container_rule rule;
	int r = annotation_rule(in, container, &rule, &err);

	require_of(memchr(err.text, '\0', sizeof err.text) != NULL, "no end", "of the error");
	for (const char *p = err.text; *p != '\0'; p++)
		require_of(isprint((unsigned char)*p), "control byte", err.text);
	if (r == -ENOENT || r == -ENOMEM)
		return r;
	require_of((r == 0) == (err.text[0] == '\0'), "verdict and words", err.text);
	require_of(r == 0 || rule.rule.mode == MODE_OFF, "refused and not Off", err.text);
	require_of(r < 0 || rule.frozen_mode == MODE_OFF, "frozen without", "a mistake");
	require_of(MAX(rule.rule.mode, rule.frozen_mode) <= in->config->kubernetes.highest_mode,
		   "beyond", "highest mode");
	require_of(!rule.has_rollout || (MAX(rule.rule.mode, rule.frozen_mode) != MODE_OFF &&
					 rule.rollout_percent < 100),
		   "rollout of", "none or all");
	check_range(&rule.rule.cpu_milli, &in->config->kubernetes.cpu_milli);
	check_range(&rule.rule.mem_bytes, &in->config->kubernetes.mem_bytes);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c;
	struct kube_annotation list[LINES_MAX];
	struct config_pod_key keys[LINES_MAX];
	struct config_pod_rule by_rule = {.keys = keys};
	struct kube_pod pod = {.namespace = (char *)"shop", .annotations = list};
	struct kube_annotation defaults[LINES_MAX];
	struct kube_namespace ns = {.name = (char *)"shop", .annotations = defaults};
	const struct annotation_input in = {&c, &pod, &ns, true, false};
	OWN(drop_free) char *text = malloc(size + 1);
	char *rest = text, *line;
	int r;

	if (size > INPUT_MAX || config_default(&c) < 0)
		return 0;
	c.kubernetes.highest_mode = MODE_INITIAL;
	c.kubernetes.cpu_milli = (struct range){100, 4000};
	c.kubernetes.mem_bytes = (struct range){64 * MIB, GIB};
	c.pods = &by_rule;
	c.pod_rule_count = 1;
	memcpy(text, data, size);
	text[size] = '\0';
	while (pod.annotation_count < LINES_MAX && by_rule.key_count < LINES_MAX &&
	       ns.annotation_count < LINES_MAX && (line = strsep(&rest, "\n")) != NULL) {
		char *key = strsep(&line, "=");

		if (line != NULL && key[0] == '+')
			keys[by_rule.key_count++] = (struct config_pod_key){key + 1, line, 1};
		else if (line != NULL && key[0] == '@')
			defaults[ns.annotation_count++] = (struct kube_annotation){key + 1, line};
		else if (line != NULL)
			list[pod.annotation_count++] = (struct kube_annotation){key, line};
	}
	r = check_rule(&in, "app");
	require_of(check_rule(&in, "other") == r, "another verdict", "for another container");
	c.pods = NULL;
	c.pod_rule_count = 0;
	config_free(&c);
	return 0;
}
