/* SPDX-License-Identifier: Apache-2.0 */
/* The agent as a process of its own on a tree of plain files, beside the test API server. */
#pragma once

#include "policy/base/base.h"
#include "test/fake.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

#define BENCH_CONTAINERS_MAX 2000
/* The exit status without a server. */
#define BENCH_SKIP 77

struct bench {
	struct fake tree;
	char folder[64];
	pid_t server, agent;
	unsigned admin_port, metrics_port;
	bool fast;     /* the agent's clock: bench_be_agent() */
	bool observed; /* pods without a mode: kubernetes.observe */
	unsigned pods;
	unsigned containers; /* of a pod */
	char *cgroup[BENCH_CONTAINERS_MAX];
	size_t cgroup_count;
};

/* 0, or BENCH_SKIP: there is no python3, or no such server. */
int bench_open(struct bench *b);
int bench_close(struct bench *b);
/* One line of JSON on stdout. */
void bench_figure(const char *name, double value, const char *unit);
double bench_seconds(void);
/* A request of the administrator; the answer's body, owned. */
char *bench_ask(struct bench *b, const char *method, const char *path, const char *body);
const char *bench_string_of(const cJSON *o, const char *key);
void bench_put(struct bench *b, const char *cgroup, const char *file, const char *text);
void bench_put_stat(struct bench *b, const char *cgroup, uint64_t ticks, bool throttled);
/* The cgroups of all pods that the server has on this node. */
void bench_run_pods(struct bench *b);
/* Those of the pods whose names begin with prefix, in place of b->cgroup[from] and what follows. */
void bench_replace_pods(struct bench *b, const char *namespace, const char *prefix, size_t from);
/* main() of the agent's process; faster: so many times as the clock. */
int bench_be_agent(const char *config, unsigned faster);
/* This program again: "agent CONFIG", or "fast-agent CONFIG". */
void bench_agent_start(struct bench *b, const char *self);
/* Waits until everything is managed, for half a minute. */
void bench_sync_up(struct bench *b);
/* "VmHWM", "VmRSS", "RssAnon" of the agent. */
double bench_memory(const struct bench *b, const char *field);
/* Seconds of CPU the agent has had. */
double bench_cpu(const struct bench *b);
/* Lines of its log with this text. */
unsigned bench_log_lines(const struct bench *b, const char *text);
/* Requests of the agent whose path contains text. */
unsigned bench_requests(struct bench *b, const char *method, const char *text);
