/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server is asked for again and again. An answer that is of no use changes nothing
 * that was read before; only a right that was never there makes it empty. */
#pragma once

#include "agent/kube/client/client.h"
#include "policy/base/base.h"

struct cluster;

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
