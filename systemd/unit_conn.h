/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to PID 1: its private socket where permitted, else the system bus. */
#pragma once

#include "systemd/unit_props.h"
#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

/* What OWN() runs for a descriptor, in this layer. */

static inline void unit_drop_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Socket paths; NULL = where systemd and dbus put them. */
struct unit_address {
	const char *private_socket; /* /run/systemd/private */
	const char *system_socket;  /* /run/dbus/system_bus_socket */
};

/* Connects without waiting for an answer; the handshake goes on when the bus is processed.
 * ret_direct: no dbus-daemon in between. at may be NULL. The error is the first one other than
 * -ENOENT, if there is one. */
int unit_conn_open(const struct unit_address *at, sd_bus **ret, bool *ret_direct);

/* For the command line while the daemon is dead: one call, waited for. */

/* Sets the properties in mask, runtime only. at NULL = this host. -ENOENT: no such unit. timeout is
 * for all of it, from the connection on: -ETIMEDOUT. */
int unit_set_now(const struct unit_address *at, const char *unit, const struct unit_props *want,
		 uint32_t mask, usec_t timeout_usec);
/* For how long the unit has been active: 0 when it is not. */
int unit_age_now(const struct unit_address *at, const char *unit, usec_t timeout_usec, usec_t *ret);
int unit_get_now(const struct unit_address *at, const char *unit, usec_t timeout_usec,
		 struct unit_props *ret);
