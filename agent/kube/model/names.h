/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies things in the API and on disk: strict, because paths are made of it. */
#pragma once

#include <stdbool.h>

/* DNS-1123: "web-0", at most 63; "web.example", at most 253. */
bool kube_is_label(const char *s);
bool kube_is_subdomain(const char *s);
/* A uid, of a pod or of a static pod's manifest: letters, digits and dashes, at most 63. */
bool kube_is_uid(const char *s);
/* A runtime's container id: letters, digits, - and _, at most 127. */
bool kube_is_container_id(const char *s);
/* A resourceVersion, whatever it says; at most 127. */
bool kube_is_version(const char *s);
/* A kind of objects: "StatefulSet". */
bool kube_is_kind(const char *s);
/* Pods have owners of this kind, as far as they name them: itself, or by its ReplicaSets or Jobs.
 * Custom resources may do so too, or stand above one that does. */
bool kube_owns_pods(const char *kind);
