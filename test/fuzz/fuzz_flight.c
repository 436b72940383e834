// SPDX-License-Identifier: Apache-2.0
/* The flight recorder's records: any bytes are read or refused. They are not replayed: states are
 * taken as they are, from a file that root alone writes. */
#include "policy/flight/flight.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flight_reader r = {.data = data, .size = size};
	struct flight_base base = {0};
	struct flight_call call;
	struct control c = {0};
	char name[FLIGHT_NAME_MAX];
	enum flight_kind kind;
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
			break;
		case FLIGHT_PATCH:
			e = flight_get_patch(&r, &c);
			break;
		case FLIGHT_END:
			e = 0;
			break;
		default:
			e = flight_get_call(&r, kind, &base, &call);
		}
		if (e < 0)
			break;
	}
	control_drop(&c);
	return 0;
}
