/* SPDX-License-Identifier: Apache-2.0 */
/* The recommendations in vscaled.dev/status, for people and for the agents of other nodes. Any
 * client may have written the annotation: the caller bounds the values before it uses them.
 *
 *   "recommendation":{"version":1,"containers":{"app":{
 *     "cpu":{"request":"100m","limit":"1","lowerBound":"20m","target":"50m","upperBound":"80m",
 *            "peak":"90m"},
 *     "memory":{...,"confidence":0.042},"samples":3600,"confidence":0.042,
 *     "reason":"cpu: throttled"}}}
 *
 * request is the spec's, limit the one held; the others are from this pod's own samples alone. The
 * confidence beside the resources is CPU's. */
#pragma once

#include "agent/kube/model/pod.h"
#include "policy/history/history.h"
#include <cjson/cJSON.h>

#define KUBE_PUBLISHED_VERSION 1

struct kube_published {
	uint64_t request[RESOURCE_COUNT]; /* millicores, bytes; 0: none */
	uint64_t limit[RESOURCE_COUNT];   /* LIMIT_MAX: none */
	struct recommendation own;
	bool bare; /* without lower and upper bounds: there was no room; read, they are the target
		    */
	uint64_t samples;
	const char *reason;            /* of the last change; NULL: there was none */
	enum resource reason_resource; /* that it changed */
};

/* Adds "500m" or "256Mi", exactly; false: no memory. */
bool kube_add_amount(cJSON *o, const char *key, enum resource r, uint64_t amount);
/* Adds the member "recommendation" with one container to root; false: no memory. Nothing is added
 * for a container without samples. Memory is rounded up by less than 1 %. */
bool kube_published_add(cJSON *root, const char *container, const struct kube_published *p);
/* Removes the least important part: of the last container that has it request, limit and
 * reason, then lower and upper bound, then the last container. False: there is nothing left. */
bool kube_published_cut(cJSON *root);

/* Reads one container: own, samples, and the target under "containers" into shown (0: not there).
 * What one of them cannot be is -EBADMSG; -ENOENT: no entry in this version's form; -ENOMEM. */
int kube_published_read(const char *text, const char *container, struct kube_published *ret,
			uint64_t shown[static RESOURCE_COUNT]);

/* Reads the originals from vscaled.dev/status, for when the node's own record is lost. Any client
 * may have written the annotation: the caller bounds the values before it uses them. */

/* Millicores and bytes; 0: not there. */
struct kube_originals {
	uint64_t limit[RESOURCE_COUNT];
	uint64_t request[RESOURCE_COUNT]; /* only where it was changed */
};

/* Strict: every known field must have its type and form, also the fields of other containers.
 * -EBADMSG: the text is not in the form that vscaled writes; -ENOENT: it has no entry for this
 * container (NULL: for the pod's own limits); -ENOMEM. */
int kube_originals_read(const char *text, const char *container, struct kube_originals *ret);

/* The text of the last refusal, owned; NULL: there is none. */
char *kube_refusal_read(const char *text);

/* Do the originals agree with the pod object? For each resource of the mask that has a limit, the
 * original must be there, positive, and no lower than the original request. */
bool kube_originals_fit(const struct kube_originals *o, const struct kube_container *c,
			uint32_t resources);
