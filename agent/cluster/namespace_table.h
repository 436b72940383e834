/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server is asked for again and again, and what of it by namespace, for as long as
 * pods here need it. An answer that is of no use changes nothing that was read before; only a right
 * that was never there makes it empty. */
#pragma once

#include "agent/kube/client/client.h"
#include "policy/base/base.h"

struct cluster;
struct managed;

enum refresh_kind {
	REFRESH_AUTOSCALERS,
	REFRESH_RANGES,
	REFRESH_NAMESPACES,
	REFRESH_NODE,
	REFRESH_KIND_COUNT,
};

struct refresh {
	struct kube_call *call; /* NULL: none under way */
	usec_t ask_at;
	usec_t denied_since; /* 0: the last answer was no refusal */
	bool read;           /* stays in force */
	bool known;          /* read, or the right is missing: nothing waits for it */
};

/* Notes the answer and when to ask again. read: it was of use. True: known, and changed by that. A
 * right that is missing for 5 min is reported, once per kind. */
bool refresh_answered(struct cluster *c, enum refresh_kind kind, struct refresh *r,
		      const struct kube_answer *a, bool read);
void refresh_cancel(struct cluster *c, struct refresh *r);

/* Begins what is known about a namespace. */
struct namespace_entry {
	struct cluster *cluster;
	char *namespace;
	struct refresh list;
	usec_t failing_since; /* first answer that was of no use; 0: none */
	bool reported;        /* by an Event */
	bool used;            /* since namespaces_unmark() */
};

struct namespace_table {
	struct namespace_entry **items; /* owned */
	size_t count;
};

/* The API server gives no answer that is of use. */
struct namespace_note {
	const char *reason, *action, *text;
	bool (*concerns)(const struct managed *m);
};

/* NULL: not known. */
struct namespace_entry *namespace_find(const struct namespace_table *t, const char *namespace);
/* Marks it as used. One that is new: size bytes, zeroed but for the entry; NULL: no memory. */
struct namespace_entry *namespace_use(struct cluster *c, struct namespace_table *t,
				      const char *namespace, size_t size);
void namespaces_unmark(struct namespace_table *t);
/* free_rest: of what follows the entry; NULL: nothing to free. */
void namespaces_forget_unused(struct namespace_table *t, void (*free_rest)(void *entry));
void namespaces_free(struct namespace_table *t, void (*free_rest)(void *entry));
/* The one that is due for longest; NULL: none, or another one is being asked for. */
struct namespace_entry *namespaces_next(const struct namespace_table *t, usec_t now);
/* Sets the bounds of the namespace's pods at once. */
void namespace_set_bounds(const struct namespace_entry *e);
/* An answer was of no use. Once it has been so for 5 min, the containers of the namespace that it
 * concerns get an Event, one in all: text, and what was wrong with the answer; detail: of its
 * decoder. */
void namespace_failed(struct namespace_entry *e, const struct namespace_note *note,
		      const struct kube_answer *a, const char *detail);
