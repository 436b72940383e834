// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's own size and work with 250 units, by each of the two readers.
 *
 * text: on a fake tree of plain files, which cost about what cgroup files of idle groups cost; all
 * the rest is the real thing.
 * bpf: the same daemon and tree, and every pass is a real one over 250 cgroups of this kernel. What
 * it counted there is fetched, and then played over with the fake tree's counters, decoded from
 * full records: that part is paid for twice. Files that the agent reads beside the records are
 * those of the fake tree.
 *
 * agent_cpu_250_cold_*: nothing runs. agent_cpu_250_hot_*: everybody is at its CPU limit, memory
 * close to its limit and moving. Percent of a CPU on the clock of 100 ms, samples and reviews
 * included, systemd's side left out. rss_250*: what the process holds after ten minutes of it.
 */
#include "cgroup/bpf/scan.h"
#include "cgroup/scan_record.h"
#include "test/agent/daemon_rig.h"
#include "test/cgroup/live.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNITS      250
#define LIVE_TICKS 600
#define LIVE_LOOKS 600

static struct rig rig;
static struct live live;
static bool hot;

/* --- in the place of the reader's own: real passes, played counters --- */

static struct played {
	uint64_t live_id; /* of the cgroup that stands for it */
	uint64_t fake_id;
	struct scan_record record;
} played[UNITS];
/* By live_id; 0: nobody. */
static uint16_t played_at[4096];

int __real_cg_scan_open(int root, uint32_t slots, struct cg_scan **ret, struct cg_probe *p);
int __wrap_cg_scan_open(int root, uint32_t slots, struct cg_scan **ret, struct cg_probe *p);
int __real_cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot);
int __wrap_cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot);
int __wrap_cg_scan_prove(struct cg_scan *s, struct cg *c, struct cg_probe *p);
int __real_scan_record_decode(const void *bytes, size_t len, const struct scan_expect *e,
			      struct usage *ret);
int __wrap_scan_record_decode(const void *bytes, size_t len, const struct scan_expect *e,
			      struct usage *ret);

int __wrap_cg_scan_open(int root, uint32_t slots, struct cg_scan **ret, struct cg_probe *p)
{
	(void)root;
	return __real_cg_scan_open(live.root, slots, ret, p);
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
	for (uint16_t i = 0; i < UNITS; i++) {
		if (played[i].fake_id != id)
			continue;
		*place_of(played[i].live_id) = (uint16_t)(i + 1);
		return __real_cg_scan_add(s, played[i].live_id, ret_slot);
	}
	return -ENOENT;
}

/* The fake tree has nothing that could prove the kernel's. */
int __wrap_cg_scan_prove(struct cg_scan *s, struct cg *c, struct cg_probe *p)
{
	(void)s;
	(void)c;
	(void)p;
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

static void play(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		const struct rig_unit *u = &r->unit[i];
		uint64_t max = rig_bytes(r, u, "memory.max"), high = rig_bytes(r, u, "memory.high");
		int64_t none = INT64_MAX / (int64_t)MEM_PAGE_BYTES;
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
			.mem_pages = (int64_t)(u->anon_bytes / MEM_PAGE_BYTES),
			.mem_peak_pages = u->anon_bytes / MEM_PAGE_BYTES,
			.mem_max_pages = max / MEM_PAGE_BYTES,
			.mem_high_pages =
				high == LIMIT_MAX ? (uint64_t)none : high / MEM_PAGE_BYTES,
			.stat = {[SCAN_STAT_ANON] = (int64_t)(u->anon_bytes / MEM_PAGE_BYTES)},
		};
	}
}

/* --- the measurement --- */

static uint64_t status_kib(const char *field)
{
	char line[256];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			kib = strtoull(line + strlen(field) + 1, NULL, 10);
	if (f != NULL)
		fclose(f);
	return kib;
}

static void load(struct rig *r)
{
	for (size_t i = 0; hot && i < r->unit_count; i++) {
		rig_burn(r, &r->unit[i], 199);
		r->unit[i].anon_bytes ^= 2 * MIB;
	}
	if (r->reader != NULL && !r->counters_stand)
		play(r);
}

static void measure(struct rig *r, const char *name, const char *reader)
{
	usec_t begin;

	rig_look(r, 100, load);
	begin = r->own_cpu_usec;
	r->counters_stand = !hot;
	rig_look(r, LIVE_LOOKS, load);
	r->counters_stand = false;
	printf("{\"name\":\"agent_cpu_250_%s_%s\",\"value\":%.3f,\"unit\":\"percent\"}\n", name,
	       reader,
	       100.0 * (double)(r->own_cpu_usec - begin) /
		       ((double)LIVE_LOOKS * (double)RIG_LOOK_USEC));
}

static uint64_t inode(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, 0) == 0 ? st.st_ino : 0;
}

static void fill(struct rig *r, const char *reader)
{
	bool bpf = strcmp(reader, "bpf") == 0;
	char name[32];

	rig_open(r, "");
	r->reader = bpf ? reader : NULL;
	rig_write_config(r, "units:\n  - match: q*.service\n");
	/* So that memory.stat is believed. */
	fake_put(&r->tree, "proof.slice/memory.current", "4096\n");
	fake_put(&r->tree, "proof.slice/memory.stat",
		 "anon 4096\nfile 4096\nkernel 0\nshmem 0\nunevictable 0\nslab_reclaimable 0\n"
		 "inactive_file 0\nactive_file 0\nworkingset_refault_anon 0\n"
		 "workingset_refault_file 0\n");
	for (unsigned i = 0; i < UNITS; i++) {
		snprintf(name, sizeof name, "q%03u.service", i);
		rig_add(r, name, 200, 64 * MIB)->anon_bytes = 20 * MIB;
		if (!bpf)
			continue;
		live_make(&live, name);
		played[i].live_id = inode(live.root, live_path(&live, name));
		played[i].fake_id = inode(r->tree.fd, r->unit[i].cgroup);
	}
}

/* One reader in a process of its own, so that the sizes are its own. */
static int run(const char *reader)
{
	bool bpf = strcmp(reader, "bpf") == 0;
	const char *suffix = bpf ? "_bpf" : "";
	static struct cg_host host;
	struct rig *r = &rig;

	/* On a real tree the agent asks libcgroup where it is, whose table stays. */
	if (cg_discover(NULL, false, &host) < 0)
		fprintf(stderr, "the host's cgroups are not known\n");
	fill(r, reader);
	r->proc = "/proc"; /* a read there costs more than one of a plain file */
	if (rig_start(r) < 0)
		return 1;
	if (strcmp(reader_name(r->daemon), reader) != 0) {
		fprintf(stderr, "bpf: %s\n", r->daemon->reader.detail);
		rig_close(r);
		return 0;
	}
	rig_run(r, LIVE_TICKS, load);
	measure(r, "cold", reader);
	for (size_t i = 0; i < r->unit_count; i++)
		r->unit[i].anon_bytes = 52 * MIB;
	hot = true;
	measure(r, "hot", reader);
	/* The rig itself holds tables of its own; their share is named, not hidden. */
	printf("{\"name\":\"rss_250%s\",\"value\":%" PRIu64 ",\"unit\":\"bytes\"}\n", suffix,
	       (uint64_t)(status_kib("VmRSS") * KIB - sizeof rig - (bpf ? sizeof played : 0)));
	printf("{\"name\":\"rss_250_anon%s\",\"value\":%" PRIu64 ",\"unit\":\"bytes\"}\n", suffix,
	       (uint64_t)(status_kib("RssAnon") * KIB - sizeof rig - (bpf ? sizeof played : 0)));
	fflush(stdout);
	rig_close(r);
	return 0;
}

static int in_process(const char *self, const char *reader)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		execl(self, self, reader, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_bpf(void)
{
	const char *why = live_open(&live);
	int r;

	if (why != NULL) {
		fprintf(stderr, "bpf: %s\n", why);
		return 0;
	}
	r = run("bpf");
	live_close(&live);
	return r;
}

int main(int argc, char **argv)
{
	int text;

	if (argc > 1)
		return strcmp(argv[1], "bpf") == 0 ? run_bpf() : run(argv[1]);
	text = in_process("/proc/self/exe", "text");
	return in_process("/proc/self/exe", "bpf") | text;
}
