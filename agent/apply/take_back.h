/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is granted and not used goes back to the node. */
#pragma once

struct managed;
struct plan;
struct unit_table;

/* After the pass over all: unused grants that others need. */
void take_back_unused(struct unit_table *t, struct plan *plan);
/* A limit above the held one, as far as use allows, before it is classified. */
void take_back_unclassified(struct managed *m);
