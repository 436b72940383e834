// SPDX-License-Identifier: Apache-2.0
/*
 * docs/annotations.md against the table of keys. The part between the marks is generated:
 * VSCALED_REGEN=1 writes it anew, without it a difference is a failure. And what the table says in
 * words must be true of the parser.
 */
#include "agent/annotation/annotation.h"
#include "agent/config/config_table.h"
#include "test/check.h"
#include <errno.h>

#define PAGE  "docs/annotations.md"
#define BEGIN "<!-- keys -->\n"
#define END   "<!-- end of keys -->\n"

static char *read_page(void)
{
	char *text = calloc(1, 1 << 18);
	FILE *f = fopen(PAGE, "re");

	if (f == NULL || fread(text, 1, (1 << 18) - 1, f) == 0)
		fprintf(stderr, PAGE ": cannot be read\n");
	if (f != NULL)
		fclose(f);
	return text;
}

static void generate(FILE *f)
{
	fputs("| Key | Values | Default | Meaning |\n|---|---|---|---|\n", f);
	for (size_t i = 0; i < annotation_key_count; i++) {
		const struct annotation_key *k = &annotation_keys[i];

		fprintf(f, "| `%s` | %s | %s | %s |\n", k->key, k->values, k->fallback, k->doc);
	}
}

static void check_page(void)
{
	OWN(drop_free) char *have = read_page(), *want = NULL;
	char *begin = strstr(have, BEGIN), *end = strstr(have, END);
	size_t len;
	FILE *f;

	CHECK(begin != NULL && end != NULL && begin < end);
	if (begin == NULL || end == NULL)
		return;
	f = open_memstream(&want, &len);
	fprintf(f, "%.*s", (int)(begin - have) + (int)strlen(BEGIN), have);
	generate(f);
	fputs(end, f);
	fclose(f);
	if (getenv("VSCALED_REGEN") != NULL) {
		f = fopen(PAGE, "we");
		CHECK(f != NULL && fputs(want, f) >= 0 && fclose(f) == 0);
		return;
	}
	if (strcmp(have, want) != 0)
		fprintf(stderr, PAGE " is not what the table says; VSCALED_REGEN=1 mends it\n");
	CHECK(strcmp(have, want) == 0);
}

/* The bounds in words are those of the configuration's keys of the same name. */
static void check_bounds(void)
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
static void check_config_keys(void)
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
static void check_example(void)
{
	static const char mark[] = "vscaled.dev/policy: |\n";
	OWN(drop_free) char *text = read_page();
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
	CHECK_EQ(annotation_rule(&c, &pod, "app", &rule, &err), 0);
	CHECK_STR(err.text, "");
	CHECK(rule.named);
	CHECK_EQ(rule.rule.cpu_milli.min, 100);
	CHECK_EQ(rule.rule.mem_bytes.max, 2 * GIB);
	CHECK_EQ(annotation_rule(&c, &pod, "log", &rule, &err), 0);
	CHECK(!rule.named);
	config_free(&c);
}

int main(void)
{
	check_page();
	check_bounds();
	check_config_keys();
	check_example();
	return check_result();
}
