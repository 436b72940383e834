/* SPDX-License-Identifier: Apache-2.0 */
/* The properties that systemd is to store, and when they are sent. */
#pragma once

#include "systemd/unit_props.h"

struct daemon;
struct managed;

void properties_send(struct daemon *d);
/* Have some not been sent to PID 1 yet? */
bool properties_pending(const struct daemon *d);
/* Sends those that may have changed since the last sample. */
void properties_look(struct daemon *d);
/* What systemd is to store for the unit. */
struct unit_props unit_wanted_props(const struct managed *m, uint32_t *ret_mask);
/* The memory limit that is sent to systemd. */
uint64_t memory_property(const struct managed *m);
/* Does systemd have to be sent a higher memory limit at once? */
bool memory_property_due(const struct managed *m);
/* Checks again whether another drop-in would override the property that systemd is sent. */
void guard_beaten(struct managed *m);
