/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics for Prometheus: a row for each metric (compared with docs/metrics.md), written in
 * Prometheus' text format. What is not known has no series. */
#pragma once

#include "agent/base/process.h"
#include "agent/metrics/counters.h"
#include "agent/serve/show.h"
#include "agent/view/view.h"
#include <sys/types.h>

/* Private to metrics.c and its tests. */
struct metrics_writer {
	char *data; /* owned */
	size_t size;
	size_t capacity;
	bool failed;                 /* no memory */
	const struct metric *metric; /* whose family it is */
	bool labelled;               /* the series at work has a label */
};

/* The page of one scrape. It is read in pieces, while entries come, change and go: what it needs of
 * each is in it, and only a few KB of its text at a time. */
struct metrics_page {
	const char *unsupported;     /* static: why nothing on this node can be managed */
	bool kernel_old;             /* than any that is tested */
	bool paused;                 /* everything */
	uint64_t wakeups;            /* of the loop */
	usec_t config_loaded_real;   /* the one in force */
	usec_t state_saved_real;     /* 0: not yet */
	struct cluster_view cluster; /* its numbers; server NULL: standalone */
	const char *revision;        /* of the sources; NULL or "": "unknown" */
	struct counters counters;
	bool reader_bpf;
	bool systemd_connected;
	bool systemd_absent;       /* it is not needed, and has no series */
	uint64_t pods;             /* of the node, as last listed */
	uint64_t pods_invalid;     /* with an annotation that is not valid: treated as Off */
	uint64_t rollouts_stopped; /* of workloads, by harm to the sized pods */
	bool node_wrong;           /* no pod of the node's name runs here */
	/* Pods by why a container of theirs is not found. */
	uint64_t unfound[STATE_REASON_COUNT];
	/* Containers and units by mode and state, by the reason of their state, with a boost. */
	uint64_t managed[MODE_COUNT][UNIT_STATE_COUNT];
	uint64_t reasons[STATE_REASON_COUNT];
	uint64_t boosted;
	usec_t last_tick_real;                 /* 0: none yet */
	bool config_ok;                        /* the last load */
	bool state_ok;                         /* the last save, or none was due */
	uint64_t node_reserve_bytes;           /* 0: the node's memory is not counted */
	uint64_t node_granted_bytes;           /* and not used yet, at the last pass */
	uint64_t node_kubelet_available_bytes; /* 0: no kubelet's memory.available is respected */
	bool node_eviction_bound;              /* it leaves less to grant than MemAvailable */
	struct process_facts process;
	/* metrics.c: of each container and unit its labels and values, packed. */
	struct metrics_writer units;
	size_t unit_count;
	/* What has been read. */
	struct metrics_writer w;
	size_t sent; /* of the writer's bytes */
	size_t row;  /* of the table: the family at work, or the end */
	size_t at;   /* the next unit of it */
	bool begun;  /* its head is written */
	bool ended;
};
/* units.failed: no memory, and there is no page. */
void metrics_page_add(struct metrics_page *p, const struct shown *s);
/* The next bytes, `size` at most; 0: that was all. -ENOMEM. */
ssize_t metrics_page_read(void *page, char *to, size_t size);
void metrics_page_free(void *page);

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* A value of each container and unit. */
struct metric_value {
	const char *name; /* of the row's last label; NULL: it has no series but this */
	shown_amount *get;
	enum resource resource;
};

struct metric {
	const char *name; /* counters end in _total */
	enum metric_type type;
	unsigned digits;    /* decimals in the stored integers: 3 for millicores, 6 for usec */
	const char *labels; /* for the reference: "resource, direction"; "" */
	const char *help;
	/* All series at once, or values of each, up to one without get. */
	void (*emit)(struct metrics_writer *w, const struct metric *m,
		     const struct metrics_page *in);
	const struct metric_value *values;
	bool always;              /* values also of a resource without limits and recommendation */
	size_t offset;            /* of the field, in the struct that emit reads */
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
