// SPDX-License-Identifier: Apache-2.0
#include "test/bench/played.h"
#include "cgroup/bpf/kernel/scan.h"
#include "cgroup/bpf/scan_record.h"
#include "test/cgroup/live.h"
#include <errno.h>
#include <sys/stat.h>

static struct live live;
static struct played {
	uint64_t live_id; /* of the cgroup that stands for it */
	uint64_t fake_id;
	struct scan_record record;
} played[RIG_UNITS_MAX];
static uint16_t played_count;
/* By live_id; 0: none. */
static uint16_t played_at[4096];

int __real_cg_scan_open(int root, uint32_t slots, bool throttles, struct cg_scan **ret,
			struct cg_probe *p);
int __wrap_cg_scan_open(int root, uint32_t slots, bool throttles, struct cg_scan **ret,
			struct cg_probe *p);
int __real_cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot);
int __wrap_cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot);
int __wrap_cg_scan_prove(struct cg_scan *s, struct cg *c, struct cg_probe *p);
int __real_scan_record_decode(const void *bytes, size_t len, const struct scan_expect *e,
			      struct usage *ret);
int __wrap_scan_record_decode(const void *bytes, size_t len, const struct scan_expect *e,
			      struct usage *ret);

int __wrap_cg_scan_open(int root, uint32_t slots, bool throttles, struct cg_scan **ret,
			struct cg_probe *p)
{
	(void)root;
	return __real_cg_scan_open(live.root, slots, throttles, ret, p);
}

static uint16_t *place_of(uint64_t live_id)
{
	uint16_t *at = &played_at[live_id % ARRAY_SIZE(played_at)];

	while (*at != 0 && played[*at - 1].live_id != live_id)
		at = at == &played_at[ARRAY_SIZE(played_at) - 1] ? played_at : at + 1;
	return at;
}

int __wrap_cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot)
{
	for (uint16_t i = 0; i < played_count; i++) {
		if (played[i].fake_id != id)
			continue;
		*place_of(played[i].live_id) = (uint16_t)(i + 1);
		return __real_cg_scan_add(s, played[i].live_id, ret_slot);
	}
	return -ENOENT;
}

/* The fake tree has nothing that could prove the kernel's. */
int __wrap_cg_scan_prove(struct cg_scan *, struct cg *, struct cg_probe *)
{
	return 0;
}

/* What this pass wrote, with what is played in the place of what it counted. */
int __wrap_scan_record_decode(const void *bytes, size_t len, const struct scan_expect *e,
			      struct usage *ret)
{
	const struct scan_record *rec = bytes;
	struct scan_record *play = &played[*place_of(rec->id) - 1].record;

	play->id = rec->id;
	play->pass = rec->pass;
	return __real_scan_record_decode(play, len, e, ret);
}

void played_turn(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		const struct rig_unit *u = &r->unit[i];
		uint64_t max = rig_bytes(r, u, "memory.max"), high = rig_bytes(r, u, "memory.high");
		int64_t none = INT64_MAX / (int64_t)PAGE_DEFAULT_BYTES;
		struct scan_record *rec = &played[i].record;

		*rec = (struct scan_record){
			.version = SCAN_VERSION,
			.have = SCAN_ALL,
			.cpu_usage_nsec = u->usage_usec * 1000,
			.throttled_nsec = u->throttled_usec * 1000,
			.nr_periods = (int64_t)u->nr_periods,
			.nr_throttled = (int64_t)u->nr_throttled,
			.quota_nsec = rig_cpu_milli(r, u) * 100000,
			.period_nsec = CPU_PERIOD_DEFAULT_USEC * 1000,
			.mem_pages = (int64_t)(u->anon_bytes / PAGE_DEFAULT_BYTES),
			.mem_peak_pages = u->anon_bytes / PAGE_DEFAULT_BYTES,
			.mem_max_pages = max / PAGE_DEFAULT_BYTES,
			.mem_high_pages =
				high == LIMIT_MAX ? (uint64_t)none : high / PAGE_DEFAULT_BYTES,
			.stat = {[SCAN_STAT_ANON] = (int64_t)(u->anon_bytes / PAGE_DEFAULT_BYTES)},
		};
	}
}

static uint64_t inode(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, 0) == 0 ? st.st_ino : 0;
}

void played_add(struct rig *r, const struct rig_unit *u)
{
	live_make(&live, u->name);
	played[played_count++] = (struct played){
		.live_id = inode(live.root, live_path(&live, u->name)),
		.fake_id = inode(r->tree.fd, u->cgroup),
	};
}

const char *played_open(void)
{
	return live_open(&live);
}

void played_close(void)
{
	live_close(&live);
}

const size_t played_bytes = sizeof played;
