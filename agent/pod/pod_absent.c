// SPDX-License-Identifier: Apache-2.0
/* Records of pods that lists lack: when they are deleted. */
#include "agent/pod/pod_absent.h"
#include "agent/manage/daemon_state.h"
#include "agent/manage/pod_table.h"
#include <stdio.h>
#include <string.h>

bool absent_is_gone(usec_t *since, usec_t now)
{
	if (*since == 0)
		*since = now;
	return now - *since >= ABSENT_USEC;
}

static struct absent_pod *absent_find(const struct daemon *d, const char *uid)
{
	/* Records of one pod stand together: the newest entry first. */
	for (size_t i = d->pods.absent_count; i > 0; i--)
		if (strcmp(d->pods.absent[i - 1].uid, uid) == 0)
			return &d->pods.absent[i - 1];
	return NULL;
}

static void absent_remove(struct daemon *d, struct absent_pod *a)
{
	*a = d->pods.absent[--d->pods.absent_count];
}

/* Without memory for it, its records stay. */
static void absent_add(struct daemon *d, const char *uid)
{
	struct absent_pod *grown =
		reallocarray(d->pods.absent, d->pods.absent_count + 1, sizeof *grown);

	if (grown == NULL)
		return;
	d->pods.absent = grown;
	grown += d->pods.absent_count++;
	*grown = (struct absent_pod){.listed = false};
	snprintf(grown->uid, sizeof grown->uid, "%s", uid);
}

void absent_list_begin(struct daemon *d)
{
	for (size_t i = 0; i < d->pods.absent_count; i++)
		d->pods.absent[i].listed = false;
	for (size_t i = 0; i < d->records.baselines.count; i++) {
		const char *key = d->records.baselines.items[i].key;
		size_t prefix = strlen(BASELINE_POD_PREFIX), len;
		char uid[KUBEPODS_UID_MAX];

		if (strncmp(key, BASELINE_POD_PREFIX, prefix) != 0)
			continue;
		len = strcspn(key + prefix, "/");
		if (len >= sizeof uid)
			continue;
		snprintf(uid, sizeof uid, "%.*s", (int)len, key + prefix);
		if (absent_find(d, uid) == NULL)
			absent_add(d, uid);
	}
}

void absent_seen(struct daemon *d, const char *uid)
{
	struct absent_pod *a = absent_find(d, uid);

	if (a == NULL)
		return;
	a->listed = true;
	a->gone = false;
	a->since = 0;
}

void absent_list_end(struct daemon *d, bool whole)
{
	for (size_t i = d->pods.absent_count; i > 0; i--) {
		struct absent_pod *a = &d->pods.absent[i - 1];

		/* What could not be read may be it. */
		if (a->listed || (!whole && a->since == 0))
			absent_remove(d, a);
		else if (whole)
			a->gone = absent_is_gone(&a->since, d->wake.now);
	}
}

void absent_tick(struct daemon *d)
{
	/* The lists belong to another node. */
	if (d->host.name_wrong)
		return;
	for (size_t i = d->pods.absent_count; i > 0; i--) {
		struct absent_pod *a = &d->pods.absent[i - 1];
		bool over = a->gone || (a->since != 0 && d->wake.now - a->since >= ABSENT_MAX_USEC);

		if (over && pods_find(d, a->uid) == NULL && !pods_has_cgroup(d, a->uid))
			pods_forget_records(d, a->uid);
		if (!pods_has_record(d, a->uid))
			absent_remove(d, a);
	}
}

static bool is_unproved(const struct daemon *d, usec_t since)
{
	return since != 0 && d->wake.now - since >= ABSENT_USEC;
}

bool pods_want_list(struct daemon *d)
{
	const struct pods *p = &d->pods;
	bool any = false;

	if (p->list_wanted_at != 0 && d->wake.now - p->list_wanted_at < ABSENT_USEC)
		return false;
	for (size_t i = 0; i < p->sized_count && !any; i++)
		any = is_unproved(d, p->sized[i].lacking_since);
	for (size_t i = 0; i < p->absent_count && !any; i++)
		any = !p->absent[i].gone && is_unproved(d, p->absent[i].since) &&
		      !pods_has_cgroup(d, p->absent[i].uid);
	if (any)
		d->pods.list_wanted_at = d->wake.now;
	return any;
}
