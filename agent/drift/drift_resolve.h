/* SPDX-License-Identifier: Apache-2.0 */
/* Who wrote a limit other than the held one, and what is done about it. */
#pragma once

struct managed;
struct plan;

enum answer { NOT_ASKED, STORED_KNOWN, STORED_UNKNOWN };

/* Reads and classifies the limits of a unit whose files were written; steps go into the plan. */
void drift_resolve_unit(struct managed *m, enum answer answer, struct plan *plan);
