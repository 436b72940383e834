// SPDX-License-Identifier: Apache-2.0
/* Queries on the table of pods. */
#include "agent/manage/pod_table.h"
#include "agent/manage/managed.h"
#include "cgroup/kubepods.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* More than an Event may have, which is shortened to that. */
#define WARN_TEXT_MAX 2048

struct pod *pods_entry(const struct pods *pods, const char *uid)
{
	ENTRIES_FOREACH (p, pods)
		if (strcmp(p->uid, uid) == 0)
			return p;
	return NULL;
}

struct pod *pods_named(const struct pods *pods, const char *name)
{
	PODS_FOREACH (p, pods) {
		const struct kube_pod *s = p->spec;
		size_t len = strlen(s->namespace);

		if (strncmp(name, s->namespace, len) == 0 && name[len] == '/' &&
		    strcmp(name + len + 1, s->name) == 0)
			return p;
	}
	return NULL;
}

void pod_key(const char *uid, const char *container, char ret[static RECORD_NAME_MAX])
{
	snprintf(ret, RECORD_NAME_MAX, BASELINE_POD_PREFIX "%s%s%s", uid,
		 container != NULL ? "/" : "", container != NULL ? container : "");
}

bool pods_has_cgroup(const struct pods *pods, const char *uid)
{
	char path[KUBEPODS_PATH_MAX];

	return host_find_pod(pods->host, uid, path) == 0;
}

const char *pod_container_of(const struct managed *m)
{
	return m->kind == UNIT_KIND_CONTAINER ? strrchr(m->name, '/') + 1 : NULL;
}

const struct kube_container *pod_spec_of(const struct managed *m)
{
	return m->kind == UNIT_KIND_CONTAINER
		       ? kube_pod_container(m->pod->spec, pod_container_of(m))
		       : NULL;
}

uint64_t pod_level_original(const struct pod *p, enum resource r)
{
	return p->level != NULL && p->level->record != NULL ? p->level->record->sent_over[r] : 0;
}

void pods_scan_again(struct pods *pods)
{
	PODS_FOREACH (p, pods)
		p->scan = true;
}

struct managed *pod_next(const struct pod *p, const struct managed *after)
{
	size_t i = 0;

	while (after != NULL && p->members[i++].managed != after)
		;
	while (i < p->spec->container_count && p->members[i].managed == NULL)
		i++;
	return i < p->spec->container_count ? p->members[i].managed : NULL;
}

enum state_reason pod_unfound(const struct pod *p)
{
	POD_FOREACH (m, p)
		if (m->container.unfound != STATE_SIZING)
			return m->container.unfound;
	return STATE_SIZING;
}

bool pods_lost(const struct pods *pods)
{
	UNITS_FOREACH (m, pods->units)
		if (m->kind == UNIT_KIND_CONTAINER && m->cgroup.cg != NULL)
			return false;
	PODS_FOREACH (p, pods) {
		enum state_reason why = pod_unfound(p);

		if (why == STATE_NO_POD_CGROUP || why == STATE_OTHER_DRIVER)
			return true;
	}
	return false;
}

void pod_warn(const struct pod *p, const char *reason, const char *action, const char *format, ...)
{
	char text[WARN_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (p->pods->hooks.warn != NULL)
		p->pods->hooks.warn(p, reason, action, text);
}
