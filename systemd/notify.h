/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications to the service manager: sd_notify with the fields of Type=notify. Without a
 * NOTIFY_SOCKET every call succeeds and does nothing. */
#pragma once

#include "policy/base/base.h"
#include <stddef.h>

enum notify_state {
	NOTIFY_READY,
	NOTIFY_RELOADING, /* ends with NOTIFY_READY */
	NOTIFY_STOPPING,
	NOTIFY_STATUS,   /* the text alone */
	NOTIFY_WATCHDOG, /* alive */
};

/* The datagram for a state. status: one line for `systemctl status`, NULL = none; a line break in
 * it becomes a blank, since it would begin another field. monotonic_usec: CLOCK_MONOTONIC, for
 * NOTIFY_RELOADING alone (asked for by Type=notify-reload, harmless with 252). -ENOBUFS: too long.
 */
int notify_format(enum notify_state state, const char *status, usec_t monotonic_usec, size_t size,
		  char *ret);
int notify_send(enum notify_state state, const char *status, usec_t monotonic_usec);
