// SPDX-License-Identifier: Apache-2.0
/* docs/metrics.md against the table. */
#include "agent/serve/metrics.h"
#include "test/agent/doc_page.h"

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

TEST(page)
{
	page_check("docs/metrics.md", "<!-- metrics -->\n", "<!-- end of metrics -->\n", generate);
}
