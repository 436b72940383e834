// SPDX-License-Identifier: Apache-2.0
/* The rig's kubelet, runtime and API server, as far as the daemon sees them. */
#include "agent/pod/pods.h"
#include "test/agent/daemon_rig.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void uid_in_unit(const char *uid, char *ret)
{
	strcpy(ret, uid);
	for (char *c = ret; *c != '\0'; c++)
		if (*c == '-')
			*c = '_';
}

/* systemd's name of the pod's slice, and the path; under cgroupfs the name is "". */
static void pod_names(const struct rig *r, const struct rig_pod *p, struct rig_unit *u)
{
	const char *above = r->above != NULL ? r->above : "";
	const char *stem = r->nested != NULL ? r->nested : "";
	bool classed = p->qos_class[0] != '\0';
	char uid[40], name[sizeof u->name], parent[64] = "";

	if (p->driver == DRIVER_CGROUPFS) {
		snprintf(u->cgroup, sizeof u->cgroup, "%skubepods/%s%spod%s", above, p->qos_class,
			 classed ? "/" : "", p->uid);
		return;
	}
	uid_in_unit(p->uid, uid);
	snprintf(name, sizeof name, "%skubepods%s%s-pod%s.slice", stem, classed ? "-" : "",
		 p->qos_class, uid);
	if (classed)
		snprintf(parent, sizeof parent, "%skubepods-%s.slice/", stem, p->qos_class);
	memcpy(u->name, name, sizeof name);
	snprintf(u->cgroup, sizeof u->cgroup, "%s%skubepods.slice/%s%s", above, stem, parent, name);
}

static void child_names(const struct rig_pod *p, const char *id, struct rig_unit *u)
{
	char level[200], name[sizeof u->name] = "";

	snprintf(level, sizeof level, "%.199s", p->level->cgroup);
	if (p->driver == DRIVER_SYSTEMD)
		snprintf(name, sizeof name, "cri-containerd-%s.scope", id);
	memcpy(u->name, name, sizeof name);
	snprintf(u->cgroup, sizeof u->cgroup, "%s/%.100s", level,
		 p->driver == DRIVER_SYSTEMD ? name : id);
}

static void new_id(struct rig *r, char *ret)
{
	snprintf(ret, 65, "%064x", 0xabc000 + ++r->ids);
}

static struct rig_unit *unit_new(struct rig *r)
{
	struct rig_unit *u = &r->unit[r->unit_count++];

	*u = (struct rig_unit){.props = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
	return u;
}

/* The kubelet's quota is 1 ms at least; runc rounds it up to 1 % of a CPU for systemd. */
static uint64_t quota_of(const struct rig *r, uint64_t milli, usec_t *ret_period)
{
	*ret_period = r->cfs_period != 0 ? r->cfs_period : CPU_PERIOD_DEFAULT_USEC;
	return MAX(milli * *ret_period / 1000, (uint64_t)USEC_PER_MSEC);
}

static void set_props(const struct rig *r, struct rig_unit *u, uint64_t milli, uint64_t bytes)
{
	usec_t period;
	uint64_t quota = quota_of(r, milli, &period);
	uint64_t per_sec = (quota * USEC_PER_SEC + period - 1) / period;

	if (u->name[0] != '\0')
		per_sec = (per_sec + 9999) / 10000 * 10000;
	u->props.cpu_quota_per_sec_usec = milli == LIMIT_MAX ? UINT64_MAX : per_sec;
	u->props.cpu_quota_period_usec = r->cfs_period != 0 ? r->cfs_period : UINT64_MAX;
	u->props.mem_max = bytes;
}

static uint64_t budget_of(const struct rig_pod *p, enum resource r)
{
	return p->budget[r] != 0 ? p->budget[r] : LIMIT_MAX;
}

/* The kubelet's rule: a pod has a limit where every container has one, or spec.resources has it. */
static void level_props(const struct rig *r, struct rig_pod *p)
{
	uint64_t sum[RESOURCE_COUNT] = {0};

	for (size_t i = 0; i < p->count; i++)
		for (enum resource k = 0; p->container[i].kind < CONTAINER_INIT && k < 2; k++) {
			uint64_t v = p->container[i].spec.limit[k];

			sum[k] = v == LIMIT_MAX || sum[k] == LIMIT_MAX ? LIMIT_MAX : sum[k] + v;
		}
	for (enum resource k = 0; k < 2; k++)
		if (p->budget[k] != 0)
			sum[k] = p->budget[k];
	set_props(r, p->level, sum[RESOURCE_CPU] == 0 ? LIMIT_MAX : sum[RESOURCE_CPU],
		  sum[RESOURCE_MEMORY] == 0 ? LIMIT_MAX : sum[RESOURCE_MEMORY]);
}

void rig_pod_make(struct rig *r, struct rig_pod *p)
{
	struct rig_unit *pause;
	char id[65];

	p->level = unit_new(r);
	pod_names(r, p, p->level);
	level_props(r, p);
	rig_unit_start(r, p->level);
	pause = unit_new(r);
	new_id(r, id);
	child_names(p, id, pause);
	rig_unit_start(r, pause);
}

struct rig_pod *rig_pod_add(struct rig *r, enum cgroup_driver driver, const char *name)
{
	struct rig_pod *p = &r->pod[r->pod_count++];

	*p = (struct rig_pod){
		.driver = driver,
		.name = name,
		.workload = name,
		.phase = "Running",
		.qos = QOS_BURSTABLE,
		.qos_class = "burstable",
		.generation = 1,
	};
	snprintf(p->uid, sizeof p->uid, "%08x-86a3-4f0a-9b1e-3c2f5d6a7b8c", ++r->ids);
	rig_pod_make(r, p);
	return p;
}

/* An update leaves what it does not name, but PID 1 writes what it stores. */
static void set_container(struct rig *r, const struct rig_pod *p, struct rig_container *c)
{
	struct rig_unit *u = c->unit;
	uint64_t request = c->spec.request[RESOURCE_MEMORY], limit = c->spec.limit[RESOURCE_MEMORY];
	uint64_t high =
		p->driver == DRIVER_SYSTEMD ? u->props.mem_high : rig_bytes(r, u, "memory.high");
	char text[32];

	/* getMemoryLimit() of the kubelet: without one it is the pod's. */
	if (limit == LIMIT_MAX)
		limit = budget_of(p, RESOURCE_MEMORY);
	set_props(r, u,
		  c->spec.limit[RESOURCE_CPU] != LIMIT_MAX ? c->spec.limit[RESOURCE_CPU]
							   : budget_of(p, RESOURCE_CPU),
		  limit);
	u->props.mem_high = r->memory_qos == RIG_QOS_OFF ? UINT64_MAX : high;
	if (r->memory_qos == RIG_QOS_FACTOR && request < limit && limit != LIMIT_MAX) {
		high = request + (uint64_t)((double)(limit - request) * r->qos_permille / 1000);
		u->props.mem_high = high - high % fake_page_bytes();
	}
	snprintf(text, sizeof text, "%" PRIu64 "\n", request);
	if (r->memory_qos == RIG_QOS_TIERED)
		rig_put(r, u, "memory.low", text);
}

void rig_container_start(struct rig *r, struct rig_pod *p, struct rig_container *c, bool unset)
{
	c->unit = unit_new(r);
	new_id(r, c->id);
	c->reported = false;
	child_names(p, c->id, c->unit);
	rig_unit_start(r, c->unit);
	set_container(r, p, c);
	if (!unset)
		rig_realise(r, c->unit);
}

void rig_container_stop(struct rig *r, struct rig_container *c)
{
	rig_unit_stop(r, c->unit);
	c->unit->name[0] = '\0';
	c->restarts++;
}

struct rig_container *rig_container_add(struct rig *r, struct rig_pod *p, const char *name,
					uint64_t milli, uint64_t bytes)
{
	struct rig_container *c = &p->container[p->count++];

	*c = (struct rig_container){
		.name = name,
		.spec = {.limit = {milli, bytes}, .request = {100, 16 * MIB}},
	};
	level_props(r, p);
	rig_realise(r, p->level);
	rig_container_start(r, p, c, false);
	c->reported = true;
	return c;
}

void rig_pod_realise(struct rig *r, struct rig_pod *p)
{
	level_props(r, p);
	rig_realise(r, p->level);
	for (size_t i = 0; i < p->count; i++) {
		struct rig_container *c = &p->container[i];

		set_container(r, p, c);
		rig_realise(r, c->unit);
	}
}

void rig_pod_remove(struct rig *r, struct rig_pod *p)
{
	size_t len = strlen(p->level->cgroup);

	/* The pause container too. */
	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];

		if (!u->running || strncmp(u->cgroup, p->level->cgroup, len) != 0)
			continue;
		if (u != p->level)
			rig_unit_stop(r, u);
		u->name[0] = '\0';
	}
	rig_unit_stop(r, p->level);
}

/* --- the API server --- */

static char *copy(const char *s)
{
	char *c = s != NULL ? strdup(s) : NULL;

	if (s != NULL && c == NULL)
		exit(EXIT_FAILURE);
	return c;
}

static void annotate(struct kube_pod *s, const char *key, const char *value)
{
	if (value != NULL)
		s->annotations[s->annotation_count++] =
			(struct kube_annotation){copy(key), copy(value)};
}

/* The kubelet reads it from the quota, but for 10m and less. */
static struct kube_resources status_of(const struct rig *r, const struct kube_resources *spec)
{
	struct kube_resources status = *spec;
	usec_t period;
	uint64_t milli = spec->limit[RESOURCE_CPU], quota;

	if (milli == LIMIT_MAX)
		return status;
	quota = quota_of(r, milli, &period);
	milli = quota * 1000 / period;
	if (milli > 10)
		status.limit[RESOURCE_CPU] = milli;
	return status;
}

struct kube_pod *rig_pod_spec(const struct rig *r, const struct rig_pod *p)
{
	struct kube_pod *s = calloc(1, sizeof *s);

	*s = (struct kube_pod){
		.uid = copy(p->uid),
		.cgroup_uid = copy(p->uid),
		.namespace = copy("default"),
		.name = copy(p->name),
		.node = copy("node-1"),
		.workload = copy(p->workload),
		.owner = copy(p->owner),
		.resource_version = copy("1"),
		.generation = p->generation,
		.qos = p->qos,
		.priority = p->priority,
		.phase = copy(p->phase),
		.ready = true,
		.containers_ready_real = p->ready_real,
		.deleting = p->deleting,
		.mirror = p->mirror,
		.windows = p->windows,
		.once = p->once,
		.pod_resources = p->budget[0] + p->budget[1] != 0,
		.level_limit = {p->budget[0], p->budget[1]},
		.claims = p->claims,
		.vpa = p->vpa,
		.resize_ours = p->resize_ours,
		.annotations = calloc(3, sizeof *s->annotations),
		.containers = calloc(p->count + 1, sizeof *s->containers),
		.container_count = p->count,
	};
	annotate(s, "mode", p->mode);
	annotate(s, "containers", p->containers);
	if (p->extra_key != NULL)
		annotate(s, p->extra_key, p->extra_value);
	for (size_t i = 0; i < p->count; i++) {
		const struct rig_container *c = &p->container[i];

		s->containers[i] = (struct kube_container){
			.name = copy(c->name),
			.kind = c->kind,
			.spec = c->spec,
			.status = status_of(r, &c->spec),
			.has_status = true,
			.id = c->reported ? copy(c->id) : NULL,
			.running = c->unit->running || c->claimed,
			.ready = c->unit->running && !c->unready,
			.restarts = c->restarts,
			.oom_run = c->oom_run,
			.started_real = p->started_long_ago ? 1 : c->started_real,
		};
	}
	return s;
}

void rig_pod_put(struct rig *r, struct rig_pod *p)
{
	pods_put(&r->daemon->pods, rig_pod_spec(r, p));
}

void rig_pod_run(struct rig *r, struct rig_pod *p, unsigned seconds, void (*step)(struct rig *r))
{
	rig_pod_put(r, p);
	rig_run(r, seconds, step);
}

void rig_pod_list(struct rig *r, struct rig_pod *p)
{
	pods_list_begin(&r->daemon->pods);
	if (p != NULL)
		rig_pod_put(r, p);
	pods_list_end(&r->daemon->pods, true);
}

void rig_pods_turn(struct rig *r)
{
	for (size_t k = 0; k < r->pod_count; k++) {
		struct rig_pod *p = &r->pod[k];
		uint64_t milli = 0, bytes = 0, use = 0;

		for (size_t i = 0; i < p->count; i++) {
			struct rig_unit *u = p->container[i].unit;

			if (!u->running)
				continue;
			use += u->anon_bytes;
			/* Of spec.resources containers may have more, one by one. */
			if (rig_cpu_milli(r, u) != LIMIT_MAX && p->budget[RESOURCE_CPU] == 0)
				milli += rig_cpu_milli(r, u);
			if (p->container[i].spec.limit[RESOURCE_MEMORY] != LIMIT_MAX &&
			    rig_bytes(r, u, "memory.max") != LIMIT_MAX)
				bytes += rig_bytes(r, u, "memory.max");
		}
		p->level->anon_bytes = use;
		r->below |= p->level->running && (rig_cpu_milli(r, p->level) < milli ||
						  rig_bytes(r, p->level, "memory.max") < bytes);
	}
}
