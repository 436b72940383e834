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
