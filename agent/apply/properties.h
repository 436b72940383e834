/* SPDX-License-Identifier: Apache-2.0 */
/* The properties that systemd is to store, and when they are sent. */
#pragma once

#include "systemd/unit_props.h"

struct daemon;
struct managed;

void properties_send(struct daemon *d);
/* Some of them are not with PID 1 yet. */
bool properties_pending(const struct daemon *d);
/* The same, of those that may have changed since the last sample. */
void properties_look(struct daemon *d);
/* What systemd is to store for the unit. */
struct unit_props unit_wanted_props(const struct managed *m, uint32_t *ret_mask);
/* The memory limit that goes to systemd. */
uint64_t memory_property(const struct managed *m);
/* systemd is to be told more for it at once. */
bool memory_property_due(const struct managed *m);
/* Looks again whether another drop-in would win over what systemd is told. */
void guard_beaten(struct managed *m);
