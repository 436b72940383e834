// SPDX-License-Identifier: Apache-2.0
/*
 * The container of state files and the baseline in it. There is one way to write a set: whatever
 * is accepted must come out again byte by byte.
 */
#include "agent/state/baseline.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

static void check_body(const char *text, size_t len)
{
	OWN(baseline_set_free) struct baseline_set s = {0};
	OWN(drop_free) char *again = NULL;
	size_t again_len;

	if (record_lines(text, len, baseline_line, &s) < 0)
		return;
	for (size_t i = 0; i < s.count; i++)
		if (baseline_find(&s, s.items[i].key) != &s.items[i])
			abort();
	if (baseline_encode(&s, &again, &again_len) < 0)
		return;
	if (again_len != len || memcmp(again, text, len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state_file f = {0};

	check_body((const char *)data, size);
	if (state_file_parse(&baseline_state, (const char *)data, size, &f) == 0)
		check_body(f.body, f.len);
	state_file_free(&f);
	return 0;
}
