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
 * agent_cpu_250_cold_*: nothing runs. agent_cpu_250_hot_*: every unit is at its CPU limit, memory
 * close to its limit and moving. Percent of a CPU on the clock of 100 ms, samples and reviews
 * included, systemd's side left out. rss_250*: what the process holds after ten minutes of it.
 */
#include "test/bench/played.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNITS       250
#define LIVE_TICKS  600
#define LIVE_PASSES 600

static struct rig rig;
static bool hot;

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
		played_turn(r);
}

static void measure(struct rig *r, const char *name, const char *reader)
{
	usec_t begin;

	rig_reflex(r, 100, load);
	begin = r->own_cpu_usec;
	r->counters_stand = !hot;
	rig_reflex(r, LIVE_PASSES, load);
	r->counters_stand = false;
	printf("{\"name\":\"agent_cpu_250_%s_%s\",\"value\":%.3f,\"unit\":\"percent\"}\n", name,
	       reader,
	       100.0 * (double)(r->own_cpu_usec - begin) /
		       ((double)LIVE_PASSES * (double)RIG_REFLEX_USEC));
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
		 "anon 4096\nfile 4096\nkernel 0\nshmem 0\nunevictable 0\nslab_reclaimable 0\nsock "
		 "0\ninactive_anon 0\nactive_anon 0\n"
		 "inactive_file 0\nactive_file 0\nworkingset_refault_anon 0\n"
		 "workingset_refault_file 0\n");
	for (unsigned i = 0; i < UNITS; i++) {
		snprintf(name, sizeof name, "q%03u.service", i);
		rig_add(r, name, 200, 64 * MIB)->anon_bytes = 20 * MIB;
		if (!bpf)
			continue;
		played_add(r, &r->unit[i]);
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
	if (strcmp(reader_name(&r->daemon->reader), reader) != 0) {
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
	       (uint64_t)(status_kib("VmRSS") * KIB - sizeof rig - (bpf ? played_bytes : 0)));
	printf("{\"name\":\"rss_250_anon%s\",\"value\":%" PRIu64 ",\"unit\":\"bytes\"}\n", suffix,
	       (uint64_t)(status_kib("RssAnon") * KIB - sizeof rig - (bpf ? played_bytes : 0)));
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
	const char *why = played_open();
	int r;

	if (why != NULL) {
		fprintf(stderr, "bpf: %s\n", why);
		return 0;
	}
	r = run("bpf");
	played_close();
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
