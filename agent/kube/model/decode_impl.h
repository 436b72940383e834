/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the decoder share. */
#pragma once

#include "agent/kube/model/field.h"

/* decode.c: an object as a tree, owned by the caller. */
int decode_object(const char *text, size_t len, cJSON **ret, struct kube_decode_error *err);
/* decode.c: "ADDED" and its like. */
enum watch_event decode_event_type(const char *type, size_t len);
/* The Pod in a parsed object. After a failure the caller frees what was filled before it. */
int decode_pod(const struct field *pod, struct kube_pod *p);
typedef int decode_item_fn(const struct field *item, void *arg);
/* decode.c: each item of a list of that kind (as it is written, with its quotes), or of its
 * metadata, as a tree of its own: a long list has more values than a parser may build. */
int decode_list(const char *text, size_t len, const char *kind, decode_item_fn *each, void *arg,
		struct kube_decode_error *err);
/* decode_meta.c: name, uid, owner, annotations, field managers. */
int decode_metadata(const struct field *pod, struct kube_pod *p);
/* The same, once the containers are known: whose their values are. */
int decode_owners(const struct field *pod, struct kube_pod *p);
/* Those of vscaled.dev/: what can be valid of a value, and of what is longer enough to be refused.
 * After a failure the caller frees what was filled before it. */
int decode_annotations(const struct field *annotations, struct kube_annotation **list,
		       size_t *count);
/* decode_container.c: spec and status of every container; one of each name in a pod. */
int decode_containers(const struct field *spec, const struct field *status, struct kube_pod *p);
/* Kubernetes' own rule, for a server that did not report the class. */
enum qos_class decode_qos(const struct kube_pod *p);
/* decode_heap.c, the same: command, args and env of a container. */
void decode_heap(const struct field *container, struct kube_container *c);
/* owners.c: metadata.managedFields, of which half of a pod's text consists, cut to what is needed.
 * As scan_cut_fn: of one object fieldsV1 remains {"app":5}, KUBE_LEAF_* of each container with a
 * value in it. Returns the number of containers. */
size_t owners_cut(char *text, size_t len);
