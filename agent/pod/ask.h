/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a server that are asked again and again, each by a key (a namespace, a workload),
 * for as long as something needs the answer. Of one table a single question is under way, so that a
 * node with many keys sends no burst. An answer that is of no use changes nothing that is known. */
#pragma once

#include "agent/journal/event.h"
#include "agent/kube/client/client.h"

struct ask;
struct ask_table;
struct cluster;

/* What the questions of a table have in common. */
struct ask_kind {
	size_t bytes;                      /* of an entry, which begins with its struct ask */
	const char *path, *path_end;       /* around the key */
	struct kube_request request;       /* but for the path */
	usec_t fresh_usec;                 /* until it is asked again */
	enum event_kind event;             /* tells once of a missing right */
	const char *detail;                /* of that event */
	size_t first_max;                  /* under way, of those that were never answered */
	bool elsewhere;                    /* does not wait for the API server's watch */
	void (*mark)(struct ask_table *t); /* ask_use() for all that is needed */
	void (*send)(struct ask *a);       /* by ask_send(); NULL: path, key, path_end */
	void (*answered)(struct ask *a, const struct kube_answer *answer);
	void (*drop)(struct ask *a); /* frees what the entry owns; NULL: nothing */
};

/* One key. */
struct ask {
	struct ask_table *table;
	char *key;
	struct kube_call *call; /* NULL: none under way */
	usec_t ask_at;          /* not before */
	usec_t denied_since;    /* 0: the last answer was no refusal */
	bool known;             /* answered, or the right is missing: nothing waits for it */
	bool used;
};

struct ask_table {
	const struct ask_kind *kind;
	struct cluster *cluster;
	const struct kube_port *port;
	struct ask **items; /* owned */
	size_t count;
	bool denied; /* reported */
};

/* NULL: there is none. */
struct ask *ask_find(const struct ask_table *t, const char *key);
/* Marks it as used. A new one, zeroed, waits for a random part of wait_max. NULL: no memory. */
struct ask *ask_use(struct ask_table *t, const char *key, usec_t wait_max);
/* Forgets what is not used, and asks what is due for longest. */
void ask_tick(struct ask_table *t);
/* Asks what was never answered at once, up to first_max under way. */
void ask_first(struct ask_table *t);
/* -errno: nothing was sent; it is tried again later. */
int ask_send(struct ask *a, const char *path);
/* The answer was of use. */
void ask_known(struct ask *a);
/* It was not: as soon as the server allows. */
void ask_again(struct ask *a, const struct kube_answer *answer);
/* One of both. True: known, and changed by that. A right that is missing for 5 min is reported,
 * once per table. */
bool ask_answered(struct ask *a, const struct kube_answer *answer, bool of_use);
void ask_free(struct ask_table *t);
