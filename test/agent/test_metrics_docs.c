// SPDX-License-Identifier: Apache-2.0
/*
 * docs/metrics.md against the table. The part between the marks is generated: VSCALED_REGEN=1
 * writes it anew, without it a difference is a failure.
 */
#include "agent/metrics/metrics.h"
#include "test/check.h"
#include <stdbool.h>

#define PAGE  "docs/metrics.md"
#define BEGIN "<!-- metrics -->\n"
#define END   "<!-- end of metrics -->\n"

/* What every metric of a container has; the page says it once, above the table. */
#define CONTAINER "vscaled_container_"
#define WHO       "namespace, pod, container, workload; or unit"

/* The other labels, behind the name as in a query: {a,b}. */
static void put_labels(FILE *f, const struct metric *m)
{
	const char *labels = m->labels;
	bool who = strncmp(labels, WHO, strlen(WHO)) == 0;

	CHECK_EQ(who, strncmp(m->name, CONTAINER, strlen(CONTAINER)) == 0);
	if (who)
		labels += strlen(WHO) + strspn(labels + strlen(WHO), "; ");
	if (labels[0] == '\0')
		return;
	putc('{', f);
	for (; *labels != '\0'; labels++)
		if (*labels != ' ')
			putc(*labels, f);
	putc('}', f);
}

/* The type by the name, as the page says above the table. */
static enum metric_type type_of(const char *name)
{
	size_t len = strlen(name);

	if (len > 6 && strcmp(name + len - 6, "_total") == 0)
		return METRIC_COUNTER;
	if (strstr(name, "_duration_") != NULL || strstr(name, "_lag_") != NULL)
		return METRIC_HISTOGRAM;
	return METRIC_GAUGE;
}

static void generate(FILE *f)
{
	putc('\n', f);
	for (size_t i = 0; i < metrics_table_size; i++) {
		const struct metric *m = &metrics_table[i];

		CHECK_EQ(m->type, type_of(m->name));
		fprintf(f, "- `%s", m->name);
		put_labels(f, m);
		fprintf(f, "`%s: %s\n", m->kubernetes ? "†" : "", m->help);
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
		fprintf(stderr, PAGE " is not what the table says; VSCALED_REGEN=1 rewrites it\n");
	CHECK(strcmp(have, want) == 0);
	return check_result();
}
