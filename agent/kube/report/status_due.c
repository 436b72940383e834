// SPDX-License-Identifier: Apache-2.0
/* When the annotation vscaled.dev/status is written; its text: status_annotation.c. */
#include "agent/base/crc32c.h"
#include "agent/kube/report/reporter_answer.h"
#include "agent/kube/report/reporter_impl.h"
#include "policy/base/arithmetic.h"
#include <stdlib.h>
#include <string.h>

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

void reporter_learn_status(struct tracked *t, const struct kube_pod *pod)
{
	const char *have = kube_pod_annotation(pod, "status");
	uint32_t seen = have != NULL ? crc32c(0, have, strlen(have)) | 1u : 0;
	bool changed = seen != t->status_seen || !t->status_known;

	if (t->patch.under_way || !changed)
		return;
	t->status_known = true;
	t->status_seen = seen;
	if (is_same(have, t->status))
		return;
	free(t->status);
	t->status = have ? strdup(have) : NULL;
}

char *reporter_status_due(struct tracked *t, usec_t now, bool *ret_due)
{
	struct reporter *r = t->reporter;
	struct reporter_view *v = &r->view;
	usec_t at = t->status_at ? add_sat(t->status_at, r->options.status_interval_usec) : 0;
	char *text;

	*ret_due = false;
	t->status_again = 0;
	/* The annotation holds the originals: it is removed once they are in the spec again. */
	if (v->mode == NULL && t->going_back)
		return NULL;
	if (t->status_same != 0)
		at = MAX(at, add_sat(t->status_same, r->options.status_interval_usec / 10));
	if (t->hurry)
		at = 0;
	if (v->mode == NULL)
		at = t->status_refused_until;
	at = MAX(at, holds_until(&r->denied[RIGHT_STATUS], t->space));
	if (now < at) {
		t->status_again = at;
		return NULL;
	}
	if (v->mode != NULL && t->status != NULL)
		reporter_status_keep(t->status, v);
	text = v->mode ? reporter_status_text(v, t->ratified, t->refusal) : NULL;
	if (v->mode != NULL && text == NULL)
		return NULL; /* no memory: another time */
	if (is_same(text, t->status)) {
		free(text);
		t->hurry = false;
		t->status_same = now;
		return NULL;
	}
	*ret_due = true;
	return text;
}
