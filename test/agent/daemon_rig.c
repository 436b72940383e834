// SPDX-License-Identifier: Apache-2.0
#include "test/agent/daemon_rig.h"
#include "systemd/unit_props.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(struct rig *r, const struct rig_unit *u, const char *file, const char *text)
{
	char path[192];

	snprintf(path, sizeof path, "%s/%s", u->cgroup, file);
	fake_put(&r->tree, path, text);
}

static void put_limit(struct rig *r, const struct rig_unit *u, const char *file, uint64_t value)
{
	char text[32];

	if (value == LIMIT_MAX)
		snprintf(text, sizeof text, "max\n");
	else
		snprintf(text, sizeof text, "%" PRIu64 "\n", value);
	put(r, u, file, text);
}

static void put_counters(struct rig *r, const struct rig_unit *u)
{
	char text[512];

	snprintf(text, sizeof text,
		 "usage_usec %" PRIu64 "\nuser_usec 0\nsystem_usec 0\nnr_periods %" PRIu64
		 "\nnr_throttled %" PRIu64 "\nthrottled_usec %" PRIu64
		 "\nnr_bursts 0\nburst_usec 0\n",
		 u->usage_usec, u->nr_periods, u->nr_throttled, u->throttled_usec);
	put(r, u, "cpu.stat", text);
	put_limit(r, u, "memory.current", u->anon_bytes + u->file_bytes);
	put_limit(r, u, "memory.peak", u->anon_bytes + u->file_bytes);
	snprintf(text, sizeof text,
		 "anon %" PRIu64 "\nfile %" PRIu64 "\nkernel 0\nshmem 0\nunevictable 0\n"
		 "slab_reclaimable 0\ninactive_file %" PRIu64
		 "\nactive_file 0\nworkingset_refault_anon 0\nworkingset_refault_file 0\n",
		 u->anon_bytes, u->file_bytes, u->file_bytes);
	put(r, u, "memory.stat", text);
	snprintf(text, sizeof text,
		 "low 0\nhigh 0\nmax %" PRIu64 "\noom 0\noom_kill 0\noom_group_kill 0\n",
		 u->max_events);
	put(r, u, "memory.events", text);
}

void rig_realise(struct rig *r, struct rig_unit *u)
{
	const struct unit_props *p = &u->props;
	char text[64];

	if (p->cpu_quota_per_sec_usec == UINT64_MAX)
		snprintf(text, sizeof text, "max 100000\n");
	else
		snprintf(text, sizeof text, "%" PRIu64 " 100000\n", p->cpu_quota_per_sec_usec / 10);
	put(r, u, "cpu.max", text);
	put_limit(r, u, "memory.max", p->mem_max);
	put_limit(r, u, "memory.high", p->mem_high);
}

struct rig_unit *rig_add(struct rig *r, const char *name, uint64_t quota_milli, uint64_t mem_max)
{
	static const char pressure[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
				       "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
	struct rig_unit *u = &r->unit[r->unit_count++];

	snprintf(u->name, sizeof u->name, "%s", name);
	snprintf(u->cgroup, sizeof u->cgroup, "system.slice/%s", name);
	u->running = true;
	u->props = (struct unit_props){
		.cpu_quota_per_sec_usec =
			quota_milli == LIMIT_MAX ? UINT64_MAX : quota_milli * USEC_PER_MSEC,
		.cpu_quota_period_usec = UINT64_MAX,
		.mem_max = mem_max,
		.mem_high = UINT64_MAX,
	};
	fake_put(&r->tree, u->cgroup, NULL);
	put(r, u, "cpu.max.burst", "0\n");
	put(r, u, "cpu.pressure", pressure);
	put(r, u, "memory.pressure", pressure);
	rig_realise(r, u);
	put_counters(r, u);
	return u;
}

static struct rig_unit *find(struct rig *r, const char *name)
{
	for (size_t i = 0; i < r->unit_count; i++)
		if (strcmp(r->unit[i].name, name) == 0)
			return &r->unit[i];
	return NULL;
}

/* --- PID 1 --- */

static int port_list(void *ctx, const char *const *patterns, size_t count)
{
	struct unit_info info[RIG_UNITS_MAX];
	char path[RIG_UNITS_MAX][100];
	struct rig *r = ctx;
	size_t n = 0;

	(void)patterns;
	(void)count;
	for (size_t i = 0; i < r->unit_count; i++) {
		if (!r->unit[i].running)
			continue;
		snprintf(path[n], sizeof path[n], "/%s", r->unit[i].cgroup);
		info[n] = (struct unit_info){
			.name = r->unit[i].name,
			.cgroup = path[n],
			.active_state = "active",
			.invocation_id = "",
			.props = r->unit[i].props,
		};
		n++;
	}
	guard_listed(r->daemon, 0, info, n);
	return 0;
}

static int port_set(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask,
		    bool urgent)
{
	struct rig *r = ctx;
	struct rig_unit *u = find(r, unit);

	(void)urgent;
	r->set_calls++;
	r->last_set = *want;
	r->last_mask = mask;
	snprintf(r->last_unit, sizeof r->last_unit, "%s", unit);
	if (r->silent)
		return 0;
	unit_props_merge(&u->props, want, mask);
	rig_realise(r, u);
	return 0;
}

static bool port_pending(void *ctx, const char *unit)
{
	(void)ctx;
	(void)unit;
	return false;
}

static int port_get(void *ctx, const char *unit)
{
	struct rig *r = ctx;

	if (r->silent)
		return -ENOTCONN;
	/* Answered from the loop, as by a bus. */
	find(r, unit)->asked = true;
	return 0;
}

static void rig_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real)
{
	struct rig *r = ctx;

	*ret_boot = r->boot;
	*ret_real = r->real;
}

/* --- life --- */

void rig_write_config(struct rig *r, const char *config_body)
{
	FILE *f = fopen(r->config, "we");

	fprintf(f,
		"apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"
		"paths: {stateDirectory: %s/state, runtimeDirectory: %s/run, cgroupRoot: %s}\n"
		"log: {target: stderr}\n%s\n",
		r->folder, r->folder, r->tree.path, config_body);
	fclose(f);
}

void rig_open(struct rig *r, const char *config_body)
{
	*r = (struct rig){.boot = 1000 * USEC_PER_SEC, .real = 1800000000ULL * USEC_PER_SEC};
	fake_open(&r->tree, NULL, 0);
	snprintf(r->folder, sizeof r->folder, "/tmp/vscaled-rig-XXXXXX");
	if (mkdtemp(r->folder) == NULL)
		exit(EXIT_FAILURE);
	snprintf(r->config, sizeof r->config, "%s/vscaled.yaml", r->folder);
	rig_write_config(r, config_body);
}

static void on_event(void *ctx, const struct event_record *e, const char *message)
{
	struct rig *r = ctx;

	r->events[e->kind]++;
	snprintf(r->last_message, sizeof r->last_message, "%s", message);
}

int rig_start(struct rig *r)
{
	static struct unit_port port;
	const struct daemon_options o = {
		.config_path = r->config,
		.trust_root = true,
		.port = &port,
		.clock = rig_clock,
		.clock_ctx = r,
	};
	int result;

	port = (struct unit_port){
		.ctx = r,
		.list = port_list,
		.set = port_set,
		.pending = port_pending,
		.get = port_get,
	};
	result = daemon_new(&o, &r->daemon);
	if (result == 0) {
		/* Virtual time: rig_run() is the timer. */
		sd_event_source_set_enabled(r->daemon->tick_source, SD_EVENT_OFF);
		r->daemon->log.record = on_event;
		r->daemon->log.record_ctx = r;
		r->daemon->log.lines = false;
	}
	return result;
}

void rig_stop(struct rig *r)
{
	if (r->daemon != NULL)
		persist_save(r->daemon);
	daemon_free(r->daemon);
	r->daemon = NULL;
}

void rig_close(struct rig *r)
{
	char command[160];

	rig_stop(r);
	fake_close(&r->tree);
	snprintf(command, sizeof command, "rm -rf '%s'", r->folder);
	if (system(command) != 0)
		fprintf(stderr, "%s: left behind\n", r->folder);
}

static void answer(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];

		if (!u->asked)
			continue;
		u->asked = false;
		guard_got(r->daemon, u->name, 0, &u->props);
	}
}

void rig_run(struct rig *r, unsigned seconds, void (*step)(struct rig *r))
{
	for (unsigned i = 0; i < seconds; i++) {
		r->boot += USEC_PER_SEC;
		r->real += USEC_PER_SEC;
		if (step != NULL)
			step(r);
		for (size_t u = 0; u < r->unit_count; u++)
			if (r->unit[u].running)
				put_counters(r, &r->unit[u]);
		/* The descriptors that became readable, then the tick that is due. */
		while (sd_event_run(r->daemon->event, 0) > 0)
			;
		daemon_tick(r->daemon);
		answer(r);
	}
}

uint64_t rig_cpu_milli(struct rig *r, const struct rig_unit *u)
{
	unsigned long long quota, period;
	char path[192], text[64];

	snprintf(path, sizeof path, "%s/cpu.max", u->cgroup);
	if (sscanf(fake_get(&r->tree, path, text, sizeof text), "%llu %llu", &quota, &period) != 2)
		return LIMIT_MAX;
	return quota * 1000 / period;
}

uint64_t rig_bytes(struct rig *r, const struct rig_unit *u, const char *file)
{
	char path[192], text[64];

	snprintf(path, sizeof path, "%s/%s", u->cgroup, file);
	fake_get(&r->tree, path, text, sizeof text);
	return strncmp(text, "max", 3) == 0 ? LIMIT_MAX : strtoull(text, NULL, 10);
}

void rig_burn(struct rig *r, struct rig_unit *u, uint64_t demand_milli)
{
	uint64_t limit = rig_cpu_milli(r, u);
	uint64_t got = MIN(demand_milli, limit);

	u->usage_usec += got * USEC_PER_MSEC;
	u->nr_periods += 10;
	if (demand_milli > limit) {
		u->nr_throttled += 10;
		u->throttled_usec += (demand_milli - limit) * USEC_PER_MSEC;
	}
}
