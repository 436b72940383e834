/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that was decoded, as text: to compare two pods, and to look for a value. */
#pragma once

#include "agent/kube/model/decode.h"

/* Owned by the caller. */
char *pod_text(const struct kube_pod *p);
char *status_text(const struct kube_status *s);
