// SPDX-License-Identifier: Apache-2.0
/*
 * What comes to the metrics server from outside: the address in the configuration, names in labels;
 * and what is read of /proc. A label must come back as it went in.
 */
#include "agent/base/listen.h"
#include "agent/serve/metrics.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

static void must(int truth)
{
	if (!truth)
		abort();
}

/* Undoes the escapes of a label; what is not ASCII has become a question mark. */
static void check_label(const struct metrics_writer *w, const char *want)
{
	const char *p = memmem(w->data, w->size, "{unit=\"", strlen("{unit=\""));
	const char *end = w->data + w->size;

	must(p != NULL);
	for (p += strlen("{unit=\""); *want != '\0'; want++, p++) {
		char got = *p;

		must(p < end && got != '"' && got != '\n');
		if (got == '\\') {
			got = *++p;
			must(got == 'n' || got == '"' || got == '\\');
			got = got == 'n' ? '\n' : got;
		}
		must(got == *want || ((signed char)*want < 0 && got == '?'));
	}
	must(*p == '"');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(drop_free) char *text = malloc(size + 1);
	struct metrics_writer w = {0};
	struct process_facts facts;
	struct listen_address at;
	uint64_t number;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (listen_parse(text, &at) == 0)
		must(at.size > 0 && at.size <= sizeof at.address);
	process_parse_stat(text, &facts, &number);
	process_parse_boot(text, &number);
	metrics_family(&w, &metrics_table[0]);
	metrics_series(&w, "");
	metrics_label(&w, "unit", text);
	metrics_value(&w, 1, 0);
	if (!w.failed)
		check_label(&w, text);
	free(w.data);
	return 0;
}
