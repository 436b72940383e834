// SPDX-License-Identifier: Apache-2.0
#include "test/agent/daemon_rig.h"
#include "agent/apply/apply.h"
#include "agent/loop/tick.h"
#include "agent/state/flight_file.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Is it one of the words of r->lacks? */
static bool lacks(const struct rig *r, const char *file, const char *line, size_t len)
{
	char word[64];
	const char *at = r->lacks;
	int n = snprintf(word, sizeof word, "%s%s%.*s", file, len > 0 ? ":" : "", (int)len, line);

	while (at != NULL && *at != '\0') {
		size_t size = strcspn(at, " ");

		if (size == (size_t)n && memcmp(at, word, size) == 0)
			return true;
		at += size + strspn(at + size, " ");
	}
	return false;
}

static void put(struct rig *r, const struct rig_unit *u, const char *file, const char *text)
{
	char path[RIG_PATH_MAX], shown[1024];
	size_t len = 0;

	if (lacks(r, file, NULL, 0))
		return;
	for (const char *end; *text != '\0'; text = end + 1) {
		end = strchrnul(text, '\n');
		if (!lacks(r, file, text, strcspn(text, " \n")))
			len += (size_t)snprintf(shown + len, sizeof shown - len, "%.*s\n",
						(int)(end - text), text);
		if (*end == '\0')
			break;
	}
	shown[len] = '\0';
	snprintf(path, sizeof path, "%s/%s", u->cgroup, file);
	fake_put(&r->tree, path, shown);
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
	uint64_t max = rig_bytes(r, u, "memory.max");
	uint64_t anon = MIN(u->anon_bytes, max), file = MIN(u->file_bytes, max - anon);
	char text[512];

	snprintf(text, sizeof text,
		 "usage_usec %" PRIu64 "\nuser_usec 0\nsystem_usec 0\nnr_periods %" PRIu64
		 "\nnr_throttled %" PRIu64 "\nthrottled_usec %" PRIu64
		 "\nnr_bursts 0\nburst_usec 0\n",
		 u->usage_usec, u->nr_periods, u->nr_throttled, u->throttled_usec);
	put(r, u, "cpu.stat", text);
	put_limit(r, u, "memory.current", anon + file);
	put_limit(r, u, "memory.peak", anon + file);
	snprintf(text, sizeof text,
		 "anon %" PRIu64 "\nfile %" PRIu64
		 "\nkernel 0\nkernel_stack 0\npagetables 0\npercpu 0\nsock 0\nshmem 0\n"
		 "zswap 0\nzswapped 0\ninactive_anon 0\nactive_anon %" PRIu64
		 "\ninactive_file %" PRIu64
		 "\nactive_file 0\nunevictable 0\nslab_reclaimable 0\nslab_unreclaimable 0\n"
		 "slab 0\nworkingset_refault_anon 0\nworkingset_refault_file 0\n",
		 anon, file, anon, file);
	put(r, u, "memory.stat", text);
	snprintf(text, sizeof text,
		 "low 0\nhigh 0\nmax %" PRIu64 "\noom %" PRIu64 "\noom_kill %" PRIu64
		 "\noom_group_kill 0\n",
		 u->max_events, u->oom_events, u->oom_kills);
	put(r, u, "memory.events.local", text);
	snprintf(text, sizeof text,
		 "low 0\nhigh 0\nmax %" PRIu64 "\noom %" PRIu64 "\noom_kill %" PRIu64
		 "\noom_group_kill 0\n",
		 u->max_events, u->oom_events + u->inner_ooms, u->oom_kills);
	put(r, u, "memory.events", text);
}

static void kill_unit(struct rig *r, struct rig_unit *u)
{
	r->kills++;
	u->oom_kills++;
	u->oom_events++;
	u->anon_bytes /= 2;
	u->blocked_bytes = 0;
}

void rig_settle(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];

		if (u->running && u->anon_bytes > rig_bytes(r, u, "memory.max"))
			kill_unit(r, u);
	}
}

/* Grows up to memory.max; the rest is blocked. */
static void grow(struct rig *r, struct rig_unit *u, uint64_t bytes)
{
	uint64_t max = rig_bytes(r, u, "memory.max");
	uint64_t room = max - MIN(u->anon_bytes, max);

	u->anon_bytes += MIN(bytes, room);
	u->blocked_bytes = bytes - MIN(bytes, room);
	u->blocked_seen = false;
	u->max_events += u->blocked_bytes > 0;
}

/* A second after memory.max stopped the growth: it continues if the limit was raised, otherwise the
 * unit is OOM-killed. */
static void settle_growth(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];

		if (u->blocked_bytes == 0 || !u->blocked_seen)
			continue;
		if (rig_bytes(r, u, "memory.max") > u->anon_bytes)
			grow(r, u, u->blocked_bytes);
		else
			kill_unit(r, u);
	}
}

void rig_grow(struct rig *r, struct rig_unit *u, uint64_t bytes)
{
	grow(r, u, u->blocked_bytes + bytes);
}

void rig_put(struct rig *r, struct rig_unit *u, const char *file, const char *text)
{
	put(r, u, file, text);
	rig_settle(r);
}

void rig_realise(struct rig *r, struct rig_unit *u)
{
	const struct unit_props *p = &u->props;
	uint64_t period = p->cpu_quota_period_usec == UINT64_MAX ? CPU_PERIOD_DEFAULT_USEC
								 : p->cpu_quota_period_usec;
	char text[64];

	if (p->cpu_quota_per_sec_usec == UINT64_MAX)
		snprintf(text, sizeof text, "max %" PRIu64 "\n", period);
	else
		snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n",
			 p->cpu_quota_per_sec_usec * period / 1000000, period);
	put(r, u, "cpu.max", text);
	if (p->mem_max < u->anon_bytes)
		kill_unit(r, u);
	put_limit(r, u, "memory.max", p->mem_max);
	put_limit(r, u, "memory.high", p->mem_high);
}

void rig_unit_start(struct rig *r, struct rig_unit *u)
{
	static const char pressure[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
				       "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

	u->running = true;
	u->active_enter_usec = daemon_clock();
	fake_put(&r->tree, u->cgroup, NULL);
	put(r, u, "cpu.max.burst", "0\n");
	put(r, u, "cpu.pressure", pressure);
	put(r, u, "memory.pressure", pressure);
	put(r, u, "memory.reclaim", "");
	rig_realise(r, u);
	put_counters(r, u);
}

void rig_unit_stop(struct rig *r, struct rig_unit *u)
{
	fake_remove(&r->tree, u->cgroup);
	u->running = false;
	u->usage_usec = u->nr_periods = u->nr_throttled = u->throttled_usec = 0;
	u->anon_bytes = u->blocked_bytes = u->file_bytes = 0;
	u->max_events = u->oom_kills = u->oom_events = u->inner_ooms = 0;
}

struct rig_unit *rig_add(struct rig *r, const char *name, uint64_t quota_milli, uint64_t mem_max)
{
	struct rig_unit *u = &r->unit[r->unit_count++];

	snprintf(u->name, sizeof u->name, "%s", name);
	snprintf(u->cgroup, sizeof u->cgroup, "system.slice/%s", name);
	u->props = (struct unit_props){
		.cpu_quota_per_sec_usec =
			quota_milli == LIMIT_MAX ? UINT64_MAX : quota_milli * USEC_PER_MSEC,
		.cpu_quota_period_usec = UINT64_MAX,
		.mem_max = mem_max,
		.mem_high = UINT64_MAX,
	};
	rig_unit_start(r, u);
	return u;
}

struct rig_unit *rig_add_at(struct rig *r, const char *name, const char *cgroup, uint64_t mem_max)
{
	struct rig_unit *u = rig_add(r, name, LIMIT_MAX, mem_max);

	fake_remove(&r->tree, u->cgroup);
	snprintf(u->cgroup, sizeof u->cgroup, "%s", cgroup);
	rig_unit_start(r, u);
	return u;
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
		"log: {target: stderr}\ncgroup: {reader: %s}\n%s\n",
		r->folder, r->folder, r->tree.path, r->reader != NULL ? r->reader : "text",
		config_body);
	fclose(f);
}

char *rig_config(const char *units)
{
	static char text[2048];

	snprintf(text, sizeof text,
		 "clocks: {reviewInterval: 1s, stateInterval: 1m}\n"
		 "history: {confidenceAfter: 20s}\n"
		 "cpu: {recentWindow: 5s, shrinkInterval: 3s}\n"
		 "memory: {shrinkHistory: 5s, shrinkQuiet: 5s, shrinkInterval: 4s, highWatch: 1s, "
		 "verdictWindow: 3s}\n"
		 "common: {startQuiet: 3s}\n"
		 "units:\n%s",
		 units);
	return text;
}

void rig_reload(struct rig *r, const char *config_body)
{
	rig_write_config(r, config_body);
	reload_config(&r->loop->reload);
	r->daemon->config.clocks.reflex_usec = RIG_TICK_USEC;
}

void rig_open(struct rig *r, const char *config_body)
{
	*r = (struct rig){.tick_usec = RIG_TICK_USEC,
			  .boot = 1000 * USEC_PER_SEC,
			  .real = 1800000000ULL * USEC_PER_SEC};
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
	if ((e->kind == EVENT_LIMIT_RAISED || e->kind == EVENT_LIMIT_LOWERED) &&
	    r->moved_count < ARRAY_SIZE(r->moved))
		snprintf(r->moved[r->moved_count++], sizeof r->moved[0], "%s", message);
	snprintf(r->last_message, sizeof r->last_message, "%s", message);
	if (r->reported != NULL)
		r->reported(r, e, message);
}

void rig_meminfo(struct rig *r, uint64_t total, uint64_t available)
{
	rig_meminfo_active(r, total, available, available);
}

void rig_meminfo_active(struct rig *r, uint64_t total, uint64_t available, uint64_t kubelet)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof path, "%s/proc", r->folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/proc/meminfo", r->folder);
	f = fopen(path, "we");
	fprintf(f,
		"MemTotal: %8" PRIu64 " kB\nMemFree: %8" PRIu64 " kB\nMemAvailable: %8" PRIu64
		" kB\nInactive(file): %8" PRIu64 " kB\n",
		total / 1024, kubelet / 2 / 1024, available / 1024, kubelet / 2 / 1024);
	fclose(f);
}

int rig_start(struct rig *r)
{
	char proc[96];
	static struct unit_port port;
	const struct loop_options o = {
		.config_path = r->config,
		.trust_root = true,
		.mode = r->mode,
		.proc_root = r->proc != NULL ? r->proc : proc,
		.port = r->bus ? NULL : &port,
		.clock = r->clock != NULL ? r->clock : rig_clock,
		.clock_ctx = r,
	};
	int result;

	snprintf(proc, sizeof proc, "%s/proc", r->folder);
	port = rig_port;
	port.bus = (struct unit_bus *)r;
	if (r->clock != NULL)
		r->clock(r, &r->boot, &r->real);
	rig_pid1_start(r);
	result = loop_new(&o, &r->loop);
	if (result == 0) {
		r->daemon = &r->loop->daemon;
		/* Virtual time: rig_run() is the timer, and a pass comes every second. */
		r->daemon->config.clocks.reflex_usec = RIG_TICK_USEC;
		sd_event_source_set_enabled(r->loop->timer.source, SD_EVENT_OFF);
		r->daemon->log.record = on_event;
		r->daemon->log.record_ctx = r;
		r->daemon->log.lines = false;
		r->loop->hand_back.port = &r->restore;
	}
	return result;
}

struct rig_unit *rig_begin(struct rig *r, const char *config_body, uint64_t quota_milli,
			   uint64_t mem_max, uint64_t anon)
{
	struct rig_unit *u;

	rig_open(r, config_body);
	u = rig_add(r, "a.service", quota_milli, mem_max);
	u->anon_bytes = anon;
	CHECK_EQ(rig_start(r), 0);
	return u;
}

struct managed *rig_first(const struct rig *r)
{
	return r->daemon->units.items[0];
}

static int check_replay(void *user, const struct flight_event *e)
{
	struct rig *r = user;

	r->replayed += e->replayed;
	if (!e->replayed || e->same)
		return 0;
	fprintf(stderr, "%s: call %d at %llu decides otherwise\n", e->container, e->kind,
		(unsigned long long)e->call->now);
	return -EILSEQ;
}

static void replay_file(struct rig *r, const char *file)
{
	char path[RIG_PATH_MAX];
	struct stat st;
	void *bytes;
	int fd, e;

	snprintf(path, sizeof path, "%s/state/%s", r->folder, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return;
	e = flight_read(bytes, (size_t)st.st_size, check_replay, r);
	munmap(bytes, (size_t)st.st_size);
	if (e == 0)
		return;
	fprintf(stderr, "%s: the recording: %s\n", path, strerror(-e));
	exit(EXIT_FAILURE);
}

/* In every test: the laws decide the same when the recorded calls are replayed. */
static void rig_replay(struct rig *r)
{
	char file[32];

	for (int age = FLIGHT_FILES - 1; age >= 0; age--) {
		flight_file_name(FLIGHT_FILE, age, file, sizeof file);
		replay_file(r, file);
	}
}

void rig_stop(struct rig *r)
{
	if (r->daemon != NULL && r->daemon->host.unsupported == NULL)
		persist_save(&r->daemon->records);
	loop_free(r->loop);
	r->loop = NULL;
	r->daemon = NULL;
	rig_pid1_stop(r);
}

void rig_restart(struct rig *r)
{
	rig_stop(r);
	CHECK_EQ(rig_start(r), 0);
}

void rig_terminate(struct rig *r, void (*step)(struct rig *r))
{
	kill(getpid(), SIGTERM);
	rig_run(r, 1, step);
	CHECK(r->loop->stop_by != 0);
	while (properties_pending(&r->daemon->units) && r->daemon->wake.now < r->loop->stop_by)
		rig_run(r, 1, step);
	lift_all(&r->daemon->records, r->daemon->host.root);
	rig_stop(r);
}

void rig_close(struct rig *r)
{
	char command[160];

	rig_stop(r);
	rig_replay(r);
	fake_close(&r->tree);
	snprintf(command, sizeof command, "rm -rf '%s'", r->folder);
	if (system(command) != 0)
		fprintf(stderr, "%s: left behind\n", r->folder);
}

static void pass_time(struct rig *r)
{
	if (r->clock == NULL) {
		r->boot += r->tick_usec;
		r->real += r->tick_usec;
	} else {
		r->pump(r);
		r->clock(r, &r->boot, &r->real);
	}
}

static usec_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

static void one_tick(struct rig *r)
{
	usec_t begin;

	pass_time(r);
	settle_growth(r);
	if (r->step != NULL)
		r->step(r);
	rig_pods_turn(r);
	for (size_t u = 0; u < r->unit_count; u++)
		if (r->unit[u].running && !r->counters_stand)
			put_counters(r, &r->unit[u]);
	/* The descriptors that became readable, then the tick that is due. */
	while (sd_event_run(r->daemon->wake.event, 0) > 0)
		;
	begin = cpu_time();
	loop_tick(r->loop);
	r->own_cpu_usec += cpu_time() - begin;
	for (size_t u = 0; u < r->unit_count; u++)
		r->unit[u].blocked_seen = true;
	rig_settle(r);
	rig_pid1_turn(r);
	rig_settle(r);
}

void rig_run(struct rig *r, unsigned seconds, void (*step)(struct rig *r))
{
	r->step = step;
	for (unsigned i = 0; i < seconds; i++)
		one_tick(r);
}

void rig_reflex(struct rig *r, unsigned passes, void (*step)(struct rig *r))
{
	r->step = step;
	r->tick_usec = r->daemon->config.clocks.reflex_usec = RIG_REFLEX_USEC;
	for (unsigned i = 0; i < passes; i++)
		one_tick(r);
	r->tick_usec = r->daemon->config.clocks.reflex_usec = RIG_TICK_USEC;
}

static struct managed *managed_in(struct rig *r, const char *cgroup)
{
	for (size_t i = 0; i < r->daemon->units.count; i++) {
		struct managed *m = r->daemon->units.items[i];

		if (m->cgroup.cg != NULL &&
		    strcmp(m->cgroup.path + (m->cgroup.path[0] == '/'), cgroup) == 0)
			return m;
	}
	return NULL;
}

static struct managed *wakes_for(struct rig *r, struct rig_unit *u)
{
	r->boot += 5 * USEC_PER_MSEC;
	r->real += 5 * USEC_PER_MSEC;
	put_counters(r, u);
	for (size_t i = 0; i < r->pod_count; i++)
		put_counters(r, r->pod[i].level);
	return managed_in(r, u->cgroup);
}

void rig_wake(struct rig *r, struct rig_unit *u)
{
	tick_unit(wakes_for(r, u));
}

void rig_throttle(struct rig *r, struct rig_unit *u)
{
	usec_t used = rig_cpu_milli(r, u) * CPU_PERIOD_DEFAULT_USEC / 1000;

	u->usage_usec += used;
	r->boot += used;
	r->real += used;
	tick_throttled(wakes_for(r, u), 0);
}

uint64_t rig_cpu_milli(struct rig *r, const struct rig_unit *u)
{
	unsigned long long quota, period;
	char path[RIG_PATH_MAX], text[64];

	snprintf(path, sizeof path, "%s/cpu.max", u->cgroup);
	if (sscanf(fake_get(&r->tree, path, text, sizeof text), "%llu %llu", &quota, &period) != 2)
		return LIMIT_MAX;
	return quota * 1000 / period;
}

uint64_t rig_bytes(struct rig *r, const struct rig_unit *u, const char *file)
{
	char path[RIG_PATH_MAX], text[64];

	snprintf(path, sizeof path, "%s/%s", u->cgroup, file);
	fake_get(&r->tree, path, text, sizeof text);
	return strncmp(text, "max", 3) == 0 ? LIMIT_MAX : strtoull(text, NULL, 10);
}

void rig_burn(struct rig *r, struct rig_unit *u, uint64_t demand_milli)
{
	uint64_t limit = rig_cpu_milli(r, u);
	uint64_t got = MIN(demand_milli, limit);

	usec_t span = r->tick_usec;
	usec_t period = r->cfs_period != 0 ? r->cfs_period : CPU_PERIOD_DEFAULT_USEC;

	u->usage_usec += got * span / 1000;
	u->nr_periods += span / period;
	if (demand_milli > limit) {
		u->nr_throttled += span / period;
		u->throttled_usec += (demand_milli - limit) * span / 1000;
	}
}

void rig_busy(struct rig *r)
{
	rig_burn(r, &r->unit[0], 800);
}

void rig_idle(struct rig *r)
{
	rig_burn(r, &r->unit[0], 50);
}
