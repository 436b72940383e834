// SPDX-License-Identifier: Apache-2.0
/* Stopped rollouts in their state file: what is accepted comes out again byte by byte. */
#include "agent/state/history_file.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(rollout_stops_free) struct rollout_stops s = {0};
	OWN(drop_free) char *again = NULL;
	size_t len;

	if (record_lines((const char *)data, size, rollout_stop_line, &s) < 0)
		return 0;
	for (size_t i = 0; i < s.count; i++)
		if (s.items[i].percent > ROLLOUT_ALL_PERCENT ||
		    s.items[i].hurt >= ROLLOUT_HURT_COUNT || s.items[i].hurt == ROLLOUT_UNHURT)
			abort();
	if (rollout_stops_encode(&s, &again, &len) < 0)
		return 0;
	if (len != size || memcmp(again, data, len) != 0)
		abort();
	return 0;
}
