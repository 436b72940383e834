/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which units are read and raised. */
#pragma once

#include "agent/manage/reader.h"

struct plan;

/* Reads the rest of what it needs beside `u`, which has the CPU counters, and applies the laws. */
typedef void visit_fn(struct managed *m, struct usage *u, struct plan *plan);
/* Raises that the plan has already are written first. Every entry that has laws is visited once.
 * Raises are written at once, the plan keeps the rest. True: there were raises. */
bool sweep_units(struct unit_table *t, enum reader_clock clock, visit_fn *visit, struct plan *plan);
