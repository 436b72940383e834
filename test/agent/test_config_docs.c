// SPDX-License-Identifier: Apache-2.0
/*
 * The reference page and the man page against the table of keys. The part between the marks is
 * generated: VSCALED_REGEN=1 writes it anew, without it a difference is a failure.
 */
#include "agent/config_table.h"
#include "test/check.h"
#include <stdbool.h>
#include <unistd.h>

#define AT_START " Read at the start only."

struct page {
	const char *path;
	const char *begin;
	const char *end;
	void (*section)(FILE *f, const char *name);
	void (*row)(FILE *f, const struct config_key *k, const char *name);
	void (*after)(FILE *f);
};

/* Docs are written with `code`; scdoc knows *bold* for that, and a _ inside a word is plain. */
static void put_scdoc(FILE *f, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '`')
			putc('*', f);
		else if (*text == '_' || *text == '*')
			fprintf(f, "\\%c", *text);
		else
			putc(*text, f);
}

static const char *fallback_of(const struct config_key *k)
{
	static char text[128];

	if (k->fallback == NULL)
		return k->builtin;
	snprintf(text, sizeof text, "`%s`", k->fallback);
	return text;
}

static void markdown_section(FILE *f, const char *name)
{
	fprintf(f, "\n### `%s`\n\n| Key | Default | Allowed | Meaning |\n|---|---|---|---|\n",
		name);
}

static void markdown_row(FILE *f, const struct config_key *k, const char *name)
{
	char allowed[CONFIG_ERROR_TEXT_MAX];

	fprintf(f, "| `%s` | %s | %s | %s%s |\n", name, fallback_of(k),
		config_value_allowed(k, allowed, sizeof allowed), k->doc,
		k->at_start ? AT_START : "");
}

static void markdown_after(FILE *f)
{
	putc('\n', f);
}

static void scdoc_section(FILE *f, const char *name)
{
	fprintf(f, "\n## %s\n", name);
}

static void scdoc_row(FILE *f, const struct config_key *k, const char *name)
{
	char allowed[CONFIG_ERROR_TEXT_MAX];

	fprintf(f, "\n*%s:*\n\t", name);
	put_scdoc(f, k->doc);
	fputs(k->at_start ? AT_START : "", f);
	fputs(" Allowed: ", f);
	put_scdoc(f, config_value_allowed(k, allowed, sizeof allowed));
	fputs(". Default: ", f);
	put_scdoc(f, fallback_of(k));
	fputs(".\n", f);
}

static const struct page pages[] = {
	{"docs/configuration.md", "<!-- keys -->\n", "<!-- end of keys -->\n", markdown_section,
	 markdown_row, markdown_after},
	{"docs/vscaled.yaml.5.scd", "; keys\n", "; end of keys\n", scdoc_section, scdoc_row,
	 markdown_after},
};

static void generate(FILE *f, const struct page *p)
{
	char section[CONFIG_VALUE_TEXT] = "";

	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];
		size_t n = strcspn(k->path, ".");

		if (strncmp(section, k->path, n) != 0 || section[n] != '\0') {
			snprintf(section, sizeof section, "%.*s", (int)n, k->path);
			p->section(f, section);
		}
		p->row(f, k, k->path + n + 1);
	}
	p->section(f, "defaults and units");
	for (size_t i = 0; i < config_rule_key_count; i++)
		p->row(f, &config_rule_keys[i], config_rule_keys[i].path);
	p->after(f);
}

static char *read_page(const char *path)
{
	char *text = calloc(1, 1 << 20);
	FILE *f = fopen(path, "re");

	if (f == NULL || fread(text, 1, (1 << 20) - 1, f) == 0) {
		fprintf(stderr, "%s: cannot be read\n", path);
		text[0] = '\0';
	}
	if (f != NULL)
		fclose(f);
	return text;
}

static void check_page(const struct page *p)
{
	OWN(drop_free) char *have = read_page(p->path);
	OWN(drop_free) char *want = NULL;
	char *begin = strstr(have, p->begin), *end = strstr(have, p->end);
	size_t len;
	FILE *f = open_memstream(&want, &len);

	CHECK(begin != NULL && end != NULL && begin < end);
	if (begin == NULL || end == NULL) {
		fclose(f);
		return;
	}
	begin += strlen(p->begin);
	fprintf(f, "%.*s", (int)(begin - have), have);
	generate(f, p);
	fputs(end, f);
	fclose(f);
	if (getenv("VSCALED_REGEN") != NULL) {
		f = fopen(p->path, "we");
		CHECK(f != NULL && fputs(want, f) >= 0 && fclose(f) == 0);
		return;
	}
	if (strcmp(have, want) != 0)
		fprintf(stderr, "%s is not what the table says; VSCALED_REGEN=1 mends it\n",
			p->path);
	CHECK(strcmp(have, want) == 0);
}

/* The example shows defaults in comments: each `# key: value` of it is one. */
static void check_example(void)
{
	OWN(drop_free) char *text = read_page("agent/vscaled.yaml");
	char section[32] = "", key[64], value[64], path[100];
	int seen = 0;

	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		const struct config_key *k;

		if (sscanf(line, "%31[a-z]:", section) == 1 && strchr(line, ':') != NULL)
			continue;
		if (strcmp(section, "units") == 0 ||
		    sscanf(line, "  # %63[A-Za-z-]: %63s", key, value) != 2)
			continue;
		snprintf(path, sizeof path, "%s.%s", section, key);
		k = strcmp(section, "defaults") == 0
			    ? config_key_find(config_rule_keys, config_rule_key_count, key)
			    : config_key_find(config_keys, config_key_count, path);
		CHECK(k != NULL);
		if (k != NULL)
			CHECK_STR(value, k->fallback);
		seen++;
	}
	CHECK(seen >= 10);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		check_page(&pages[i]);
	check_example();
	return check_result();
}
