/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's counters for /metrics, zero at the start; each comment says where it is incremented.
 */
#pragma once

#include "policy/report/report.h"
#include "policy/types/reason.h"

/* How long things took, in buckets of fixed bounds. */
#define COUNTERS_BUCKETS 13
extern const usec_t counters_bounds_usec[COUNTERS_BUCKETS];

struct counters_span {
	uint64_t bucket[COUNTERS_BUCKETS]; /* at most this bound, and above the one before */
	uint64_t count;                    /* all, longer ones too */
	uint64_t sum_usec;
	usec_t last_usec; /* the newest */
	usec_t max_usec;
};
void counters_took(struct counters_span *s, usec_t span_usec);

enum counters_direction { DIRECTION_UP, DIRECTION_DOWN, DIRECTION_COUNT };
enum counters_backend { BACKEND_CGROUP, BACKEND_SYSTEMD, BACKEND_API, BACKEND_COUNT };
enum counters_scan { SCAN_REFLEX, SCAN_SAMPLE, SCAN_CLOCK_COUNT };
/* A raise is timed twice: from when its pass was due, and from the wake-up. */
enum counters_since { SINCE_DUE, SINCE_WAKE, SINCE_COUNT };
enum counters_writer {
	WRITER_SYSTEMD, /* PID 1, by a reload or a property */
	WRITER_KUBELET, /* kubelet or runtime, after a resize */
	WRITER_USER,    /* a resize of the pod by an external writer */
	WRITER_UNKNOWN,
	WRITER_COUNT
};

/* Objects of the API server that are left out: too large, or not understood. */
#define COUNTERS_SKIPS 2

/* Requests by verb and answer: one place for each pair; the last place counts all further pairs. */
#define COUNTERS_REQUESTS 48
struct counters_request {
	const char *verb; /* static text: "list", "watch", "get", "patch", "create" */
	unsigned code;    /* HTTP; 0: no answer */
	uint64_t count;
};

struct counters {
	/* apply.c: a limit was written, by the plan's step (not KNOB_MEM_HIGH, not reclaim; not of
	 * a pod's own level, which follows its containers) */
	uint64_t changes[RESOURCE_COUNT][DIRECTION_COUNT][REASON_COUNT];
	/* tick.c, at a review: changes of a resource became blocked for this reason */
	uint64_t blocked[BLOCKED_COUNT];
	/* messages.c: the node does not have the memory that a unit or container asks for, and had
	 * it before */
	uint64_t denials;
	/* tick.c: growth was held no longer while the runtime might write a limit below use */
	uint64_t brakes_ended;
	/* tick.c: throttling that was reported within its period */
	uint64_t throttle_events;
	/* messages.c: OOM kills that came while vscaled did not run */
	uint64_t late_kills;
	/* drift_events.c, pod_spec.c: an external writer's value was replaced by vscaled's */
	uint64_t reverted[WRITER_COUNT];
	/* around a write, a property call (its lag), a resize until the kubelet's echo */
	struct counters_span apply[BACKEND_COUNT];
	/* until a higher limit stood in the file */
	struct counters_span raise[SINCE_COUNT];
	/* the same as apply, when it was refused or failed; a vanished cgroup is no failure */
	uint64_t apply_failed[BACKEND_COUNT];
	/* loop.c: how much later the timer expired than it was due */
	struct counters_span loop_lag;
	/* tick.c: reading all cgroups, running the laws, and raising limits */
	struct counters_span scan[SCAN_CLOCK_COUNT];
	/* the end of every request to the API server: counters_request() */
	struct counters_request requests[COUNTERS_REQUESTS];
	/* the pod watch is begun again, for any reason; the first time does not count */
	uint64_t watch_restarts;
	/* an object of a list or a watch was left out, by why (enum kube_skip) */
	uint64_t objects_skipped[COUNTERS_SKIPS];
	/* reporter.c: resizes, and their answers */
	struct report_tally reports;
	/* loop.c, by result */
	uint64_t reloads;
	uint64_t reloads_failed;
	/* persist.c, by result */
	uint64_t saves;
	uint64_t saves_failed;
	/* recorder.c: lines that found no room while the disk stood still */
	uint64_t recorder_dropped;
};

/* A limit went from `from` to `to`; nothing is counted when they are the same. */
void counters_change(struct counters *c, enum resource r, uint64_t from, uint64_t to,
		     enum reason reason);
/* before: the reason at the last review. */
void counters_blocked(struct counters *c, enum blocked_reason before, enum blocked_reason now);
/* verb: static text. */
void counters_request(struct counters *c, const char *verb, unsigned code);
