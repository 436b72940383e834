/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to PID 1: its private socket where permitted, else the system bus. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

/* Socket paths; NULL = where systemd and dbus put them. */
struct unit_address {
	const char *private_socket; /* /run/systemd/private */
	const char *system_socket;  /* /run/dbus/system_bus_socket */
};

/* Connects without waiting for an answer; the handshake goes on when the bus is processed.
 * ret_direct: no dbus-daemon in between. at may be NULL. The error is the first one other than
 * -ENOENT, if there is one. */
int unit_conn_open(const struct unit_address *at, sd_bus **ret, bool *ret_direct);
