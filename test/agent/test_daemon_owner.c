// SPDX-License-Identifier: Apache-2.0
/* What the owner of a unit sets while vscaled does not size it: at that time, or that resource. */
#include "test/agent/test_pods.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* As `systemctl set-property` does. */
static void owner_sets(struct rig *r, struct rig_unit *u, uint64_t milli, uint64_t mem_max)
{
	u->props.cpu_quota_per_sec_usec = milli * USEC_PER_MSEC;
	u->props.mem_max = mem_max;
	if (u->running)
		rig_realise(r, u);
}

static void check_limits(struct rig *r, const struct rig_unit *u, uint64_t milli, uint64_t mem_max)
{
	CHECK_EQ(rig_cpu_milli(r, u), milli);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), mem_max);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, milli * USEC_PER_MSEC);
	CHECK_EQ(u->props.mem_max, mem_max);
}

static struct rig_unit *started(struct rig *r, const char *units)
{
	struct rig_unit *u = rig_begin(r, rig_config(units), 200, 64 * MIB, 20 * MIB);

	rig_run(r, 10, rig_idle);
	return u;
}

/* The configuration names another unit. */
static void opt_out(struct rig *r)
{
	rig_reload(r, rig_config("  - match: z.service\n"));
	rig_run(r, 10, rig_idle);
}

/* A resource that is not sized; vscaled restarts after it, or does not run. */
TEST_RIG_EACH(not_sized, int, restart, 3)
{
	struct rig_unit *u = started(r, "  - {match: a.service, resources: cpu}\n");

	rig_run(r, 10, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	if (restart == 2)
		rig_stop(r);
	owner_sets(r, u, u->props.cpu_quota_per_sec_usec / USEC_PER_MSEC, GIB);
	if (restart == 2)
		CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_busy);
	if (restart == 1)
		rig_restart(r);
	rig_run(r, 10, rig_busy);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), GIB);
	CHECK(rig_cpu_milli(r, u) >= 800);
	opt_out(r);
	check_limits(r, u, 200, GIB);
}

/* The same of a container, by the spec. */
TEST_RIG_EACH(not_sized_in_a_pod, int, restart, 3)
{
	struct rig_pod *p;
	struct rig_container *app;

	rig_open(r, "");
	p = rig_pod_add(r, DRIVER_SYSTEMD, "web-0");
	app = rig_container_add(r, p, "app", 200, 64 * MIB);
	p->mode = "Auto";
	p->extra_key = "resources";
	p->extra_value = "cpu";
	CHECK_EQ(rig_start(r), 0);
	rig_pod_run(r, p, 10, pods_burn_800);
	CHECK(rig_cpu_milli(r, app->unit) >= 800);
	if (restart == 2)
		rig_stop(r);
	app->spec.limit[RESOURCE_MEMORY] = 256 * MIB;
	p->generation++;
	rig_pod_realise(r, p);
	if (restart == 2)
		CHECK_EQ(rig_start(r), 0);
	rig_pod_run(r, p, 20, pods_burn_800);
	if (restart == 1) {
		rig_restart(r);
		rig_pod_run(r, p, 20, pods_burn_800);
	}
	CHECK(rig_cpu_milli(r, app->unit) >= 800);
	CHECK_EQ(rig_bytes(r, app->unit, "memory.max"), 256 * MIB);
	p->mode = NULL;
	p->generation++;
	rig_pod_run(r, p, 20, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, app->unit), 200);
	CHECK_EQ(rig_bytes(r, app->unit, "memory.max"), 256 * MIB);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 256 * MIB);
}

/* Mode Off since a start of the agent that found the originals. */
TEST_RIG(off)
{
	struct rig_unit *u =
		rig_begin(r, rig_config("  - match: a.service\n"), 200, 512 * MIB, 20 * MIB);

	rig_run(r, 2, rig_idle);
	rig_stop(r);
	rig_write_config(r, rig_config("  - {match: a.service, mode: Off}\n"));
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_idle);
	owner_sets(r, u, 500, GIB);
	rig_run(r, 10, rig_idle);
	rig_restart(r);
	rig_run(r, 10, rig_idle);
	check_limits(r, u, 500, GIB);
}

/* During a pause. */
TEST_RIG_BOTH(paused, raised)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");

	if (raised)
		rig_run(r, 10, rig_busy);
	CHECK_EQ(r->loop->serve.api.ops->pause(&r->loop->serve, NULL), 1);
	owner_sets(r, u, 500, GIB);
	rig_run(r, 10, rig_idle);
	CHECK_EQ(r->loop->serve.api.ops->resume(&r->loop->serve, NULL), 1);
	rig_run(r, 10, rig_idle);
	opt_out(r);
	check_limits(r, u, 500, GIB);
}

static void take_result(void *arg, const struct restore_result *result)
{
	*(enum restore_outcome *)arg = result->outcome;
}

/* An operator restores, its memory stays as it is in use, and mode Off comes after that. */
TEST_RIG(left_then_off)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");
	enum restore_outcome outcome = RESTORE_PENDING;

	while (u->anon_bytes < 100 * MIB) {
		rig_grow(r, u, 2 * MIB);
		rig_run(r, 1, rig_idle);
	}
	for (int i = 0; i < 10 && outcome == RESTORE_PENDING; i++) {
		rig_run(r, 1, rig_idle);
		CHECK_EQ(r->loop->serve.api.ops->restore(&r->loop->serve, "a.service", false,
							 take_result, &outcome),
			 0);
	}
	CHECK_EQ(outcome, RESTORE_LEFT);
	rig_reload(r, rig_config("  - {match: a.service, mode: Off}\n"));
	rig_run(r, 10, rig_idle);
	u->anon_bytes = 20 * MIB;
	rig_run(r, 120, rig_idle);
	check_limits(r, u, 200, 64 * MIB);
	CHECK_EQ(r->daemon->records.baselines.count, 0);
}

/* The unit does not run; or vscaled does not. */
TEST_RIG_BOTH(stopped, agent)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");

	rig_run(r, 10, rig_busy);
	if (agent)
		rig_stop(r);
	else
		rig_unit_stop(r, u);
	if (!agent)
		rig_run(r, 3, NULL);
	owner_sets(r, u, 500, GIB);
	if (agent)
		CHECK_EQ(rig_start(r), 0);
	else
		rig_unit_start(r, u);
	rig_run(r, 10, rig_idle);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 2);
	CHECK_EQ(rig_first(r)->control.resource[RESOURCE_MEMORY].original, GIB);
	CHECK_EQ(rig_first(r)->control.resource[RESOURCE_CPU].original, 500);
	opt_out(r);
	check_limits(r, u, 500, GIB);
}

/* He changed the unit's file, and the host was booted again: systemd has forgotten what vscaled
 * sent, and so has the runtime folder. */
TEST_RIG_BOTH(reboot, runtime)
{
	struct rig_unit *u =
		rig_begin(r, rig_config("  - match: a.service\n"), 200, 64 * MIB, 20 * MIB);
	char lift[128];

	memset(r->daemon->host.boot_id, 'a', sizeof r->daemon->host.boot_id - 1);
	rig_run(r, 20, rig_busy);
	snprintf(lift, sizeof lift, "%s/baseline-lift", r->daemon->config.paths.runtime_dir);
	rig_stop(r);
	if (!runtime)
		CHECK_EQ(unlink(lift), 0);
	rig_unit_stop(r, u);
	owner_sets(r, u, 500, GIB);
	rig_unit_start(r, u);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_idle);
	CHECK_EQ(r->daemon->records.baselines.items[0].dropins, 0);
	opt_out(r);
	check_limits(r, u, 500, GIB);
}

/* vscaled had written nothing to it. */
TEST_RIG(untouched)
{
	struct rig_unit *u =
		rig_begin(r, rig_config("  - match: a.service\n"), 200, 512 * MIB, 20 * MIB);

	rig_run(r, 3, rig_idle);
	CHECK_EQ(r->set_calls, 0);
	rig_stop(r);
	owner_sets(r, u, 500, GIB);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 3, rig_idle);
	opt_out(r);
	check_limits(r, u, 500, GIB);
}

/* The runtime folder alone is lost: what systemd stores may be vscaled's. */
TEST_RIG(lost_runtime)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");
	char lift[128];

	rig_run(r, 20, rig_busy);
	snprintf(lift, sizeof lift, "%s/baseline-lift", r->daemon->config.paths.runtime_dir);
	rig_stop(r);
	CHECK_EQ(unlink(lift), 0);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_idle);
	opt_out(r);
	check_limits(r, u, 200, 64 * MIB);
}

/* Memory that a restore without the daemon left is not the owner's. */
TEST_RIG(left_offline)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");
	OWN(baseline_set_free) struct baseline_set set = {0};
	struct restore how = {
		.root = r->tree.fd,
		.units = &r->restore,
		.margin_permille = 100,
		.margin_min_bytes = 16 * MIB,
	};
	enum restore_outcome outcome;
	char aside[STATE_ASIDE_MAX];
	int dir = open(r->daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (u->anon_bytes < 100 * MIB) {
		rig_grow(r, u, 2 * MIB);
		rig_run(r, 1, rig_idle);
	}
	rig_run(r, 60, rig_idle);
	CHECK(rig_bytes(r, u, "memory.max") != u->props.mem_max);
	rig_stop(r);
	CHECK_EQ(baseline_load(dir, aside, &set), 0);
	CHECK_EQ(restore_set(&how, &set, NULL, take_result, &outcome), 0);
	CHECK_EQ(outcome, RESTORE_LEFT);
	CHECK_EQ(baseline_save(dir, &set), 0);
	close(dir);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_idle);
	CHECK_EQ(rig_first(r)->control.resource[RESOURCE_MEMORY].original, 64 * MIB);
	u->anon_bytes = 20 * MIB;
	opt_out(r);
	check_limits(r, u, 200, 64 * MIB);
}

/* MemoryHigh is no limit that vscaled lowered where memory is not sized. */
TEST_RIG_BOTH(high_not_sized, unlimited)
{
	struct rig_unit *u =
		rig_begin(r,
			  rig_config(unlimited ? "  - match: a.service\n"
					       : "  - {match: a.service, resources: cpu}\n"),
			  200, unlimited ? LIMIT_MAX : 64 * MIB, 20 * MIB);

	rig_run(r, 10, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	u->props.mem_high = 50 * MIB;
	rig_realise(r, u);
	rig_run(r, 10, rig_busy);
	rig_stop(r);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_busy);
	opt_out(r);
	CHECK_EQ(rig_cpu_milli(r, u), 200);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	CHECK_EQ(u->props.mem_high, 50 * MIB);
}

/* Everything was restored without the daemon; what the runtime folder still knows is old. */
TEST_RIG(restored_offline)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");
	int dir = open(r->daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	rig_stop(r);
	CHECK_EQ(baseline_save(dir, &(struct baseline_set){0}), 0);
	close(dir);
	u->props.mem_high = 50 * MIB;
	rig_realise(r, u);
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	rig_run(r, 3, rig_idle);
	CHECK_EQ(rig_first(r)->control.original.mem_high, 50 * MIB);
}

/* The wall clock ran ahead when it was saved, and is right by now. */
TEST_RIG(backoff_of_a_wrong_clock)
{
	struct control *c;

	started(r, "  - match: a.service\n");
	c = &rig_first(r)->control;
	c->mem.backoff_usec = USEC_PER_HOUR;
	c->mem.backoff_until = r->boot + USEC_PER_HOUR;
	rig_stop(r);
	r->real -= 10 * 365 * 24 * USEC_PER_HOUR;
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 3, rig_idle);
	c = &rig_first(r)->control;
	CHECK(c->mem.backoff_until > r->boot);
	CHECK(c->mem.backoff_until <= r->boot + USEC_PER_HOUR);
}

/* memory.high of a writer for whom management is suspended, or of one during a pause, is not lifted
 * as one that vscaled lowered; once it is sized again it may be. */
TEST_RIG_BOTH(high_of_another, pause)
{
	const struct control_ops *ops;
	struct rig_unit *u =
		rig_begin(r, "units:\n  - match: a.service\n", 200, 64 * MIB, 20 * MIB);

	ops = r->loop->serve.api.ops;
	rig_run(r, 10, rig_busy);
	if (pause)
		CHECK_EQ(ops->pause(&r->loop->serve, NULL), 1);
	/* The first is an echo of the property call. */
	for (int n = 0; n < 5; n++) {
		rig_put(r, u, "memory.high", "52428800\n");
		rig_run(r, 6, rig_busy);
	}
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], !pause);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	rig_stop(r);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	rig_run(r, 3, rig_busy);
	/* It was lowered further when the agent was killed. */
	rig_stop(r);
	rig_put(r, u, "memory.high", "62914560\n");
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), LIMIT_MAX);
}

/* The state folder is lost while vscaled does not run: the copy in the runtime folder has them. */
TEST_RIG(lost_state)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");
	int dir = open(r->daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	rig_run(r, 20, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	rig_stop(r);
	CHECK_EQ(unlinkat(dir, "baseline", 0), 0);
	CHECK_EQ(unlinkat(dir, "baseline-copy", 0), 0);
	close(dir);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_busy);
	CHECK_EQ(rig_first(r)->control.resource[RESOURCE_CPU].original, 200);
	opt_out(r);
	check_limits(r, u, 200, 64 * MIB);
}

static int (*set_props)(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask);

static int refuse_a(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask)
{
	return unit[0] == 'a' ? -EACCES : set_props(ctx, unit, want, mask);
}

/* One that systemd refuses does not keep the others from their originals. */
TEST_RIG(one_fails)
{
	struct rig_unit *u = started(r, "  - match: \"*.service\"\n");
	struct rig_unit *other = rig_add(r, "b.service", 200, 64 * MIB);

	for (int i = 0; i < 20; i++) {
		rig_burn(r, other, 800);
		rig_run(r, 1, rig_busy);
	}
	CHECK(rig_cpu_milli(r, other) >= 800);
	set_props = r->restore.set;
	r->restore.set = refuse_a;
	opt_out(r);
	rig_run(r, 300, NULL);
	check_limits(r, other, 200, 64 * MIB);
	CHECK_EQ(r->daemon->records.baselines.count, 1);
	r->restore.set = set_props;
	rig_run(r, 120, NULL);
	check_limits(r, u, 200, 64 * MIB);
}

/* It ended while vscaled did not run: a scope does not come back. A service may, for as long as its
 * use is remembered. */
TEST_RIG_BOTH(ended_meanwhile, scope)
{
	struct rig_unit *u;

	rig_open(r, rig_config("  - match: \"a.*\"\n"));
	u = rig_add(r, scope ? "a.scope" : "a.service", 200, 64 * MIB);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 20, rig_busy);
	CHECK_EQ(r->daemon->records.baselines.count, 1);
	rig_stop(r);
	rig_unit_stop(r, u);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 15, NULL);
	CHECK_EQ(r->daemon->records.baselines.count, scope ? 0 : 1);
	r->real += 9 * 24 * USEC_PER_HOUR;
	for (int i = 0; i < 2; i++) {
		rig_run(r, 15, NULL);
		rig_restart(r);
	}
	rig_run(r, 15, NULL);
	CHECK_EQ(r->daemon->records.baselines.count, 0);
}
