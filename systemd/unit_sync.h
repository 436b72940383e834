/* SPDX-License-Identifier: Apache-2.0 */
/* For the command line while the daemon is dead: one call, waited for; and the drop-in files that
 * systemd writes for us. */
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

/* SetUnitProperties(runtime) leaves a file per property in /run/systemd/system.control/<unit>.d,
 * for a transient unit in /run/systemd/transient/<unit>.d. root is put before these ("" = this
 * host). Note before the first write which are there, and on restore remove the others after the
 * properties have their old values: systemd keeps the last value in memory until the next
 * daemon-reload. */
/* *ret = the properties of which such a file exists (UNIT_PROP_CPU_QUOTA: either of its two). */
int unit_dropin_find(const char *root, const char *unit, uint32_t *ret);
/* Removes those in mask, UNIT_DROPIN_* of unit_dropin.h among them, and the folder when it is empty
 * then. What is not there is no error, and neither is a read-only mount. */
int unit_dropin_remove(const char *root, const char *unit, uint32_t mask);
