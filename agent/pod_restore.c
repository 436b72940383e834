// SPDX-License-Identifier: Apache-2.0
/* A container or pod level gets its originals back. */
#include "agent/daemon.h"
#include "agent/restore_one.h"
#include "cgroup/kubepods.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

bool pod_owes(const struct pod *p)
{
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL && p->members[i].managed->hand_back_due)
			return true;
	return false;
}

/* Where it is now; "" when it does not run. What is not attached is looked for. */
static void locate(const struct managed *m, char ret[static CGROUP_PATH_MAX])
{
	const struct daemon *d = m->daemon;
	const struct kube_container *c =
		m->kind == UNIT_KIND_CONTAINER
			? kube_pod_container(m->pod->spec, pod_container_of(m))
			: NULL;
	const char *prefix = d->config.kubernetes.cgroup_prefix;
	char pod[KUBEPODS_PATH_MAX];

	ret[0] = '\0';
	if (m->cg != NULL) {
		snprintf(ret, CGROUP_PATH_MAX, "%s", m->path);
		return;
	}
	if (kubepods_find_pod(d->root, prefix != NULL ? prefix : "", m->pod->spec->cgroup_uid, pod,
			      sizeof pod) < 0)
		return;
	if (m->kind == UNIT_KIND_POD)
		snprintf(ret, CGROUP_PATH_MAX, "%s", pod);
	else if (c != NULL && c->id != NULL)
		(void)kubepods_find_container(d->root, pod, c->id, ret, CGROUP_PATH_MAX);
}

/* The pod makes room before the container grows. */
static void make_room(struct managed *m, const struct limits *original)
{
	uint64_t milli = cpu_milli_of(original->cpu_quota_usec, original->cpu_period_usec);
	struct plan none;

	if (m->control.started_at == 0)
		return;
	m->rising[RESOURCE_CPU] = milli == LIMIT_MAX ? 0 : milli;
	m->rising[RESOURCE_MEMORY] = original->mem_max == LIMIT_MAX ? 0 : original->mem_max;
	m->pod->concerned = true;
	plan_begin(m->daemon, &none);
	plan_apply(m->daemon, &none);
	memset(m->rising, 0, sizeof m->rising);
}

int pod_restore(struct managed *m, const struct restore *r, struct restore_result *ret)
{
	struct daemon *d = m->daemon;
	const struct baseline *b = baseline_find(&d->baselines, m->key);
	struct restore with = *r;
	struct restore_target t = {.baseline = b};
	struct kubepods_name name;

	if (b == NULL)
		return -ENOENT;
	locate(m, t.path);
	for (const char *c = t.path; *c != '\0'; c++)
		t.depth += *c == '/';
	if (t.path[0] != '\0' && kubepods_parse(t.path, &name) == 0 && name.unit[0] != '\0')
		t.unit = name.unit;
	else
		with.units = NULL; /* cgroupfs, or gone with its scope */
	if (m->kind == UNIT_KIND_CONTAINER)
		make_room(m, &b->limits);
	restore_grow(&with, &t);
	restore_unit(&with, &t, ret);
	ret->unit = m->name;
	if (ret->outcome == RESTORE_RESTORED || ret->outcome == RESTORE_GONE)
		d->baselines_dirty |= baseline_remove(&d->baselines, m->key);
	return 0;
}
