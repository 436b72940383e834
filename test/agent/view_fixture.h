/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed values that the tests of the control API and of vscalectl share. */
#pragma once

#include "agent/view/view.h"

/* 2026-03-01T12:00:00Z: the present of every fixture. */
#define FIXTURE_NOW_USEC (1772366400ULL * USEC_PER_SEC)

#define FIXTURE_UNIT_COUNT 6

void fixture_status(struct status_view *ret);
/* The same on a node of a cluster. */
void fixture_status_cluster(struct status_view *ret);
