// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/watch/watch_status.h"
#include <string.h>

unsigned kube_status_code(const struct kube_status *s)
{
	if (s->code >= 300 && s->code < 600)
		return s->code;
	return strcmp(s->reason, "Expired") == 0 || strcmp(s->reason, "Gone") == 0 ? 410 : 500;
}

bool kube_status_is_too_large(const struct kube_status *s)
{
	for (uint32_t i = 0; i < s->cause_count; i++)
		if (strcmp(s->cause[i].reason, "ResourceVersionTooLarge") == 0)
			return true;
	return false;
}
