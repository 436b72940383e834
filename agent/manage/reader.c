// SPDX-License-Identifier: Apache-2.0
/* The choice of the reader, and its passes; the watches of inotify. */
#include "agent/manage/reader.h"
#include "agent/base/process.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "cgroup/levels.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A full node has 250 pods. A slot takes 270 bytes; a cgroup without one is read by its files. */
#define SLOTS 1024
/* Failed passes in a row after which BPF is not used any more. */
#define FAILURES_MAX 3
/* Cgroups, besides vscaled's own, by which the order of memory.stat's counters is verified. */
#define PROOFS_MAX 4
/* Reading memory.stat from the file costs as much as flushing this many groups in a pass. */
#define STAT_SHARE 16

#define REFLEX_PASS (USAGE_CPU | USAGE_THROTTLE | USAGE_MEM)
#define SAMPLE_PASS                                                                                \
	(REFLEX_PASS | USAGE_MEM_STAT | USAGE_MEM_PEAK | USAGE_MEM_EVENTS | USAGE_PSI_CPU |        \
	 USAGE_PSI_MEM | USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

const char *reader_name(const struct reader *r)
{
	return r->scan != NULL ? "bpf" : "text";
}

/* --- what serves --- */

/* True when it has memory in use, so that memory.stat was compared. */
static bool prove_by(struct reader *r, const char *path, struct cg_probe *p)
{
	const uint32_t memory = USAGE_MEM | USAGE_MEM_STAT;
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;

	if (cg_open(r->units->host->root, path, &c) < 0 || cg_read(c, memory, &u) < 0)
		return false;
	return cg_scan_prove(r->scan, c, p) == 0 && (u.have & memory) == memory &&
	       u.stat.anon > 0 && u.stat.file > 0;
}

/* No type describes the order of memory.stat's counters. In a container vscaled does not know its
 * own cgroup, and one may have counters of 0: the cgroups right below the root serve as well. */
static void prove(struct reader *r, struct cg_probe *p)
{
	int fd = openat(r->units->host->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	unsigned proofs = prove_by(r, r->units->host->own_cgroup, p);

	while (dir != NULL && proofs < PROOFS_MAX && (entry = readdir(dir)) != NULL)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			proofs += prove_by(r, entry->d_name, p);
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (proofs > 0 || !(cg_scan_offers(r->scan) & USAGE_MEM_STAT))
		return;
	cg_scan_withdraw(r->scan, USAGE_MEM_STAT);
	message_add(p->why, sizeof p->why,
		    "; memory.stat is read from its file: no cgroup here could be compared");
}

static void report_choice(const struct reader *r, bool wanted)
{
	char text[sizeof r->detail + 16];

	snprintf(text, sizeof text, "%s (%s)", reader_name(r), r->detail);
	if (wanted)
		event_tell(EVENT_READER_FAILED, .detail = r->detail);
	else
		event_tell(EVENT_READER_CHOSEN, .detail = text);
}

static struct managed *owner(const struct unit_table *t, uint32_t slot)
{
	UNITS_FOREACH (m, t)
		if (m->cgroup.slots.own == slot || m->cgroup.slots.inner == slot)
			return m;
	return NULL;
}

static void on_throttled(void *ctx, uint32_t slot, usec_t period_end)
{
	struct unit_table *t = ctx;
	struct managed *m = owner(t, slot);

	if (m != NULL)
		t->on_throttled(m, period_end);
}

static int on_throttles(sd_event_source *, int, uint32_t, void *userdata)
{
	struct reader *r = userdata;

	cg_scan_take_throttles(r->scan, on_throttled, r->units);
	return 0;
}

static void listen_for_throttles(struct reader *r)
{
	int fd = r->scan != NULL ? cg_scan_throttles_fd(r->scan) : -EOPNOTSUPP;

	if (fd < 0 ||
	    sd_event_add_io(r->units->wake->event, &r->throttles, fd, EPOLLIN, on_throttles, r) < 0)
		return;
	sd_event_source_set_priority(r->throttles, DAEMON_PRIORITY_REFLEX);
}

static void bpf_start(struct reader *r)
{
	struct cg_probe p;

	if (cg_scan_open(r->units->host->root, SLOTS, r->units->config->cgroup.throttle_events,
			 &r->scan, &p) == 0)
		prove(r, &p);
	message_add(r->detail, sizeof r->detail, "%s%s: %s", r->detail[0] != '\0' ? "; " : "",
		    p.program, p.why);
	/* Loading takes megabytes, once. */
	footprint_trim();
	listen_for_throttles(r);
	report_choice(r, r->scan == NULL && r->units->config->cgroup.reader == CONFIG_READER_BPF);
}

void reader_start(struct reader *r)
{
	int error;

	if (r->units->config->cgroup.reader == CONFIG_READER_TEXT)
		message_add(r->detail, sizeof r->detail, "as configured");
	else
		bpf_start(r);
	/* Drops the capabilities, which let a process read all of the kernel's memory. */
	error = cg_probe_drop_rights();
	if (error < 0)
		message_add(r->detail, sizeof r->detail, "; its rights are kept: %s",
			    strerror(-error));
}

void reader_stop(struct reader *r)
{
	sd_event_source_disable_unref(STEAL(r->throttles));
	cg_scan_close(STEAL(r->scan));
	r->passed = false;
}

/* --- reading --- */

static uint32_t slot_for(struct cg_scan *s, uint64_t id)
{
	uint32_t slot;

	return cg_scan_add(s, id, &slot) < 0 ? READER_NO_SLOT : slot;
}

void reader_attach(struct managed *m)
{
	struct reader *r = m->table->reader;
	uint64_t inner = cg_inner_id(m->cgroup.cg);

	m->cgroup.slots = (struct cg_scan_slots){READER_NO_SLOT, READER_NO_SLOT};
	/* A pod level has no laws, so nothing is read of it on a clock. */
	if (r->scan == NULL || m->kind == UNIT_KIND_POD)
		return;
	m->cgroup.slots.own = slot_for(r->scan, cg_id(m->cgroup.cg));
	if (inner == 0 || m->cgroup.slots.own == READER_NO_SLOT)
		return;
	m->cgroup.slots.inner = slot_for(r->scan, inner);
	/* Both levels are read at the same moment, or by text. */
	if (m->cgroup.slots.inner == READER_NO_SLOT)
		reader_detach(m);
}

void reader_detach(struct managed *m)
{
	struct cg_scan *s = m->table->reader->scan;

	if (s != NULL && m->cgroup.slots.own != READER_NO_SLOT)
		cg_scan_remove(s, m->cgroup.slots.own);
	if (s != NULL && m->cgroup.slots.inner != READER_NO_SLOT)
		cg_scan_remove(s, m->cgroup.slots.inner);
	m->cgroup.slots = (struct cg_scan_slots){READER_NO_SLOT, READER_NO_SLOT};
}

void reader_arm(struct managed *m)
{
	struct reader *r = m->table->reader;

	if (r->throttles == NULL)
		return;
	cg_scan_arm(r->scan, m->cgroup.slots.own);
	cg_scan_arm(r->scan, m->cgroup.slots.inner);
}

void reader_begin(struct reader *r, enum reader_clock clock)
{
	uint32_t want = clock == READER_SAMPLE ? SAMPLE_PASS : REFLEX_PASS;
	int error;

	if (r->scan == NULL)
		return;
	r->clock = clock;
	if (clock == READER_REFLEX) {
		if (r->stat_reads * STAT_SHARE > r->units->count)
			want |= USAGE_MEM_STAT;
		r->stat_reads = 0;
	}
	error = cg_scan_pass(r->scan, want);
	r->passed = error == 0;
	r->failures = error == 0 ? 0 : r->failures + 1;
	if (r->failures < FAILURES_MAX)
		return;
	/* BPF worked before, and the kernel refuses it now: the files are read. */
	reader_stop(r);
	snprintf(r->detail, sizeof r->detail, "%u passes failed: %s", r->failures,
		 strerror(-error));
	report_choice(r, true);
}

void reader_end(struct reader *r)
{
	r->passed = false;
}

/* The records lack pressure since the kernel last added it up (2 s). Memory's decides about
 * decreases, so it comes from the file, unless nothing ran since the last sample. */
static bool pressure_stale(const struct managed *m)
{
	struct usage u;

	return m->control.last_at == 0 ||
	       cg_scan_get(m->table->reader->scan, m->cgroup.slots.own, USAGE_CPU, &u) < 0 ||
	       u.cpu_usage_usec != m->control.sample.cpu_usage_usec;
}

int reader_read(struct managed *m, uint32_t want, uint32_t by_text, struct usage *ret)
{
	struct reader *r = m->table->reader;

	if (!r->passed || m->cgroup.slots.own == READER_NO_SLOT)
		return cg_read(m->cgroup.cg, want, ret);
	r->stat_reads += r->clock == READER_REFLEX && (want & USAGE_MEM_STAT);
	if ((want & USAGE_PSI_MEM) && pressure_stale(m))
		by_text |= USAGE_PSI_MEM;
	return cg_scan_read(r->scan, m->cgroup.slots, m->cgroup.cg, want, by_text, ret);
}

/* --- inotify --- */

/* A node full of containers may have none left. Reviews find the same, later. */
int inotify_without(struct inotify *i, int r)
{
	if (r != -EMFILE && r != -ENFILE && r != -ENOSPC && r != -ENOMEM)
		return r;
	if (!i->incomplete)
		event_tell(EVENT_INOTIFY_MISSING, .error = r);
	i->incomplete = true;
	return 0;
}

int inotify_open(struct inotify *i)
{
	int r = cg_watch_new(&i->watch);

	return r < 0 && i->watch != NULL ? inotify_without(i, r) : r;
}
