// SPDX-License-Identifier: Apache-2.0
/* External writes to the limits of a unit, and a PID 1 that lags, under the whole daemon. */
#include "agent/drift/drift_events.h"
#include "agent/manage/managed.h"
#include "cgroup/group.h"
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include <errno.h>
#include <inttypes.h>

static struct rig_unit *started(struct rig *r, uint64_t milli, uint64_t mem_max)
{
	return rig_begin(r, "units:\n  - match: a.service\n", milli, mem_max, 20 * MIB);
}

/* The same quota in twice the time is half the CPU. */
TEST_RIG(period_alone)
{
	struct rig_unit *u = started(r, 200, 64 * MIB);
	char text[64];

	rig_run(r, 10, rig_busy);
	snprintf(text, sizeof text, "%" PRIu64 " 200000\n", rig_cpu_milli(r, u) * 100);
	rig_put(r, u, "cpu.max", text);
	rig_run(r, 15, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	CHECK(rig_cpu_milli(r, u) <= 1600);
	CHECK_EQ(rig_first(r)->control.frozen, 0);
	CHECK_EQ(managed_state(rig_first(r)), UNIT_MANAGED);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 1);
}

/* The controller is disabled: the file is removed, and reads of the kept descriptor fail. */
static void lose_cpu_max(struct rig *r, struct rig_unit *u)
{
	struct cg *c = rig_first(r)->cgroup.cg;
	char path[RIG_PATH_MAX];

	snprintf(path, sizeof path, "%s/cpu.max", u->cgroup);
	fake_remove(&r->tree, path);
	close(c->fd[CG_FILE_CPU_MAX]);
	c->fd[CG_FILE_CPU_MAX] = -1;
}

TEST(absent_file)
{
	for (int touched = 0; touched < 2; touched++) {
		struct rig r;
		struct rig_unit *u = started(&r, 200, 64 * MIB);
		char text[64];

		rig_run(&r, 10, touched ? rig_busy : rig_idle);
		snprintf(text, sizeof text, "%" PRIu64 " 100000\n", rig_cpu_milli(&r, u) * 100);
		lose_cpu_max(&r, u);
		rig_run(&r, 15, NULL);
		/* During a pause an absent file is not read as a limit of 0. */
		for (int resume = 0; resume < 2; resume++) {
			const struct control_ops *ops = r.loop->serve.api.ops;

			CHECK_EQ((resume ? ops->resume : ops->pause)(&r.loop->serve, NULL), 1);
			rig_run(&r, 1, NULL);
		}
		CHECK(rig_first(&r)->control.kernel.cpu_quota_usec != 0);
		CHECK_EQ(managed_state(rig_first(&r)), UNIT_MANAGED);
		CHECK(rig_first(&r)->control.resource[RESOURCE_CPU].managed);
		rig_put(&r, u, "cpu.max", text);
		rig_run(&r, 60, rig_busy);
		CHECK(rig_cpu_milli(&r, u) >= 800);
		CHECK(rig_cpu_milli(&r, u) <= 1600);
		CHECK_EQ(managed_state(rig_first(&r)), UNIT_MANAGED);
		CHECK_EQ(rig_first(&r)->control.resource[RESOURCE_CPU].original, 200);
		CHECK_EQ(r.daemon->records.baselines.items[0].limits.cpu_quota_usec, 20000);
		CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY] + r.events[EVENT_DRIFT_ADOPTED], 0);
		rig_close(&r);
	}
}

static void grow_to(struct rig *r, struct rig_unit *u, uint64_t bytes)
{
	while (u->anon_bytes < bytes) {
		rig_grow(r, u, 2 * MIB);
		rig_run(r, 1, rig_idle);
	}
}

/* An external writer that repeats its memory limit: the value stays, to the page, and is reported
 * once. */
TEST(repeated_memory_limit)
{
	static const struct {
		const char *text;
		uint64_t value;
	} rows[] = {{"94371840\n", 90 * MIB}, {"314572800\n", 300 * MIB}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig r;
		struct rig_unit *u = started(&r, 200, 64 * MIB);
		unsigned sets;

		grow_to(&r, u, 80 * MIB);
		rig_run(&r, 10, rig_idle);
		for (int n = 0; n < 4; n++) {
			rig_put(&r, u, "memory.max", rows[i].text);
			rig_run(&r, 6, rig_idle);
		}
		CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY], 1);
		CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		sets = r.set_calls;
		for (int n = 0; n < 6; n++) {
			rig_grow(&r, u, MIB);
			rig_run(&r, 10, rig_idle);
			CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		}
		CHECK_EQ(u->props.mem_max, rows[i].value);
		CHECK_EQ(r.set_calls, sets);
		CHECK_EQ(r.kills, 0);
		/* A reload of PID 1 leaves it too. */
		drift_reloading(&r.daemon->units, true);
		rig_realise(&r, u);
		drift_reloading(&r.daemon->units, false);
		rig_run(&r, 10, rig_idle);
		CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		/* CPU is still ours. */
		rig_run(&r, 20, rig_busy);
		CHECK(rig_cpu_milli(&r, u) >= 800);
		CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		rig_close(&r);
	}
}

TEST_RIG(repeated_cpu_limit)
{
	struct rig_unit *u = started(r, 200, 64 * MIB);

	rig_run(r, 10, rig_busy);
	for (int i = 0; i < 4; i++) {
		rig_put(r, u, "cpu.max", "30000 100000\n");
		rig_run(r, 6, rig_busy);
		CHECK_EQ(rig_cpu_milli(r, u) > 300, i < 3);
	}
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 3);
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 1);
	while (u->anon_bytes < 200 * MIB && r->kills == 0) {
		rig_grow(r, u, 5 * MIB);
		rig_run(r, 1, rig_busy);
	}
	CHECK_EQ(r->kills, 0);
	CHECK(rig_bytes(r, u, "memory.max") >= 200 * MIB);
	CHECK_EQ(rig_cpu_milli(r, u), 300);
}

/* A unit without limits gets them while it runs. */
TEST_RIG(limit_added_later)
{
	struct rig_unit *u = started(r, LIMIT_MAX, LIMIT_MAX);

	rig_run(r, 15, rig_busy);
	CHECK(rig_cpu_milli(r, u) == LIMIT_MAX);
	CHECK_EQ(r->set_calls, 0);
	u->props.cpu_quota_per_sec_usec = 200 * USEC_PER_MSEC;
	u->props.mem_max = 64 * MIB;
	rig_realise(r, u);
	rig_run(r, 30, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	CHECK(rig_cpu_milli(r, u) <= 1600);
	grow_to(r, u, 100 * MIB);
	CHECK_EQ(r->kills, 0);
	CHECK_EQ(rig_first(r)->control.resource[RESOURCE_CPU].original, 200);
	CHECK_EQ(rig_first(r)->control.resource[RESOURCE_MEMORY].original, 64 * MIB);
	CHECK_EQ(r->daemon->records.baselines.items[0].limits.cpu_quota_usec, 20000);
	CHECK_EQ(r->daemon->records.baselines.items[0].limits.mem_max, 64 * MIB);
	CHECK_EQ(r->daemon->records.baselines.items[0].props.mem_max, 64 * MIB);
	CHECK_EQ(r->daemon->records.baselines.items[0].props.cpu_quota_per_sec_usec,
		 200 * USEC_PER_MSEC);
}

/* The owner sets both limits at once: both are adopted. */
TEST_RIG(owner_sets_both)
{
	struct rig_unit *u = started(r, 200, 64 * MIB);

	rig_run(r, 3, rig_idle);
	u->props.cpu_quota_per_sec_usec = 500 * USEC_PER_MSEC;
	u->props.mem_max = 200 * MIB;
	rig_realise(r, u);
	rig_run(r, 5, rig_idle);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 2);
	CHECK_EQ(r->daemon->records.baselines.items[0].limits.cpu_quota_usec, 50000);
	CHECK_EQ(r->daemon->records.baselines.items[0].limits.mem_max, 200 * MIB);
	CHECK_EQ(r->daemon->records.baselines.items[0].props.mem_max, 200 * MIB);
}

/* Recently shrunk, then growth of 25 MB a second, while PID 1 acts lag_seconds late. */
static void grow_under_lag(unsigned lag_seconds, bool storm)
{
	OWN(rig_close) struct rig r;
	struct rig_unit *u =
		rig_begin(&r, rig_config("  - match: a.service\n"), 1500, 400 * MIB, 50 * MIB);

	rig_run(&r, 200, rig_idle);
	CHECK(rig_bytes(&r, u, "memory.max") < 100 * MIB);
	r.lag_seconds = lag_seconds;
	for (int i = 0; i < 40; i++) {
		rig_grow(&r, u, 25000000);
		rig_run(&r, 1, rig_idle);
		if (storm && i % 2 == 0) {
			drift_reloading(&r.daemon->units, true);
			rig_realise(&r, u);
			drift_reloading(&r.daemon->units, false);
		}
	}
	CHECK_EQ(r.kills, 0);
	CHECK_EQ(u->anon_bytes, 50 * MIB + 40 * 25000000);
	CHECK(u->props.mem_max >= u->anon_bytes || lag_seconds > 0);
	/* Without growth, file and stored property agree in the end. */
	rig_run(&r, 30, rig_idle);
	CHECK(u->props.mem_max >= rig_bytes(&r, u, "memory.max"));
	CHECK_EQ(r.kills, 0);
	CHECK_EQ(managed_state(rig_first(&r)), UNIT_MANAGED);
	CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY] + r.events[EVENT_DRIFT_ADOPTED], 0);
}

/* PID 1 writes its stored value before it carries out our call. That is no external write, although
 * it stores our value by the time it answers. */
TEST_RIG(stored_before_ours)
{
	struct rig_unit *u = rig_begin(r, rig_config("  - {match: a.service, mode: Initial}\n"),
				       200, 64 * MIB, 62 * MIB);

	rig_run(r, 120, rig_idle);
	rig_unit_stop(r, u);
	rig_run(r, 3, NULL);
	u->anon_bytes = 2 * MIB;
	r->lag_seconds = 4;
	rig_unit_start(r, u);
	for (int i = 0; i < 20 && rig_bytes(r, u, "memory.max") == 64 * MIB; i++)
		rig_run(r, 1, rig_idle);
	CHECK(rig_bytes(r, u, "memory.max") > 64 * MIB);
	CHECK_EQ(u->props.mem_max, 64 * MIB);
	rig_realise(r, u);
	rig_run(r, 10, rig_idle);
	CHECK(rig_bytes(r, u, "memory.max") > 64 * MIB);
	CHECK_EQ(drift_recent(rig_first(r), RESOURCE_MEMORY), 0);
}

static char headroom[32];
static unsigned headroom_twice;

static void on_headroom(struct rig *, const struct event_record *e, const char *message)
{
	char amount[sizeof headroom] = "";

	if (e->kind != EVENT_PROPERTY_HEADROOM)
		return;
	CHECK(sscanf(message, "systemd stores a.service memory %31[^,]", amount) == 1);
	headroom_twice += strcmp(amount, headroom) == 0;
	snprintf(headroom, sizeof headroom, "%s", amount);
}

static void step_growth(struct rig *r)
{
	rig_burn(r, &r->unit[0], 50);
	rig_grow(r, &r->unit[0], MIB);
}

/* Every pass of a growing unit asks for headroom while PID 1 handles a call: reported once. */
TEST_RIG(headroom_reported_once)
{
	started(r, 200, 512 * MIB);
	r->unit[0].anon_bytes = 300 * MIB;
	rig_reflex(r, 60, rig_idle);
	headroom[0] = '\0';
	headroom_twice = 0;
	r->reported = on_headroom;
	r->lag_seconds = 1;
	rig_reflex(r, 150, step_growth);
	CHECK(r->events[EVENT_PROPERTY_HEADROOM] >= 1);
	CHECK_EQ(headroom_twice, 0);
	CHECK_EQ(r->again_calls, 0);
	CHECK_EQ(r->kills, 0);
}

/* PID 1 hangs for longer than a call may take, and then does all of it. */
TEST_RIG(pid1_hangs)
{
	struct rig_unit *u = started(r, 200, 64 * MIB);
	uint64_t cpu;

	r->silent = true;
	rig_run(r, 90, rig_busy);
	cpu = rig_cpu_milli(r, u);
	CHECK(cpu >= 800);
	CHECK(r->events[EVENT_PROPERTY_FAILED] >= 1);
	r->silent = false;
	rig_run(r, 60, rig_busy);
	CHECK_EQ(rig_cpu_milli(r, u), cpu);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, cpu * USEC_PER_MSEC);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED] + r->events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK_EQ(managed_state(rig_first(r)), UNIT_MANAGED);
}

static void take_result(void *arg, const struct restore_result *result)
{
	*(unsigned *)arg += result->outcome == RESTORE_PENDING;
}

/* A restore that is "pending" and not repeated changes nothing. */
TEST_RIG(restore_given_up)
{
	struct rig_unit *u = started(r, 200, 64 * MIB);
	unsigned results = 0;

	rig_run(r, 3, rig_idle);
	r->lag_seconds = 5;
	rig_run(r, 2, rig_busy);
	CHECK(unit_queue_pending(r->queue, "a.service"));
	CHECK_OK(r->loop->serve.api.ops->restore(&r->loop->serve, "a.service", false, take_result,
						 &results));
	CHECK_EQ(results, 1);
	CHECK_EQ(r->restore_calls, 0);
	rig_run(r, 40, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, rig_cpu_milli(r, u) * USEC_PER_MSEC);
	CHECK_EQ(managed_state(rig_first(r)), UNIT_MANAGED);
	CHECK_EQ(r->daemon->records.baselines.count, 1);
}

/* PID 1 takes longer than the pause between two lists. */
TEST_RIG(slow_list)
{
	struct rig_unit *u;

	rig_open(r, rig_config("  - match: a.service\n"));
	u = rig_add(r, "a.service", 200, 64 * MIB);
	r->lag_seconds = 4;
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 30, rig_busy);
	CHECK_EQ(r->daemon->units.count, 1);
	CHECK(rig_cpu_milli(r, u) >= 800);
}

/* The removal of an entry does not change the ids of the others, nor their watches. */
TEST_RIG(ids_stay)
{
	struct rig_unit *scope, *u;
	struct managed *m;
	uint32_t id, freed;

	rig_open(r, rig_config("  - {match: \"*.scope\", mode: Auto}\n"
			       "  - {match: \"*.service\", mode: Auto}\n"));
	scope = rig_add(r, "a.scope", 200, 64 * MIB);
	rig_add(r, "b.service", 200, 64 * MIB);
	u = rig_add(r, "c.service", 200, 64 * MIB);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 3, rig_idle);
	freed = managed_find(&r->daemon->units, "a.scope")->control.target;
	m = managed_find(&r->daemon->units, "c.service");
	id = m->control.target;
	CHECK(id != freed);
	rig_unit_stop(r, scope);
	rig_run(r, 60, NULL);
	CHECK(managed_find(&r->daemon->units, "a.scope") == NULL);
	CHECK(managed_find(&r->daemon->units, "c.service") == m);
	CHECK_EQ(m->control.target, id);
	CHECK(managed_by_id(&r->daemon->units, id) == m &&
	      managed_by_id(&r->daemon->units, freed) == NULL);
	rig_unit_start(r, rig_add(r, "d.service", 200, 64 * MIB));
	rig_run(r, 3, NULL);
	CHECK_EQ(managed_find(&r->daemon->units, "d.service")->control.target, freed);
	/* Its watch still names it. */
	rig_put(r, u, "memory.max", "50331648\n");
	rig_run(r, 2, NULL);
	CHECK_EQ(m->drift.replaced[RESOURCE_MEMORY], 1);
	CHECK_EQ(managed_by_id(&r->daemon->units, freed)->drift.replaced[RESOURCE_MEMORY], 0);
}

TEST(with_parameters)
{
	grow_under_lag(0, false);
	grow_under_lag(3, false);
	grow_under_lag(3, true);
}
