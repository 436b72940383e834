/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the control API. */
#pragma once

#include "agent/control/control.h"

struct daemon;
struct managed;

int serve_start(struct daemon *d);
/* Passes the view of one managed unit or container to each. */
void serve_view(const struct managed *m, control_unit_fn *each, void *arg);
void serve_status(void *daemon, struct status_view *ret);
