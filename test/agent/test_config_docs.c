// SPDX-License-Identifier: Apache-2.0
/*
 * test_config_docs [MAN]: the reference page against the table of keys, and the source of the man
 * page that was made of that page (docs/config_man.py).
 */
#include "agent/config/config_table.h"
#include "test/agent/doc_page.h"
#include <unistd.h>

#define AT_START "†"
#define PAGE     "docs/configuration.md"

/* How a page begins a section ("": without a heading) and writes a key. */
struct form {
	void (*section)(FILE *f, const char *name);
	void (*row)(FILE *f, const struct config_key *k);
};

/* Puts `to` where `from` stands. */
static void replace(char *text, const char *from, const char *to)
{
	char rest[CONFIG_ERROR_TEXT_MAX], *at = strstr(text, from);

	if (at == NULL)
		return;
	snprintf(rest, sizeof rest, "%s", at + strlen(from));
	sprintf(at, "%s%s", to, rest);
}

/* A choice without the default, which stands before it. */
static void leave_out(char *text, const char *fallback)
{
	char first[CONFIG_VALUE_TEXT], other[CONFIG_VALUE_TEXT];

	replace(text, " or ", ", ");
	snprintf(first, sizeof first, "%s, ", fallback);
	snprintf(other, sizeof other, ", %s", fallback);
	replace(text, strstr(text, first) == text ? first : other, "");
}

/* What may stand there, in few words: the kind of a range can be seen. None of them gets longer. */
static const char *allowed_of(const struct config_key *k)
{
	static const char *const words[][2] = {
		{"a duration from ", ""},
		{"a percentage with at most one decimal from ", ""},
		{"a percentage from ", ""},
		{"a number from ", ""},
		{"an amount of CPU from ", ""},
		{"an amount of memory from ", ""},
		{" to ", "–"},
		{", or none", ", none"},
		{", or a percentage of the node's", ", percentage"},
		{", or both as cpu,memory", ""},
		{"an absolute path of at most 4032 bytes", "path"},
		{"an absolute path of at most ", "path ≤"},
		{"an absolute path below the cgroup mount, without the mount and without kubepods, "
		 "of at most ",
		 "path ≤"},
		{"a name of letters, digits, . _ and - of at most ", "name ≤"},
		{"a name without blanks of at most ", "word ≤"},
		{"an address and a port from 1–65535, as 127.0.0.1:9753, [::1]:9753 or :9753",
		 "address"},
	};
	static char text[CONFIG_ERROR_TEXT_MAX];

	config_value_allowed(k, text, sizeof text);
	if (k->type == CONFIG_CHOICE || k->type == CONFIG_BOOL)
		leave_out(text, k->fallback);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		replace(text, words[i][0], words[i][1]);
	return text;
}

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
	if (name[0] != '\0')
		fprintf(f, "\n### %s\n", name);
	putc('\n', f);
}

static void markdown_row(FILE *f, const struct config_key *k)
{
	fprintf(f, "- `%s`%s (%s, %s): %s\n", k->path, k->at_start ? AT_START : "", fallback_of(k),
		allowed_of(k), k->doc);
}

static void scdoc_section(FILE *f, const char *name)
{
	if (name[0] != '\0')
		fprintf(f, "\n## %s\n", name);
}

static void scdoc_row(FILE *f, const struct config_key *k)
{
	fprintf(f, "\n*%s*%s\n\t", k->path, k->at_start ? AT_START : "");
	put_scdoc(f, k->doc);
	fputs(". Default, allowed: ", f);
	put_scdoc(f, fallback_of(k));
	fputs(", ", f);
	put_scdoc(f, allowed_of(k));
	fputs(".\n", f);
}

static const struct form markdown = {markdown_section, markdown_row};
static const struct form scdoc = {scdoc_section, scdoc_row};

static void generate(FILE *f, const struct form *p)
{
	p->section(f, "");
	for (size_t i = 0; i < config_key_count; i++)
		p->row(f, &config_keys[i]);
	p->section(f, "defaults, units");
	for (size_t i = 0; i < config_rule_key_count; i++)
		p->row(f, &config_rule_keys[i]);
}

static void generate_page(FILE *f)
{
	generate(f, &markdown);
	fputc('\n', f);
}

TEST(check_page)
{
	page_check(PAGE, "<!-- keys -->\n", "<!-- end of keys -->\n", generate_page);
}

/* The page names every annotation that a unit cannot have. */
TEST(check_pod_keys)
{
	OWN(drop_free) char *page = page_read(PAGE);
	char *line = strstr(page, "\n* The annotations ");
	char word[64];

	CHECK(line != NULL);
	if (line == NULL)
		return;
	*strchr(line + 1, '\n') = '\0';
	for (size_t i = 0; config_pod_keys[i] != NULL; i++) {
		snprintf(word, sizeof word, "`%s`", config_pod_keys[i]);
		if (strstr(line, word) == NULL)
			fprintf(stderr, PAGE " lacks %s under Units\n", word);
		CHECK(strstr(line, word) != NULL);
	}
}

/* The man page has every key, in the words of the table. */
static void check_man(const char *path)
{
	OWN(drop_free) char *have = page_read(path);
	OWN(drop_free) char *want = NULL;
	size_t len;
	FILE *f = open_memstream(&want, &len);

	generate(f, &scdoc);
	fclose(f);
	CHECK(len > 0);
	if (strstr(have, want) == NULL)
		fprintf(stderr, "%s does not have the keys of the table:\n%s", path, want);
	CHECK(strstr(have, want) != NULL);
}

/* The example shows defaults in comments: each `# key: value` of it is one. */
TEST(check_example)
{
	OWN(drop_free) char *text = page_read("agent/vscaled.yaml");
	char section[32] = "", key[64], value[64], path[100];
	int seen = 0;

	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		const struct config_key *k;

		if (sscanf(line, "%31[a-z]:", section) == 1 && strchr(line, ':') != NULL)
			continue;
		if (strcmp(section, "units") == 0 || strcmp(section, "pods") == 0 ||
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

int main(int argc, char **argv)
{
	check_run();
	if (argc == 2)
		check_man(argv[1]);
	return check_result();
}
