// SPDX-License-Identifier: Apache-2.0
/*
 * What is written about the control API and vscalectl against what they are: every path, every JSON
 * key, every command and option, in both directions.
 */
#include "agent/control_api/control_api.h"
#include "agent/ctl/ctl.h"
#include "fake_control.h"
#include "test/check.h"
#include <ctype.h>

#define API_PAGE "docs/control-api.md"
#define MAN_PAGE "docs/vscalectl.1.scd"
#define SHELL    "agent/ctl/vscalectl.bash-completion"
#define KEYS_MAX 64

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	CHECK(f && getdelim(&text, &size, EOF, f) > 0);
	if (f)
		fclose(f);
	return text ? text : strdup("");
}

/* The text between a heading and the next. Owned. */
static char *section(const char *page, const char *title)
{
	char heading[64];
	const char *start, *end;

	snprintf(heading, sizeof(heading), "\n## %s\n", title);
	start = strstr(page, heading);
	if (!start) {
		fprintf(stderr, "no section %s\n", title);
		CHECK(start != NULL);
		return strdup("");
	}
	start += strlen(heading);
	end = strstr(start, "\n## ");
	return end ? strndup(start, (size_t)(end - start)) : strdup(start);
}

static unsigned count_rows(const char *text, const char *start_of_row)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, start_of_row)); at++)
		n++;
	return n;
}

/* A key of a section: "- `key`, `key`*: meaning"; the mark says that the list of units has it too.
 */
struct listed {
	const char *at;
	size_t len;
	bool brief;
};

/* The keys that begin the items of the section, and their number. */
static unsigned listed_keys(const char *text, struct listed *ret, unsigned max)
{
	unsigned n = 0;

	for (const char *item = text; (item = strstr(item, "\n- `")) != NULL;) {
		item += strlen("\n- ");
		for (;;) {
			size_t len = strcspn(item + 1, "`");
			const char *after = item + len + 2;

			CHECK(n < max);
			if (n < max)
				ret[n++] = (struct listed){item + 1, len, *after == '*'};
			item = after + (*after == '*');
			if (strncmp(item, ", `", 3) != 0)
				break;
			item += 2;
		}
	}
	return n;
}

static const struct listed *find_key(const struct listed *keys, unsigned n, const char *key)
{
	for (unsigned i = 0; i < n; i++)
		if (strlen(key) == keys[i].len && memcmp(keys[i].at, key, keys[i].len) == 0)
			return &keys[i];
	return NULL;
}

/* The section lists exactly the keys of object, and marks those of brief (NULL: no marks). */
static void check_marked(const char *page, const char *title, const cJSON *object,
			 const cJSON *brief)
{
	char *text = section(page, title);
	struct listed keys[KEYS_MAX];
	unsigned n = listed_keys(text, keys, KEYS_MAX), expected = 0;
	const cJSON *item;

	cJSON_ArrayForEach (item, object) {
		const struct listed *k = find_key(keys, n, item->string);
		bool is_brief = brief != NULL && cJSON_HasObjectItem(brief, item->string);

		expected++;
		if (k == NULL || k->brief != is_brief)
			fprintf(stderr, "%s: `%s` is missing or wrongly marked under %s\n",
				API_PAGE, item->string, title);
		CHECK(k != NULL && k->brief == is_brief);
	}
	CHECK(expected > 0);
	CHECK_EQ(n, expected);
	free(text);
}

static void check_keys(const char *page, const char *title, const cJSON *object)
{
	check_marked(page, title, object, NULL);
}

/* Every state of a report has its sentence. */
static void check_states(const char *page)
{
	char *text = section(page, "Report");
	char quoted[40];

	for (int i = 0; i < REPORT_VIEW_STATE_COUNT; i++) {
		snprintf(quoted, sizeof(quoted), "`%s`:", report_view_state_names[i]);
		CHECK(strstr(text, quoted) != NULL);
	}
	free(text);
}

static void test_keys(const char *page)
{
	char *text = read_text("test/agent/control_fixture.json");
	cJSON *all = cJSON_Parse(text), *cluster = view_cluster(&(struct cluster_view){0});
	const cJSON *units = cJSON_GetObjectItem(all, "explained");
	const cJSON *w = cJSON_GetArrayItem(units, 0), *b = cJSON_GetArrayItem(units, 1);
	const cJSON *a = cJSON_GetArrayItem(units, 4);
	const cJSON *brief = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "units"), 0);
	const cJSON *cpu, *memory, *pod;

	pod = cJSON_GetObjectItem(a, "kubernetes");
	check_keys(page, "Container", pod);
	check_keys(page, "Report", cJSON_GetObjectItem(pod, "report"));
	check_keys(page, "Boost", cJSON_GetObjectItem(cJSON_GetObjectItem(a, "cpu"), "boost"));
	check_keys(page, "Spec", cJSON_GetObjectItem(pod, "memory"));
	check_keys(page, "Annotation",
		   cJSON_GetArrayItem(cJSON_GetObjectItem(pod, "annotations"), 0));
	check_states(page);
	cpu = cJSON_GetObjectItem(w, "cpu");
	memory = cJSON_GetObjectItem(b, "memory");
	check_keys(page, "Status", cJSON_GetObjectItem(all, "status"));
	check_keys(page, "Cluster", cluster);
	check_keys(page, "Bound", cJSON_GetArrayItem(cJSON_GetObjectItem(cpu, "bounds"), 0));
	check_keys(page, "Decision", cJSON_GetObjectItem(cpu, "last"));
	check_keys(page, "Trial", cJSON_GetObjectItem(memory, "trial"));
	check_keys(page, "Counters", cJSON_GetObjectItem(cpu, "counters"));
	check_marked(page, "Unit", w, brief);
	check_marked(page, "Resource", cpu, cJSON_GetObjectItem(brief, "cpu"));
	cJSON_Delete(cluster);
	cJSON_Delete(all);
	free(text);
}

static void test_routes(const char *page)
{
	char *text = section(page, "Paths");
	char row[96];

	for (size_t i = 0; i < CONTROL_ROUTE_COUNT; i++) {
		const struct http_route *route = &control_routes[i];
		size_t fixed = strcspn(route->pattern, "*");

		snprintf(row, sizeof(row), "| %s | `%.*s%s` |", route->method, (int)fixed,
			 route->pattern, route->pattern[fixed] ? "NAME" : "");
		if (!strstr(text, row))
			fprintf(stderr, "%s: no row for %s\n", API_PAGE, row);
		CHECK(strstr(text, row) != NULL);
	}
	CHECK_EQ(count_rows(text, "\n| GET |") + count_rows(text, "\n| POST |"),
		 CONTROL_ROUTE_COUNT);
	free(text);
}

static void test_results(const char *page)
{
	struct listed keys[KEYS_MAX];
	char *text = section(page, "Result");
	char quoted[40];

	for (int i = 0; i < RESTORE_OUTCOME_COUNT; i++) {
		snprintf(quoted, sizeof(quoted), "`%s`:", restore_outcome_names[i]);
		CHECK(strstr(text, quoted) != NULL);
	}
	CHECK_EQ(listed_keys(text, keys, KEYS_MAX), 3);
	free(text);
}

/* Whether a word stands there with no letter or dash on either side. */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++) {
		bool starts = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '-');

		if (starts && !isalnum((unsigned char)at[length]) && at[length] != '-')
			return true;
	}
	return false;
}

static void test_commands(const char *man, const char *shell)
{
	for (const struct ctl_command *k = ctl_commands; k->name != NULL; k++) {
		const char *name = k->name;
		const char *last = strrchr(name, ' ');
		char entry[64];

		snprintf(entry, sizeof(entry), "\n*%s*", name);
		CHECK(strstr(man, entry) != NULL);
		CHECK(has_word(shell, last ? last + 1 : name));
	}
}

/* The long options are those that help prints. */
static void test_options(const char *man, const char *shell)
{
	char *argv[] = {"vscalectl", "help", NULL};
	char *help = NULL, *save = NULL;
	unsigned options = 0;
	struct ctl c;
	size_t size;

	ctl_default(&c, ctl_commands);
	c.config = "/nonexistent";
	c.out = open_memstream(&help, &size);
	CHECK_EQ(ctl_main(&c, 2, argv), CTL_OK);
	fclose(c.out);
	for (char *line = strtok_r(help, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char option[40];

		if (sscanf(line, "  %39[-a-z] ", option) != 1 || strncmp(option, "--", 2) != 0)
			continue;
		options++;
		if (!has_word(man, option) || !has_word(shell, option))
			fprintf(stderr, "%s is not written about everywhere\n", option);
		CHECK(has_word(man, option) && has_word(shell, option));
	}
	CHECK(options >= 10);
	free(help);
	/* A full disk is no success, whatever was asked for. */
	for (size_t i = 0; i < 3; i++) {
		argv[1] = (char *[]){"help", "--help", "--version"}[i];
		ctl_default(&c, ctl_commands);
		c.config = "/nonexistent";
		c.out = fopen("/dev/full", "we");
		CHECK_EQ(ctl_main(&c, 2, argv), CTL_ERROR);
		fclose(c.out);
	}
}

int main(void)
{
	char *page = read_text(API_PAGE), *man = read_text(MAN_PAGE), *shell = read_text(SHELL);

	test_routes(page);
	test_keys(page);
	test_results(page);
	test_commands(man, shell);
	test_options(man, shell);
	free(page);
	free(man);
	free(shell);
	return check_result();
}
