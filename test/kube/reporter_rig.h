/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reporter, a server that answers in virtual time, a kubelet and the pods of a node: what the
 * daemon would be. Each pod has one container "app", 500m of 200m, 256Mi of 128Mi.
 */
#pragma once

#include "agent/kube/report/reporter.h"
#include "test/check.h"

#define S        USEC_PER_SEC
#define PODS_MAX 64
#define CALLS    64

struct rig_pod {
	char uid[24];
	struct pod_report *report;
	const char *space; /* its namespace; NULL: "lab" */
	bool exists;
	struct kube_values_of_spec {
		uint64_t limit[RESOURCE_COUNT], request[RESOURCE_COUNT];
	} spec, runtime;
	uint64_t generation, observed;
	char *status;          /* the annotation */
	struct kube_pod *seen; /* by the watch */
	const char *condition; /* a member of status.conditions, or "" */
	usec_t kubelet_at;     /* when it gets to the spec; 0: it is done */
	/* The node. */
	uint64_t held[RESOURCE_COUNT], actual[RESOURCE_COUNT], use, slope;
	usec_t held_since;
	const char *mode;
	bool restoring, growing;
	unsigned resizes, statuses, events; /* that were taken */
	unsigned verified, ratified, refused, foreign;
	uint64_t ceiling[RESOURCE_COUNT];
	char why[256];
};

struct rig_call {
	bool used;
	const char *kind; /* NULL: not a write */
	usec_t at;
	unsigned status;
	char *body;
	usec_t retry_after;
	kube_done_fn *done;
	void *arg;
};

struct rig {
	usec_t now;
	struct reporter *reporter;
	struct recorder *recorder;
	struct rig_pod pods[PODS_MAX];
	size_t count;
	struct rig_call calls[CALLS];
	bool offers; /* pods/resize */
	bool down;
	usec_t latency, kubelet_delay;
	/* The next writes of a kind are answered so: "resize", "status", "event". */
	const char *fail_what;
	const char *fail_where; /* in the path; NULL: all of the kind */
	usec_t fail_latency;    /* if not as others */
	unsigned fail_count, fail_status;
	const char *fail_body;
	usec_t fail_retry_after;
	bool fail_but_do; /* done all the same, and the answer lost */
	/* What the test changes of the facts; may be NULL. */
	void (*alter)(struct rig *g, struct reporter_view *v);
	struct report_tally tally;
	unsigned bounds;          /* times that reporter_ratifies() was said to have changed */
	unsigned counted[2][600]; /* for rig_counted() */
	unsigned requests, writes, steps, troubles, troubles_over;
	char trouble[512];
	char log[4096]; /* "R0 S0 E0 ": kinds of writes that came in, with the pod */
	char last_body[2048];
	char last_path[1024];
};

void rig_start(struct rig *g, size_t pods);
void rig_stop(struct rig *g);
/* Lets time pass: steps, answers and the kubelet as they are due. */
void rig_run(struct rig *g, usec_t span);
/* One step, and what follows from its outcomes. */
void rig_step(struct rig *g);
void rig_outcomes(struct rig *g);
/* The node sets a limit. */
void rig_set_held(struct rig *g, size_t pod, enum resource r, uint64_t value);
/* Its memory grows. */
void rig_grow(struct rig *g, size_t pod, uint64_t use, uint64_t slope);
/* The watch reports the object as it is now. */
void rig_show(struct rig *g, size_t pod);
void rig_gone(struct rig *g, size_t pod);
/* The daemon does not look after it any more. */
void rig_forget(struct rig *g, size_t pod);
void rig_fail(struct rig *g, const char *what, unsigned count, unsigned status, const char *body);
/* Answers to requests of a kind, "resize" or "status"; status 0: cancelled, or none came. */
unsigned rig_counted(const struct rig *g, const char *kind, unsigned status);

/* --- reporter_server.c: the API server and the kubelet, for reporter_rig.c */
int server_start(void *ctx, const struct kube_request *r, kube_done_fn *done, void *arg,
		 struct kube_call **ret);
void server_cancel(void *ctx, struct kube_call *call);
void server_deliver(struct rig *g, struct rig_call *c);
void server_kubelet(struct rig *g, struct rig_pod *p);
/* The watch reports the newest object. */
void server_show(struct rig *g, struct rig_pod *p);

/* Opens and closes a rig around a test. */
#define WITH(g) for (struct rig g, *p_ = (rig_start(&g, 1), &g); p_; rig_stop(p_), p_ = NULL)

/* A test that is given a rig. */
#define TEST_RIG(name)                                                                             \
	static void with_rig_##name(struct rig *g);                                                \
	TEST(name)                                                                                 \
	{                                                                                          \
		WITH(rig) with_rig_##name(&rig);                                                   \
	}                                                                                          \
	static void with_rig_##name(struct rig *g)
