// SPDX-License-Identifier: Apache-2.0
/*
 * docs/annotations.md against the table of keys. What the table says in words must be true of the
 * parser. The members of vscaled.dev/status against what is written.
 */
#include "agent/base/json.h"
#include "agent/config/config_table.h"
#include "agent/kube/report/reporter.h"
#include "test/agent/annotation_rule.h"
#include "test/agent/doc_page.h"
#include <cjson/cJSON.h>
#include <errno.h>

#define PAGE "docs/annotations.md"

static void generate(FILE *f)
{
	for (size_t i = 0; i < annotation_key_count; i++) {
		const struct annotation_key *k = &annotation_keys[i];

		fprintf(f, "- `%s` (%s; default: %s): %s\n", k->key, k->values, k->fallback,
			k->doc);
	}
}

TEST(check_page)
{
	page_check(PAGE, "<!-- keys -->\n", "<!-- end of keys -->\n", generate);
}

/* The bounds in words are those of the configuration's keys of the same name. */
TEST(check_bounds)
{
	static const char *const keys[] = {"min-cpu", "max-cpu", "min-memory", "max-memory"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct config_key *k =
			config_key_find(config_rule_keys, config_rule_key_count, keys[i]);
		const char *words = NULL;
		char low[16], high[16];
		struct policy_rule rule;
		char wider[32];

		for (size_t j = 0; j < annotation_key_count; j++)
			if (strcmp(annotation_keys[j].key, keys[i]) == 0)
				words = strstr(annotation_keys[j].values, " from ");
		CHECK(k != NULL && words != NULL &&
		      sscanf(words, " from %15[0-9a-zA-Z] to %15[0-9a-zA-Z]", low, high) == 2);
		if (k == NULL || words == NULL)
			continue;
		CHECK(config_value_set(k, low, &rule) == 0 &&
		      config_value_number(k, &rule) == k->min);
		CHECK(config_value_set(k, high, &rule) == 0 &&
		      config_value_number(k, &rule) == k->max);
		snprintf(wider, sizeof wider, "1%s", high);
		CHECK_EQ(config_value_set(k, wider, &rule), -ERANGE);
	}
}

/* Every key that a unit's rule must refuse is one of ours, and the other way round. */
TEST(check_config_keys)
{
	for (size_t i = 0; i < annotation_key_count; i++) {
		const char *key = annotation_keys[i].key;
		bool known = config_key_find(config_rule_keys, config_rule_key_count, key) != NULL;

		for (size_t j = 0; config_pod_keys[j] != NULL; j++)
			known = known || strcmp(config_pod_keys[j], key) == 0;
		if (!known)
			fprintf(stderr, "%s: add it to config_rule_keys or to config_pod_keys\n",
				key);
		CHECK(known);
	}
}

/* What the page shows as a policy is one. */
TEST(check_example)
{
	static const char mark[] = "vscaled.dev/policy: |\n";
	OWN(drop_free) char *text = page_read(PAGE);
	char *policy = strstr(text, mark), *end;
	struct kube_annotation list[] = {{(char *)"mode", (char *)"Auto"},
					 {(char *)"policy", NULL}};
	struct kube_pod pod = {.annotations = list, .annotation_count = 2};
	struct annotation_error err;
	struct container_rule rule;
	struct config c;

	CHECK(policy != NULL);
	if (policy == NULL)
		return;
	list[1].value = policy + strlen(mark);
	end = strstr(policy, "```");
	CHECK(end != NULL);
	if (end == NULL)
		return;
	*end = '\0';
	CHECK_EQ(config_default(&c), 0);
	CHECK_OK(annotation_rule(&(struct annotation_input){&c, &pod, NULL, false, false}, "app",
				 &rule, &err));
	CHECK_STR(err.text, "");
	CHECK(rule.named);
	CHECK_EQ(rule.rule.cpu_milli.min, 100);
	CHECK_EQ(rule.rule.mem_bytes.max, 2 * GIB);
	CHECK_OK(annotation_rule(&(struct annotation_input){&c, &pod, NULL, false, false}, "log",
				 &rule, &err));
	CHECK(!rule.named);
	config_free(&c);
}

/* The members of o have an item each: "- `prefix + name`: ". Returns their number. */
static unsigned check_rows(const char *text, const char *prefix, const cJSON *o)
{
	const cJSON *item;
	unsigned n = 0;
	char row[96];

	cJSON_ArrayForEach (item, o) {
		snprintf(row, sizeof row, "\n- `%s%s`: ", prefix, item->string);
		if (strstr(text, row) == NULL)
			fprintf(stderr, PAGE ": no item `%s%s`\n", prefix, item->string);
		CHECK(strstr(text, row) != NULL);
		n++;
	}
	return n;
}

/* A status annotation with all its members, of one container and one resource. Owned. */
static cJSON *whole_status(void)
{
	struct kube_container container = {.name = (char *)"app"};
	struct kube_pod pod = {.containers = &container, .container_count = 1};
	struct reporter_view *v = calloc(1, sizeof *v);
	OWN(drop_free) char *text = NULL;

	*v = (struct reporter_view){.pod = &pod,
				    .mode = "Auto",
				    .invalid = "vscaled.dev/mod is unknown",
				    .changed_real = USEC_PER_SEC};
	v->facts.container_count = 1;
	v->level = RESOURCES_BOTH;
	v->target[0][RESOURCE_CPU] = 850;
	v->published[0].samples = 1;
	v->containers[0].resource[RESOURCE_CPU] = (struct report_resource){
		.managed = true,
		.held = 900,
		.spec_limit = 900,
		.original_limit = 500,
		.spec_request = 400,
		.original_request = 250,
	};
	text = reporter_status_text(v, 12, "exceeded quota");
	free(v);
	return cJSON_Parse(text);
}

TEST(check_status)
{
	OWN(drop_free) char *page = page_read(PAGE);
	OWN(drop_json) cJSON *root = whole_status(), *list = NULL;
	const char *text = strstr(page, "\n## The status annotation\n");
	unsigned members, rows = 0;
	const cJSON *resource;

	CHECK(root != NULL && text != NULL);
	if (root == NULL || text == NULL)
		return;
	list = cJSON_DetachItemFromObjectCaseSensitive(root, "containers");
	resource = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(list, "app"),
						    "cpu");
	CHECK(resource != NULL);
	members = check_rows(text, "", root);
	members += check_rows(text, "containers.NAME.RESOURCE.", resource);
	for (const char *at = text; (at = strstr(at, "\n- `")) != NULL; at++)
		rows++;
	CHECK_EQ(rows, members);
}
