// SPDX-License-Identifier: Apache-2.0
/* Records of pods that lists lack: when they are deleted. */
#include "agent/pod/pod_absent.h"
#include "agent/manage/host.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include <stdio.h>
#include <string.h>

bool absent_is_gone(usec_t *since, usec_t now)
{
	if (*since == 0)
		*since = now;
	return now - *since >= ABSENT_USEC;
}

static struct absent_pod *absent_find(const struct pods *pods, const char *uid)
{
	/* Records of one pod stand together: the newest entry first. */
	for (size_t i = pods->absent_count; i > 0; i--)
		if (strcmp(pods->absent[i - 1].uid, uid) == 0)
			return &pods->absent[i - 1];
	return NULL;
}

static void absent_remove(struct pods *pods, struct absent_pod *a)
{
	*a = pods->absent[--pods->absent_count];
}

/* Without memory for it, its records stay. */
static void absent_add(struct pods *pods, const char *uid)
{
	struct absent_pod *grown =
		reallocarray(pods->absent, pods->absent_count + 1, sizeof *grown);

	if (grown == NULL)
		return;
	pods->absent = grown;
	grown += pods->absent_count++;
	*grown = (struct absent_pod){.listed = false};
	snprintf(grown->uid, sizeof grown->uid, "%s", uid);
}

void absent_list_begin(struct pods *pods)
{
	for (size_t i = 0; i < pods->absent_count; i++)
		pods->absent[i].listed = false;
	for (size_t i = 0; i < pods->records->baselines.count; i++) {
		const char *key = pods->records->baselines.items[i].key;
		size_t prefix = strlen(BASELINE_POD_PREFIX), len;
		char uid[KUBEPODS_UID_MAX];

		if (strncmp(key, BASELINE_POD_PREFIX, prefix) != 0)
			continue;
		len = strcspn(key + prefix, "/");
		if (len >= sizeof uid)
			continue;
		snprintf(uid, sizeof uid, "%.*s", (int)len, key + prefix);
		if (absent_find(pods, uid) == NULL)
			absent_add(pods, uid);
	}
}

void absent_seen(struct pods *pods, const char *uid)
{
	struct absent_pod *a = absent_find(pods, uid);

	if (a == NULL)
		return;
	a->listed = true;
	a->gone = false;
	a->since = 0;
}

void absent_list_end(struct pods *pods, bool whole)
{
	for (size_t i = pods->absent_count; i > 0; i--) {
		struct absent_pod *a = &pods->absent[i - 1];

		/* What could not be read may be it. */
		if (a->listed || (!whole && a->since == 0))
			absent_remove(pods, a);
		else if (whole)
			a->gone = absent_is_gone(&a->since, pods->wake->now);
	}
}

void absent_tick(struct pods *pods)
{
	/* The lists belong to another node. */
	if (pods->host->name_wrong)
		return;
	for (size_t i = pods->absent_count; i > 0; i--) {
		struct absent_pod *a = &pods->absent[i - 1];
		bool over =
			a->gone || (a->since != 0 && pods->wake->now - a->since >= ABSENT_MAX_USEC);

		if (over && pods_find(pods, a->uid) == NULL && !pods_has_cgroup(pods, a->uid))
			persist_forget_pod(pods->records, a->uid);
		if (!persist_has_pod(pods->records, a->uid))
			absent_remove(pods, a);
	}
}

static bool is_unproved(const struct wakeup *w, usec_t since)
{
	return since != 0 && w->now - since >= ABSENT_USEC;
}

bool pods_want_list(struct pods *pods)
{
	const struct pods *p = pods;
	bool any = false;

	if (p->list_due) {
		pods->list_due = false;
		return true;
	}
	if (p->list_wanted_at != 0 && pods->wake->now - p->list_wanted_at < ABSENT_USEC)
		return false;
	for (size_t i = 0; i < p->sized_count && !any; i++)
		any = is_unproved(pods->wake, p->sized[i].lacking_since);
	for (size_t i = 0; i < p->absent_count && !any; i++)
		any = !p->absent[i].gone && is_unproved(pods->wake, p->absent[i].since) &&
		      !pods_has_cgroup(pods, p->absent[i].uid);
	if (any)
		pods->list_wanted_at = pods->wake->now;
	return any;
}
