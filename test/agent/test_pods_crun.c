// SPDX-License-Identifier: Apache-2.0
/*
 * Containers of crun under the systemd driver: limits stand in <scope>/container alone (crun 1.8),
 * or in the scope as well (crun 1.21).
 */
#include "agent/drift/drift_events.h"
#include "agent/pod/pods.h"
#include "cgroup/levels.h"
#include "test/agent/rig_scan.h"
#include "test/agent/test_pods.h"

/* The second level of app; the processes are in there. */
static struct rig_unit *inner;
static bool both_levels;

static void put_inner(struct rig *r, struct rig_unit *scope)
{
	inner = &r->unit[r->unit_count++];
	*inner = (struct rig_unit){.props = scope->props};
	snprintf(inner->cgroup, sizeof inner->cgroup, "%.300s/" CG_LEVEL_NAME, scope->cgroup);
	rig_unit_start(r, inner);
}

/* What crun writes, at the start and with every update. */
static void crun_writes(struct rig *r, struct rig_unit *scope, uint64_t milli, uint64_t bytes)
{
	scope->props.cpu_quota_per_sec_usec = both_levels ? milli * USEC_PER_MSEC : UINT64_MAX;
	scope->props.mem_max = both_levels ? bytes : UINT64_MAX;
	rig_realise(r, scope);
	inner->props.cpu_quota_per_sec_usec = milli * USEC_PER_MSEC;
	inner->props.mem_max = bytes;
	rig_realise(r, inner);
}

static bool by_bpf;

/* As pods_begin(), by either reader. */
static struct rig_pod *begin_pod(struct rig *r, const char *config)
{
	rig_open(r, "");
	r->reader = by_bpf ? "bpf" : "text";
	rig_write_config(r, config);
	rig_scan_reset(r);
	return pods_start(r, DRIVER_SYSTEMD);
}

/* default/web-0/app by crun; log is by runc, as it makes no difference. */
static struct rig_pod *begin(struct rig *r, bool both, const char *config)
{
	struct rig_pod *p = begin_pod(r, config);

	both_levels = both;
	put_inner(r, p->container[0].unit);
	crun_writes(r, p->container[0].unit, 200, 64 * MIB);
	return p;
}

/* The scope's counters are the inner level's; it throttles when its own quota is the lower one. */
static void burn(struct rig *r, uint64_t milli)
{
	struct rig_unit *scope = r->pod[0].container[0].unit;
	uint64_t above = rig_cpu_milli(r, scope), below = rig_cpu_milli(r, inner);
	struct rig_unit *binding = above < below ? scope : inner;

	rig_burn(r, binding, milli);
	inner->usage_usec = scope->usage_usec = MAX(inner->usage_usec, scope->usage_usec);
	scope->anon_bytes = inner->anon_bytes;
	scope->max_events = inner->max_events;
	scope->oom_kills = inner->oom_kills;
}

static void burn_800(struct rig *r)
{
	burn(r, 800);
}

static void burn_20(struct rig *r)
{
	burn(r, 20);
}

static void grow_10(struct rig *r)
{
	rig_grow(r, inner, 10 * MIB);
	burn(r, 20);
}

static void check_scope(struct rig *r, const struct rig_pod *p, uint64_t milli, uint64_t bytes)
{
	const struct rig_unit *scope = p->container[0].unit;

	if (both_levels) {
		CHECK_EQ(rig_cpu_milli(r, scope), milli);
		CHECK(rig_bytes(r, scope, "memory.max") >= bytes);
	} else {
		CHECK_EQ(rig_cpu_milli(r, scope), LIMIT_MAX);
		CHECK_EQ(rig_bytes(r, scope, "memory.max"), LIMIT_MAX);
		CHECK_EQ(scope->props.cpu_quota_per_sec_usec, UINT64_MAX);
		CHECK_EQ(scope->props.mem_max, UINT64_MAX);
	}
}

static void check_originals(struct rig *r, const struct rig_pod *p)
{
	CHECK_EQ(rig_cpu_milli(r, inner), 200);
	CHECK_EQ(rig_bytes(r, inner, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_bytes(r, inner, "memory.high"), LIMIT_MAX);
	check_scope(r, p, 200, 64 * MIB);
	CHECK_EQ(rig_cpu_milli(r, p->level), 500);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 96 * MIB);
	if (!both_levels)
		return;
	CHECK_EQ(rig_bytes(r, p->container[0].unit, "memory.max"), 64 * MIB);
	CHECK_EQ(p->container[0].unit->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	CHECK_EQ(p->container[0].unit->props.mem_max, 64 * MIB);
}

/* --- growth and restore --- */

static void test_grows(bool both)
{
	OWN(rig_close) struct rig r;
	/* Without headroom: what PID 1 stores for growth stays in the scope's file, above the
	 * pod's. */
	struct rig_pod *p = begin(&r, both, "memory: {propertyRoomMin: 0}\n");

	rig_pod_put(&r, p);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->control.resource[RESOURCE_CPU].original, 200);
	/* Both levels are in the pass. */
	CHECK_EQ(pods_of(&r, "default/web-0/app")->cgroup.slots.inner == READER_NO_SLOT, !by_bpf);
	rig_run(&r, 10, burn_800);
	CHECK(rig_cpu_milli(&r, inner) >= 800 && rig_cpu_milli(&r, inner) <= 1600);
	check_scope(&r, p, rig_cpu_milli(&r, inner), 64 * MIB);
	CHECK(!r.below);
	CHECK_EQ(rig_cpu_milli(&r, p->level), rig_cpu_milli(&r, inner) + 300);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED], 0);
	rig_run(&r, 15, grow_10);
	CHECK_EQ(r.kills, 0);
	CHECK(inner->anon_bytes >= 150 * MIB);
	CHECK(rig_bytes(&r, inner, "memory.max") > inner->anon_bytes);
	check_scope(&r, p, rig_cpu_milli(&r, inner), rig_bytes(&r, inner, "memory.max"));
	CHECK(rig_bytes(&r, p->level, "memory.max") >=
	      rig_bytes(&r, inner, "memory.max") + 32 * MIB);
	/* systemd holds for the scope what the runtime sent, or nothing */
	if (both)
		CHECK(p->container[0].unit->props.mem_max >= inner->anon_bytes);
	inner->anon_bytes = 10 * MIB;
	rig_run(&r, 5, burn_20);
	p->mode = NULL;
	rig_pod_run(&r, p, 10, burn_20);
	check_originals(&r, p);
	CHECK_EQ(r.kills, 0);
}

/* Shrinks what is not used, and grows again. */
static void test_shrinks(bool both)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p;
	uint64_t low;

	p = begin(&r, both, rig_config(" []"));
	crun_writes(&r, p->container[0].unit, 600, 256 * MIB);
	p->container[0].spec.limit[RESOURCE_CPU] = 600;
	p->container[0].spec.limit[RESOURCE_MEMORY] = 256 * MIB;
	inner->anon_bytes = 20 * MIB;
	rig_pod_run(&r, p, 120, burn_20);
	low = rig_bytes(&r, inner, "memory.max");
	CHECK(low < 128 * MIB && low > 20 * MIB);
	CHECK(rig_cpu_milli(&r, inner) < 300);
	check_scope(&r, p, rig_cpu_milli(&r, inner), low);
	CHECK_EQ(r.kills, 0);
	rig_run(&r, 30, grow_10);
	CHECK_EQ(r.kills, 0);
	CHECK(inner->anon_bytes > 256 * MIB);
	rig_run(&r, 10, burn_800);
	CHECK(rig_cpu_milli(&r, inner) >= 800);
	check_scope(&r, p, rig_cpu_milli(&r, inner), inner->anon_bytes);
}

/* --- external writes --- */

/* An external write to one level, not of the runtime's recorded value: put back at once. */
static void test_drift(bool both)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, both, "");
	uint64_t milli;

	rig_pod_run(&r, p, 10, burn_800);
	milli = rig_cpu_milli(&r, inner);
	CHECK(milli >= 800);
	rig_put(&r, inner, "cpu.max", "30000 100000\n");
	rig_run(&r, 3, burn_800);
	CHECK(rig_cpu_milli(&r, inner) >= milli);
	CHECK(r.events[EVENT_DRIFT_REASSERTED] >= 1);
	r.events[EVENT_DRIFT_REASSERTED] = 0;
	rig_put(&r, p->container[0].unit, "cpu.max", "40000 100000\n");
	rig_run(&r, 3, burn_800);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= milli);
	CHECK(rig_cpu_milli(&r, inner) >= milli);
	CHECK(r.events[EVENT_DRIFT_REASSERTED] >= 1);
}

/* PID 1 rewrites the scope, and knows nothing of the other level. */
static void test_reload(bool both)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, both, "");
	uint64_t max;

	inner->anon_bytes = 20 * MIB;
	rig_pod_run(&r, p, 15, grow_10);
	max = rig_bytes(&r, inner, "memory.max");
	CHECK(max > 150 * MIB);
	drift_reloading(&r.daemon->units, true);
	rig_realise(&r, p->container[0].unit);
	rig_settle(&r);
	drift_reloading(&r.daemon->units, false);
	rig_run(&r, 5, burn_20);
	CHECK_EQ(r.kills, 0);
	check_scope(&r, p, 200, inner->anon_bytes);
	CHECK(rig_bytes(&r, inner, "memory.max") >= inner->anon_bytes);
}

/* The owner resizes: crun writes its levels, and the new values are the originals. */
static void test_owner(bool both)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, both, "");
	struct rig_container *c = &p->container[0];

	rig_pod_run(&r, p, 10, burn_800);
	c->spec.limit[RESOURCE_CPU] = 500;
	c->spec.limit[RESOURCE_MEMORY] = 96 * MIB;
	p->generation++;
	rig_pod_put(&r, p);
	crun_writes(&r, c->unit, 500, 96 * MIB);
	rig_run(&r, 6, burn_20);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->control.resource[RESOURCE_CPU].original, 500);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->control.resource[RESOURCE_MEMORY].original,
		 96 * MIB);
	CHECK_EQ(rig_bytes(&r, inner, "memory.max"), 96 * MIB);
}

/* The static CPU manager names CPUs for the level of the processes alone. */
static void test_cpu_manager(bool both)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, both, "");

	rig_put(&r, p->container[0].unit, "cpuset.cpus", "\n");
	rig_put(&r, inner, "cpuset.cpus", "\n");
	rig_pod_run(&r, p, 2, burn_20);
	runtime_check(&r.daemon->units, true);
	CHECK(!r.daemon->host.cpu_manager);
	rig_put(&r, inner, "cpuset.cpus", "0-1\n");
	rig_run(&r, 2, burn_20);
	runtime_check(&r.daemon->units, true);
	CHECK(r.daemon->host.cpu_manager);
	rig_put(&r, inner, "cpuset.cpus", "\n");
	runtime_check(&r.daemon->units, true);
	CHECK(!r.daemon->host.cpu_manager);
}

/* --- coming and going --- */

/* The scope is there with systemd's values before crun has made the other level. */
static void test_late(bool both)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin_pod(&r, "");
	struct rig_unit *scope = p->container[0].unit;

	both_levels = both;
	if (!both) {
		scope->props.cpu_quota_per_sec_usec = scope->props.mem_max = UINT64_MAX;
		rig_realise(&r, scope);
	}
	rig_pod_run(&r, p, 2, NULL);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->cgroup.cg != NULL, both);
	put_inner(&r, scope);
	rig_run(&r, 1, NULL);
	crun_writes(&r, scope, 200, 64 * MIB);
	rig_run(&r, 10, burn_800);
	CHECK(rig_cpu_milli(&r, inner) >= 800);
	check_scope(&r, p, rig_cpu_milli(&r, inner), 64 * MIB);
}

/* Its processes have ended: what is left of the scope gets no limit for them. */
static void test_gone(bool both)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, both, "");
	struct rig_unit *scope = p->container[0].unit;

	rig_pod_run(&r, p, 10, burn_800);
	rig_unit_stop(&r, inner);
	rig_put(&r, scope, "cgroup.events", "populated 0\nfrozen 0\n");
	rig_run(&r, 2, NULL);
	if (!both)
		check_scope(&r, p, 0, 0);
	rig_container_stop(&r, &p->container[0]);
	rig_container_start(&r, p, &p->container[0], true);
	scope = p->container[0].unit;
	p->container[0].reported = true;
	put_inner(&r, scope);
	crun_writes(&r, scope, 200, 64 * MIB);
	rig_pod_put(&r, p);
	/* The successor has what its predecessor had. */
	rig_run(&r, 2, burn_20);
	CHECK(rig_cpu_milli(&r, inner) >= 800);
	check_scope(&r, p, rig_cpu_milli(&r, inner), 64 * MIB);
}

/* A container with a writable cgroup makes and removes such a folder: nothing is lost by it. */
TEST_RIG(made_by_container)
{
	struct rig_pod *p = begin_pod(r, "");
	struct managed *m;
	char folder[RIG_PATH_MAX];
	uint64_t milli;
	usec_t started_at;

	rig_pod_run(r, p, 10, pods_burn_800);
	m = pods_of(r, "default/web-0/app");
	milli = rig_cpu_milli(r, p->container[0].unit);
	CHECK(milli >= 800);
	started_at = m->control.started_at;
	snprintf(folder, sizeof folder, "%.400s/" CG_LEVEL_NAME, p->container[0].unit->cgroup);
	for (unsigned i = 0; i < 3; i++) {
		fake_put(&r->tree, folder, NULL);
		rig_run(r, 2, pods_burn_800);
		CHECK(m->cgroup.cg != NULL && cg_inner_id(m->cgroup.cg) == 0);
		fake_remove(&r->tree, folder);
		rig_run(r, 2, pods_burn_800);
		CHECK_EQ(m->control.started_at, started_at);
	}
	/* With the CPU controller, too. */
	put_inner(r, p->container[0].unit);
	rig_run(r, 2, NULL);
	CHECK(m->cgroup.cg != NULL && cg_inner_id(m->cgroup.cg) != 0);
	rig_unit_stop(r, inner);
	rig_run(r, 1, NULL);
	CHECK(m->cgroup.cg != NULL && cg_inner_id(m->cgroup.cg) == 0);
	CHECK_EQ(m->control.started_at, started_at);
}

/* crun enables the controllers after mkdir: no inotify event announces the new files. */
TEST_RIG(files_late)
{
	struct rig_pod *p = begin_pod(r, "");
	struct managed *m;
	char folder[RIG_PATH_MAX];

	both_levels = true;
	rig_pod_put(r, p);
	m = pods_of(r, "default/web-0/app");
	snprintf(folder, sizeof folder, "%.400s/" CG_LEVEL_NAME, p->container[0].unit->cgroup);
	fake_put(&r->tree, folder, NULL);
	rig_run(r, 2, NULL);
	CHECK_EQ(cg_inner_id(m->cgroup.cg), 0);
	put_inner(r, p->container[0].unit);
	crun_writes(r, p->container[0].unit, 200, 64 * MIB);
	rig_run(r, 2, NULL);
	CHECK(cg_inner_id(m->cgroup.cg) != 0);
	rig_run(r, 6, burn_800);
	CHECK(rig_cpu_milli(r, inner) >= 800);
	/* It is watched: put back without a review. */
	rig_put(r, inner, "cpu.max", "20000 100000\n");
	rig_run(r, 1, burn_800);
	CHECK(rig_cpu_milli(r, inner) >= 800);
}

/* Without inotify a review finds the level that was made late. */
TEST_RIG(late_unwatched)
{
	struct rig_pod *p = begin_pod(r, "");
	struct managed *m;

	both_levels = true;
	rig_pod_put(r, p);
	m = pods_of(r, "default/web-0/app");
	cg_watch_forget(r->daemon->inotify.watch, managed_cookie(m));
	put_inner(r, p->container[0].unit);
	crun_writes(r, p->container[0].unit, 200, 64 * MIB);
	rig_run(r, 15, burn_800);
	CHECK(cg_inner_id(m->cgroup.cg) != 0);
	CHECK(rig_cpu_milli(r, inner) >= 800);
}

TEST(with_parameters)
{
	for (unsigned n = 0; n < 4; n++) {
		bool both = n & 1;

		by_bpf = n & 2;
		test_grows(both);
		test_shrinks(both);
		test_drift(both);
		test_reload(both);
		test_owner(both);
		test_cpu_manager(both);
		test_late(both);
		test_gone(both);
	}
}
