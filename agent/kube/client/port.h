/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests go: a client, or in tests a script that answers in virtual time. */
#pragma once

#include "agent/kube/client/client.h"

struct kube_port {
	void *ctx;
	/* Contracts of kube_client_start() and kube_call_cancel(). */
	int (*start)(void *ctx, const struct kube_request *request, kube_done_fn *done, void *arg,
		     struct kube_call **ret);
	void (*cancel)(void *ctx, struct kube_call *call);
};

struct kube_port kube_port_of(struct kube_client *client);
