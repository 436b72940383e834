// SPDX-License-Identifier: Apache-2.0
/* The spec is ahead of use: when the kubelet writes all values of it, no process is killed. */
#include "test/kube/test_cluster.h"

#define STEP_BYTES (8 * MIB) /* a second */

static void grow(struct rig *r)
{
	burn_50(r);
	rig_grow(r, app_of(&r->pod[0]), STEP_BYTES);
}

static uint64_t spec_of(struct rig_pod *p)
{
	return crig_spec(&c, p, "app", RESOURCE_MEMORY);
}

static uint64_t use_of(struct rig_pod *p)
{
	return rig_bytes(&c.rig, app_of(p), "memory.current");
}

/* The owner changes the CPU limit alone every other second, and the kubelet writes all values. */
TEST_DRIVERS(owner_resizes_cpu)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);

	rig_run(&c.rig, 10, burn_50);
	for (unsigned i = 0; i < 20; i++) {
		rig_run(&c.rig, 1, grow);
		CHECK(spec_of(p) > use_of(p));
		if (i % 2 == 0)
			crig_user_resizes(&c, p, i % 4 == 0 ? "300m" : "320m", NULL);
		else
			crig_kubelet(&c, p, NULL);
	}
	CHECK(use_of(p) > 120 * MIB);
	CHECK_EQ(c.rig.kills, 0);
	/* The owner's CPU is adopted; our memory limit is not taken for the owner's. */
	CHECK(c.rig.events[EVENT_DRIFT_ADOPTED] > 0);
	CHECK_EQ(crig_lines(&c, EVENT_DRIFT_ADOPTED, "memory"), 0);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK_EQ(c.rig.events[EVENT_MEMORY_ABOVE_SPEC], 0);
}

/* Another program keeps changing the CPU limit, which is left to it: memory goes on to be ahead. */
TEST(cpu_is_contested)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	rig_run(&c.rig, 90, burn_699); /* no echo of that is expected any more */
	for (unsigned i = 0; i < 4; i++) {
		rig_put(&c.rig, app_of(p), "cpu.max", "30000 100000\n");
		rig_run(&c.rig, 6, burn_699);
	}
	CHECK_EQ(c.rig.events[EVENT_DRIFT_GAVE_WAY], 1);
	for (unsigned i = 0; i < 10; i++) {
		rig_run(&c.rig, 1, grow);
		CHECK(spec_of(p) > use_of(p));
	}
	CHECK(use_of(p) > 90 * MIB);
}

static bool spec_is_safe(struct crig *x)
{
	struct rig_pod *p = &x->rig.pod[0];

	return crig_spec(x, p, "app", RESOURCE_MEMORY) >= use_of(p) + 16 * MIB;
}

/* The owner sets a memory limit below use: answered before the kubelet writes it. */
TEST(owner_lowers_memory)
{
	struct rig_pod *p = begin(DRIVER_SYSTEMD, NULL, AUTO);

	rig_run(&c.rig, 10, burn_50);
	rig_run(&c.rig, 10, grow);
	CHECK(spec_of(p) > use_of(p));
	crig_kubelet(&c, p, NULL);
	crig_user_resizes(&c, p, NULL, "70Mi");
	CHECK(crig_until(&c, 3, burn_50, spec_is_safe));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 10, burn_50);
	CHECK_EQ(c.rig.kills, 0);
	CHECK(spec_of(p) > use_of(p));
}

#define FAST_BYTES (16 * MIB) /* a second */

static uint64_t spec_before;

static bool is_lowered(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[0], "app", RESOURCE_MEMORY) < spec_before;
}

static void grow_fast(struct rig *r)
{
	burn_50(r);
	rig_grow(r, app_of(&r->pod[0]), FAST_BYTES);
}

/* What the kubelet has read, it writes two seconds later, whatever the spec says by then. */
static void kubelet_was_late(struct rig_pod *p, void (*load)(struct rig *r))
{
	OWN(drop_kube_pod) struct kube_pod *read = crig_read(&c, p);

	rig_run(&c.rig, 2, load);
	for (size_t i = 0; i < p->count; i++)
		p->container[i].spec = kube_pod_container(read, p->container[i].name)->spec;
	rig_pod_realise(&c.rig, p);
}

/* The daemon's time, since the test's own runs ahead of it on a busy machine. */
static usec_t paused_for(void)
{
	const struct managed *m = managed_find(&c.rig.daemon->units, "default/web-0/app");

	return c.rig.daemon->wake.now - m->control.mem.last_growth;
}

/* Growth pauses for longer than the lease, and goes on. */
TEST(pause_in_growth)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	usec_t pause;

	rig_run(&c.rig, 10, burn_50);
	rig_run(&c.rig, 8, grow_fast);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 2, burn_50);
	spec_before = spec_of(p);
	CHECK(spec_before > use_of(p) + 4 * FAST_BYTES);
	/* No lowering that could be written when use has gone on. */
	CHECK(UNTIL(150, burn_50, is_lowered(&c) || paused_for() >= 22 * USEC_PER_SEC));
	pause = paused_for();
	CHECK(!is_lowered(&c) || pause >= 30 * USEC_PER_SEC);
	if (pause < 30 * USEC_PER_SEC)
		kubelet_was_late(p, grow_fast);
	CHECK_EQ(c.rig.kills, 0);
	/* It is over: lowered, and a lead overtakes it when it was not. */
	CHECK(crig_until(&c, 150, burn_50, is_lowered));
	CHECK(crig_until(&c, 3, grow_fast, spec_is_safe));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 2, burn_50);
}

/* A late writer, such as a slow PID 1, lowers the limit below the headroom that the file held: the
 * headroom is restored, not use and a margin. */
TEST(late_writer_leaves_headroom)
{
	struct rig_pod *p = begin(DRIVER_SYSTEMD, NULL, AUTO);

	rig_run(&c.rig, 10, burn_50);
	rig_run(&c.rig, 4, grow_fast);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 2, grow_fast);
	rig_run(&c.rig, 3, burn_50);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 256 * MIB);
	rig_put(&c.rig, app_of(p), "memory.max", "125829120\n");
	CHECK(use_of(p) < 120 * MIB);
	rig_reflex(&c.rig, 4, NULL);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 256 * MIB);
}

/* A CPU manager sets cpusets of its containers: detected within a sample, forgotten at a review. */
static bool is_seen(struct crig *x)
{
	return x->rig.daemon->host.cpu_manager;
}

TEST(cpu_manager)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	struct managed *m;

	rig_run(&c.rig, 10, burn_50);
	CHECK(!is_seen(&c));
	rig_put(&c.rig, app_of(p), "cpuset.cpus", "0-1\n");
	CHECK(crig_until(&c, 3, burn_50, is_seen));
	m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	CHECK_EQ(m->control.pod.replay_mem_bytes, 64 * MIB);
	rig_run(&c.rig, 8, grow);
	CHECK(spec_of(p) > 64 * MIB);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 2, burn_50);
	CHECK_EQ(m->control.pod.replay_mem_bytes, spec_of(p));
	rig_put(&c.rig, app_of(p), "cpuset.cpus", "\n");
	CHECK(UNTIL(12, burn_50, !c.rig.daemon->host.cpu_manager));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 2, burn_50);
	CHECK_EQ(m->control.pod.replay_mem_bytes, 0);
}

#define MEMORY_ONLY                                                                                \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/resources\":\"memory\"}"

static void lower_again(struct rig *r)
{
	struct rig_pod *p = &r->pod[0];

	burn_50(r);
	if (crig_spec(&c, p, "app", RESOURCE_MEMORY) > 70 * MIB)
		crig_user_resizes(&c, p, NULL, "70Mi");
}

/* A controller lowers the limit below use every second: it is answered three times, then seldom,
 * and that is reported once. Nothing is taken from the cgroup. */
TEST(controller_lowers_memory)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	rig_run(&c.rig, 10, burn_50);
	rig_run(&c.rig, 20, grow);
	crig_kubelet(&c, p, NULL);
	CHECK(use_of(p) > 140 * MIB);
	crig_forget_log(&c);
	CHECK(UNTIL(30, lower_again, c.rig.events[EVENT_MEMORY_CONTESTED] > 0));
	rig_run(&c.rig, 60, lower_again);
	/* From then on one in 5 s, the longest pause with this rig's intervals. */
	CHECK(crig_requests(&c, "/resize", 0) <= 3 + 14);
	CHECK_EQ(c.rig.events[EVENT_MEMORY_CONTESTED], 1);
	CHECK_EQ(crig_events(&c, "MemoryLimitContested"), 1);
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.max") > use_of(p));
	CHECK_EQ(c.rig.kills, 0);
	/* It stops: the spec is ahead of use again. */
	CHECK(crig_until(&c, 150, burn_50, spec_is_safe));
}

/* The watch lags, an owner raises the limit, and a lead overwrites that value unseen: the owner's
 * limit is adopted as soon as the watch shows it, and written to the spec again. */
TEST(owner_is_overtaken)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, MEMORY_ONLY);
	OWN(drop_kube_pod) struct kube_pod *pod = NULL;
	char stale[64];

	rig_run(&c.rig, 10, burn_50);
	pod = crig_read(&c, p);
	snprintf(stale, sizeof stale, "{\"rv\":%s}", pod->resource_version);
	crig_debug(&c, "stale", stale);
	crig_user_resizes(&c, p, NULL, "1Gi");
	CHECK(UNTIL(30, grow, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_MEMORY) < GIB));
	crig_debug(&c, "stale", "{}");
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	CHECK(UNTIL(150, burn_50, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_MEMORY) == GIB));
	CHECK_EQ(crig_lines(&c, EVENT_DRIFT_ADOPTED, "memory"), 1);
	CHECK_EQ(crig_lines(&c, EVENT_DRIFT_ADOPTED, "1.00Gi"), 1);
}

static bool is_held_below(struct crig *x)
{
	return managed_find(&x->rig.daemon->units, "default/web-0/app")
		       ->control.pod.replay_mem_bytes == 64 * MIB;
}

static bool is_held_below_asked(struct crig *x)
{
	return managed_find(&x->rig.daemon->units, "default/web-0/app")
		       ->control.pod.replay_mem_bytes == 48 * MIB;
}

static bool is_held_below_spec(struct crig *x)
{
	return managed_find(&x->rig.daemon->units, "default/web-0/app")
		       ->control.pod.replay_mem_bytes != 0;
}

static bool is_not_held_below(struct crig *x)
{
	return managed_find(&x->rig.daemon->units, "default/web-0/app")
		       ->control.pod.replay_mem_bytes == 0;
}

/* The kubelet has read an external resize, with the memory limit of then: no lead can overtake what
 * the runtime writes, so growth is held below that. Not where the kubelet writes nothing. */
TEST_DRIVERS(resize_under_way)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);

	rig_run(&c.rig, 10, burn_50);
	CHECK(is_not_held_below(&c));
	crig_user_resizes(&c, p, "300m", NULL);
	CHECK(crig_until(&c, 3, burn_50, is_held_below));
	crig_user_resizes(&c, p, NULL, "48Mi");
	CHECK(crig_until(&c, 3, burn_50, is_held_below_asked));
	/* Adopted, and the kubelet may still carry it out. */
	rig_run(&c.rig, 6, burn_50);
	CHECK(is_held_below_asked(&c));
	rig_run(&c.rig, 6, grow);
	CHECK(spec_of(p) > 64 * MIB);
	CHECK(is_held_below(&c));
	/* The spec has the CPU limit of before again; what the kubelet has read stays. */
	crig_user_resizes(&c, p, "200m", NULL);
	rig_run(&c.rig, 2, burn_50);
	CHECK(is_held_below(&c));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 3, burn_50, is_not_held_below));
	/* Also before anything grows; without a report it is over after a while. */
	crig_user_resizes(&c, p, "320m", NULL);
	CHECK(crig_until(&c, 3, burn_50, is_held_below_spec));
	crig_user_resizes(&c, p, "200m", NULL);
	rig_run(&c.rig, 2, burn_50);
	CHECK(is_held_below_spec(&c));
	CHECK(crig_until(&c, 60, burn_50, is_not_held_below));
	crig_user_resizes(&c, p, "320m", NULL);
	crig_kubelet(&c, p,
		     "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\"}");
	CHECK(crig_until(&c, 3, burn_50, is_not_held_below));
}

#define GENEROUS                                                                                   \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/resources\":\"memory\",\"vscaled.dev/max-memory\":\"2Gi\"}"

static const struct baseline *record(struct crig *x)
{
	const struct managed *m = managed_find(&x->rig.daemon->units, "default/web-0/app");

	return baseline_find(&m->records->baselines, m->key);
}

static bool is_sent(struct crig *x)
{
	const struct baseline *b = record(x);

	return b != NULL && b->sent[RESOURCE_MEMORY] > 64 * MIB;
}

static uint64_t unanswered;

static bool is_carried_out(struct crig *x)
{
	const struct baseline *b = record(x);

	return b->sent[RESOURCE_MEMORY] > unanswered &&
	       b->sent[RESOURCE_MEMORY] == b->sent_over[RESOURCE_MEMORY];
}

static void burn_under_kubelet(struct rig *r)
{
	burn_50(r);
	crig_kubelet(&c, &r->pod[0], NULL);
}

/* A lead that had no answer may be stored after the next one was carried out: it is on record as
 * vscaled's for as long. */
TEST(late_is_on_record)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, GENEROUS);

	rig_run(&c.rig, 70, burn_50); /* no earlier process can have sent anything */
	crig_fault(&c, "500", "\"match\":\"PATCH .*/resize\",\"count\":-1");
	CHECK(crig_until(&c, 20, grow, is_sent));
	unanswered = record(&c)->sent[RESOURCE_MEMORY];
	CHECK(UNTIL(20, grow_fast, record(&c)->sent[RESOURCE_MEMORY] > unanswered));
	crig_heal(&c);
	CHECK(crig_until(&c, 5, burn_50, spec_is_safe));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 5, burn_50, is_carried_out));
	CHECK_EQ(record(&c)->sent_before[RESOURCE_MEMORY], unanswered);
	rig_run(&c.rig, 20, burn_50);
	CHECK_EQ(record(&c)->sent_before[RESOURCE_MEMORY], unanswered);
	CHECK(UNTIL(90, burn_under_kubelet, record(&c)->sent_before[RESOURCE_MEMORY] == 0));
}
