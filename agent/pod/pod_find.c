// SPDX-License-Identifier: Apache-2.0
#include "agent/apply/apply.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/pod/pods.h"
#include "cgroup/kubepods.h"
#include "cgroup/levels.h"
#include "cgroup/reader.h"
#include "cgroup/writer.h"
#include "policy/base/base.h"
#include "policy/control/control.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define POD_CHILDREN_MAX 128

/* The folders in the pod's cgroup. */
struct pod_children {
	size_t count;
	struct pod_child {
		char path[KUBEPODS_PATH_MAX];
		struct kubepods_name name;
	} item[POD_CHILDREN_MAX];
};

/* --- which container of a pod an unknown cgroup can belong to, and what follows when the API
 * server reports later that it is another one's */

/* NULL: none of them has this id, or id is NULL. */
static const struct pod_child *pod_child_of_id(const struct pod_children *all, const char *id)
{
	for (size_t i = 0; id != NULL && i < all->count; i++)
		if (strcmp(all->item[i].name.id, id) == 0)
			return &all->item[i];
	return NULL;
}

/* No container of the spec has its id, and no managed container is attached to it. */
static bool pod_child_is_unknown(const struct pod *p, const struct pod_child *c)
{
	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct managed *m = p->members[i].managed;

		if (p->spec->containers[i].id != NULL &&
		    strcmp(p->spec->containers[i].id, c->name.id) == 0)
			return false;
		if (m != NULL && m->cgroup.cg != NULL && strcmp(m->cgroup.path, c->path) == 0)
			return false;
	}
	return true;
}

static bool is_missing(const struct pod *p, size_t i, const struct pod_children *all)
{
	const struct managed *m = p->members[i].managed;
	const struct kube_container *c = &p->spec->containers[i];
	/* An init or ephemeral container that ran to its end does not come back while its pod's
	 * sandbox lives. Should the sandbox be made anew, the API server's report corrects the
	 * guess. */
	bool ended = c->kind >= CONTAINER_INIT && c->id != NULL && !c->running;

	return (m == NULL || m->cgroup.cg == NULL) && !ended && pod_child_of_id(all, c->id) == NULL;
}

/* The only container of the spec, managed or not, that has no cgroup and may come to have one: a
 * cgroup that appears can only be its own. SIZE_MAX: there is none beside `except`, or more than
 * one. */
static size_t only_missing(const struct pod *p, size_t except, const struct pod_children *all)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < p->spec->container_count; i++) {
		if (i == except || !is_missing(p, i, all))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = i;
	}
	return found;
}

/* Do the limits of a new cgroup equal what the API server has of the container? The runtime creates
 * it with what the kubelet admitted last: the spec, or the status. */
static bool pod_has_limits_of(const struct kube_container *c, const struct limits *stands)
{
	uint64_t period = stands->cpu_period_usec;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t now = limit_amount(stands, r);

		if (!limit_same_file(r, now, c->spec.limit[r], period) &&
		    !(c->has_status && limit_same_file(r, now, c->status.limit[r], period)))
			return false;
	}
	return true;
}

/* The index of the container whose cgroup this is; SIZE_MAX: of no other one. */
static size_t owner_of(const struct pod *p, size_t i, const struct pod_children *all)
{
	const struct managed *m = p->members[i].managed;
	const struct pod_child *own = pod_child_of_id(all, p->spec->containers[i].id);

	for (size_t k = 0; k < p->spec->container_count; k++) {
		const struct pod_child *named = pod_child_of_id(all, p->spec->containers[k].id);

		if (k != i && named != NULL && strcmp(named->path, m->cgroup.path) == 0)
			return k;
	}
	/* It has a cgroup of its own by now: this one is of the one that is missing. */
	if (own == NULL || strcmp(own->path, m->cgroup.path) == 0)
		return SIZE_MAX;
	return only_missing(p, i, all);
}

/* Did vscaled write this value, to the file or through systemd? */
static bool is_ours(const struct managed *m, enum resource r, uint64_t value)
{
	uint32_t prop = r == RESOURCE_CPU ? UNIT_PROP_CPU_QUOTA : UNIT_PROP_MEM_MAX;
	uint64_t sent = r == RESOURCE_CPU ? cpu_milli_of(m->properties.sent.cpu_quota_per_sec_usec,
							 USEC_PER_SEC)
					  : m->properties.sent.mem_max;

	return limit_same(r, value, m->control.resource[r].limit) ||
	       ((m->properties.sent_mask & prop) && limit_same(r, value, sent));
}

/* The limits from before the first write; a later value of an external writer stays. */
static struct limits goes_back(const struct managed *m)
{
	struct limits l = m->container.found;
	struct usage u = {0};

	if (cg_read(m->cgroup.cg, LIMITS_USAGE, &u) < 0)
		return l;
	unit_fill_absent(m, &u);
	if (!is_ours(m, RESOURCE_CPU, limit_amount(&u.limits, RESOURCE_CPU))) {
		l.cpu_quota_usec = u.limits.cpu_quota_usec;
		l.cpu_period_usec = u.limits.cpu_period_usec;
	}
	if (!is_ours(m, RESOURCE_MEMORY, u.limits.mem_max))
		l.mem_max = u.limits.mem_max;
	if (u.limits.mem_high != m->control.kernel.mem_high)
		l.mem_high = u.limits.mem_high;
	return l;
}

/* The values to restore are the owner's from before the first write, unless they are on record. */
static bool note_originals(struct pod *p, const struct managed *m, size_t k, const struct limits *l)
{
	struct managed *owner = p->members[k].managed;
	const struct kube_container *c = &p->spec->containers[k];
	char key[RECORD_NAME_MAX], shown[RECORD_NAME_MAX];
	struct baseline b = {
		.key = key,
		.limits = *l,
		.props = m->unit != NULL ? props_of_limits(l) : PROPS_NONE,
		.cgroup_inode = cg_id(m->cgroup.cg),
		.cgroup = m->cgroup.path,
		.unit = m->unit,
		.shown = shown,
		.holder = owner != NULL ? &owner->record : NULL,
	};

	pod_key(p->spec->uid, c->name, key);
	snprintf(shown, sizeof shown, "%s/%s/%s", p->spec->namespace, p->spec->name, c->name);
	if (baseline_find(&p->pods->records->baselines, key) != NULL)
		return true;
	if (persist_put(p->pods->records, &b) < 0)
		return false;
	persist_baselines(p->pods->records);
	return true;
}

/* Memory only as far as its use allows: cg_write() checks a lower limit. */
static void put_back(const struct managed *m, const struct limits *f)
{
	const struct tuning_memory *t = &m->config->tuning.memory;
	const struct change steps[] = {
		{.knob = KNOB_CPU_MAX, .to = f->cpu_quota_usec, .period_usec = f->cpu_period_usec},
		{.knob = KNOB_MEM_HIGH, .to = f->mem_high, .margin_bytes = t->margin_min_bytes},
		{.knob = KNOB_MEM_MAX, .to = f->mem_max, .margin_bytes = t->margin_min_bytes},
	};

	/* What fails here is tried again from the record. */
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		(void)cg_write(m->cgroup.cg, &steps[i]);
}

/* It has not run in this cgroup: what was learned of it there is not its own. */
static void forget_guess(struct managed *m)
{
	bool first = m->container.attach == ATTACH_GUESSED_NEW;

	m->container.attach = ATTACH_CONFIRMED;
	if (first) {
		persist_forget(m);
		control_forget_start(&m->control);
		originals_forget(m);
	} else {
		persist_left_cgroup(m);
	}
	property_cancel(m);
}

/* The originals of the true owner are restored from its record, until that succeeds. */
static void give_to(struct pod *p, size_t k, char *unit)
{
	struct managed *owner;

	if (p->members[k].managed == NULL)
		pod_apply_rules(p); /* it has a record now, so it is to be handed back */
	owner = p->members[k].managed;
	if (owner == NULL || owner->cgroup.cg != NULL) {
		free(unit);
		return;
	}
	managed_set_unit(owner, unit);
	/* A managed one is attached in this search and sized by its own laws. */
	if (owner->container.annotated)
		property_request(owner, false);
	else
		lifecycle_release(owner, STATE_WRONG_CGROUP);
}

static void release(struct pod *p, size_t i, size_t k)
{
	struct managed *m = p->members[i].managed;
	struct managed *owner = p->members[k].managed;
	const struct kube_container *c = &p->spec->containers[k];
	bool touched = m->originals.touched;
	struct limits back, stood;

	unit_brake_off(m);
	back = stood = goes_back(m);
	limits_as_spec(&back, c->spec.limit[RESOURCE_CPU]);
	if (touched && !note_originals(p, m, k, &back))
		return; /* no memory: the next search tries again */
	event_tell(EVENT_CGROUP_RELEASED, .who = message_who(m), .detail = c->name);
	if (touched)
		put_back(m, &stood);
	/* What it ran in before does not exist any more: else it would not have been missing. */
	if (owner != NULL)
		managed_lost(owner);
	managed_lost(m);
	forget_guess(m);
	/* Where vscaled wrote nothing, nothing is to be restored. */
	if (touched)
		give_to(p, k, STEAL(m->unit));
	persist_baselines(p->pods->records);
}

/* Cgroups that turn out to be another container's are released: their limits are put back. */
static void pod_check_guesses(struct pod *p, const struct pod_children *all)
{
	for (size_t i = 0; i < p->spec->container_count; i++) {
		struct managed *m = p->members[i].managed;
		const struct pod_child *own = pod_child_of_id(all, p->spec->containers[i].id);
		size_t k;

		if (m == NULL || m->cgroup.cg == NULL || m->container.attach == ATTACH_CONFIRMED)
			continue;
		if (own != NULL && strcmp(own->path, m->cgroup.path) == 0) {
			/* The API server reports the same. */
			m->container.attach = ATTACH_CONFIRMED;
			continue;
		}
		k = owner_of(p, i, all);
		if (k != SIZE_MAX)
			release(p, i, k);
	}
}

/* --- limits that systemd holds while it cannot be called: what an earlier agent wrote is put back
 */

/* A limit that may not be written, see scope_out_of_reach(). */
static bool pod_out_of_reach(const struct managed *m, const char *path)
{
	return m->container.rule.rule.mode != MODE_OFF && scope_out_of_reach(m->pid1, path);
}

/* The cgroup on record, while its files may still have to get the originals; NULL: none. */
static const char *recorded_cgroup(const struct managed *m)
{
	return m->record != NULL && !m->hand_back.due && !m->hand_back.done ? m->record->cgroup
									    : NULL;
}

/* An agent that could call PID 1 has sized this run of it: its files get the originals, once. */
static void pod_put_back(struct managed *m, const char *path)
{
	const char *recorded = recorded_cgroup(m);

	if (recorded != NULL && strcmp(recorded, path) == 0)
		lifecycle_release(m, STATE_PID1_UNREACHABLE);
}

/* Its limits may still be those of an earlier agent, and are not requested back yet. One with mode
 * Off is released, if at all, when it is attached. */
static bool may_be_put_back(const struct managed *m, const struct pod_children *all)
{
	const char *recorded = recorded_cgroup(m);
	bool found = false;

	if (recorded == NULL || managed_state(m) == UNIT_RESTORED)
		return false;
	for (size_t i = 0; i < all->count; i++)
		found |= strcmp(all->item[i].path, recorded) == 0;
	return found && (pod_out_of_reach(m, recorded) || m->cgroup.cg == NULL);
}

/* The same of the pod's own cgroup, with all of its containers that can be put back. */
static void pod_put_back_level(struct pod *p, const struct pod_children *all)
{
	POD_FOREACH (m, p)
		if (may_be_put_back(m, all))
			return;
	pod_put_back(p->level, p->path);
}

/* --- from containers to their cgroups: by the API server's report, or by the cgroup that appears
 */

/* Cookies of the watches; those of limit files are small numbers. */
#define COOKIE_POD      (1ULL << 62) /* its folder */
#define COOKIE_NEWCOMER (1ULL << 61) /* limits that are waited for */
#define COOKIE_PARENT   (1ULL << 60)
#define COOKIE_KINDS    (COOKIE_POD | COOKIE_NEWCOMER | COOKIE_PARENT)

/* Longer than that, a limit of the spec is not going to be there. */
#define READY_USEC (10 * USEC_PER_SEC)
/* --- watches --- */

bool pods_watch_event(struct pods *pods, const struct cg_watch_event *e)
{
	uint64_t serial = e->cookie & ~COOKIE_KINDS;

	if (!(e->cookie & COOKIE_KINDS))
		return false;
	PODS_FOREACH (p, pods)
		if (e->cookie & COOKIE_PARENT)
			p->scan |= p->path == NULL || e->what == CG_WATCH_CHILD_GONE;
		else
			p->scan |= p->serial == serial;
	return true;
}

void pods_unwatch(struct pods *pods)
{
	for (size_t i = 0; i < ARRAY_SIZE(pods->parents); i++) {
		if (pods->parents[i] == NULL)
			continue;
		cg_watch_forget(pods->inotify->watch, COOKIE_PARENT | i);
		cg_close(pods->parents[i]);
		pods->parents[i] = NULL;
	}
}

void pods_watch_parents(struct pods *pods)
{
	char paths[KUBEPODS_PARENTS_MAX][KUBEPODS_PATH_MAX];
	int count = kubepods_parents(pods->host->root, pods->host->kubelet_root, paths);
	bool same = count == KUBEPODS_PARENTS_MAX || pods->parents[MAX(count, 0)] == NULL;

	for (int i = 0; same && i < count; i++)
		same = pods->parents[i] != NULL &&
		       cg_same(pods->parents[i], pods->host->root, paths[i]) == 1;
	if (same)
		return;
	/* The kubelet has made its folders meanwhile, or made them anew. */
	pods_unwatch(pods);
	for (int i = 0; i < count; i++) {
		if (cg_open(pods->host->root, paths[i], &pods->parents[i]) == 0)
			cg_watch_children(pods->inotify->watch, pods->parents[i],
					  COOKIE_PARENT | (uint64_t)i);
	}
	pods_scan_again(pods);
	pods_scan(pods);
}

void pod_unwatch(struct pod *p)
{
	cg_watch_forget(p->pods->inotify->watch, COOKIE_POD | p->serial);
	cg_watch_forget(p->pods->inotify->watch, COOKIE_NEWCOMER | p->serial);
}

/* Watches a new cgroup: the runtime is about to write its limits. */
static void await(struct pod *p, const char *path)
{
	OWN(drop_cg) struct cg *cg = NULL; /* the watch outlives it */

	p->newcomers = true;
	p->scan = true;
	if (cg_open(p->pods->host->root, path, &cg) == 0)
		cg_watch_limits(p->pods->inotify->watch, cg, COOKIE_NEWCOMER | p->serial);
}

/* --- what is ready --- */

static int read_limits(const struct host *host, const char *path, struct limits *ret)
{
	OWN(drop_cg) struct cg *cg = NULL;
	struct usage u = {0};
	int r = cg_open(host->root, path, &cg);

	if (r == 0)
		r = cg_read(cg, LIMITS_USAGE, &u);
	if (r == 0)
		*ret = u.limits;
	return r;
}

/* Every limit that is to come has come. */
static bool has_limits(const struct limits *stands, const uint64_t spec[RESOURCE_COUNT])
{
	return (spec[RESOURCE_CPU] == LIMIT_MAX || stands->cpu_quota_usec != LIMIT_MAX) &&
	       (spec[RESOURCE_MEMORY] == LIMIT_MAX || stands->mem_max != LIMIT_MAX);
}

/* CPUs that its processes may run on; 0: not known. */
static uint32_t cpus_of(const struct host *host, const char *path)
{
	OWN(drop_cg) struct cg *cg = NULL;
	uint32_t count;

	return cg_open(host->root, path, &cg) == 0 && cg_count_cpus(cg, &count) == 0 ? count : 0;
}

/* The static CPU manager gave it CPUs of its own: fewer than the folder of all pods has. */
static bool has_own_cpus(const struct pod *p, const struct kube_container *c, const char *path)
{
	uint64_t milli = c->spec.limit[RESOURCE_CPU];
	char all[KUBEPODS_PATH_MAX];
	uint32_t mine, theirs;

	if (p->spec->qos != QOS_GUARANTEED || milli == LIMIT_MAX || milli % 1000 != 0)
		return false;
	snprintf(all, sizeof all, "%.*s", (int)(strrchr(p->path, '/') - p->path), p->path);
	mine = cpus_of(p->pods->host, path);
	theirs = cpus_of(p->pods->host, all);
	return mine != 0 && mine < theirs;
}

/* Reads them. False: they cannot be read, or are not all there yet: they are waited for. */
static bool limits_ready(struct pod *p, struct managed *m, const char *path,
			 const uint64_t spec[RESOURCE_COUNT], struct limits *ret)
{
	managed_attach_tried(m);
	if (read_limits(p->pods->host, path, ret) < 0)
		return false;
	if (has_limits(ret, spec) || p->pods->wake->now - m->cgroup.attach_tried_at >= READY_USEC)
		return true;
	await(p, path);
	return false;
}

/* --- the pod's own cgroup --- */

/* The kubelet limits the pod where every container is. */
static void level_spec(const struct kube_pod *s, uint64_t ret[RESOURCE_COUNT])
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		ret[r] = 0;
		if (s->level_limit[r] != 0)
			ret[r] = add_sat(s->level_limit[r], s->overhead[r]);
		for (size_t i = 0; s->level_limit[r] == 0 && i < s->container_count; i++)
			if (s->containers[i].kind < CONTAINER_INIT)
				ret[r] = add_sat(ret[r], s->containers[i].spec.limit[r]);
	}
}

/* NULL: only the kernel holds its limits, or PID 1 cannot be called. */
static const char *unit_of(const struct pid1 *pid1, const struct kubepods_name *n)
{
	return n->unit[0] != '\0' && !pid1->absent ? n->unit : NULL;
}

static struct managed *level_new(struct pod *p)
{
	char name[RECORD_NAME_MAX], key[RECORD_NAME_MAX];
	struct kubepods_name cgroup;
	struct managed_names names = {.kind = UNIT_KIND_POD, .name = name, .key = key};
	struct managed *m;

	if (kubepods_parse(p->path, &cgroup) < 0)
		return NULL;
	names.unit = unit_of(p->pods->units->pid1, &cgroup);
	snprintf(name, sizeof name, "%s/%s", p->spec->namespace, p->spec->name);
	pod_key(p->spec->uid, NULL, key);
	m = managed_new(p->pods->units, &names);
	if (m == NULL)
		return NULL;
	m->pod = p;
	m->container.annotated = true;
	m->container.rule.rule = policy_rule_default;
	m->container.rule.rule.resources = RESOURCES_BOTH;
	m->container.rule.rule.mode = pod_is_sized(p) ? MODE_AUTO : MODE_OFF;
	return m;
}

/* It makes room for the containers whose originals are known; of one with unknown ones, which is
 * not written to, what its spec has counts. */
static bool level_in_doubt(const struct pod *p)
{
	bool doubt = false, known = false;

	POD_FOREACH (m, p) {
		bool unknown = m->originals.trust == ORIGINALS_UNKNOWN;

		if (unknown && m->reason == STATE_RANGES_UNREAD)
			return true;
		doubt |= unknown;
		known |= !unknown && m->container.annotated;
	}
	return doubt && !known;
}

static void find_level(struct pod *p, const struct pod_children *all)
{
	uint64_t spec[RESOURCE_COUNT];
	struct limits stands;
	struct arrival a = {.cgroup = p->path, .props = PROPS_NONE};
	struct managed *m = p->level;

	if (m != NULL && m->cgroup.cg != NULL) {
		if (!cg_replaced(m->cgroup.cg, p->pods->host->root, p->path))
			return;
		managed_lost(m);
	}
	if (m == NULL)
		m = p->level = level_new(p);
	if (m == NULL || managed_state(m) == UNIT_RESTORED || level_in_doubt(p))
		return;
	if (pod_out_of_reach(m, p->path)) {
		pod_put_back_level(p, all);
		return;
	}
	level_spec(p->spec, spec);
	a.spec_milli = spec[RESOURCE_CPU];
	if (!limits_ready(p, m, p->path, spec, &stands))
		return;
	pod_recover_level(m, &stands);
	managed_start(m, &a);
	pod_level_keep(p);
	/* The owner may have given the pod another limit since it was recorded. */
	if (m->cgroup.cg != NULL)
		pod_level_check(m);
	p->concerned = true;
}

/* Its folder, and a watch of it. -ENOENT: there is none. */
static int find_path(struct pod *p)
{
	OWN(drop_cg) struct cg *cg = NULL;
	char path[KUBEPODS_PATH_MAX];
	int r = host_find_pod(p->pods->host, p->spec->cgroup_uid, path);

	if (r < 0) {
		pod_unwatch(p);
		free(STEAL(p->path));
		return -ENOENT;
	}
	if (p->path != NULL && strcmp(p->path, path) == 0)
		return 0;
	r = cg_open(p->pods->host->root, path, &cg);
	if (r < 0)
		return r;
	cg_watch_children(p->pods->inotify->watch, cg, COOKIE_POD | p->serial);
	free(p->path);
	p->path = strdup(path);
	return p->path != NULL ? 0 : -ENOMEM;
}

/* --- containers --- */

static void note_child(void *arg, const char *path, const struct kubepods_name *name)
{
	struct pod_children *all = arg;

	if (all->count == POD_CHILDREN_MAX)
		return;
	snprintf(all->item[all->count].path, KUBEPODS_PATH_MAX, "%s", path);
	all->item[all->count++].name = *name;
}

/* The pause container never gets limits: the cgroup with those of the spec is the container's. */
static const struct pod_child *guess(struct pod *p, size_t i, const struct pod_children *all)
{
	const uint64_t *spec = p->spec->containers[i].spec.limit;
	struct limits stands;

	if (only_missing(p, SIZE_MAX, all) != i ||
	    (spec[RESOURCE_CPU] == LIMIT_MAX && spec[RESOURCE_MEMORY] == LIMIT_MAX))
		return NULL;
	for (size_t k = 0; k < all->count; k++) {
		const struct pod_child *c = &all->item[k];

		if (!pod_child_is_unknown(p, c))
			continue;
		/* Before the limits are read, or a write in between is missed. */
		await(p, c->path);
		if (read_limits(p->pods->host, c->path, &stands) == 0 &&
		    has_limits(&stands, spec) &&
		    pod_has_limits_of(&p->spec->containers[i], &stands))
			return c;
	}
	/* The watches alone report them: the pause container would make the search endless. */
	p->scan = false;
	return NULL;
}

/* Before this daemon, as far as the API says: Initial does not size it. */
static usec_t started_at(const struct wakeup *w, const struct kube_container *c)
{
	usec_t our_start = w->now_real - (w->now - w->started_at);

	return c->started_real != 0 && c->started_real < our_start ? 0 : UINT64_MAX;
}

static void leave_alone(struct pod *p, size_t i, enum state_reason why)
{
	p->members[i].why = why;
	managed_set_reason(p->members[i].managed, why);
}

/* The runtime makes it with a process; a sandbox runtime has those elsewhere. */
static bool has_processes(const struct host *host, const char *path)
{
	OWN(drop_cg) struct cg *cg = NULL;

	return cg_open(host->root, path, &cg) < 0 || !cg_is_empty(cg);
}

static void start(struct pod *p, size_t i, const struct pod_child *child, bool guessed)
{
	const struct kube_container *c = &p->spec->containers[i];
	struct managed *m = p->members[i].managed;
	struct limits stands;
	const char *unit;
	bool first;
	const struct arrival a = {
		.cgroup = child->path,
		.spec_milli = c->spec.limit[RESOURCE_CPU],
		.active_enter_usec = started_at(p->pods->wake, c),
		.props = PROPS_NONE,
	};

	if (m->originals.trust == ORIGINALS_UNKNOWN)
		return;
	if (pod_out_of_reach(m, child->path)) {
		leave_alone(p, i, STATE_PID1_UNREACHABLE);
		pod_warn_unmanaged(p, "SystemdUnreachable", STATE_PID1_UNREACHABLE);
		if (!spec_is_owners(m, c))
			pod_put_back(m, child->path);
		return;
	}
	if (!has_processes(p->pods->host, child->path)) {
		p->scan |= m->container.unfound == STATE_SIZING;
		return;
	}
	if (!limits_ready(p, m, child->path, c->spec.limit, &stands))
		return;
	if (has_own_cpus(p, c, child->path)) {
		leave_alone(p, i, STATE_OWN_CPUS);
		return;
	}
	unit = unit_of(p->pods->units->pid1, &child->name);
	managed_set_unit(m, unit != NULL ? strdup(unit) : NULL);
	first = m->control.started_at == 0;
	m->container.attach = ATTACH_CONFIRMED;
	if (guessed) {
		/* The API server has not confirmed it yet. */
		m->container.attach = m->record != NULL ? ATTACH_GUESSED : ATTACH_GUESSED_NEW;
		m->container.found = stands;
	}
	managed_start(m, &a);
	if (first && m->cgroup.cg != NULL)
		pod_spec_first(m);
	p->concerned = true;
}

static void find_container(struct pod *p, size_t i, const struct pod_children *all)
{
	struct managed *m = p->members[i].managed;
	const struct pod_child *child = pod_child_of_id(all, p->spec->containers[i].id);
	struct limits stands;
	bool guessed;

	if (m == NULL || !m->container.annotated || m->hand_back.due ||
	    managed_state(m) == UNIT_RESTORED) {
		if (child != NULL && m != NULL && m->cgroup.cg == NULL)
			managed_moved(m, child->path);
		if (child != NULL && read_limits(p->pods->host, child->path, &stands) == 0)
			for (enum resource r = 0; r < RESOURCE_COUNT; r++)
				p->members[i].limit[r] = limit_amount(&stands, r);
		return;
	}
	if (m->cgroup.cg != NULL &&
	    (cg_replaced(m->cgroup.cg, p->pods->host->root, m->cgroup.path) ||
	     (child != NULL && strcmp(child->path, m->cgroup.path) != 0)))
		managed_lost(m);
	if (m->cgroup.cg != NULL)
		return;
	guessed = child == NULL;
	if (guessed)
		child = guess(p, i, all);
	if (child != NULL)
		start(p, i, child, guessed);
}

/* Until the next call; NULL: they cannot be read. */
static struct pod_children *children_of(const struct pod *p)
{
	static struct pod_children all;

	all.count = 0;
	return kubepods_children(p->pods->host->root, p->path, note_child, &all) < 0 ? NULL : &all;
}

void pod_scan(struct pod *p)
{
	struct pod_children *all;
	bool waited = p->newcomers;
	int r;

	p->scan = false;
	/* Its level alone may be on record: an earlier agent has handed its containers back. */
	if (pod_next(p, NULL) == NULL &&
	    (p->awaits || p->ending || !persist_has_pod(p->pods->records, p->uid)))
		return;
	r = find_path(p);
	if (r == -ENOENT) {
		POD_FOREACH (m, p)
			managed_lost(m);
		if (p->level != NULL)
			managed_lost(p->level);
	}
	all = r == 0 ? children_of(p) : NULL;
	/* No memory, no descriptor: the next tick tries again. */
	p->scan = all == NULL && r != -ENOENT;
	if (all == NULL)
		return;
	p->newcomers = false;
	pod_recover(p);
	find_level(p, all);
	pod_check_guesses(p, all);
	for (size_t i = 0; i < p->spec->container_count; i++)
		find_container(p, i, all);
	pod_set_follows(p);
	/* Not before each search: to end a watch raises an inotify event, which requests the next
	 * search. */
	if (waited && !p->newcomers)
		cg_watch_forget(p->pods->inotify->watch, COOKIE_NEWCOMER | p->serial);
}

/* --- what is not found --- */

/* As long as the reports of a kubelet that is well may be behind its node, twice. */
#define UNFOUND_USEC (20 * USEC_PER_SEC)
/* Of one that was attached: a kubelet that is being restarted reports its end late. */
#define LOST_USEC (5 * USEC_PER_MIN)

/* The kubelet reports that it runs. */
static bool is_awaited(const struct pod *p, size_t i)
{
	const struct managed *m = p->members[i].managed;

	return m->container.annotated && m->cgroup.cg == NULL && p->spec->containers[i].running &&
	       !p->ending && managed_state(m) != UNIT_RESTORED &&
	       m->originals.trust != ORIGINALS_UNKNOWN;
}

/* STATE_SIZING: its processes are where they should be. */
static enum state_reason why_unfound(const struct pod *p, size_t i)
{
	const struct pod_children *all;
	const struct pod_child *child;

	if (p->path == NULL)
		return STATE_NO_POD_CGROUP;
	all = children_of(p);
	if (all == NULL)
		return STATE_SIZING; /* they cannot be read: the next tick tries again */
	child = pod_child_of_id(all, p->spec->containers[i].id);
	if (child == NULL)
		return p->spec->runtime_class || has_processes(p->pods->host, p->path)
			       ? STATE_SANDBOX_RUNTIME
			       : STATE_OTHER_DRIVER;
	return has_processes(p->pods->host, child->path) ? STATE_SIZING : STATE_SANDBOX;
}

static void note_unfound(struct pod *p, size_t i, enum state_reason why)
{
	struct managed *m = p->members[i].managed;
	bool same = m->container.unfound == why;

	m->container.unfound = why;
	pod_set_level_rule(p);
	if (why == STATE_SIZING && managed_state(m) == UNIT_UNMANAGED && m->container.annotated)
		managed_set_reason(m, STATE_NO_CGROUP);
	if (why == STATE_SIZING)
		return;
	leave_alone(p, i, why);
	unit_update_blocked(m);
	if (!same)
		event_tell(EVENT_UNIT_UNMANAGED, .who = message_who(m),
			   .detail = state_rows[why].text);
	pod_warn_unmanaged(p, "CgroupMissing", why);
	/* Sized by an earlier release of vscaled. */
	if (why == STATE_SANDBOX && m->record != NULL && !m->hand_back.done)
		lifecycle_release(m, why);
}

void pod_check_found(struct pod *p)
{
	for (size_t i = 0; i < p->spec->container_count; i++) {
		struct managed *m = p->members[i].managed;
		usec_t wait = m != NULL && m->control.started_at != 0 ? LOST_USEC : UNFOUND_USEC;

		if (m == NULL)
			continue;
		if (!is_awaited(p, i) && m->container.unfound != STATE_SIZING)
			note_unfound(p, i, STATE_SIZING);
		/* Without a watch containers end and start unseen. */
		if (!is_awaited(p, i) || !p->pods->live)
			m->container.unfound_since = 0;
		else if (m->container.unfound_since == 0)
			m->container.unfound_since = m->wake->now;
		if (m->container.unfound_since != 0 &&
		    m->wake->now - m->container.unfound_since >= wait &&
		    managed_state(m) != UNIT_UNMANAGED)
			note_unfound(p, i, why_unfound(p, i));
	}
}
