// SPDX-License-Identifier: Apache-2.0
/*
 * What the agent of one node asks the API server for: 50 pods of 10 workloads whose requests follow
 * a load that moves, on a clock that runs FASTER times as fast; the requests of an hour by kind, as
 * a rate. With an argument: that many containers in each pod, for ten minutes and the memory alone;
 * "observed" after it: the pods have no mode, and kubernetes.observe is All; with a report at the
 * end. Exit status 77: there is no python3, or no such server.
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

/* Ten workloads in five namespaces, of five pods each. */
static void make_workloads(struct bench *b)
{
	for (unsigned i = 0; i < WORKLOADS; i++) {
		char body[768];

		snprintf(body, sizeof body,
			 "{\"count\":%u,\"containers\":%u,\"prefix\":\"web%u-aaa\",\"namespace\":"
			 "\"team-%u\","
			 "\"labels\":{\"app\":\"web%u\",\"pod-template-hash\":\"aaa\"},"
			 "\"owner\":{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
			 "\"web%u-aaa\",\"uid\":\"0b54b34c-6f5e-4a1c-9d07-3d8f1a2b3c4d\","
			 "\"controller\":true},\"annotations\":{%s}}",
			 b->pods / WORKLOADS, b->containers, i, i % 5, i, i,
			 b->observed ? ""
				     : "\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/"
				       "controlled-values\":\"RequestsAndLimits\"");
		free(bench_ask(b, "POST", "/debug/pods", body));
	}
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

/* Per second and node, of the agent's last hour. */
static void measure(struct bench *b)
{
	static const struct {
		const char *name, *method, *text;
	} rows[] = {
		{"rate_resize", "PATCH", "/resize"},
		{"rate_patch", "PATCH", ""},
		{"rate_workload", "GET", "labelSelector"},
		{"rate_autoscalers", "GET", "autoscaling"},
		{"rate_limitranges", "GET", "/limitranges"},
		{"rate_events", "POST", "events"},
		{"rate_events_patch", "PATCH", "/events"},
		{"rate_get", "GET", ""},
	};
	unsigned before[ARRAY_SIZE(rows)] = {0};

	for (uint64_t t = 0; t < HOURS * 3600 / FASTER; t++) {
		if (t == (HOURS - 1) * 3600 / FASTER)
			for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
				before[i] = bench_requests(b, rows[i].method, rows[i].text);
		move_load(b, t * FASTER / 60);
		sleep(1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		bench_figure(rows[i].name,
			     (bench_requests(b, rows[i].method, rows[i].text) - before[i]) / 3600.0,
			     "requests/s");
	bench_figure("rate_peak_rss", bench_memory(b, "VmHWM"), "bytes");
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
	else
		measure(&b);
	return bench_close(&b);
}
