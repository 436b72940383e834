// SPDX-License-Identifier: Apache-2.0
/* External writes to the limits of a unit, and a PID 1 that lags, under the whole daemon. */
#include "agent/drift/drift_events.h"
#include "agent/manage/drift_state.h"
#include "cgroup/group.h"
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include <errno.h>
#include <inttypes.h>

static void step_busy(struct rig *r)
{
	rig_burn(r, &r->unit[0], 800);
}

static void step_idle(struct rig *r)
{
	rig_burn(r, &r->unit[0], 50);
}

static struct managed *first(const struct rig *r)
{
	return r->daemon->units.items[0];
}

static struct rig_unit *started(struct rig *r, uint64_t milli, uint64_t mem_max)
{
	struct rig_unit *u;

	rig_open(r, "units:\n  - match: a.service\n");
	u = rig_add(r, "a.service", milli, mem_max);
	u->anon_bytes = 20 * MIB;
	CHECK_EQ(rig_start(r), 0);
	return u;
}

/* The same quota in twice the time is half the CPU. */
static void test_period_alone(void)
{
	struct rig r;
	struct rig_unit *u = started(&r, 200, 64 * MIB);
	char text[64];

	rig_run(&r, 10, step_busy);
	snprintf(text, sizeof text, "%" PRIu64 " 200000\n", rig_cpu_milli(&r, u) * 100);
	rig_put(&r, u, "cpu.max", text);
	rig_run(&r, 15, step_busy);
	CHECK(rig_cpu_milli(&r, u) >= 800);
	CHECK(rig_cpu_milli(&r, u) <= 1600);
	CHECK_EQ(first(&r)->control.frozen, 0);
	CHECK_EQ(managed_state(first(&r)), UNIT_MANAGED);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED], 1);
	rig_close(&r);
}

/* The controller is disabled: the file is removed, and reads of the kept descriptor fail. */
static void lose_cpu_max(struct rig *r, struct rig_unit *u)
{
	struct cg *c = first(r)->cgroup.cg;
	char path[RIG_PATH_MAX];

	snprintf(path, sizeof path, "%s/cpu.max", u->cgroup);
	fake_remove(&r->tree, path);
	close(c->fd[CG_FILE_CPU_MAX]);
	c->fd[CG_FILE_CPU_MAX] = -1;
}

static void test_absent_file(void)
{
	for (int touched = 0; touched < 2; touched++) {
		struct rig r;
		struct rig_unit *u = started(&r, 200, 64 * MIB);
		char text[64];

		rig_run(&r, 10, touched ? step_busy : step_idle);
		snprintf(text, sizeof text, "%" PRIu64 " 100000\n", rig_cpu_milli(&r, u) * 100);
		lose_cpu_max(&r, u);
		rig_run(&r, 15, NULL);
		CHECK_EQ(managed_state(first(&r)), UNIT_MANAGED);
		CHECK(first(&r)->control.resource[RESOURCE_CPU].managed);
		rig_put(&r, u, "cpu.max", text);
		rig_run(&r, 60, step_busy);
		CHECK(rig_cpu_milli(&r, u) >= 800);
		CHECK(rig_cpu_milli(&r, u) <= 1600);
		CHECK_EQ(managed_state(first(&r)), UNIT_MANAGED);
		CHECK_EQ(first(&r)->control.resource[RESOURCE_CPU].original, 200);
		CHECK_EQ(r.daemon->records.baselines.items[0].limits.cpu_quota_usec, 20000);
		CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY] + r.events[EVENT_DRIFT_ADOPTED], 0);
		rig_close(&r);
	}
}

static void grow_to(struct rig *r, struct rig_unit *u, uint64_t bytes)
{
	while (u->anon_bytes < bytes) {
		rig_grow(r, u, 2 * MIB);
		rig_run(r, 1, step_idle);
	}
}

/* An external writer that repeats its memory limit: the value stays, to the page, and is reported
 * once. */
static void test_repeated_memory_limit(void)
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
		rig_run(&r, 10, step_idle);
		for (int n = 0; n < 4; n++) {
			rig_put(&r, u, "memory.max", rows[i].text);
			rig_run(&r, 6, step_idle);
		}
		CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY], 1);
		CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		sets = r.set_calls;
		for (int n = 0; n < 6; n++) {
			rig_grow(&r, u, MIB);
			rig_run(&r, 10, step_idle);
			CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		}
		CHECK_EQ(u->props.mem_max, rows[i].value);
		CHECK_EQ(r.set_calls, sets);
		CHECK_EQ(r.kills, 0);
		/* A reload of PID 1 leaves it too. */
		drift_reloading(&r.daemon->units, true);
		rig_realise(&r, u);
		drift_reloading(&r.daemon->units, false);
		rig_run(&r, 10, step_idle);
		CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		/* CPU is still ours. */
		rig_run(&r, 20, step_busy);
		CHECK(rig_cpu_milli(&r, u) >= 800);
		CHECK_EQ(rig_bytes(&r, u, "memory.max"), rows[i].value);
		rig_close(&r);
	}
}

static void test_repeated_cpu_limit(void)
{
	struct rig r;
	struct rig_unit *u = started(&r, 200, 64 * MIB);

	rig_run(&r, 10, step_busy);
	for (int i = 0; i < 4; i++) {
		rig_put(&r, u, "cpu.max", "30000 100000\n");
		rig_run(&r, 6, step_busy);
		CHECK_EQ(rig_cpu_milli(&r, u) > 300, i < 3);
	}
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED], 3);
	CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY], 1);
	while (u->anon_bytes < 200 * MIB && r.kills == 0) {
		rig_grow(&r, u, 5 * MIB);
		rig_run(&r, 1, step_busy);
	}
	CHECK_EQ(r.kills, 0);
	CHECK(rig_bytes(&r, u, "memory.max") >= 200 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, u), 300);
	rig_close(&r);
}

/* A unit without limits gets them while it runs. */
static void test_limit_added_later(void)
{
	struct rig r;
	struct rig_unit *u = started(&r, LIMIT_MAX, LIMIT_MAX);

	rig_run(&r, 15, step_busy);
	CHECK(rig_cpu_milli(&r, u) == LIMIT_MAX);
	CHECK_EQ(r.set_calls, 0);
	u->props.cpu_quota_per_sec_usec = 200 * USEC_PER_MSEC;
	u->props.mem_max = 64 * MIB;
	rig_realise(&r, u);
	rig_run(&r, 30, step_busy);
	CHECK(rig_cpu_milli(&r, u) >= 800);
	CHECK(rig_cpu_milli(&r, u) <= 1600);
	grow_to(&r, u, 100 * MIB);
	CHECK_EQ(r.kills, 0);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_CPU].original, 200);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_MEMORY].original, 64 * MIB);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.cpu_quota_usec, 20000);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.mem_max, 64 * MIB);
	CHECK_EQ(r.daemon->records.baselines.items[0].props.mem_max, 64 * MIB);
	CHECK_EQ(r.daemon->records.baselines.items[0].props.cpu_quota_per_sec_usec,
		 200 * USEC_PER_MSEC);
	rig_close(&r);
}

/* The owner sets both limits at once: both are adopted. */
static void test_owner_sets_both(void)
{
	struct rig r;
	struct rig_unit *u = started(&r, 200, 64 * MIB);

	rig_run(&r, 3, step_idle);
	u->props.cpu_quota_per_sec_usec = 500 * USEC_PER_MSEC;
	u->props.mem_max = 200 * MIB;
	rig_realise(&r, u);
	rig_run(&r, 5, step_idle);
	CHECK_EQ(r.events[EVENT_DRIFT_ADOPTED], 2);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.cpu_quota_usec, 50000);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.mem_max, 200 * MIB);
	CHECK_EQ(r.daemon->records.baselines.items[0].props.mem_max, 200 * MIB);
	rig_close(&r);
}

/* Recently shrunk, then growth of 25 MB a second, while PID 1 acts lag_seconds late. */
static void grow_under_lag(unsigned lag_seconds, bool storm)
{
	struct rig r;
	struct rig_unit *u;

	rig_open(&r, rig_config("  - match: a.service\n"));
	u = rig_add(&r, "a.service", 1500, 400 * MIB);
	u->anon_bytes = 50 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 200, step_idle);
	CHECK(rig_bytes(&r, u, "memory.max") < 100 * MIB);
	r.lag_seconds = lag_seconds;
	for (int i = 0; i < 40; i++) {
		rig_grow(&r, u, 25000000);
		rig_run(&r, 1, step_idle);
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
	rig_run(&r, 30, step_idle);
	CHECK(u->props.mem_max >= rig_bytes(&r, u, "memory.max"));
	CHECK_EQ(r.kills, 0);
	CHECK_EQ(managed_state(first(&r)), UNIT_MANAGED);
	CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY] + r.events[EVENT_DRIFT_ADOPTED], 0);
	rig_close(&r);
}

/* PID 1 writes its stored value before it carries out our call. That is no external write, although
 * it stores our value by the time it answers. */
static void test_stored_before_ours(void)
{
	struct rig r;
	struct rig_unit *u;

	rig_open(&r, rig_config("  - {match: a.service, mode: Initial}\n"));
	u = rig_add(&r, "a.service", 200, 64 * MIB);
	u->anon_bytes = 62 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 120, step_idle);
	rig_unit_stop(&r, u);
	rig_run(&r, 3, NULL);
	u->anon_bytes = 2 * MIB;
	r.lag_seconds = 4;
	rig_unit_start(&r, u);
	for (int i = 0; i < 20 && rig_bytes(&r, u, "memory.max") == 64 * MIB; i++)
		rig_run(&r, 1, step_idle);
	CHECK(rig_bytes(&r, u, "memory.max") > 64 * MIB);
	CHECK_EQ(u->props.mem_max, 64 * MIB);
	rig_realise(&r, u);
	rig_run(&r, 10, step_idle);
	CHECK(rig_bytes(&r, u, "memory.max") > 64 * MIB);
	CHECK_EQ(drift_recent(first(&r), RESOURCE_MEMORY), 0);
	rig_close(&r);
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
static void test_headroom_reported_once(void)
{
	struct rig r;

	started(&r, 200, 512 * MIB);
	r.unit[0].anon_bytes = 300 * MIB;
	rig_reflex(&r, 60, step_idle);
	headroom[0] = '\0';
	headroom_twice = 0;
	r.reported = on_headroom;
	r.lag_seconds = 1;
	rig_reflex(&r, 150, step_growth);
	CHECK(r.events[EVENT_PROPERTY_HEADROOM] >= 1);
	CHECK_EQ(headroom_twice, 0);
	CHECK_EQ(r.again_calls, 0);
	CHECK_EQ(r.kills, 0);
	rig_close(&r);
}

/* PID 1 hangs for longer than a call may take, and then does all of it. */
static void test_pid1_hangs(void)
{
	struct rig r;
	struct rig_unit *u = started(&r, 200, 64 * MIB);
	uint64_t cpu;

	r.silent = true;
	rig_run(&r, 90, step_busy);
	cpu = rig_cpu_milli(&r, u);
	CHECK(cpu >= 800);
	CHECK(r.events[EVENT_PROPERTY_FAILED] >= 1);
	r.silent = false;
	rig_run(&r, 60, step_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), cpu);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, cpu * USEC_PER_MSEC);
	CHECK_EQ(r.events[EVENT_DRIFT_ADOPTED] + r.events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK_EQ(managed_state(first(&r)), UNIT_MANAGED);
	rig_close(&r);
}

static void take_result(void *arg, const struct restore_result *result)
{
	*(unsigned *)arg += result->outcome == RESTORE_PENDING;
}

/* A restore that is "pending" and not repeated changes nothing. */
static void test_restore_given_up(void)
{
	struct rig r;
	struct rig_unit *u = started(&r, 200, 64 * MIB);
	unsigned results = 0;

	rig_run(&r, 3, step_idle);
	r.lag_seconds = 5;
	rig_run(&r, 2, step_busy);
	CHECK(unit_queue_pending(r.queue, "a.service"));
	CHECK_EQ(r.loop->serve.api.ops->restore(&r.loop->serve, "a.service", false, take_result,
						&results),
		 0);
	CHECK_EQ(results, 1);
	CHECK_EQ(r.restore_calls, 0);
	rig_run(&r, 40, step_busy);
	CHECK(rig_cpu_milli(&r, u) >= 800);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, rig_cpu_milli(&r, u) * USEC_PER_MSEC);
	CHECK_EQ(managed_state(first(&r)), UNIT_MANAGED);
	CHECK_EQ(r.daemon->records.baselines.count, 1);
	rig_close(&r);
}

/* PID 1 takes longer than the pause between two lists. */
static void test_slow_list(void)
{
	struct rig r;
	struct rig_unit *u;

	rig_open(&r, rig_config("  - match: a.service\n"));
	u = rig_add(&r, "a.service", 200, 64 * MIB);
	r.lag_seconds = 4;
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 30, step_busy);
	CHECK_EQ(r.daemon->units.count, 1);
	CHECK(rig_cpu_milli(&r, u) >= 800);
	rig_close(&r);
}

/* The removal of an entry does not change the ids of the others, nor their watches. */
static void test_ids_stay(void)
{
	struct rig r;
	struct rig_unit *scope, *u;
	struct managed *m;
	uint32_t id, freed;

	rig_open(&r, rig_config("  - {match: \"*.scope\", mode: Auto}\n"
				"  - {match: \"*.service\", mode: Auto}\n"));
	scope = rig_add(&r, "a.scope", 200, 64 * MIB);
	rig_add(&r, "b.service", 200, 64 * MIB);
	u = rig_add(&r, "c.service", 200, 64 * MIB);
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 3, step_idle);
	freed = managed_find(&r.daemon->units, "a.scope")->control.target;
	m = managed_find(&r.daemon->units, "c.service");
	id = m->control.target;
	CHECK(id != freed);
	rig_unit_stop(&r, scope);
	rig_run(&r, 60, NULL);
	CHECK(managed_find(&r.daemon->units, "a.scope") == NULL);
	CHECK(managed_find(&r.daemon->units, "c.service") == m);
	CHECK_EQ(m->control.target, id);
	CHECK(managed_by_id(&r.daemon->units, id) == m &&
	      managed_by_id(&r.daemon->units, freed) == NULL);
	rig_unit_start(&r, rig_add(&r, "d.service", 200, 64 * MIB));
	rig_run(&r, 3, NULL);
	CHECK_EQ(managed_find(&r.daemon->units, "d.service")->control.target, freed);
	/* Its watch still names it. */
	rig_put(&r, u, "memory.max", "50331648\n");
	rig_run(&r, 2, NULL);
	CHECK_EQ(m->drift.replaced[RESOURCE_MEMORY], 1);
	CHECK_EQ(managed_by_id(&r.daemon->units, freed)->drift.replaced[RESOURCE_MEMORY], 0);
	rig_close(&r);
}

int main(void)
{
	test_period_alone();
	test_absent_file();
	test_repeated_memory_limit();
	test_repeated_cpu_limit();
	test_limit_added_later();
	test_owner_sets_both();
	grow_under_lag(0, false);
	grow_under_lag(3, false);
	grow_under_lag(3, true);
	test_stored_before_ours();
	test_headroom_reported_once();
	test_pid1_hangs();
	test_restore_given_up();
	test_slow_list();
	test_ids_stay();
	return check_result();
}
