// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/port.h"

static int client_start(void *ctx, const struct kube_request *request, kube_done_fn *done,
			void *arg, struct kube_call **ret)
{
	return kube_client_start(ctx, request, NULL, done, arg, ret);
}

static void client_cancel(void *, struct kube_call *call)
{
	kube_call_cancel(call);
}

struct kube_port kube_port_of(struct kube_client *client)
{
	return (struct kube_port){.ctx = client, .start = client_start, .cancel = client_cancel};
}
