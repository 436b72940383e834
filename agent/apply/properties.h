/* SPDX-License-Identifier: Apache-2.0 */
/* What systemd stores, and the memory limit that it is to store. */
#pragma once

#include "systemd/unit_props.h"
#include <stdbool.h>

struct managed;
struct unit_table;

/* The memory limit that is sent to systemd. */
uint64_t memory_property(const struct managed *m);
/* Does systemd have to be sent a higher memory limit at once? Not of a pod level. */
bool memory_property_due(const struct managed *m);
/* Checks again whether another drop-in would override the property that systemd is sent. */
void property_read_dropins(struct managed *m);
/* They are to be sent at the end of this wake-up; urgent: before calls that wait. */
void property_request(struct managed *m, bool urgent);
/* The outcome of a call. A failure is reported once; the next wake-up tries with the values of that
 * time, unless the unit does not exist (-ENOENT). */
void property_set_failed(struct managed *m, int error, usec_t lag);
void property_set_done(struct managed *m, const struct unit_props *stored);
/* systemd reports what it stores. */
void property_stored(struct managed *m, const struct unit_props *stored);
/* What it stores was taken from the files; asked: its answer follows. */
void property_guessed(struct managed *m, bool asked);
/* What it stores counts as sent by vscaled. */
void property_take_over(struct managed *m, uint32_t mask);
/* Nothing that it stores was sent by vscaled, and no call is due any more. */
void property_cancel(struct managed *m);
/* PID 1 reloaded: its next answer is compared with what was sent. */
void property_reloaded(struct managed *m);
/* Compares, and sends again what the reload took from it. */
void property_check_stored(struct managed *m);
/* No comparison is needed: it has just stored a call. */
void property_checked(struct managed *m);
/* Sends systemd what it is to store. */
void properties_send(struct unit_table *t);
/* Have some not been sent to PID 1 yet? */
bool properties_pending(const struct unit_table *t);
/* Sends those that may have changed since the last sample. */
void properties_check(struct unit_table *t);
