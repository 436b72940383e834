// SPDX-License-Identifier: Apache-2.0
/* What waits for an answer of the API server, and for how long: an Event says why.
 */
#include "agent/cluster/cluster.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include <stdio.h>
#include <string.h>

#define SILENT_USEC   (5 * USEC_PER_MIN)
#define NOTE_TEXT_MAX 512

static void describe(const struct cluster_wait_note *note, const struct kube_answer *a,
		     const char *detail, char ret[static NOTE_TEXT_MAX])
{
	if (a->error != 0)
		snprintf(ret, NOTE_TEXT_MAX, "%s (%s)", note->text, a->detail);
	else if (a->status != 200 || detail[0] == '\0')
		snprintf(ret, NOTE_TEXT_MAX, "%s (status %u)", note->text, a->status);
	else
		snprintf(ret, NOTE_TEXT_MAX, "%s (%s)", note->text, detail);
}

void cluster_wait_failed(struct cluster *c, struct cluster_wait *w,
			 const struct cluster_wait_note *note, const struct kube_answer *a,
			 const char *detail)
{
	char text[NOTE_TEXT_MAX];

	if (w->failing_since == 0)
		w->failing_since = c->wake->now;
	if (w->told || c->wake->now - w->failing_since < SILENT_USEC)
		return;
	w->told = true;
	describe(note, a, detail, text);
	for (size_t i = 0; i < c->units->count; i++) {
		const struct managed *m = c->units->items[i];

		if (note->concerns(m) && strcmp(m->pod->spec->namespace, note->namespace) == 0)
			recorder_note(c->recorder, m->pod->spec, "Warning", note->reason,
				      note->action, text, c->wake->now, c->wake->now_real);
	}
}
