/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the pods of one node: one list, then one watch, repeated. Lists again on 410 and backs
 * off with jitter (policy/base/backoff.h). */
#pragma once

#include "agent/kube/client/client.h"
#include "agent/kube/model/peek.h"

struct kube_watch_events {
	void *ctx;
	/* ADDED or MODIFIED, from the list too. Takes the pod. */
	void (*put)(void *ctx, struct kube_pod *pod);
	void (*gone)(void *ctx, const char *uid);
	/* At list_end the list is complete. One that breaks off has another begin. */
	void (*list_begin)(void *ctx);
	void (*list_end)(void *ctx);
	/* A failure and its end; text is for people. Called on changes of state only, not for each
	 * attempt; healthy is also called for the first list. */
	void (*trouble)(void *ctx, int error, unsigned status, const char *text);
	void (*healthy)(void *ctx);
	/* An object that is left out; for a list, called before its list_end. A pod whose uid is
	 * known exists nevertheless. */
	void (*skipped)(void *ctx, const struct kube_skipped *s);
};

struct kube_watch_options {
	const char *node;
	usec_t start_jitter_usec; /* 0: at once */
	usec_t now;               /* boottime */
	uint64_t seed;            /* of the jitter */
	/* The first list is read from storage; else it may be as old as the server's cache. No
	 * later list is older than what was seen before. */
	bool newest;
};

struct kube_watch_state {
	bool synced;       /* at least one list was complete */
	bool healthy;      /* the last thing that happened was good */
	uint64_t lists;    /* complete ones */
	uint64_t restarts; /* watches begun again */
	uint64_t events;
	uint64_t skipped[KUBE_SKIP_COUNT];
	usec_t last_event_at;
};

struct kube_watch;
int kube_watch_new(sd_event *event, struct kube_client *client,
		   const struct kube_watch_options *options, const struct kube_watch_events *events,
		   struct kube_watch **ret);
/* Before its client, and not from inside one of the functions above. */
void kube_watch_free(struct kube_watch *w);
/* Ends the stream, lists what is stored now, and watches from there. Does nothing while there is no
 * stream: then a list or a wait is under way. Not from inside one of the functions above. */
void kube_watch_relist(struct kube_watch *w);
const struct kube_watch_state *kube_watch_state(const struct kube_watch *w);
