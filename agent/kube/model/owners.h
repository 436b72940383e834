/* SPDX-License-Identifier: Apache-2.0 */
/* Who has set a value of a container's resources: metadata.managedFields, of which half of a pod's
 * text consists, cut to what is needed. */
#pragma once

#include "agent/base/json.h"

/* As scan_cut_fn: of one object fieldsV1 remains {"app":5}, KUBE_LEAF_* of each container with a
 * value in it. Returns the number of containers. */
size_t owners_cut(char *text, size_t len);
