// SPDX-License-Identifier: Apache-2.0
/*
 * The agent with 250 pods of 4 containers, all annotated, beside the test API server: the time to
 * the first complete list, a storm of 10,000 changes, then a minute in which every twentieth
 * container is throttled. The agent is a process of its own on a tree of plain files, with the
 * configuration's defaults but for the start jitter; its CPU and memory are the kernel's figures.
 * With an argument: that many containers in each pod. Fails when the agent's memory passed the
 * bound. Exit status 77: there is no python3, or no such server.
 */
#include "test/bench/cluster_bench.h"
#include "test/kube/crig_http.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PODS           250
#define CONTAINERS_MAX 8
#define STORM          10000
#define LOAD_SEC       60
/* With 1,000 containers, list, storm, scrape and handshakes included. */
#define PEAK_MAX (16 * MIB)

/* All of /metrics, as Prometheus asks for it. */
static void scrape(struct bench *b)
{
	static const char request[] =
		"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	int fd = crig_connect(b->metrics_port, NULL);
	double bytes = 0;
	bool whole = false;
	char text[16384];
	ssize_t n;

	if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) < 0)
		fprintf(stderr, "bench: no metrics\n");
	while ((n = recv(fd, text, sizeof text - 1, 0)) > 0) {
		bytes += (double)n;
		text[n] = '\0';
		whole = n >= 5 && strcmp(text + n - 5, "0\r\n\r\n") == 0;
	}
	close(fd);
	if (!whole)
		fprintf(stderr, "bench: the page of metrics ends early: %s\n", strerror(errno));
	bench_figure("cluster_scrape_bytes", bytes, "bytes");
}

static void storm(struct bench *b)
{
	double begin = bench_cpu(b), idle, from;
	char body[64], *text;

	sleep(10);
	idle = bench_cpu(b) - begin;
	bench_figure("cluster_idle_cpu", idle * 10, "% of a core");
	begin = bench_cpu(b);
	from = bench_seconds();
	snprintf(body, sizeof body, "{\"count\":%d}", STORM);
	text = bench_ask(b, "POST", "/debug/storm", body);
	free(text);
	sleep(5);
	bench_figure("cluster_storm_cpu",
		     bench_cpu(b) - begin - idle * (bench_seconds() - from) / 10, "s");
	bench_figure("cluster_storm_peak_rss", bench_memory(b, "VmHWM"), "bytes");
	scrape(b);
	bench_figure("cluster_scrape_peak_rss", bench_memory(b, "VmHWM"), "bytes");
}

static void load(struct bench *b)
{
	double begin = bench_cpu(b);

	for (uint64_t t = 1; t <= LOAD_SEC; t++) {
		for (size_t i = 0; i < b->cgroup_count; i++)
			bench_put_stat(b, b->cgroup[i], t, i % 20 == 0);
		sleep(1);
	}
	sleep(60);
	bench_figure("cluster_load_cpu", (bench_cpu(b) - begin) * 100 / (LOAD_SEC + 60),
		     "% of a core");
	bench_figure("cluster_peak_rss", bench_memory(b, "VmHWM"), "bytes");
	bench_figure("cluster_rss", bench_memory(b, "VmRSS"), "bytes");
	bench_figure("cluster_rss_anon", bench_memory(b, "RssAnon"), "bytes");
}

static void count_requests(struct bench *b)
{
	static const struct {
		const char *name, *method, *text;
	} rows[] = {
		{"cluster_requests_list", "GET", "resourceVersion=0"},
		{"cluster_requests_watch", "GET", "watch=1"},
		{"cluster_requests_limitranges", "GET", "/limitranges"},
		{"cluster_requests_resize", "PATCH", "/resize"},
		{"cluster_requests_patch", "PATCH", ""},
		{"cluster_requests_create", "POST", ""},
		{"cluster_requests_get", "GET", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		bench_figure(rows[i].name, bench_requests(b, rows[i].method, rows[i].text),
			     "requests");
}

static void make_pods(struct bench *b)
{
	char body[256];

	snprintf(body, sizeof body,
		 "{\"count\":%u,\"containers\":%u,\"prefix\":\"web\",\"annotations\":"
		 "{\"vscaled.dev/mode\":\"Auto\"}}",
		 b->pods, b->containers);
	free(bench_ask(b, "POST", "/debug/pods", body));
	bench_run_pods(b);
}

int main(int argc, char **argv)
{
	static struct bench b = {.pods = PODS};
	int rc;

	if (argc == 3 && strcmp(argv[1], "agent") == 0)
		return bench_be_agent(argv[2], 1);
	b.containers = argc == 2 ? (unsigned)atoi(argv[1]) : 4;
	if (b.containers < 1 || b.containers > CONTAINERS_MAX)
		return EXIT_FAILURE;
	rc = bench_open(&b);
	if (rc != 0)
		return rc;
	make_pods(&b);
	bench_agent_start(&b, argv[0]);
	bench_sync_up(&b);
	if (bench_log_lines(&b, "event=unit-managed") < b.pods * b.containers) {
		fprintf(stderr, "bench: not all containers were found\n");
		rc = EXIT_FAILURE;
	} else {
		storm(&b);
		load(&b);
		count_requests(&b);
		if (b.containers <= 4 && bench_memory(&b, "VmHWM") >= PEAK_MAX) {
			fprintf(stderr, "bench: more than %llu bytes at the peak\n", PEAK_MAX);
			rc = EXIT_FAILURE;
		}
	}
	return bench_close(&b) != 0 ? EXIT_FAILURE : rc;
}
