// SPDX-License-Identifier: Apache-2.0
/*
 * docs/metrics.md against the table. The part between the marks is generated: VSCALED_REGEN=1
 * writes it anew, without it a difference is a failure.
 */
#include "agent/metrics/metrics_text.h"
#include "test/check.h"

#define PAGE  "docs/metrics.md"
#define BEGIN "<!-- metrics -->\n"
#define END   "<!-- end of metrics -->\n"

/* The labels of a container are explained once, above the table. */
#define WHO "namespace, pod, container; or unit"

static void put_labels(FILE *f, const char *labels)
{
	if (strncmp(labels, WHO, strlen(WHO)) == 0)
		fprintf(f, ", by container%s", labels + strlen(WHO));
	else if (labels[0] != '\0')
		fprintf(f, ", by %s", labels);
}

static void generate(FILE *f)
{
	putc('\n', f);
	for (size_t i = 0; i < metrics_table_size; i++) {
		const struct metric *m = &metrics_table[i];

		fprintf(f, "- `%s`%s %s", m->name, m->kubernetes ? " (cluster)" : "",
			metric_type_names[m->type]);
		put_labels(f, m->labels);
		fprintf(f, ": %s\n", m->help);
	}
	putc('\n', f);
}

static char *read_page(void)
{
	char *text = calloc(1, MIB);
	FILE *f = fopen(PAGE, "re");

	if (f == NULL || fread(text, 1, MIB - 1, f) == 0)
		text[0] = '\0';
	if (f != NULL)
		fclose(f);
	return text;
}

int main(void)
{
	OWN(drop_free) char *have = read_page();
	OWN(drop_free) char *want = NULL;
	char *begin = strstr(have, BEGIN), *end = strstr(have, END);
	size_t size;
	FILE *f = open_memstream(&want, &size);

	CHECK(begin != NULL && end != NULL && begin < end);
	if (begin == NULL || end == NULL)
		return check_result();
	begin += strlen(BEGIN);
	fprintf(f, "%.*s", (int)(begin - have), have);
	generate(f);
	fputs(end, f);
	fclose(f);
	if (getenv("VSCALED_REGEN") != NULL) {
		f = fopen(PAGE, "we");
		CHECK(f != NULL && fputs(want, f) >= 0 && fclose(f) == 0);
		return check_result();
	}
	if (strcmp(have, want) != 0)
		fprintf(stderr, PAGE " is not what the table says; VSCALED_REGEN=1 mends it\n");
	CHECK(strcmp(have, want) == 0);
	return check_result();
}
