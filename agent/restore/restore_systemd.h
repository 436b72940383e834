/* SPDX-License-Identifier: Apache-2.0 */
/* The calls to systemd for a restore without an event loop: each call waits for PID 1. */
#pragma once

#include "agent/restore/restore.h"
#include "systemd/unit_conn.h"

struct restore_systemd {
	struct restore_units units; /* for struct restore */
	const char *root;           /* put before /run; "" = this host */
	char private_socket[256];
	char system_socket[256];
	struct unit_address address;
	usec_t timeout_usec; /* of a single call; 30 s */
	usec_t total_usec;   /* of all calls together, then they fail at once; 0: no bound */
	usec_t spent_usec;
	/* A call for a container that appeared less than UNIT_CREATING_USEC ago first waits for the
	 * rest of that time. The daemon keeps track of this itself and switches it off. */
	bool waits_for_runtime;
};

/* The caller may lower the times before the first call. ret must stay where it is while units is in
 * use. -ENAMETOOLONG. */
int restore_systemd_init(struct restore_systemd *ret, const char *root);
