/* SPDX-License-Identifier: Apache-2.0 */
/* Startup boost: more CPU until a container is ready. */
#pragma once

struct managed;
struct plan;
struct unit_table;

/* It was attached to its cgroup. */
void boost_attached(struct managed *m);
/* The API server has reported a change of it. */
void boost_changed(struct managed *m);
/* In every wake-up of the timer: begins and ends boosts. */
void boost_update(struct unit_table *t, struct plan *plan);
/* The unit is paused: ends the boost now. */
void boost_end(struct managed *m);
/* The limit from before the boost is restored, or an external writer's value stands. */
void boost_forget(struct managed *m);
