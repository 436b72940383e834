// SPDX-License-Identifier: Apache-2.0
/* `algorithm: vpa` in the daemon, to the integer: the recorded streams of VPA's own recommender
 * (test/policy/kept) as use of containers, and OOM kills against VPA's rules. */
#include "policy/history/vpa.h"
#include "test/agent/test_pods.h"
#include "test/policy/csv.h"

#define MINUTE      60u
#define STREAM_ROWS 60
#define LIMIT_BYTES (1024 * GIB)

/* A recorded stream: what a container uses in each minute. */
struct stream {
	usec_t first_real; /* end of its first minute */
	uint64_t milli[STREAM_ROWS];
	uint64_t bytes[STREAM_ROWS];
};

static struct stream streams[3];
static unsigned minute;

static void stream_read(const char *dir, const char *name, struct stream *ret)
{
	struct csv *csv = csv_open(dir, "e2e_input");

	while (csv_next(csv)) {
		size_t i = (size_t)csv_int(csv, "i") - 1;
		bool cpu = strcmp(csv_text(csv, "kind"), "cpu_m") == 0;

		if (strcmp(csv_text(csv, "stream"), name) != 0)
			continue;
		CHECK(i < STREAM_ROWS);
		if (i == 0)
			ret->first_real = (usec_t)csv_int(csv, "time_unix_s") * USEC_PER_SEC;
		if (cpu)
			ret->milli[i] = (uint64_t)csv_int(csv, "value");
		else
			ret->bytes[i] = (uint64_t)csv_int(csv, "value");
	}
	csv_close(csv);
	CHECK(ret->first_real != 0);
}

static void use(struct rig *r)
{
	for (size_t i = 0; i < r->pod[0].count; i++) {
		struct rig_unit *u = r->pod[0].container[i].unit;

		u->usage_usec += streams[i].milli[minute] * r->tick_usec / 1000;
		u->nr_periods += r->tick_usec / CPU_PERIOD_DEFAULT_USEC;
		u->anon_bytes = streams[i].bytes[minute];
	}
}

/* default/web-0 with containers a, b and c, in mode Off: VPA's recommender writes nothing either.
 * Its first sample ends a minute before that of the first stream. */
static struct rig_pod *begin(struct rig *r, size_t containers)
{
	static const char *const names[] = {"a", "b", "c"};
	struct rig_pod *p;

	rig_open(r, "clocks: {reviewInterval: 1s, stateInterval: 1h}\n"
		    "history: {algorithm: vpa}\n");
	p = rig_pod_add(r, DRIVER_CGROUPFS, "web-0");
	for (size_t i = 0; i < containers; i++) {
		rig_container_add(r, p, names[i], 4000, LIMIT_BYTES);
		p->container[i].spec.request[RESOURCE_MEMORY] = 700000000;
	}
	p->mode = "Off";
	minute = 0;
	r->real = streams[0].first_real - (MINUTE + 1) * USEC_PER_SEC;
	CHECK_EQ(rig_start(r), 0);
	rig_pod_run(r, p, 1, use);
	CHECK_EQ(r->real, streams[0].first_real - MINUTE * USEC_PER_SEC);
	return p;
}

static const struct control *control_of(struct rig *r, const char *container)
{
	char name[64];

	snprintf(name, sizeof name, "default/web-0/%s", container);
	return &pods_of(r, name)->control;
}

static void check_range(const struct control *c, enum resource r, const struct csv *want,
			const char *const columns[3])
{
	const struct range_of *have = &c->recommendation.resource[r];

	CHECK_EQ(have->lower, (uint64_t)csv_int(want, columns[0]));
	CHECK_EQ(have->target, (uint64_t)csv_int(want, columns[1]));
	CHECK_EQ(have->upper, (uint64_t)csv_int(want, columns[2]));
}

/* Runs to each recorded recommendation of the stream, which container a has. */
static void test_stream(const char *dir, const char *name, size_t containers)
{
	struct csv *want = csv_open(dir, "e2e_recommendation");
	unsigned checked = 0;
	OWN(rig_close) struct rig r;

	begin(&r, containers);
	while (csv_next(want)) {
		if (strcmp(csv_text(want, "stream"), name) != 0 ||
		    csv_int(want, "containers_in_pod") != (int64_t)containers)
			continue;
		for (; minute < (unsigned)csv_int(want, "after_i"); minute++)
			rig_run(&r, MINUTE, use);
		CHECK_EQ(r.real, (usec_t)csv_int(want, "time_unix_s") * USEC_PER_SEC);
		CHECK_EQ(control_of(&r, "a")->history.samples,
			 (uint64_t)csv_int(want, "total_samples"));
		check_range(control_of(&r, "a"), RESOURCE_CPU, want,
			    (const char *const[]){"cpu_lower_m", "cpu_target_m", "cpu_upper_m"});
		check_range(control_of(&r, "a"), RESOURCE_MEMORY, want,
			    (const char *const[]){"mem_lower_b", "mem_target_b", "mem_upper_b"});
		checked++;
	}
	CHECK(checked >= 5);
	csv_close(want);
}

static void oom_kill(struct rig_unit *u)
{
	u->max_events++;
	u->oom_events++;
	u->oom_kills++;
}

/* What VPA's rules make of the minutes of a stream, and of a kill 30 s after `kill_at` of them. */
static void reference(const struct stream *s, unsigned minutes, unsigned kill_at,
		      int64_t request_bytes, struct vpa_recommendation *ret)
{
	struct vpa_aggregate a = {0};
	struct vpa_container c = {.aggregate = &a, .rules = &vpa_rules_default};

	histogram_init(&a.cpu, &histogram_cpu, vpa_rules_default.half_life_usec);
	histogram_init(&a.memory, &histogram_memory, vpa_rules_default.half_life_usec);
	for (unsigned i = 0; i < minutes; i++) {
		usec_t at = s->first_real + i * MINUTE * USEC_PER_SEC;

		vpa_add_cpu(&c, (int64_t)s->milli[i], at);
		vpa_add_memory(&c, (int64_t)s->bytes[i], at);
		if (i + 1 == kill_at)
			vpa_add_oom(&c, request_bytes, at + 30 * USEC_PER_SEC);
	}
	vpa_estimate(&a, &vpa_rules_default, 2, RESOURCES_BOTH, ret);
	histogram_drop(&a.cpu);
	histogram_drop(&a.memory);
}

/* A kill counts the request, or what was used where that is more; not the limit. */
static void test_oom(uint64_t request_bytes)
{
	struct vpa_recommendation want;
	const struct range_of *have;
	struct rig_pod *p;
	OWN(rig_close) struct rig r;

	begin(&r, 2);
	p = &r.pod[0];
	p->container[0].spec.request[RESOURCE_MEMORY] = request_bytes;
	rig_pod_put(&r, p);
	for (; minute < 10; minute++)
		rig_run(&r, MINUTE, use);
	rig_run(&r, 29, use);
	oom_kill(p->container[0].unit);
	rig_run(&r, MINUTE - 29, use);
	for (minute++; minute < 20; minute++)
		rig_run(&r, MINUTE, use);
	CHECK_EQ(control_of(&r, "a")->resource[RESOURCE_MEMORY].counters.oom_kills, 1);
	reference(&streams[0], 20, 10, (int64_t)request_bytes, &want);
	have = &control_of(&r, "a")->recommendation.resource[RESOURCE_MEMORY];
	CHECK_EQ(have->lower, (uint64_t)want.amount[VPA_LOWER][RESOURCE_MEMORY]);
	CHECK_EQ(have->target, (uint64_t)want.amount[VPA_TARGET][RESOURCE_MEMORY]);
	CHECK_EQ(have->upper, (uint64_t)want.amount[VPA_UPPER][RESOURCE_MEMORY]);
	CHECK(have->target > 262144000 / 2);
	/* b was not killed. */
	reference(&streams[1], 20, 0, 0, &want);
	have = &control_of(&r, "b")->recommendation.resource[RESOURCE_MEMORY];
	CHECK_EQ(have->upper, (uint64_t)want.amount[VPA_UPPER][RESOURCE_MEMORY]);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return EXIT_FAILURE;
	stream_read(argv[1], "e12_lognormal", &streams[1]);
	stream_read(argv[1], "e12_lognormal", &streams[2]);
	stream_read(argv[1], "e05_bursty", &streams[0]);
	test_stream(argv[1], "e05_bursty", 1);
	test_stream(argv[1], "e05_bursty", 3);
	test_oom(700000000);
	test_oom(50000000);
	streams[0] = streams[1];
	test_stream(argv[1], "e12_lognormal", 1);
	test_stream(argv[1], "e12_lognormal", 3);
	return check_result();
}
