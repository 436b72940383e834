/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by reporter.c (when and what) and reporter_send.c (requests and answers). */
#pragma once

#include "agent/kube/report/reporter.h"
#include "agent/kube/report/reporter_answer.h"

enum right { RIGHT_RESIZE, RIGHT_STATUS, RIGHT_COUNT };

/* A request to the API server. */
struct flight {
	struct kube_call *call;
	bool under_way;
	bool in_turn; /* it waited for its turn; else it is a lead */
};

struct tracked {
	struct reporter *reporter;
	char uid[REPORT_UID_MAX];
	uint64_t space;             /* text_hash() of its namespace; 0: not seen yet */
	struct report_state *state; /* NULL: not seen yet */
	bool dirty;
	usec_t again; /* 0: when something changes */
	enum report_block block;
	bool blocked;      /* as the last decision says */
	usec_t room_since; /* since when a request waits for room; 0: none does */
	bool unratified;   /* as bounds() was called for */
	bool tried;        /* the same, of reporter_tries() */
	bool going_back;   /* the originals are not in the spec yet */
	bool unsent; /* going_back; or the pod is no longer managed, and its resize is pending or
		      its annotation is still there */
	/* One at a time, but for a lead: it does not wait for the annotation. */
	struct flight resize, patch;
	char *status; /* the annotation as the server has it; NULL: it has none */
	char *asked;  /* the value in the request under way; NULL: its removal */
	bool status_known;
	uint32_t status_seen; /* checksum of the annotation in the object seen last; 0: none */
	bool hurry;
	uint32_t conflicts;
	usec_t status_at;            /* when it was last sent; 0: never */
	usec_t status_same;          /* when it was last found to be as it should be; 0: never */
	usec_t status_again;         /* 0: nothing waits for its interval */
	usec_t status_refused_until; /* the server refused the last write */
	char *refusal;
	uint64_t ratified; /* generation */
};

struct reporter {
	struct kube_port port;
	struct recorder *recorder;
	struct reporter_options options;
	struct reporter_events events;
	struct report_queue queue;
	struct report_node node;
	struct report_tuning tuning; /* options.tuning for this node now */
	struct tracked **pods;
	size_t count, capacity;
	size_t in_flight; /* of pods */
	uint32_t turn;
	bool offered;
	bool offered_known;
	usec_t discover_at;
	usec_t discover_wait;
	struct kube_call *discovery;
	bool discovering;
	struct holds denied[RIGHT_COUNT];
	usec_t missing[RIGHT_COUNT]; /* reported, and not held back after this; 0: it is not */
	struct reporter_tally tally;
	struct reporter_view view, answer; /* large: here, not on the stack */
};

/* --- reporter.c */
/* NULL: not tracked. */
struct tracked *reporter_find(const struct reporter *r, const char *uid);
/* Reads the newest facts into r->view. False: the pod is gone, or nothing is reported of it. */
bool reporter_check(struct tracked *t, usec_t now);
void reporter_changes(struct tracked *t, const struct reporter_view *v, uint32_t changes,
		      const char *text, usec_t now);

/* --- status_due.c */
/* Takes the annotation of the pod object: the first time, and when another writer has changed or
 * removed it, so that it is written again. An object from before the last write looks like that
 * too, and costs one more write. */
void reporter_learn_status(struct tracked *t, const struct kube_pod *pod);
/* The text of the annotation as it should be, owned; NULL: none should be (or no memory). */
char *reporter_status_due(struct tracked *t, usec_t now, bool *ret_due);

/* --- reporter_refusal.c */
void reporter_set_refusal(struct tracked *t, const char *text);
/* Calls refused() for every ceiling, or once with LIMIT_MAX if it is not due to a value. */
void reporter_show_refusal(struct tracked *t, const char *text, usec_t now);
/* When the last ceiling of a refusal ends; 0: none binds. */
usec_t reporter_bound_until(const struct tracked *t, usec_t now);
/* The text of a refusal that no longer binds is dropped. */
void reporter_refusal_ends(struct tracked *t, const struct report_facts *f, usec_t now);
/* Does any refusal still hold? */
bool reporter_is_bound(const struct tracked *t, usec_t now);
/* A lead is denied, no value is refused: the text is shown in the annotation and in explain, and
 * contested() is called where an external writer is the cause. */
void reporter_show_denied(struct tracked *t, uint32_t changes, const char *why, usec_t now);

/* --- reporter_query.c */
/* Calls bounds() if what reporter_ratifies() says of the pod has changed. */
void reporter_report_bounds(struct tracked *t, usec_t now);

/* --- reporter_send.c */
/* 0: on its way. */
int reporter_send_resize(struct tracked *t, const struct report_decision *d, usec_t now);
int reporter_send_status(struct tracked *t, char *text, usec_t now); /* takes text */
/* Gives the resize under way up. */
void reporter_abandon(struct tracked *t, usec_t now);
void reporter_cancel(struct reporter *r, struct flight *f);
void reporter_discover(struct reporter *r, usec_t now);
void reporter_recorded(void *ctx, const struct kube_answer *a);
