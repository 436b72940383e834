/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics for Prometheus. The daemon fills one struct metrics_input at a scrape;
 * metrics.c has a row for each metric (compared with docs/metrics.md), and writes them in
 * Prometheus' text format. What is not in the input has no series. */
#pragma once

#include "agent/base/process.h"
#include "agent/metrics/counters.h"
#include "agent/view/view.h"
#include <sys/types.h>

/* Millicores, bytes; VIEW_NONE: not known, LIMIT_MAX: no limit. Both have no series. */
struct metrics_resource {
	bool known;       /* limited, or recommended for: the numbers below mean something */
	uint64_t spec;    /* the limit that the API object, or systemd's property, says */
	uint64_t applied; /* the limit that the kernel holds */
	uint64_t ceiling;
	uint64_t lower;
	uint64_t target;
	uint64_t upper;
	uint64_t peak;
	uint64_t reclaimable; /* of its request, above the upper bound */
	uint64_t use;
	uint64_t psi_some_ppm;
	uint64_t drifts; /* values of other writers that were replaced by ours */
};

/* One container of a pod, or one unit. Strings are borrowed until there is a page. */
struct metrics_thing {
	const char *namespace; /* with pod and container; NULL: a unit */
	const char *pod;
	const char *container;
	const char *workload;
	const char *unit;
	enum mode mode;
	enum unit_state state;
	struct metrics_resource resource[RESOURCE_COUNT];
	uint64_t throttled_ppm; /* of the last window's periods */
	uint64_t unreclaimable_bytes;
	uint64_t above_spec_bytes; /* of a pod: in use above the limit of its spec */
	uint64_t oom_kills;        /* since it is managed */
};
struct metrics_input {
	const char *unsupported;     /* static: why nothing on this node can be managed */
	bool kernel_old;             /* than any that is tested */
	bool paused;                 /* everything */
	uint64_t wakeups;            /* of the loop */
	usec_t config_loaded_real;   /* the one in force */
	usec_t state_saved_real;     /* 0: not yet */
	struct cluster_view cluster; /* its numbers; server NULL: standalone */
	const char *revision;        /* of the sources; NULL or "": "unknown" */
	const struct counters *counters;
	struct metrics_thing *things; /* owned: metrics_input_drop() frees it */
	size_t thing_count;
	size_t thing_capacity;
	bool reader_bpf;
	bool systemd_connected;
	bool systemd_absent;       /* it is not needed, and has no series */
	uint64_t pods;             /* of the node, as last listed */
	uint64_t pods_invalid;     /* with an annotation that is not valid: treated as Off */
	uint64_t rollouts_stopped; /* of workloads, by harm to the sized pods */
	bool node_wrong;           /* no pod of the node's name runs here */
	/* Pods that cannot be managed, by why. */
	struct {
		const char *reason;
		uint64_t pods;
	} left_alone[4];
	uint64_t
		reasons[STATE_REASON_COUNT]; /* containers and units by the reason of their state */
	uint64_t boosted;                    /* containers whose start is boosted */
	usec_t last_tick_real;               /* 0: none yet */
	bool config_ok;                      /* the last load */
	bool state_ok;                       /* the last save, or none was due */
	uint64_t node_reserve_bytes;         /* 0: the node's memory is not counted */
	uint64_t node_granted_bytes;         /* and not used yet, at the last pass */
	uint64_t node_kubelet_available_bytes; /* 0: no kubelet's memory.available is respected */
	bool node_eviction_bound;              /* it leaves less to grant than MemAvailable */
	bool no_memory;                        /* one could not be added: there is no page */
	struct process_facts process;          /* filled by metrics_server */
};
/* Room for so many things in all, at once; less is no harm. */
void metrics_input_reserve(struct metrics_input *in, size_t count);
/* A new one at the end, of which nothing is known, valid until the next; NULL: no memory, and there
 * is no page. Its names must stay until there is a page. */
struct metrics_thing *metrics_input_add(struct metrics_input *in);
void metrics_input_drop(struct metrics_input *in);

/* The page of one scrape, of which only a few KB are in memory at a time. */
struct metrics_page;
/* Takes over what in owns and copies what is borrowed. -ENOMEM: in keeps it. */
int metrics_page_new(struct metrics_input *in, struct metrics_page **ret);
/* The next bytes, `size` at most; 0: that was all. -ENOMEM. */
ssize_t metrics_page_read(void *page, char *to, size_t size);
void metrics_page_free(void *page);

/* Builds a page; private to metrics.c and its tests. `failed`: no memory, as
 * metrics_page_read() returns. */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics_writer {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
	const struct metric *metric; /* whose family it is */
	bool labelled;               /* the series at work has a label */
};

struct metric {
	const char *name; /* counters end in _total */
	enum metric_type type;
	unsigned digits;    /* decimals in the stored integers: 3 for millicores, 6 for usec */
	const char *labels; /* for the reference: "resource, direction"; "" */
	const char *help;
	/* All series at once, or those of one thing after the other. */
	void (*emit)(struct metrics_writer *w, const struct metric *m,
		     const struct metrics_input *in);
	void (*each)(struct metrics_writer *w, const struct metric *m,
		     const struct metrics_thing *t);
	size_t offset; /* of the field, in the struct that emit reads */
	enum resource resource;
	size_t count;             /* of an array with one label ... */
	const char *const *names; /* ... and its values; NULL: not shown */
	bool kubernetes;          /* only with a cluster */
};

extern const struct metric metrics_table[];
extern const size_t metrics_table_size;

/* HELP and TYPE. */
void metrics_family(struct metrics_writer *w, const struct metric *m);
/* One series: its name with a suffix ("_bucket") or "", then labels, then the value. */
void metrics_series(struct metrics_writer *w, const char *suffix);
void metrics_label(struct metrics_writer *w, const char *name, const char *value);
/* value / 10^digits. */
void metrics_value(struct metrics_writer *w, uint64_t value, unsigned digits);
