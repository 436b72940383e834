/* SPDX-License-Identifier: Apache-2.0 */
/* Startup boost: more CPU until a container is ready. */
#pragma once

struct daemon;
struct managed;
struct plan;

/* It was attached to its cgroup. */
void boost_born(struct managed *m);
/* The API server has told something new of it. */
void boost_heard(struct managed *m);
/* In every wake-up of the timer: what is to begin or to end. */
void boost_look(struct daemon *d, struct plan *plan);
/* Hands off: what is lent comes back now. */
void boost_end(struct managed *m);
/* What was lent has been put back, or another writer's value stands. */
void boost_forget(struct managed *m);
