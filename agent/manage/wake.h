/* SPDX-License-Identifier: Apache-2.0 */
/* A wake-up: its time, and the context that the laws get with it. */
#pragma once

#include "policy/control/control.h"

struct daemon;

/* Reads the clocks once for this wake-up. */
void daemon_wake(struct daemon *d);
/* CLOCK_MONOTONIC now, for measuring vscaled's own cost. */
usec_t daemon_clock(void);
struct control_context daemon_context(struct daemon *d, struct plan *plan);
/* The clock of the host; tests have their own. */
void daemon_host_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real);
