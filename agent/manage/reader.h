/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader is used: BPF for all cgroups at once, or the files of each. Either fills the same
 * struct usage. What BPF cannot read here is read as text and logged at the start. And inotify,
 * which reports changes. */
#pragma once

#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/watch.h"
#include <stdbool.h>
#include <systemd/sd-event.h>

struct managed;
struct unit_table;

/* What a pass is for. */
enum reader_clock { READER_REFLEX, READER_SAMPLE };

struct reader {
	struct unit_table *units;
	sd_event_source *throttles;           /* of the BPF reader; NULL: it reports none */
	struct cg_scan *scan;                 /* NULL: files alone */
	bool passed;                          /* the records are of the present pass */
	enum reader_clock clock;              /* what the last pass was for */
	unsigned failures;                    /* passes in a row */
	size_t stat_reads;                    /* of memory.stat, in the last reflex pass */
	char detail[2 * CG_PROBE_TEXT_BYTES]; /* which BPF program was loaded, or why not */
};

/* Loads the BPF program if the configuration asks for it, and logs the outcome. */
void reader_start(struct reader *r);
void reader_stop(struct reader *r);
/* "bpf", "text". */
const char *reader_name(const struct reader *r);

/* Its cgroup was opened; is about to be closed. */
void reader_attach(struct managed *m);
void reader_detach(struct managed *m);

/* The next throttle of its cgroup is reported at once, where BPF can. */
void reader_arm(struct managed *m);

/* Reads all in one pass; until reader_end(), reader_read() returns its records. */
void reader_begin(struct reader *r, enum reader_clock clock);
void reader_end(struct reader *r);
/* In the place of cg_read(m->cg, want, ret). by_text: parts that are to come from the files. */
int reader_read(struct managed *m, uint32_t want, uint32_t by_text, struct usage *ret);

/* Watches of limit files and of folders in which cgroups appear. */
struct inotify {
	struct cg_watch *watch;
	bool incomplete; /* inotify does not report everything: reviews find the rest */
};

/* -errno; where inotify is not available, that is logged, and 0: incomplete is set. */
int inotify_open(struct inotify *i);
/* r: of a call that needs inotify. Where that is not available, logs that once and returns 0. */
int inotify_without(struct inotify *i, int r);
