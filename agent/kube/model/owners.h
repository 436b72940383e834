/* SPDX-License-Identifier: Apache-2.0 */
/* Who has set a value of a container's resources: metadata.managedFields, of which half of a pod's
 * text consists, cut to what is needed. */
#pragma once

#include "agent/kube/model/field.h"

/* text: one object fieldsV1 that was scanned. In its place, never longer, padded with blanks,
 * stands
 * {"app":5}: KUBE_LEAF_* of each container with a value in it. Returns the number of containers. */
size_t owners_slim(char *text, size_t len);
/* After that: ours and others of the containers of p. -EBADMSG. */
int decode_owners(const struct field *pod, struct kube_pod *p);
