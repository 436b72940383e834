/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which units are read and raised. */
#pragma once

#include "agent/manage/reader.h"

struct plan;

/* Reads the rest of what it needs beside `u`, which has the CPU counters, and judges it. */
typedef void visit_fn(struct managed *m, struct usage *u, struct plan *plan);
/* What the plan raises already is written first. Everybody who has laws is visited once. Raises are
 * written on the way, the plan keeps the rest. True: there were some. */
bool sweep_units(struct daemon *d, enum reader_clock clock, visit_fn *visit, struct plan *plan);
