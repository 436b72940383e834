// SPDX-License-Identifier: Apache-2.0
/* Pods and their owners: resizes by others and by ourselves, annotations that are removed or
 * names that are used again, and a daemon that restarts. */
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"
#include <errno.h>
#include <unistd.h>

static const struct control_resource *resource(struct rig *r, const char *name, enum resource k)
{
	return &pods_of(r, name)->control.resource[k];
}

/* `kubectl patch --subresource resize`: the API object, and the kubelet some seconds later. */
static void test_owner_resizes(enum cgroup_driver driver, bool echo_first)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = pods_begin(&r, driver, "");
	struct rig_container *app = &p->container[0];
	const struct baseline *b;
	char key[96];

	rig_pod_run(&r, p, 10, pods_burn_800);
	app->spec.limit[RESOURCE_CPU] = 1500;
	app->spec.limit[RESOURCE_MEMORY] = 256 * MIB;
	p->generation++;
	if (echo_first) {
		rig_pod_realise(&r, p);
		rig_run(&r, 1, pods_burn_800);
	}
	rig_pod_run(&r, p, 3, pods_burn_800);
	if (!echo_first) {
		rig_pod_realise(&r, p);
		rig_run(&r, 1, pods_burn_800);
	}
	rig_run(&r, 2, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(&r, app->unit), 1500);
	CHECK_EQ(rig_bytes(&r, app->unit, "memory.max"), 256 * MIB);
	rig_run(&r, 10, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(&r, app->unit), 1500);
	CHECK_EQ(resource(&r, "default/web-0/app", RESOURCE_CPU)->original, 1500);
	CHECK_EQ(resource(&r, "default/web-0/app", RESOURCE_MEMORY)->original, 256 * MIB);
	CHECK_EQ(r.events[EVENT_DRIFT_ADOPTED], 2);
	CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK(r.events[EVENT_DRIFT_REASSERTED] <= (echo_first ? 2u : 0u));
	snprintf(key, sizeof key, "pod:%s/app", p->uid);
	b = baseline_find(&r.daemon->records.baselines, key);
	CHECK(b != NULL && b->limits.cpu_quota_usec == 150000 && b->limits.mem_max == 256 * MIB);
	snprintf(key, sizeof key, "pod:%s", p->uid);
	b = baseline_find(&r.daemon->records.baselines, key);
	CHECK(b != NULL && b->limits.cpu_quota_usec == 180000 && b->limits.mem_max == 288 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 1800);
	CHECK(!r.below);
}

/* The owner resizes a container that is not sized: the pod's own limit goes back to what belongs to
 * both. again: while no agent runs. */
static void test_sibling_resized(enum cgroup_driver driver, bool again)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p;
	struct rig_container *log;

	rig_open(&r, "");
	p = rig_pod_add(&r, driver, "web-0");
	rig_container_add(&r, p, "app", 200, 64 * MIB);
	log = rig_container_add(&r, p, "log", 300, 32 * MIB);
	p->mode = "Auto";
	p->containers = "app";
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_run(&r, p, 10, pods_burn_800);
	if (again)
		rig_stop(&r);
	log->spec.limit[RESOURCE_CPU] = 600;
	log->spec.limit[RESOURCE_MEMORY] = 96 * MIB;
	p->generation++;
	rig_pod_realise(&r, p);
	if (again)
		CHECK_EQ(rig_start(&r), 0);
	rig_pod_run(&r, p, 20, pods_burn_800);
	CHECK(rig_cpu_milli(&r, p->level) >= 1400);
	p->mode = NULL;
	p->generation++;
	rig_pod_run(&r, p, 20, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_cpu_milli(&r, log->unit), 600);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 800);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), 160 * MIB);
	CHECK(!r.below);
}

/* Resized while the daemon was stopped: detected by the record of originals. */
TEST_RIG_BOTH(resized_meanwhile, ratified)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");

	rig_pod_run(r, p, 10, pods_burn_800);
	persist_ratified(pods_of(r, "default/web-0/app"), ratified);
	rig_stop(r);
	p->container[0].spec.limit[RESOURCE_CPU] = 1500;
	p->generation++;
	rig_pod_realise(r, p);
	CHECK_EQ(rig_start(r), 0);
	rig_pod_run(r, p, 8, pods_burn_800);
	CHECK_EQ(resource(r, "default/web-0/app", RESOURCE_CPU)->original, ratified ? 200 : 1500);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), 1500);
}

/* The owner's limit below use is applied as far as use allows. */
TEST_RIG(owner_takes_memory_in_use)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");
	struct rig_container *app = &p->container[0];

	app->unit->anon_bytes = 50 * MIB;
	rig_pod_run(r, p, 5, pods_burn_20);
	app->spec.limit[RESOURCE_MEMORY] = 30 * MIB;
	p->generation++;
	rig_pod_run(r, p, 10, pods_burn_20);
	CHECK_EQ(r->kills, 0);
	CHECK(rig_bytes(r, app->unit, "memory.max") > 50 * MIB);
	CHECK_EQ(resource(r, "default/web-0/app", RESOURCE_MEMORY)->original, 30 * MIB);
	CHECK(!r->below);
}

/* A report of ours: what was sent, and what the kubelet still has to do. */
static struct {
	uint64_t milli;
	uint64_t bytes;
	bool pending;
	unsigned notes;
	char note[256];
} reported;

static const struct rig_pod *reporting;

struct pod_report *__wrap_reporter_add(struct reporter *, struct pod *, const char *);
struct pod_report *__wrap_reporter_add(struct reporter *, struct pod *, const char *)
{
	return NULL;
}

uint32_t __wrap_reporter_foreign(const struct pod_report *, size_t container);
uint32_t __wrap_reporter_foreign(const struct pod_report *, size_t container)
{
	const uint64_t *spec = reporting->container[0].spec.limit;

	if (container != 0)
		return RESOURCES_BOTH;
	return (reported.milli != spec[RESOURCE_CPU] ? RESOURCES_CPU : 0) |
	       (reported.bytes != spec[RESOURCE_MEMORY] ? RESOURCES_MEMORY : 0);
}

bool __wrap_reporter_pending(const struct pod_report *);
bool __wrap_reporter_pending(const struct pod_report *)
{
	return reported.pending;
}

static void note(const struct pod *, const char *, const char *, const char *text)
{
	reported.notes++;
	snprintf(reported.note, sizeof reported.note, "%s", text);
}

static struct rig_pod *begin_reporting(struct rig *r, enum cgroup_driver driver)
{
	struct rig_pod *p = pods_begin(r, driver, "");

	memset(&reported, 0, sizeof reported);
	reporting = p;
	/* Not NULL: something reports; nothing reads it. */
	r->daemon->pods.reporter = (struct reporter *)r;
	r->daemon->pods.hooks = (struct pod_hooks){.warn = note};
	return p;
}

TEST_RIG_DRIVERS(own_report_comes_back)
{
	struct rig_pod *p = begin_reporting(r, driver);
	struct rig_container *app = &p->container[0];
	uint64_t had;

	rig_pod_run(r, p, 10, pods_burn_800);
	had = rig_cpu_milli(r, app->unit);
	reported.milli = app->spec.limit[RESOURCE_CPU] = had;
	reported.pending = true;
	p->generation++;
	rig_pod_put(r, p);
	/* The runtime's first call still carries the old values; more than three would be one too
	 * many if they counted. */
	for (int i = 0; i < 5; i++) {
		rig_put(r, app->unit, "cpu.max", "20000 100000\n");
		rig_put(r, p->level, "cpu.max", "50000 100000\n");
		rig_run(r, 2, pods_burn_800);
		CHECK(rig_cpu_milli(r, app->unit) >= had);
	}
	rig_pod_realise(r, p);
	reported.pending = false;
	rig_run(r, 5, pods_burn_800);
	CHECK(rig_cpu_milli(r, app->unit) >= had);
	CHECK_EQ(resource(r, "default/web-0/app", RESOURCE_CPU)->original, 200);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
	CHECK(!r->below);
}

static void set_memory(struct rig *r, struct rig_pod *p, uint64_t bytes)
{
	struct kube_resources *spec = &p->container[0].spec;

	spec->limit[RESOURCE_MEMORY] = spec->request[RESOURCE_MEMORY] = bytes;
	p->generation++;
	rig_pod_put(r, p);
}

/* The owner lowers the memory of a Guaranteed pod, and headroom of ours answers that before the
 * value is adopted: the owner's limit and request are the originals, and nothing of ours. */
TEST_RIG(lead_before_adoption)
{
	struct rig_pod *p = begin_reporting(r, DRIVER_CGROUPFS);
	const struct baseline *b;
	char key[96];

	p->qos = QOS_GUARANTEED;
	for (size_t i = 0; i < p->count; i++)
		memcpy(p->container[i].spec.request, p->container[i].spec.limit,
		       sizeof p->container[i].spec.request);
	p->container[0].unit->anon_bytes = 40 * MIB;
	rig_pod_run(r, p, 5, pods_burn_20);
	set_memory(r, p, 48 * MIB);
	rig_run(r, 1, pods_burn_20);
	reported.bytes = 100 * MIB;
	set_memory(r, p, reported.bytes);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 0);
	rig_run(r, 8, pods_burn_20);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 1);
	CHECK_EQ(resource(r, "default/web-0/app", RESOURCE_MEMORY)->original, 48 * MIB);
	snprintf(key, sizeof key, "pod:%s/app", p->uid);
	b = baseline_find(&r->daemon->records.baselines, key);
	CHECK(b != NULL && b->limits.mem_max == 48 * MIB);
	CHECK_EQ(b != NULL ? b->request[RESOURCE_MEMORY] : 0, 48 * MIB);
	CHECK_EQ(b != NULL ? b->request[RESOURCE_CPU] : 0, 200);
	CHECK_EQ(pods_of(r, "default/web-0/app")->control.pod.resource[RESOURCE_MEMORY].request,
		 48 * MIB);
}

/* A lower limit that vscaled sent is stored late, over a higher one that the kubelet has: growth is
 * held below it until the kubelet reports what it has. */
TEST_RIG(lower_limit_of_ours)
{
	struct rig_pod *p = begin_reporting(r, DRIVER_CGROUPFS);
	const struct control *c;
	struct kube_pod *s;

	p->container[0].unit->anon_bytes = 50 * MIB;
	rig_pod_run(r, p, 5, pods_burn_20);
	c = &pods_of(r, "default/web-0/app")->control;
	reported.bytes = 120 * MIB;
	set_memory(r, p, reported.bytes);
	rig_run(r, 5, pods_burn_20);
	CHECK_EQ(c->pod.replay_mem_bytes, 0);
	reported.bytes = p->container[0].spec.limit[RESOURCE_MEMORY] = 80 * MIB;
	p->generation++;
	s = rig_pod_spec(r, p);
	s->containers[0].status.limit[RESOURCE_MEMORY] = 120 * MIB;
	pods_put(&r->daemon->pods, s);
	CHECK_EQ(c->pod.replay_mem_bytes, 80 * MIB);
	reported.bytes = 140 * MIB;
	set_memory(r, p, reported.bytes);
	CHECK_EQ(c->pod.replay_mem_bytes, 0);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 0);
}

/* The owner's new limit is what vscaled has written already, so that the kubelet's status has it
 * before the runtime's update, which brings the old memory limit, has ended: growth is held until
 * the kubelet says that no resize is in progress. */
TEST_RIG(owner_value_written_before)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");
	const struct control *c;
	struct kube_pod *s;

	rig_pod_run(r, p, 5, pods_burn_20);
	c = &pods_of(r, "default/web-0/app")->control;
	CHECK_EQ(c->pod.replay_mem_bytes, 0);
	p->container[0].spec.limit[RESOURCE_CPU] = 320;
	p->generation++;
	s = rig_pod_spec(r, p);
	s->containers[0].status.limit[RESOURCE_CPU] = 200;
	pods_put(&r->daemon->pods, s);
	CHECK_EQ(c->pod.replay_mem_bytes, 64 * MIB);
	CHECK(c->pod.replay_due);
	s = rig_pod_spec(r, p);
	s->progress = RESIZE_IN_PROGRESS;
	pods_put(&r->daemon->pods, s);
	CHECK_EQ(c->pod.replay_mem_bytes, 64 * MIB);
	pods_put(&r->daemon->pods, rig_pod_spec(r, p));
	CHECK_EQ(c->pod.replay_mem_bytes, 0);
}

/* Values that the runtime has recorded are not counted, however often it writes them. */
TEST_RIG_DRIVERS(runtime_replays)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	struct rig_container *app = &p->container[0];
	uint64_t had;

	rig_pod_run(r, p, 10, pods_burn_800);
	had = rig_cpu_milli(r, app->unit);
	for (int i = 0; i < 6; i++) {
		if (driver == DRIVER_SYSTEMD)
			app->unit->props.cpu_quota_per_sec_usec = 200 * USEC_PER_MSEC;
		rig_put(r, app->unit, "cpu.max", "20000 100000\n");
		rig_run(r, 6, pods_burn_800);
		CHECK(rig_cpu_milli(r, app->unit) >= had);
	}
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 0);
}

TEST_RIG_DRIVERS(name_comes_again)
{
	struct rig_pod *p = pods_begin(r, driver, ""), *next;

	p->started_long_ago = true;
	rig_pod_run(r, p, 10, pods_burn_800);
	rig_pod_remove(r, p);
	p->count = 0;
	next = rig_pod_add(r, driver, "web-0");
	next->mode = "Auto";
	rig_container_add(r, next, "app", 100, 128 * MIB);
	/* The end of the old one was missed. */
	rig_pod_put(r, next);
	CHECK_EQ(r->daemon->pods.count, 1);
	CHECK_STR(pods_of(r, "default/web-0/app")->cgroup.path, next->container[0].unit->cgroup);
	CHECK_EQ(resource(r, "default/web-0/app", RESOURCE_CPU)->original, 100);
	CHECK(pods_of(r, "default/web-0/app")->control.history.samples > 0);
	for (size_t i = 0; i < r->daemon->records.baselines.count; i++)
		CHECK(strstr(r->daemon->records.baselines.items[i].key, p->uid) == NULL);
	pods_gone(&r->daemon->pods, p->uid);
	CHECK_EQ(r->daemon->pods.count, 1);
	rig_run(r, 5, pods_burn_800);
	CHECK(rig_cpu_milli(r, next->container[0].unit) > 100);
}

TEST_RIG_DRIVERS(daemon_comes_back)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	uint64_t had, samples;

	rig_pod_run(r, p, 60, pods_burn_800);
	had = rig_cpu_milli(r, p->container[0].unit);
	samples = pods_of(r, "default/web-0/app")->control.history.samples;
	rig_restart(r);
	rig_pod_list(r, p);
	rig_run(r, 5, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), had);
	CHECK_EQ(resource(r, "default/web-0/app", RESOURCE_CPU)->original, 200);
	CHECK(pods_of(r, "default/web-0/app")->control.history.samples >= samples);
	CHECK(!r->below);
	/* And once more, with the annotation gone meanwhile: handed back from the record. */
	rig_restart(r);
	p->mode = NULL;
	rig_pod_run(r, p, 5, pods_burn_20);
	pods_check_originals(r, p);
	CHECK_EQ(r->daemon->pods.count, 0);
	CHECK_EQ(r->daemon->records.baselines.count, 0);
}

static void burn_less_or_more(struct rig *r, uint64_t milli)
{
	for (size_t i = 0; i < r->pod[0].count; i++)
		if (r->pod[0].container[i].unit->running)
			rig_burn(r, r->pod[0].container[i].unit, i == 0 ? milli : 1);
}

static void burn_1(struct rig *r)
{
	burn_less_or_more(r, 1);
}

static void burn_700(struct rig *r)
{
	burn_less_or_more(r, 700);
}

static void check_as_spec(struct rig *r)
{
	static const char *const names[] = {"default/web-0/app", "default/web-0/log"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		CHECK_EQ(resource(r, names[i], RESOURCE_CPU)->original,
			 r->pod[0].container[i].spec.limit[RESOURCE_CPU]);
	CHECK_EQ(r->daemon->tally.reverted[WRITER_UNKNOWN], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
}

#define STATUS                                                                                     \
	"{\"containers\":{\"app\":{\"cpu\":{\"original\":\"5m\",\"limit\":\"5m\"},"                \
	"\"memory\":{\"original\":\"64Mi\",\"limit\":\"64Mi\"}},"                                  \
	"\"log\":{\"cpu\":{\"original\":\"3m\",\"limit\":\"3m\"},"                                 \
	"\"memory\":{\"original\":\"32Mi\",\"limit\":\"32Mi\"}}}}"

/* What the kubelet writes for 5m is 1 ms in every period: 10m, or 200m with one of 5 ms. lost: the
 * second daemon finds no records, and a status annotation. */
static void test_least_quota(enum cgroup_driver driver, usec_t period, bool lost)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p;
	struct rig_container *app, *log;
	char file[96], text[32];

	rig_open(&r, "");
	r.cfs_period = period;
	p = rig_pod_add(&r, driver, "web-0");
	app = rig_container_add(&r, p, "app", 5, 64 * MIB);
	log = rig_container_add(&r, p, "log", 3, 32 * MIB);
	app->spec.request[RESOURCE_CPU] = log->spec.request[RESOURCE_CPU] = 2;
	p->mode = "Auto";
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_run(&r, p, 5, burn_1);
	check_as_spec(&r);
	/* The static CPU manager and others' resizes replay what is on record. */
	for (int i = 0; i < 5; i++) {
		rig_run(&r, 30, burn_700);
		CHECK(rig_cpu_milli(&r, app->unit) >= 700);
		rig_pod_realise(&r, p);
		rig_run(&r, 2, burn_700);
		check_as_spec(&r);
	}
	rig_stop(&r);
	if (lost) {
		snprintf(file, sizeof file, "rm %s/state/*", r.folder);
		CHECK_EQ(system(file), 0);
		p->extra_key = "status";
		p->extra_value = STATUS;
		p->resize_ours = true;
	}
	CHECK_EQ(rig_start(&r), 0);
	r.daemon->records.originals_lost = lost;
	rig_pod_run(&r, p, 10, burn_700);
	check_as_spec(&r);
	/* Its successor is found before the API server reports it. */
	rig_container_stop(&r, log);
	rig_run(&r, 1, burn_700);
	rig_container_start(&r, p, log, false);
	rig_run(&r, 1, burn_700);
	CHECK(pods_of(&r, "default/web-0/log")->cgroup.cg != NULL);
	log->reported = true;
	p->mode = NULL;
	rig_pod_run(&r, p, 20, burn_1);
	CHECK_EQ(r.daemon->tally.reverted[WRITER_UNKNOWN], 0);
	snprintf(text, sizeof text, "1000 %llu\n", (unsigned long long)period);
	for (size_t i = 0; i < p->count; i++) {
		char path[RIG_PATH_MAX], now[32];

		snprintf(path, sizeof path, "%s/cpu.max", p->container[i].unit->cgroup);
		CHECK_STR(fake_get(&r.tree, path, now, sizeof now), text);
	}
	if (driver == DRIVER_SYSTEMD)
		CHECK_EQ(app->unit->props.cpu_quota_per_sec_usec, 1000 * USEC_PER_SEC / period);
}

/* Periods that a whole percent of a CPU is no whole number of microseconds of. What stood is handed
 * back: what the runtime wrote, or the least quota as PID 1 rounds it up. */
static void test_odd_period(enum cgroup_driver driver, usec_t period, uint64_t milli)
{
	char path[RIG_PATH_MAX], stood[32], now[32];
	struct rig_container *app;
	struct rig_pod *p;
	OWN(rig_close) struct rig r;

	rig_open(&r, "");
	r.cfs_period = period;
	p = rig_pod_add(&r, driver, "web-0");
	app = rig_container_add(&r, p, "app", milli, 64 * MIB);
	p->mode = "Auto";
	CHECK_EQ(rig_start(&r), 0);
	snprintf(path, sizeof path, "%s/cpu.max", app->unit->cgroup);
	fake_get(&r.tree, path, stood, sizeof stood);
	rig_pod_run(&r, p, 10, burn_1);
	rig_run(&r, 20, burn_700);
	CHECK(rig_cpu_milli(&r, app->unit) >= 600);
	if (milli == 15) {
		rig_restart(&r);
		rig_pod_run(&r, p, 5, burn_700);
	}
	p->mode = NULL;
	rig_pod_run(&r, p, 20, burn_1);
	CHECK_STR(fake_get(&r.tree, path, now, sizeof now), stood);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED] + r.events[EVENT_DRIFT_ADOPTED] +
			 r.events[EVENT_DRIFT_GAVE_WAY],
		 0);
}

TEST(odd_periods)
{
	static const usec_t periods[] = {3000, 15000, 33000};
	static const uint64_t millis[] = {5, 15, 100, 333};

	for (size_t i = 0; i < ARRAY_SIZE(periods) * ARRAY_SIZE(millis) * DRIVER_COUNT; i++)
		test_odd_period(i % DRIVER_COUNT, periods[i / 8], millis[i / 2 % 4]);
}

/* The agent ended when the containers had been handed back, and the pod's own limits had not: the
 * next one does that. */
TEST_RIG_DRIVERS(level_alone_on_record)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	struct baseline_set *records;
	char key[96];

	pods_raise_app(r, p);
	p->mode = NULL;
	rig_stop(r);
	CHECK(rig_cpu_milli(r, p->level) >= 1100);
	rig_put(r, p->container[0].unit, "cpu.max", "20000 100000\n");
	p->container[0].unit->props.cpu_quota_per_sec_usec = 200 * USEC_PER_MSEC;
	CHECK_EQ(rig_start(r), 0);
	records = &r->daemon->records.baselines;
	for (size_t i = 0; i < p->count; i++) {
		snprintf(key, sizeof key, "pod:%s/%s", p->uid, p->container[i].name);
		baseline_remove(records, baseline_find(records, key));
	}
	CHECK_EQ(records->count, 1);
	rig_pod_run(r, p, 20, pods_burn_20);
	pods_check_originals(r, p);
	CHECK_EQ(records->count, 0);
	CHECK_EQ(r->daemon->pods.count, 0);
}

TEST(with_parameters)
{
	for (int i = 0; i < 8; i++)
		test_least_quota(i & 1 ? DRIVER_SYSTEMD : DRIVER_CGROUPFS,
				 i & 2 ? 5000 : CPU_PERIOD_DEFAULT_USEC, i & 4);
	for (enum cgroup_driver driver = 0; driver < DRIVER_COUNT; driver++) {
		test_owner_resizes(driver, false);
		test_owner_resizes(driver, true);
		test_sibling_resized(driver, false);
		test_sibling_resized(driver, true);
	}
}
