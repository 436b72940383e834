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
	for (size_t i = 0; i < r->unit_count; i++)
		rig_burn(r, &r->unit[i], 100 + 3 * (i % 40));
}

int main(void)
{
	static struct rig r;
	char name[32];
	usec_t begin;

	rig_open(&r, "units:\n  - match: q*.service\n");
	for (unsigned i = 0; i < UNITS; i++) {
		snprintf(name, sizeof name, "q%03u.service", i);
		rig_add(&r, name, 200, 64 * MIB)->anon_bytes = 20 * MIB;
	}
	if (rig_start(&r) < 0)
		return 1;
	rig_run(&r, LIVE_TICKS, load);
	begin = daemon_clock();
	for (int i = 0; i < 20; i++) {
		r.boot += USEC_PER_SEC;
		r.real += USEC_PER_SEC;
		daemon_tick(r.daemon);
	}
	printf("{\"name\":\"tick_250\",\"value\":%.3f,\"unit\":\"ms\"}\n",
	       (double)(daemon_clock() - begin) / 20 / USEC_PER_MSEC);
	/* The rig itself holds a table of its own units; its share is named, not hidden. */
	printf("{\"name\":\"rss_250\",\"value\":%" PRIu64 ",\"unit\":\"bytes\"}\n",
	       (uint64_t)(status_kib("VmRSS") * KIB - sizeof r));
	printf("{\"name\":\"rss_250_anon\",\"value\":%" PRIu64 ",\"unit\":\"bytes\"}\n",
	       (uint64_t)(status_kib("RssAnon") * KIB - sizeof r));
	rig_close(&r);
	return 0;
}
