/* SPDX-License-Identifier: Apache-2.0 */
/* Queries on one entry of the table; nothing is changed. */
#pragma once

#include "policy/types/limits.h"
#include "systemd/unit_props.h"

struct managed;
struct policy_rule;
struct unit_table;
struct usage;

struct managed *managed_find(const struct unit_table *t, const char *name);
/* By the systemd unit that holds its properties. */
struct managed *managed_of_unit(const struct unit_table *t, const char *unit);
/* Its rule by the present configuration and annotations; NULL: it is not managed. Borrowed. */
const struct policy_rule *managed_rule(const struct managed *m);
/* The one in force; of what has not been found yet the one that is to be. */
enum mode managed_mode(const struct managed *m);
/* As in the annotation: InPlaceOrRecreate too, which sizes as Auto. */
const char *managed_mode_name(const struct managed *m);
/* Has PID 1 still to answer a property call by vscaled? */
bool managed_call_pending(const struct managed *m);
/* Which of its limits systemd stores as properties: UNIT_PROP_*. */
uint32_t managed_props_mask(const struct managed *m);
/* What systemd holds after these limits were set through it. */
struct unit_props props_of_limits(const struct limits *l);
/* A pod level has no laws of its own: it follows its containers. */
bool managed_has_laws(const struct managed *m);
/* Does the kernel hold another value than the held limit? Managed resources only. */
bool unit_moved(const struct managed *m, enum resource r, const struct limits *seen);
/* A limit file that does not exist says nothing: the held limit stays. */
void unit_fill_absent(const struct managed *m, struct usage *u);
/* Millicores of what systemd stores; LIMIT_MAX: none. */
uint64_t props_milli(const struct unit_props *p);
/* May it be written to? */
bool managed_is_controlled(const struct managed *m);
