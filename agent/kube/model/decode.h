/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes JSON of the API server; strict about the fields that are used. Of duplicate keys the
 * first counts; integers that may pass 2^53 are read as text. Every function returns -EBADMSG with
 * the fault in err. */
#pragma once

#include "agent/kube/model/pod.h"
#include "policy/types/profile.h"
#include <stddef.h>

struct kube_decode_error {
	char text[192]; /* "spec.containers[1].resources.limits.cpu: ..." */
	int error;      /* of the first value that could not be taken; 0: none */
};

/* A Status, or as much of it as there was. */
#define KUBE_CAUSES_MAX 8
struct kube_status {
	char reason[64];
	char message[512];
	uint32_t code;
	struct {
		char reason[64];
		char field[128];
		char message[256];
	} cause[KUBE_CAUSES_MAX];
	uint32_t cause_count;
	usec_t retry_after_usec;
};

enum watch_event {
	WATCH_ADDED,
	WATCH_MODIFIED,
	WATCH_DELETED,
	WATCH_BOOKMARK, /* resource_version only */
	WATCH_ERROR,    /* status only */
	WATCH_UNKNOWN,  /* a type that is not known: ignored */
};

struct kube_watch_line {
	enum watch_event event;
	struct kube_pod *pod; /* ADDED, MODIFIED, DELETED; owned by the caller */
	char resource_version[128];
	struct kube_status status;
};

typedef int kube_pod_fn(void *arg, struct kube_pod *pod); /* takes the pod; negative stops */

int kube_decode_pod(const char *text, size_t len, struct kube_pod **ret,
		    struct kube_decode_error *err);
/* A pod as its owner describes it, before the API server has it: name, uid and resourceVersion may
 * be missing, and are made up; the namespace is "default" then. */
int kube_decode_described(const char *text, size_t len, struct kube_pod **ret,
			  struct kube_decode_error *err);
/* One line of a watch on pods. */
int kube_decode_watch(const char *line, size_t len, struct kube_watch_line *ret,
		      struct kube_decode_error *err);
/* Decodes a PodList, or its metadata alone (kube_request.metadata_only), pod by pod; ret_version
 * has size bytes. A pod that cannot be decoded is left out and counted in *ret_bad, so that one bad
 * object does not hide the others. */
int kube_decode_pods(const char *text, size_t len, kube_pod_fn *each, void *arg, char *ret_version,
		     size_t size, size_t *ret_bad, struct kube_decode_error *err);
/* The token for the rest of a list, which needs no escape in a query; "": there is no more. */
int kube_decode_continue(const char *text, size_t len, char *ret, size_t size,
			 struct kube_decode_error *err);
/* A Status; other text (a proxy's page, "Too many requests") becomes the message. Never fails. */
void kube_decode_status(const char *text, size_t len, struct kube_status *ret);
/* APIResourceList of /api/v1: is there pods/resize with the verb patch? */
int kube_decode_resize_offered(const char *text, size_t len, bool *ret,
			       struct kube_decode_error *err);

/* The strictest bounds of all LimitRanges of a namespace, by type; 0: none. */
struct kube_limit_range {
	struct kube_range_bounds {
		uint64_t min[RESOURCE_COUNT];
		uint64_t max[RESOURCE_COUNT];
		uint64_t ratio_permille[RESOURCE_COUNT]; /* maxLimitRequestRatio */
	} container, pod;                                /* pod: of the sums of its containers */
};
int kube_decode_limit_ranges(const char *text, size_t len, struct kube_limit_range *ret,
			     struct kube_decode_error *err);
/* A Lease of coordination.k8s.io. */
struct kube_lease {
	char holder[320];    /* "": not held */
	char version[128];   /* resourceVersion; "": not created yet */
	usec_t renewed_real; /* 0: never */
};
int kube_decode_lease(const char *text, size_t len, struct kube_lease *ret,
		      struct kube_decode_error *err);
/* A Node: what its pods may request together, and its kubelet's release. */
struct kube_node {
	uint64_t allocatable[RESOURCE_COUNT];
	char kubelet_version[64]; /* "v1.36.3" */
};
int kube_decode_node(const char *text, size_t len, struct kube_node *ret,
		     struct kube_decode_error *err);
/* status.allowed of a SelfSubjectAccessReview. */
int kube_decode_access(const char *text, size_t len, bool *ret_allowed,
		       struct kube_decode_error *err);

/* --- decode_namespaces.c: those that have annotations of vscaled.dev/: defaults for their pods */

struct kube_namespace {
	char *name;
	struct kube_annotation *annotations; /* at least one */
	size_t annotation_count;
};

/* Zeroed is empty. */
struct kube_namespaces {
	struct kube_namespace *items; /* owned */
	size_t count;
};

/* A NamespaceList, or its metadata alone. -EBADMSG: err says what; -ENOMEM. */
int kube_decode_namespaces(const char *text, size_t len, struct kube_namespaces *ret,
			   struct kube_decode_error *err);
void kube_namespaces_drop(struct kube_namespaces *n);
/* NULL: it has no such annotation. */
const struct kube_namespace *kube_namespaces_find(const struct kube_namespaces *n,
						  const char *name);
/* The same annotations, in the same order? */
bool kube_namespaces_equal(const struct kube_namespaces *a, const struct kube_namespaces *b);

/* --- decode_autoscalers.c: HorizontalPodAutoscalers that scale by utilisation, which is use over
 * request: a request that moves would move the number of replicas. VerticalPodAutoscalers that size
 * running pods. */

enum autoscaler_kind {
	AUTOSCALER_HORIZONTAL,
	AUTOSCALER_VERTICAL,
	AUTOSCALER_KIND_COUNT,
};

struct kube_autoscaler {
	char *workload;     /* name of its target */
	char *kind;         /* of its target */
	char *why[2];       /* a request stays: of its target's pods, of others */
	uint32_t resources; /* RESOURCES_* whose utilisation it scales by, or which it sizes */
	/* Its target is an owner of pods. Else it may be an operator's, and above any of them. */
	bool traced;
};

/* Zeroed is empty. */
struct kube_autoscalers {
	enum autoscaler_kind kind;
	struct kube_autoscaler *items; /* owned */
	size_t count;
};

/* A HorizontalPodAutoscalerList of autoscaling/v2, or a VerticalPodAutoscalerList of
 * autoscaling.k8s.io/v1: those whose updateMode is Off or Initial set nothing by themselves, and
 * are not in *ret. -EBADMSG: err says what; -ENOMEM. */
int kube_decode_autoscalers(enum autoscaler_kind kind, const char *text, size_t len,
			    struct kube_autoscalers *ret, struct kube_decode_error *err);
void kube_autoscalers_drop(struct kube_autoscalers *a);
/* There are pods with this owner: its kind and name. */
void kube_autoscalers_owner(struct kube_autoscalers *a, const char *kind, const char *workload);
/* Why a request of pods with this owner stays, borrowed; NULL: it may move. above: without one of
 * their own, those count whose target is not known to own pods. */
const char *kube_autoscaler_of(const struct kube_autoscalers *a, const char *kind,
			       const char *workload, bool above, enum resource r);
