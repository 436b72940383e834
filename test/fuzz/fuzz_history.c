// SPDX-License-Identifier: Apache-2.0
/*
 * The history. What is accepted comes out again byte by byte, serves for a recommendation, takes
 * further samples, and survives another half life. A file with it has no fault for --verify.
 */
#include "agent/state/history_file.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

static void use(const struct history_store *s, const char *key, const struct tuning_history *t)
{
	struct cpu_rates rates = {USEC_PER_SEC, USEC_PER_SEC / 2, 100, 200, 300, 5, 0, 0};
	struct recommendation r;
	OWN(history_record_drop) struct history_record record = {0};
	usec_t now;

	if (history_store_get(s, key, t, &record) < 0)
		return;
	history_recommend(&record.history, t, 1, &r);
	now = record.history.last_real + USEC_PER_SEC;
	history_add_cpu(&record.history, &rates, now);
	history_add_memory(&record.history, t, 10 * MIB, false, now);
	history_recommend(&record.history, t, 1, &r);
}

static void ignore(void *, const struct history_fault *)
{
}

/* The same bytes as a file, whose header is rarely valid: no crash, and both readers agree. */
static void verify(const char *data, size_t size)
{
	OWN(history_summary_drop) struct history_summary s = {0};
	OWN(history_store_free) struct history_store loaded = {0};
	OWN(state_file_free) struct state_file f = {0};

	if (history_verify(data, size, ignore, NULL, &s) < 0 || s.faults > 0)
		return;
	if (state_file_parse(&history_state, data, size, &f) != 0 ||
	    record_lines(f.body, f.len, history_line, &loaded) != 0 || loaded.count != s.keys)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(history_store_free) struct history_store s = {0};
	OWN(drop_free) char *again = NULL;
	struct tuning_history other = tuning_default.history;
	size_t len;

	verify((const char *)data, size);
	if (record_lines((const char *)data, size, history_line, &s) < 0)
		return 0;
	if (history_encode(&s, &again, &len) == 0 && (len != size || memcmp(again, data, len) != 0))
		abort();
	other.half_life_usec = USEC_PER_HOUR;
	for (size_t i = 0; i < s.count; i++) {
		use(&s, s.items[i].key, &tuning_default.history);
		use(&s, s.items[i].key, &other);
	}
	return 0;
}
