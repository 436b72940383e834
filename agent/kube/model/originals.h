/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Originals as the annotation vscaled.dev/status has them (reporter_status_text()), for when the
 * node's own record is lost. Whoever may change the pod's annotations may have written it: what is
 * read here is to be bounded before it is used.
 */
#pragma once

#include "agent/kube/model/pod.h"

/* More than this we never write. */
#define KUBE_STATUS_MAX (64 * 1024)

/* Millicores and bytes; 0: not there. */
struct kube_originals {
	uint64_t limit[RESOURCE_COUNT];
	uint64_t request[RESOURCE_COUNT]; /* only where it was changed */
};

/* Strict: every field that is known must have its type and form, also of other containers. -EBADMSG
 * for anything else than what we write, -ENOENT: nothing of this container, -ENOMEM. */
int kube_originals_read(const char *text, const char *container, struct kube_originals *ret);

/*
 * Do they go with what the object says? Of each resource of the mask that has a limit the original
 * must be there, positive, no higher than the limit in the spec is now, and no lower than the
 * original request; a request that was changed must not be higher than an original limit. So a
 * forged value gains nothing: the ceiling follows from no more than what the spec allows already.
 */
bool kube_originals_fit(const struct kube_originals *o, const struct kube_container *c,
			uint32_t resources);
