/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the originals from vscaled.dev/status, for when the node's own record is lost. Any client
 * may have written the annotation: the caller bounds the values before it uses them. */
#pragma once

#include "agent/kube/model/pod.h"

/* vscaled never writes a longer text. */
#define KUBE_STATUS_MAX (64 * 1024)

/* Millicores and bytes; 0: not there. */
struct kube_originals {
	uint64_t limit[RESOURCE_COUNT];
	uint64_t request[RESOURCE_COUNT]; /* only where it was changed */
};

/* Strict: every known field must have its type and form, also the fields of other containers.
 * -EBADMSG: the text is not in the form that vscaled writes; -ENOENT: it has no entry for this
 * container; -ENOMEM. */
int kube_originals_read(const char *text, const char *container, struct kube_originals *ret);

/* Do the originals agree with the pod object? For each resource of the mask that has a limit, the
 * original must be there, positive, no higher than the present limit in the spec, and no lower than
 * the original request; a request that was changed must not be higher than an original limit. A
 * forged value therefore gains nothing: the ceiling follows from no more than what the spec allows
 * already. */
bool kube_originals_fit(const struct kube_originals *o, const struct kube_container *c,
			uint32_t resources);
