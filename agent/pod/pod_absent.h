/* SPDX-License-Identifier: Apache-2.0 */
/* Records of pods that the lists of the API server lack, and when they are deleted. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

struct pods;

/* A list that lacks a pod proves nothing: storage may have been set back. Records of a pod without
 * a cgroup go when the API server deletes it, when two whole lists ABSENT_USEC apart lacked it, or
 * when none had it for ABSENT_MAX_USEC. */
#define ABSENT_USEC     (10 * USEC_PER_MIN)
#define ABSENT_MAX_USEC (8 * 24 * USEC_PER_HOUR)
/* Two whole lists lacked it, the first one at *since, which is set when it is 0. */
bool absent_is_gone(usec_t *since, usec_t now);
/* A list begins, names a pod, and ends. */
void absent_list_begin(struct pods *pods);
void absent_seen(struct pods *pods, const char *uid);
void absent_list_end(struct pods *pods, bool whole);
/* At each review: deletes the records of pods that are gone. */
void absent_tick(struct pods *pods);
/* Another list would show whether a pod is gone, at most once in ABSENT_USEC, or the rules for pods
 * have changed. */
bool pods_want_list(struct pods *pods);
