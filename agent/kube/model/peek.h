/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the pod of an object that cannot be decoded, or of its beginning: name, namespace, uid and
 * resourceVersion come before what a user can make long. Never fails; what is not found stays "".
 */
#pragma once

#include "agent/kube/model/decode.h"

struct kube_peek {
	enum watch_event event; /* of a line; of an item WATCH_UNKNOWN */
	char uid[64];
	char namespace[64];
	char name[254];
	char resource_version[128];
};

/* An item of a list, or as much of it as there is. */
void kube_peek_pod(const char *text, size_t len, struct kube_peek *ret);
/* A line of a watch, or as much of it as there is. */
void kube_peek_watch(const char *text, size_t len, struct kube_peek *ret);

/* Objects of the API server that are left out, and which of them have been reported. */

/* Why an object was left out. */
enum kube_skip { KUBE_SKIP_LARGE, KUBE_SKIP_UNDECODABLE, KUBE_SKIP_COUNT };

struct kube_skipped {
	enum kube_skip why;
	const char *uid;  /* "": not known */
	const char *text; /* "default/web-0: larger than 2 MiB" */
	bool first_time;  /* not reported before, or no longer remembered */
};

/* The number of objects that are remembered; beyond it the oldest ones are reported again. */
#define KUBE_SKIPPED_REPORTED 64

struct kube_skipped_memory {
	uint64_t reported[KUBE_SKIPPED_REPORTED]; /* hashes; 0: empty */
	size_t next;
};

/* True: this object has not been reported for this reason yet. Remembers it. */
bool kube_skipped_changed(struct kube_skipped_memory *m, const struct kube_peek *p,
			  const char *reason);
/* "default/web-0: reason", as much of the name as is known. */
void kube_skipped_text(const struct kube_peek *p, const char *reason, char *ret, size_t size);
