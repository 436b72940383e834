// SPDX-License-Identifier: Apache-2.0
/* The flight recorder's records: any bytes are read or refused, and what is read can be replayed.
 */
#include "policy/flight/replay.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flight_reader r = {.data = data, .size = size};
	struct flight_base base = {0};
	struct flight_call call;
	struct control c = {0};
	char name[FLIGHT_NAME_MAX];
	const struct replay_node node = {.tuning = tuning_default, .cpu_milli = 4000};
	struct replay_result result;
	enum flight_kind kind;
	bool live = false;
	uint32_t number;

	while (r.at < size && flight_get_head(&r, &kind, &number) == 0) {
		int e;

		switch (kind) {
		case FLIGHT_NAME:
			e = flight_get_name(&r, name);
			break;
		case FLIGHT_STATE:
			control_drop(&c);
			e = flight_get_state(&r, &c);
			live = e == 0;
			break;
		case FLIGHT_PATCH:
			e = flight_get_patch(&r, &c);
			break;
		case FLIGHT_END:
			e = 0;
			break;
		default:
			e = flight_get_call(&r, kind, &base, &call);
			if (e == 0 && live && kind != FLIGHT_SAMPLE)
				e = replay_call(&c, &node, kind, &call, &result);
		}
		if (e < 0)
			break;
	}
	control_drop(&c);
	return 0;
}
