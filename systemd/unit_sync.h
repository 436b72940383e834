/* SPDX-License-Identifier: Apache-2.0 */
/* For the command line while the daemon is dead: one call, waited for. */
#pragma once

#include "systemd/unit_conn.h"
#include "systemd/unit_props.h"

/* Sets the properties in mask, runtime only. at NULL = this host. -ENOENT: no such unit. timeout is
 * for all of it, from the connection on: -ETIMEDOUT. */
int unit_set_now(const struct unit_address *at, const char *unit, const struct unit_props *want,
		 uint32_t mask, usec_t timeout_usec);
/* For how long the unit has been active: 0 when it is not. */
int unit_age_now(const struct unit_address *at, const char *unit, usec_t timeout_usec, usec_t *ret);
int unit_get_now(const struct unit_address *at, const char *unit, usec_t timeout_usec,
		 struct unit_props *ret);
