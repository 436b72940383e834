// SPDX-License-Identifier: Apache-2.0
#include "test/agent/rig_scan.h"
#include "cgroup/bpf/kernel/scan.h"
#include "cgroup/bpf/scan_record.h"
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS (RIG_UNITS_MAX * 2)

struct rig_scan rig_scan;

struct cg_scan {
	uint64_t id[SLOTS]; /* 0: free */
	struct scan_record record[SLOTS];
	uint64_t pass;
	uint32_t slots, offers, want;
	int throttles_fd; /* never readable: a test calls what would be called */
};

void rig_scan_reset(struct rig *r)
{
	rig_scan = (struct rig_scan){.rig = r};
}

static int probe(struct cg_probe *p, const char *program, int error)
{
	*p = (struct cg_probe){.program = program, .error = error};
	snprintf(p->why, sizeof p->why, "%s", error == 0 ? "loaded" : "not here");
	return error;
}

int cg_scan_open(int, uint32_t slots, bool, struct cg_scan **ret, struct cg_probe *p)
{
	uint32_t given = rig_scan.slots != 0 ? rig_scan.slots : SLOTS;

	rig_scan.opened++;
	if (rig_scan.open_error != 0)
		return probe(p, "scan", rig_scan.open_error);
	*ret = calloc(1, sizeof **ret);
	(*ret)->slots = MIN(slots, given);
	(*ret)->offers = SCAN_ALL;
	(*ret)->throttles_fd = eventfd(0, EFD_CLOEXEC);
	return probe(p, "scan", 0);
}

void cg_scan_close(struct cg_scan *s)
{
	if (s != NULL)
		close(s->throttles_fd);
	free(s);
}

int cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot)
{
	uint32_t slot = 0;

	while (slot < s->slots && s->id[slot] != 0)
		slot++;
	if (slot == s->slots)
		return -ENOSPC;
	s->id[slot] = id;
	*ret_slot = slot;
	rig_scan.added++;
	return 0;
}

void cg_scan_remove(struct cg_scan *s, uint32_t slot)
{
	s->id[slot] = 0;
	s->record[slot] = (struct scan_record){0};
	rig_scan.added--;
}

int cg_scan_throttles_fd(const struct cg_scan *s)
{
	return s->throttles_fd;
}

void cg_scan_arm(struct cg_scan *s, uint32_t slot)
{
	rig_scan.armed += slot < s->slots;
}

void cg_scan_take_throttles(struct cg_scan *, cg_throttled_fn *, void *)
{
}

uint32_t cg_scan_offers(const struct cg_scan *s)
{
	return s->offers;
}

void cg_scan_withdraw(struct cg_scan *s, uint32_t parts)
{
	s->offers &= ~parts;
}

static uint64_t pages(uint64_t bytes)
{
	return bytes == LIMIT_MAX ? (uint64_t)INT64_MAX / fake_page_bytes()
				  : bytes / fake_page_bytes();
}

/* What the rig writes into the files of this unit, as the kernel counts it. */
static struct scan_record record_of(const struct cg_scan *s, const struct rig_unit *u, uint64_t id)
{
	uint64_t max = rig_bytes(rig_scan.rig, u, "memory.max");
	uint64_t milli = rig_cpu_milli(rig_scan.rig, u);
	uint64_t anon = MIN(u->anon_bytes, max), file = MIN(u->file_bytes, max - anon);

	return (struct scan_record){
		.version = SCAN_VERSION,
		.have = SCAN_CPU | (s->want & SCAN_ALL),
		.id = id,
		.pass = s->pass,
		.cpu_usage_nsec = u->usage_usec * 1000,
		.throttled_nsec = u->throttled_usec * 1000,
		.nr_periods = (int64_t)u->nr_periods,
		.nr_throttled = (int64_t)u->nr_throttled,
		.quota_nsec = milli == LIMIT_MAX ? UINT64_MAX : milli * 100000,
		.period_nsec = CPU_PERIOD_DEFAULT_USEC * 1000,
		.mem_pages = (int64_t)pages(anon + file),
		.mem_peak_pages = pages(anon + file),
		.mem_max_pages = pages(max),
		.mem_high_pages = pages(rig_bytes(rig_scan.rig, u, "memory.high")),
		.events = {[SCAN_EVENT_MAX] = (int64_t)u->max_events,
			   [SCAN_EVENT_KILL] = (int64_t)u->oom_kills},
		.stat = {[SCAN_STAT_ANON] = (int64_t)pages(anon),
			 [SCAN_STAT_FILE] = (int64_t)pages(file),
			 [SCAN_STAT_ACTIVE_ANON] = (int64_t)pages(anon),
			 [SCAN_STAT_INACTIVE_FILE] = (int64_t)pages(file)},
	};
}

static const struct rig_unit *unit_of(uint64_t id)
{
	struct stat st;

	for (size_t i = 0; i < rig_scan.rig->unit_count; i++) {
		const struct rig_unit *u = &rig_scan.rig->unit[i];

		if (u->running && fstatat(rig_scan.rig->tree.fd, u->cgroup, &st, 0) == 0 &&
		    st.st_ino == id)
			return u;
	}
	return NULL;
}

int cg_scan_pass(struct cg_scan *s, uint32_t want)
{
	rig_scan.passes++;
	rig_scan.stat_passes += (want & USAGE_MEM_STAT) != 0;
	if (rig_scan.pass_error != 0)
		return rig_scan.pass_error;
	s->pass++;
	s->want = want;
	for (uint32_t i = 0; i < s->slots; i++) {
		const struct rig_unit *u = s->id[i] != 0 ? unit_of(s->id[i]) : NULL;

		if (u != NULL)
			s->record[i] = record_of(s, u, s->id[i]);
	}
	return 0;
}

int cg_scan_get(const struct cg_scan *s, uint32_t slot, uint32_t want, struct usage *ret)
{
	struct scan_expect e = {.pass = s->pass,
				.page_bytes = fake_page_bytes(),
				.want = want & s->offers,
				.id = s->id[slot]};
	int r = scan_record_decode(&s->record[slot], sizeof s->record[slot], &e, ret);

	rig_scan.reads += r == 0;
	return r;
}

uint32_t cg_scan_passed(const struct cg_scan *s)
{
	return s->offers & s->want;
}

int cg_scan_prove(struct cg_scan *, struct cg *, struct cg_probe *)
{
	return 0;
}
