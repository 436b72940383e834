// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/shared.h"
#include <assert.h>
#include <sys/random.h>

bool cluster_wanted(const struct daemon *d)
{
	const struct config_kubernetes *k = &d->config.kubernetes;

	if (k->enabled != CONFIG_AUTO)
		return k->enabled == CONFIG_TRUE;
	return k->kubeconfig != NULL || getenv("KUBERNETES_SERVICE_HOST") != NULL;
}
