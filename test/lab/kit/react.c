// SPDX-License-Identifier: Apache-2.0
/*
 * react LAW TO GRANTED SECONDS FOLDER...: wakes the program "demand" in each of these cgroups, one
 * after another, each at a random moment, and watches cpu.stat and cpu.max every 2 ms for SECONDS,
 *or until it is raised and has run free for longer than a second: react LAW first_ms=97
 *reach_ms=812 overshoot_permille=1625 stood_ms=120
 *	first	   from the first throttled period to the first higher limit
 *	reach	   from the step to GRANTED permille of TO millicores
 *	overshoot  the highest limit, permille of TO; 0: never throttled
 *	stood	   the longest that a thread of it stood still in the first second
 * LAW: "agent" watches alone; "captain" applies Autothrottle's law to the cgroup; "vpa" what VPA's
 * loop does within the time: a recommender and an updater, each once a minute.
 */
#include "gauge.h"
#include "policy/backtest/backtest_policy.h"
#include "policy/types/profile.h"
#include "test/policy/vpa/vpa_aggregate.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTLED_NSEC (NSEC_PER_SEC + NSEC_PER_SEC / 4)
#define SAMPLE_NSEC  (100 * NSEC_PER_MSEC)
#define PERIOD_USEC  100000
#define MINUTE_NSEC  (60 * NSEC_PER_SEC)

struct vpa {
	struct vpa_aggregate a;
	struct vpa_container c;
	int64_t request[RESOURCE_COUNT];
	struct vpa_recommendation rec;
	uint64_t used;
	int64_t recommend_at, update_at, started, sampled;
};

struct run {
	int stat, max;
	uint64_t usage, throttled; /* now */
	uint64_t limit;            /* millicores */
	struct captain captain;
	uint64_t sample_usage, act_throttled;
	int64_t sample_at, act_at;
	struct vpa vpa;
};

struct law {
	const char *name;
	int64_t look_nsec;
	void (*begin)(struct run *r, int64_t now);
	void (*step)(struct run *r, int64_t now);
};

static uint64_t value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static int observe(struct run *r)
{
	char text[512];
	ssize_t n = pread(r->stat, text, sizeof text - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	r->usage = value_of(text, "usage_usec ");
	r->throttled = value_of(text, "nr_throttled ");
	n = pread(r->max, text, sizeof text - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	r->limit = strtoull(text, NULL, 10) * 1000 / PERIOD_USEC;
	return 0;
}

static void write_limit(struct run *r, uint64_t milli)
{
	char text[64];
	int n = snprintf(text, sizeof text, "%" PRIu64 " %d", milli * PERIOD_USEC / 1000,
			 PERIOD_USEC);

	if (pwrite(r->max, text, (size_t)n, 0) != n)
		perror("cpu.max");
}

/* ---- laws ---- */

static void agent_begin(struct run *, int64_t)
{
}

static void captain_begin(struct run *r, int64_t now)
{
	captain_init(&r->captain, (double)r->limit / 1000, CAPTAIN_TARGET);
	r->sample_usage = r->usage;
	r->act_throttled = r->throttled;
	r->sample_at = now + SAMPLE_NSEC;
	/* Its second ends at any moment after the step. */
	r->act_at = now + (int64_t)(drand48() * NSEC_PER_SEC);
}

static void captain_step(struct run *r, int64_t now)
{
	if (now >= r->sample_at) {
		captain_sample(&r->captain, (double)(r->usage - r->sample_usage) / PERIOD_USEC);
		r->sample_usage = r->usage;
		r->sample_at += SAMPLE_NSEC;
	}
	if (now < r->act_at)
		return;
	if (captain_act(&r->captain, r->throttled - r->act_throttled))
		write_limit(r, (uint64_t)(r->captain.cores * 1000));
	r->act_throttled = r->throttled;
	r->act_at += NSEC_PER_SEC;
}

static usec_t real_usec(int64_t now)
{
	return 20000 * USEC_PER_DAY + (usec_t)(now / 1000);
}

static void vpa_begin(struct run *r, int64_t now)
{
	struct vpa *v = &r->vpa;

	vpa_aggregate_init(&v->a, &vpa_rules_default);
	v->c = (struct vpa_container){.aggregate = &v->a, .rules = &vpa_rules_default};
	v->request[RESOURCE_CPU] = (int64_t)r->limit;
	v->rec.resources = 0;
	v->started = v->sampled = now;
	v->used = r->usage;
	/* The idle minute. */
	vpa_add_cpu(&v->c, 0, real_usec(now));
	v->recommend_at = now + (int64_t)(drand48() * MINUTE_NSEC);
	v->update_at = now + (int64_t)(drand48() * MINUTE_NSEC);
}

static void vpa_step(struct run *r, int64_t now)
{
	struct vpa *v = &r->vpa;
	struct vpa_priority p;
	struct vpa_pod_run run = {.age_usec = USEC_PER_MIN + (usec_t)(now - v->started) / 1000};

	if (now >= v->recommend_at) {
		uint64_t used = (r->usage - v->used) * 1000000 / (uint64_t)(now - v->sampled);

		v->used = r->usage;
		v->sampled = now;
		v->recommend_at += MINUTE_NSEC;
		vpa_add_cpu(&v->c, (int64_t)used, real_usec(now));
		vpa_estimate(&v->a, &vpa_rules_default, 1, RESOURCES_CPU, &v->rec);
	}
	if (now < v->update_at)
		return;
	v->update_at += MINUTE_NSEC;
	if (v->rec.resources == 0)
		return;
	p = vpa_update_priority(v->request, &v->rec);
	if (!vpa_update_accepted(&p, &run))
		return;
	v->request[RESOURCE_CPU] = v->rec.amount[VPA_TARGET][RESOURCE_CPU];
	write_limit(r, (uint64_t)v->request[RESOURCE_CPU]);
}

static const struct law laws[] = {
	{"agent", 2 * NSEC_PER_MSEC, agent_begin, agent_begin},
	{"captain", 2 * NSEC_PER_MSEC, captain_begin, captain_step},
	{"vpa", 50 * NSEC_PER_MSEC, vpa_begin, vpa_step},
};

/* ---- one cgroup ---- */

static int file_open(const char *folder, const char *name, int flags)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		perror(path);
	return fd;
}

static pid_t first_pid(const char *folder)
{
	int fd = file_open(folder, "cgroup.procs", O_RDONLY);
	char text[32] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (pid_t)strtol(text, NULL, 10) : -1;
}

/* What "demand" says of itself; -1: nothing yet. */
static long long stood_msec(pid_t pid)
{
	char path[64];
	long long ret = -1;
	FILE *f;

	snprintf(path, sizeof path, "/run/stood-%d", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%lld", &ret) != 1)
		ret = -1;
	fclose(f);
	return ret;
}

struct wanted {
	const struct law *law;
	uint64_t to, granted;
	int64_t watch_nsec;
};

static void watch(struct run *r, const struct wanted *g, pid_t pid)
{
	struct gauge own = {0};
	uint64_t before, from, throttled, limit, highest = 0;
	int64_t begin, now, thr = 0, first = 0, reach = 0, moved = 0;
	long long stood;

	gauge_sleep(&own, now_nsec() + (int64_t)(drand48() * NSEC_PER_SEC));
	if (observe(r) < 0)
		return;
	before = throttled = r->throttled;
	from = limit = r->limit;
	begin = now_nsec();
	g->law->begin(r, begin);
	kill(pid, SIGUSR1);
	for (now = begin; now < begin + g->watch_nsec; now = now_nsec()) {
		if (observe(r) < 0)
			break;
		if (r->limit > from && first == 0)
			first = now;
		/* A raise within the period leaves no throttled period behind. */
		if (thr == 0 && (r->throttled > before || first != 0))
			thr = now;
		if (r->limit > from && reach == 0 && r->limit * 1000 >= g->to * g->granted)
			reach = now;
		if (r->limit > highest)
			highest = r->limit;
		if (r->limit != limit || r->throttled != throttled)
			moved = now;
		limit = r->limit;
		throttled = r->throttled;
		if (first != 0 && now - moved > SETTLED_NSEC && g->law->look_nsec < SAMPLE_NSEC / 4)
			break;
		g->law->step(r, now);
		gauge_sleep(&own, now + g->law->look_nsec);
	}
	stood = stood_msec(pid);
	kill(pid, SIGTERM);
	printf("react %s first_ms=%lld reach_ms=%lld overshoot_permille=%" PRIu64
	       " stood_ms=%lld\n",
	       g->law->name,
	       first == 0 || thr == 0 ? -1 : (long long)((first - thr) / NSEC_PER_MSEC),
	       reach == 0 ? -1 : (long long)((reach - begin) / NSEC_PER_MSEC),
	       thr == 0 ? 0 : highest * 1000 / g->to, stood);
}

int main(int argc, char **argv)
{
	struct wanted g = {0};

	for (size_t i = 0; argc > 5 && i < ARRAY_SIZE(laws); i++)
		if (strcmp(argv[1], laws[i].name) == 0)
			g.law = &laws[i];
	if (g.law == NULL) {
		fputs("usage: react agent|captain|vpa TO GRANTED SECONDS FOLDER...\n", stderr);
		return 2;
	}
	g.to = strtoull(argv[2], NULL, 10);
	g.granted = strtoull(argv[3], NULL, 10);
	g.watch_nsec = strtoll(argv[4], NULL, 10) * NSEC_PER_SEC;
	setvbuf(stdout, NULL, _IOLBF, 0);
	srand48((long)now_nsec());
	for (int i = 5; i < argc; i++) {
		static struct run r;
		pid_t pid = first_pid(argv[i]);

		r = (struct run){.stat = file_open(argv[i], "cpu.stat", O_RDONLY),
				 .max = file_open(argv[i], "cpu.max", O_RDWR)};
		if (pid <= 0 || r.stat < 0 || r.max < 0)
			return 1;
		watch(&r, &g, pid);
		vpa_aggregate_drop(&r.vpa.a);
		close(r.stat);
		close(r.max);
	}
	return 0;
}
