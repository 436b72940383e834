/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the Status with which a list or a watch was refused. */
#pragma once

#include "agent/kube/model/decode.h"

/* The HTTP status that an ERROR event stands for; the reason alone is enough. */
unsigned kube_status_code(const struct kube_status *s);
/* The server's cache, or its storage, is older than what was asked for. */
bool kube_status_is_too_large(const struct kube_status *s);
