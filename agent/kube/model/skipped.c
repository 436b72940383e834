// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/skipped.h"
#include <stdio.h>
#include <string.h>

static uint64_t hash(uint64_t h, const char *text)
{
	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return (h ^ 0xff) * 0x100000001b3;
}

bool kube_skipped_changed(struct kube_skipped_memory *m, const struct kube_peek *p,
			  const char *reason)
{
	/* An offset in a reason may differ each time: of a known pod the uid alone counts. */
	uint64_t h = hash(0xcbf29ce484222325, p->uid[0] != '\0' ? p->uid : reason);

	h += h == 0;
	for (size_t i = 0; i < KUBE_SKIPPED_REPORTED; i++)
		if (m->reported[i] == h)
			return false;
	m->reported[m->next++ % KUBE_SKIPPED_REPORTED] = h;
	return true;
}

void kube_skipped_text(const struct kube_peek *p, const char *reason, char *ret, size_t size)
{
	if (p->name[0] == '\0')
		snprintf(ret, size, "%s", reason);
	else
		snprintf(ret, size, "%s%s%s: %s", p->namespace, p->namespace[0] != '\0' ? "/" : "",
			 p->name, reason);
}
