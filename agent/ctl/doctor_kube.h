/* SPDX-License-Identifier: Apache-2.0 */
/* The API server as doctor sees it: queried once, used by several checks. */
#pragma once

#include "agent/kube/client/client.h"
#include "agent/kube/model/decode.h"

struct doctor_cluster {
	bool wanted;      /* by the configuration, or because vscalectl runs in a pod */
	int config_error; /* of finding its address and credentials */
	struct kube_config_error why;
	struct kube_config config;
	sd_event *event;
	struct kube_client *client; /* NULL: it cannot be reached */
	unsigned status;            /* of GET /api/v1; 0: no answer */
	char detail[256];           /* why there was no answer, or the server's message */
	bool resize_offered;
};

/* Where a pod finds its API server; tests name another place. */
struct doctor_place {
	const char *host; /* NULL: in no pod */
	const char *port;
	const char *account; /* folder of the service account */
};
extern const struct doctor_place *doctor_place; /* NULL: as the environment says */

struct config_kubernetes;

/* Must be closed also after a failure. Waits for the server's answer, 10 s at most. */
void doctor_cluster_open(const struct config_kubernetes *config, struct doctor_cluster *ret);
void doctor_cluster_close(struct doctor_cluster *k);
/* Every pod of the node, as the server's cache has it. each takes the pod. -errno: no answer. */
int doctor_cluster_pods(const struct doctor_cluster *k, const char *node, kube_pod_fn *each,
			void *arg);
/* Sends a SelfSubjectAccessReview. -errno: no answer. */
int doctor_cluster_may(const struct doctor_cluster *k, const char *verb, const char *group,
		       const char *resource, const char *subresource, bool *ret);
