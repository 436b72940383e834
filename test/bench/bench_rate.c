// SPDX-License-Identifier: Apache-2.0
/*
 * What the agent of one node asks the API server for: 50 pods of 10 workloads whose requests follow
 * a load that moves, one workload rolled out every ROLL_OUT_MINUTES, on a clock that runs FASTER
 * times as fast; the requests of an hour by kind, as a rate. Pods of the workloads on another node
 * publish what they need. With an argument: that many containers in each pod, for ten minutes and
 * the memory alone; "observed" after it: the pods have no mode, and kubernetes.observe is All; with
 * a report at the end. Exit status 77: there is no python3, or no such server.
 */
#include "test/bench/cluster_bench.h"
#include "test/kube/crig_http.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FASTER         40
#define PODS           50
#define WORKLOADS      10
#define HOURS          2 /* the first one is not counted */
#define SHORT_SEC      600
#define CONTAINERS_MAX 8
/* Each workload once in the hour that is counted. */
#define ROLL_OUT_MINUTES 6
/* Per second and node: what requests, workload history and status annotations add. */
#define ADDED_MAX 0.1

#define NAMESPACES 5
#define REVISION   100

/* What a pod on another node publishes. */
#define PUBLISHED                                                                                  \
	"\"vscaled.dev/status\":\"{\\\"recommendation\\\":{\\\"version\\\":1,"                     \
	"\\\"containers\\\":{\\\"app\\\":{\\\"cpu\\\":{\\\"target\\\":\\\"250m\\\",\\\"peak\\\":"  \
	"\\\"300m\\\"},\\\"samples\\\":36000,\\\"confidence\\\":0.5}}}}\""

static void make_pods(struct bench *b, unsigned workload, unsigned revision, unsigned count,
		      const char *node, const char *annotations)
{
	char body[1024];

	snprintf(body, sizeof body,
		 "{\"count\":%u,\"containers\":%u,\"prefix\":\"web%u-%u\","
		 "\"namespace\":\"team-%u\",\"node\":\"%s\",\"labels\":{\"app\":\"web%u\","
		 "\"pod-template-hash\":\"%u\"},\"owner\":{\"apiVersion\":\"apps/v1\","
		 "\"kind\":\"ReplicaSet\",\"name\":\"web%u-%u\",\"uid\":\"0b54b34c-6f5e-4a1c-9d07-3"
		 "d8f1a2b3c4d\",\"controller\":true},\"annotations\":{%s}}",
		 count, b->containers, workload, revision, workload % NAMESPACES, node, workload,
		 revision, workload, revision, annotations);
	free(bench_ask(b, "POST", "/debug/pods", body));
}

static void make_here(struct bench *b, unsigned workload, unsigned revision)
{
	make_pods(b, workload, revision, b->pods / WORKLOADS, "node-1",
		  b->observed ? ""
			      : "\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/"
				"controlled-values\":\"RequestsAndLimits\"");
}

/* Ten workloads in five namespaces, of five pods each. */
static void make_workloads(struct bench *b)
{
	for (unsigned i = 0; i < WORKLOADS; i++) {
		make_here(b, i, REVISION);
		make_pods(b, i, REVISION - 1, 1, "node-2", PUBLISHED);
	}
}

/* The cgroup of the pod of b->cgroup[i], whose only container that is. */
static void remove_cgroup(struct bench *b, size_t i)
{
	char path[256];

	snprintf(path, sizeof path, "%s", b->cgroup[i]);
	*strrchr(path, '/') = '\0';
	fake_remove(&b->tree, path);
}

static void delete_pods(struct bench *b, unsigned workload, unsigned revision)
{
	char path[160];

	for (unsigned i = 0; i < b->pods / WORKLOADS; i++) {
		snprintf(path, sizeof path,
			 "/api/v1/namespaces/team-%u/pods/web%u-%u-%u?gracePeriodSeconds=0",
			 workload % NAMESPACES, workload, revision, i);
		free(bench_ask(b, "DELETE", path, ""));
	}
}

/* One workload's pods end, and others begin. n: which time. */
static void roll_out(struct bench *b, unsigned n)
{
	unsigned workload = n % WORKLOADS, revision = REVISION + n / WORKLOADS;
	/* In the order of the first list: by namespace and name. */
	size_t from = (workload % NAMESPACES * (WORKLOADS / NAMESPACES) + workload / NAMESPACES) *
		      (b->pods / WORKLOADS);
	char prefix[32], namespace[32];

	for (size_t i = 0; i < b->pods / WORKLOADS; i++)
		remove_cgroup(b, from + i);
	delete_pods(b, workload, revision);
	make_here(b, workload, revision + 1);
	snprintf(prefix, sizeof prefix, "web%u-%u-", workload, revision + 1);
	snprintf(namespace, sizeof namespace, "team-%u", workload % NAMESPACES);
	bench_replace_pods(b, namespace, prefix, from);
}

static void roll_out_due(struct bench *b, uint64_t minute)
{
	static unsigned done;

	if (minute / ROLL_OUT_MINUTES > done)
		roll_out(b, done++);
}

/* Two loads that differ by the factor three, changed every 20 min; a third of the pods at a time.
 */
static void move_load(struct bench *b, uint64_t minute)
{
	static uint64_t used_usec[PODS * CONTAINERS_MAX];
	char text[256];

	for (size_t i = 0; i < b->cgroup_count; i++) {
		bool high = (minute / 20 + i) % 3 == 0;

		/* A real second is FASTER of the agent's. */
		used_usec[i] += FASTER * (high ? 300000ULL : 100000ULL);
		snprintf(text, sizeof text,
			 "usage_usec %" PRIu64 "\nuser_usec 0\nsystem_usec 0\nnr_periods 0\n"
			 "nr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n",
			 used_usec[i]);
		bench_put(b, b->cgroup[i], "cpu.stat", text);
	}
}

static const struct {
	const char *name, *method, *text;
	bool added; /* by requests, workload history and status annotations */
} rows[] = {
	/* All of pods, resizes among them. */
	{"rate_patch", "PATCH", "/pods/", true},
	{"rate_resize", "PATCH", "/resize", false},
	{"rate_workload", "GET", "labelSelector", true},
	{"rate_autoscalers", "GET", "autoscaling", true},
	{"rate_limitranges", "GET", "/limitranges", false},
	{"rate_events", "POST", "events", false},
	{"rate_events_patch", "PATCH", "/events", false},
	{"rate_get", "GET", "", false},
};

static void count(struct bench *b, unsigned ret[static ARRAY_SIZE(rows)])
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ret[i] = bench_requests(b, rows[i].method, rows[i].text);
}

static void run_hour(struct bench *b, unsigned hour)
{
	for (uint64_t t = 0; t < 3600 / FASTER; t++) {
		uint64_t minute = hour * 60 + t * FASTER / 60;

		move_load(b, minute);
		roll_out_due(b, minute);
		sleep(1);
	}
}

/* Per second and node, of the agent's last hour. False: it is too much. */
static bool measure(struct bench *b)
{
	unsigned before[ARRAY_SIZE(rows)], after[ARRAY_SIZE(rows)];
	double added = 0;

	for (unsigned hour = 0; hour < HOURS; hour++) {
		count(b, before);
		run_hour(b, hour);
	}
	count(b, after);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double rate = (after[i] - before[i]) / 3600.0;

		bench_figure(rows[i].name, rate, "requests/s");
		added += rows[i].added ? rate : 0;
	}
	bench_figure("rate_added", added, "requests/s");
	bench_figure("rate_peak_rss", bench_memory(b, "VmHWM"), "bytes");
	return added <= ADDED_MAX;
}

/* The length of the answer. */
static size_t report(const struct bench *b)
{
	struct crig_bytes bytes = {0};
	char *body = NULL;
	size_t len;
	int fd = crig_connect(b->metrics_port, NULL);

	crig_send(fd, "GET", "/v1/report", "", "");
	while (!crig_receive(fd, &bytes))
		usleep(10000);
	close(fd);
	if (crig_answer(&bytes, &body) != 200)
		exit(EXIT_FAILURE);
	len = strlen(body);
	free(body);
	return len;
}

static void measure_memory(struct bench *b)
{
	for (uint64_t t = 0; t < SHORT_SEC / FASTER; t++) {
		move_load(b, t * FASTER / 60);
		sleep(1);
	}
	bench_figure("memory_workload_lists", bench_requests(b, "GET", "labelSelector"),
		     "requests");
	bench_figure("memory_report", (double)report(b), "bytes");
	bench_figure("memory_peak_rss", bench_memory(b, "VmHWM"), "bytes");
}

int main(int argc, char **argv)
{
	static struct bench b = {.fast = true, .pods = PODS, .containers = 1};
	unsigned containers = argc >= 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	int rc;

	if (argc == 3 && strcmp(argv[1], "fast-agent") == 0)
		return bench_be_agent(argv[2], FASTER);
	b.observed = argc == 3 && strcmp(argv[2], "observed") == 0;
	if (argc > 2 + b.observed ||
	    (argc >= 2 && (containers < 1 || containers > CONTAINERS_MAX))) {
		fprintf(stderr, "usage: bench_rate [CONTAINERS [observed]], 1 to %d\n",
			CONTAINERS_MAX);
		return 2;
	}
	b.containers = MAX(containers, 1u);
	rc = bench_open(&b);
	if (rc != 0)
		return rc;
	make_workloads(&b);
	bench_run_pods(&b);
	bench_agent_start(&b, argv[0]);
	bench_sync_up(&b);
	if (containers != 0)
		measure_memory(&b);
	else if (!measure(&b)) {
		fprintf(stderr, "bench: more than %g requests a second\n", ADDED_MAX);
		rc = EXIT_FAILURE;
	}
	return bench_close(&b) != 0 ? EXIT_FAILURE : rc;
}
