/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the flight recorder's file (policy/flight, ring.h), and makes its calls once more. */
#pragma once

#include "policy/flight/replay.h"
#include <stdbool.h>

#define FLIGHT_FILE "recording"

/* One record of use, of a container. */
struct flight_event {
	const char *container;
	enum flight_kind kind;
	const struct flight_call *call;
	const struct replay_node *node;
	/* What the laws decide now; NULL: a sample, or the control before it is not in the file. */
	const struct replay_result *replay;
};

/* Strings and structures are borrowed for the call. < 0 ends the reading. */
typedef int flight_event_fn(void *user, const struct flight_event *e);

/* Every record of samples and calls, oldest first. Only a file that this build's daemon has written
 * may be replayed: states are taken as they are. -EBADMSG: no such file, or a record that cannot
 * be; -EPROTONOSUPPORT: of another build; -ENOMEM; what call returned. */
int flight_read(const uint8_t *bytes, size_t size, flight_event_fn *call, void *user);
