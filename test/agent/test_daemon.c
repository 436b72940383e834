// SPDX-License-Identifier: Apache-2.0
/* The whole daemon in virtual time, on a fake tree, with a scripted PID 1. */
#include "agent/drift/drift_events.h"
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include <fcntl.h>
#include <unistd.h>

TEST_RIG(off_writes_nothing)
{
	struct rig_unit *u, *other;
	char *report = NULL;

	rig_open(r, rig_config("  - {match: a.service, mode: Off}\n"));
	u = rig_add(r, "a.service", 200, 64 * MIB);
	other = rig_add(r, "b.service", 200, 64 * MIB);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 100, rig_busy);
	CHECK_EQ(rig_cpu_milli(r, u), 200);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), 64 * MIB);
	CHECK_EQ(r->set_calls, 0);
	CHECK(rig_first(r)->control.recommendation.resource[RESOURCE_CPU].target > 0);
	/* The report has it beside containers. */
	CHECK_EQ(r->loop->serve.api.ops->report(&r->loop->serve, &report), 0);
	CHECK(strstr(report, "{\"workload\":\"a.service\",\"owner\":\"Unit\"") != NULL);
	free(report);
	/* Not named: not even opened. */
	CHECK_EQ(r->daemon->units.count, 1);
	CHECK_EQ(rig_cpu_milli(r, other), 200);
}

TEST_RIG(reload_of_pid1_changes_nothing)
{
	struct rig_unit *u =
		rig_begin(r, rig_config("  - match: a.service\n"), 1500, 400 * MIB, 50 * MIB);
	uint64_t cpu, memory = 0;

	rig_run(r, 60, rig_idle);
	cpu = rig_cpu_milli(r, u);
	for (int i = 0; i < 20; i++) {
		drift_reloading(&r->daemon->units, true);
		rig_realise(r, u);
		drift_reloading(&r->daemon->units, false);
		rig_run(r, 1, rig_idle);
		CHECK_EQ(rig_cpu_milli(r, u), cpu);
		memory = rig_first(r)->control.resource[RESOURCE_MEMORY].limit;
		CHECK_EQ(rig_bytes(r, u, "memory.max"), memory);
	}
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK_EQ(managed_state(rig_first(r)), UNIT_MANAGED);
}

TEST_RIG(unit_that_vanishes)
{
	struct rig_unit *u = rig_begin(r, "units:\n  - match: a.service\n", 200, 64 * MIB, 0);

	rig_run(r, 10, rig_busy);
	u->running = false;
	fake_remove(&r->tree, u->cgroup);
	rig_run(r, 15, NULL);
	CHECK_EQ(managed_state(rig_first(r)), UNIT_WAITING);
	CHECK_EQ(r->events[EVENT_UNIT_GONE], 1);
}

TEST_RIG(bad_config_on_reload)
{
	rig_begin(r, "units:\n  - match: a.service\n", 200, 64 * MIB, 0);
	rig_run(r, 2, rig_idle);
	rig_write_config(r, "units:\n  - match: a.service\n    max-cpu: lots\n");
	reload_config(&r->loop->reload);
	CHECK_EQ(r->events[EVENT_CONFIG_INVALID], 1);
	CHECK(strstr(r->last_message, "vscaled.yaml:") != NULL);
	CHECK_EQ(r->daemon->config.unit_count, 1);
	rig_run(r, 2, rig_idle);
	/* Nothing is handed back for a file that was lost, cut or emptied. */
	CHECK_EQ(truncate(r->config, 0), 0);
	reload_config(&r->loop->reload);
	CHECK_EQ(unlink(r->config), 0);
	reload_config(&r->loop->reload);
	rig_run(r, 10, rig_busy);
	CHECK_EQ(r->events[EVENT_CONFIG_INVALID], 3);
	CHECK_EQ(r->events[EVENT_UNIT_UNMANAGED], 0);
	CHECK(rig_cpu_milli(r, &r->unit[0]) >= 800);
	rig_write_config(r, "units:\n  - match: a.service\n    max-cpu: 1\n");
	reload_config(&r->loop->reload);
	CHECK_EQ(rig_first(r)->control.rule.cpu_milli.max, 1000);
}

/* More than are kept: the oldest go, and that is said once. */
TEST_RIG(history_of_what_is_gone)
{
	OWN(history_record_drop) struct history_record gone = {0};
	char key[32];

	rig_begin(r, "units:\n  - match: a.service\n", 200, 64 * MIB, 0);
	rig_run(r, 20, rig_busy);
	history_init(&gone.history, &r->daemon->config.tuning.history);
	for (unsigned i = 0; i < HISTORY_GONE_MAX + 9; i++) {
		snprintf(key, sizeof key, "default/Pod/%05u/app", i);
		gone.seen_realtime_usec = r->real - USEC_PER_DAY + i;
		CHECK_EQ(history_store_put(&r->daemon->records.histories, key, &gone), 0);
		if (i >= HISTORY_GONE_MAX - 1)
			persist_save(&r->daemon->records);
	}
	CHECK_EQ(r->daemon->records.histories.count, HISTORY_GONE_MAX);
	CHECK_STR(r->daemon->records.histories.items[0].key, "default/Pod/00009/app");
	CHECK_EQ(r->events[EVENT_HISTORY_FULL], 1);
}

TEST_RIG(clock_that_jumps)
{
	usec_t observed;

	rig_begin(r, "units:\n  - match: a.service\n", 200, 64 * MIB, 0);
	rig_run(r, 60, rig_busy);
	observed = rig_first(r)->control.history.observed_usec[RESOURCE_CPU];
	r->real += USEC_PER_DAY;
	rig_run(r, 10, rig_busy);
	r->real -= 2 * USEC_PER_DAY;
	rig_run(r, 10, rig_busy);
	CHECK_EQ(r->events[EVENT_CLOCK_JUMPED], 2);
	CHECK(rig_first(r)->control.history.observed_usec[RESOURCE_CPU] > observed);
	control_review(&rig_first(r)->control,
		       &(struct control_context){.tuning = &r->daemon->config.tuning,
						 .node_milli = 4000,
						 .now = r->daemon->wake.now,
						 .now_real = r->daemon->wake.now_real,
						 .plan = &(struct plan){0}});
	CHECK(rig_first(r)->control.recommendation.resource[RESOURCE_CPU].peak >= 800);
}

TEST(unsaved_originals_forbid_writing)
{
	struct rig r;
	struct rig_unit *u;

	if (geteuid() != 0)
		return; /* covered as root, where the folder is made immutable to us below */
	u = rig_begin(&r, "units:\n  - match: a.service\n", 200, 64 * MIB, 0);
	close(r.daemon->records.dir);
	r.daemon->records.dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_run(&r, 15, rig_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), 200);
	CHECK_EQ(r.events[EVENT_BASELINE_UNSAVED], 1);
	rig_close(&r);
}

TEST_RIG(minimum_above_the_limit)
{
	struct rig_unit *u =
		rig_begin(r, "units:\n  - {match: a.service, min-memory: 128Mi, min-cpu: 500m}\n",
			  200, 64 * MIB, 0);

	rig_run(r, 40, rig_idle);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), 128 * MIB);
	CHECK_EQ(rig_cpu_milli(r, u), 500);
}

static void clock_real(void *, usec_t *ret_boot, usec_t *ret_real)
{
	struct timespec boot, real;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &real);
	*ret_boot = (usec_t)boot.tv_sec * USEC_PER_SEC + (usec_t)boot.tv_nsec / 1000;
	*ret_real = (usec_t)real.tv_sec * USEC_PER_SEC + (usec_t)real.tv_nsec / 1000;
}

static int on_enough(sd_event_source *s, uint64_t, void *)
{
	return sd_event_exit(sd_event_source_get_event(s), 0);
}

/* Loading the reader's programs takes its time, before anything can be late. */
TEST_RIG(start_is_no_lag)
{
	const usec_t start_usec = 1500 * USEC_PER_MSEC;

	rig_open(r, rig_config("- {match: a.service}\n"));
	r->clock = clock_real;
	CHECK_EQ(rig_start(r), 0);
	usleep(start_usec);
	sd_event_source_set_enabled(r->loop->timer.source, SD_EVENT_ONESHOT);
	sd_event_add_time_relative(r->daemon->wake.event, NULL, CLOCK_BOOTTIME, 50 * USEC_PER_MSEC,
				   0, on_enough, NULL);
	CHECK_EQ(loop_run(r->loop), 0);
	CHECK(r->daemon->tally.loop_lag.count > 0);
	CHECK(r->daemon->tally.loop_lag.max_usec < start_usec);
}

static int wake_thrice(sd_event_source *, void *userdata)
{
	struct daemon *d = userdata;
	usec_t now;

	daemon_wake(&d->wake);
	now = d->wake.now;
	usleep(2000);
	daemon_wake(&d->wake);
	daemon_wake(&d->wake);
	CHECK_EQ(d->wake.now, now);
	return 0;
}

/* A handler that calls another one is in the same wake-up; the next dispatch is another. */
TEST_RIG(clock_is_read_once_per_dispatch)
{
	sd_event_source *s;
	uint64_t before;

	rig_open(r, rig_config("- {match: a.service}\n"));
	r->clock = clock_real;
	CHECK_EQ(rig_start(r), 0);
	while (sd_event_run(r->daemon->wake.event, 0) > 0)
		continue;
	before = r->daemon->wake.count;
	CHECK(sd_event_add_defer(r->daemon->wake.event, &s, wake_thrice, r->daemon) >= 0);
	for (uint64_t i = 1; i <= 3; i++) {
		sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
		CHECK(sd_event_run(r->daemon->wake.event, 0) > 0);
		CHECK_EQ(r->daemon->wake.count, before + i);
	}
	sd_event_source_unref(s);
}
