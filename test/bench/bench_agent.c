// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's own size and work with 250 units, on a fake tree: reading plain files costs about
 * what reading cgroup files of idle groups costs, the rest is the real thing.
 * rss_250 is the growth-free steady state: what the process holds after an hour of virtual time.
 */
#include "test/agent/daemon_rig.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define UNITS      250
#define LIVE_TICKS 600
#define LIVE_LOOKS 600

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

static bool hot;

/* Hot: at its limit in CPU, memory close to its limit and moving. Cold: nothing runs. */
static void load(struct rig *r)
{
	for (size_t i = 0; hot && i < r->unit_count; i++) {
		rig_burn(r, &r->unit[i], 199);
		r->unit[i].anon_bytes ^= 2 * MIB;
	}
}

/* Percent of a CPU on the clock of 100 ms, systemd's side left out. */
static void measure(struct rig *r, const char *name)
{
	usec_t begin;

	rig_look(r, 100, load);
	begin = r->own_cpu_usec;
	r->counters_stand = !hot;
	rig_look(r, LIVE_LOOKS, load);
	r->counters_stand = false;
	printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"percent\"}\n", name,
	       100.0 * (double)(r->own_cpu_usec - begin) /
		       ((double)LIVE_LOOKS * (double)RIG_LOOK_USEC));
}

static void fill(struct rig *r)
{
	char name[32];

	rig_open(r, "units:\n  - match: q*.service\n");
	for (unsigned i = 0; i < UNITS; i++) {
		snprintf(name, sizeof name, "q%03u.service", i);
		rig_add(r, name, 200, 64 * MIB)->anon_bytes = 20 * MIB;
	}
}

int main(void)
{
	static struct rig r;

	fill(&r);
	if (rig_start(&r) < 0)
		return 1;
	rig_run(&r, LIVE_TICKS, load);
	measure(&r, "agent_cpu_250_cold_text");
	for (size_t i = 0; i < r.unit_count; i++)
		r.unit[i].anon_bytes = 52 * MIB;
	hot = true;
	measure(&r, "agent_cpu_250_hot_text");
	/* The rig itself holds a table of its own units; its share is named, not hidden. */
	printf("{\"name\":\"rss_250\",\"value\":%" PRIu64 ",\"unit\":\"bytes\"}\n",
	       (uint64_t)(status_kib("VmRSS") * KIB - sizeof r));
	printf("{\"name\":\"rss_250_anon\",\"value\":%" PRIu64 ",\"unit\":\"bytes\"}\n",
	       (uint64_t)(status_kib("RssAnon") * KIB - sizeof r));
	rig_close(&r);
	return 0;
}
