/* SPDX-License-Identifier: Apache-2.0 */
/* Drop-ins that override SetUnitProperties(runtime), whose files are called 50-MemoryMax.conf: at a
 * daemon-reload override.conf (`systemctl edit`), or a file of the same name in
 * /etc/systemd/system.control (`systemctl set-property`), comes later and wins. For such a unit
 * vscaled writes drop-ins that come last; not for others, because systemd then asks for a
 * daemon-reload. */
#pragma once

#include "systemd/unit_props.h"

/* Drop-ins of vscaled, in /run/systemd/system.control/<unit>.d; unit_dropin_remove() takes these
 * bits too. */
#define UNIT_DROPIN_CPU    (1u << 8)
#define UNIT_DROPIN_MEMORY (1u << 9)
#define UNIT_DROPIN_OWN    (UNIT_DROPIN_CPU | UNIT_DROPIN_MEMORY)

struct unit_dropin_row {
	uint32_t bit;
	const char *file;
};
#define UNIT_DROPIN_ROWS 2
extern const struct unit_dropin_row unit_dropin_rows[UNIT_DROPIN_ROWS];

/* *ret = whether one of the unit's drop-ins sets a limit and overrides a runtime property. */
int unit_dropin_beaten(const char *root, const char *unit, bool *ret);
/* Writes the drop-ins of vscaled for what mask names: CPU in one file, memory in the other. */
int unit_dropin_write(const char *root, const char *unit, const struct unit_props *p,
		      uint32_t mask);
/* The text of one of the two files: bit UNIT_DROPIN_CPU or UNIT_DROPIN_MEMORY. */
#define UNIT_DROPIN_TEXT 512
int unit_dropin_text(const char *unit, const struct unit_props *p, uint32_t mask, uint32_t bit,
		     char ret[UNIT_DROPIN_TEXT]);

/* SetUnitProperties(runtime) leaves a file per property in /run/systemd/system.control/<unit>.d,
 * for a transient unit in /run/systemd/transient/<unit>.d. root is put before these ("" = this
 * host). Note before the first write which are there, and on restore remove the others after the
 * properties have their old values: systemd keeps the last value in memory until the next
 * daemon-reload. */
/* *ret = the properties of which such a file exists (UNIT_PROP_CPU_QUOTA: either of its two). */
int unit_dropin_find(const char *root, const char *unit, uint32_t *ret);
/* Removes those in mask, UNIT_DROPIN_* among them, and the folder when it is empty
 * then. What is not there is no error, and neither is a read-only mount. */
int unit_dropin_remove(const char *root, const char *unit, uint32_t mask);
