// SPDX-License-Identifier: Apache-2.0
/*
 * The flight recorder, in virtual time on the fake tree: hours that its file holds, and its cost.
 *
 * flight_hours_*: what 16 MiB hold at least, just after the oldest file was dropped. idle: ten
 * units that hardly work. mixed: two of the ten are at work. busy: all are. A unit at work has
 * another demand every ten seconds, from a fifth of its CPU limit to half more than it, and memory
 * that grows and is freed. flight_cost_*: CPU of the daemon with the recorder less that without,
 * per unit and second.
 *
 * bench_flight [WORLD [HOURS]]
 */
#include "agent/base/file.h"
#include "agent/ctl/ctl.h"
#include "agent/state/flight_file.h"
#include "test/agent/daemon_rig.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define UNITS 10

static struct rig rig;
static unsigned working; /* units, from the first on */
static uint64_t noise = 1;

static uint64_t next(uint64_t below)
{
	noise = noise * 6364136223846793005u + 1442695040888963407u;
	return (noise >> 33) % below;
}

static void turn(struct rig *r)
{
	static uint64_t demand[UNITS], until[UNITS];

	for (unsigned i = 0; i < UNITS; i++) {
		struct rig_unit *u = &r->unit[i];

		if (r->boot >= until[i]) {
			until[i] = r->boot + 10 * USEC_PER_SEC;
			demand[i] = i < working ? 40 + next(260) : 5 + next(5);
			if (i >= working)
				u->anon_bytes = 20 * MIB + next(64) * 4 * KIB;
			else if (next(6) == 0)
				u->anon_bytes = 20 * MIB;
		}
		rig_burn(r, u, demand[i] + next(3));
		if (i < working)
			rig_grow(r, u, next(16) * 4 * KIB);
	}
}

static const char *dump(void)
{
	static char *text;
	OWN(drop_free) char *err = NULL;
	char state[RIG_PATH_MAX];
	char *argv[] = {"vscalectl", "record", "dump", "-o", "json"};
	size_t size, err_size;
	struct ctl c;
	int code;

	free(text);
	ctl_default(&c, ctl_commands);
	snprintf(state, sizeof state, "%s/state", rig.folder);
	c.config = "/nonexistent";
	c.state_directory = state;
	c.out = open_memstream(&text, &size);
	c.err = open_memstream(&err, &err_size);
	code = ctl_main(&c, ARRAY_SIZE(argv), argv);
	fclose(c.err);
	fclose(c.out);
	if (code != 0)
		fprintf(stderr, "%s\n", err);
	return text;
}

static double bytes_of(const char *file)
{
	char path[RIG_PATH_MAX];
	struct stat st = {0};

	snprintf(path, sizeof path, "%s/state/%s", rig.folder, file);
	return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

static double least_hours(void)
{
	unsigned long long at_real, least = UINT64_MAX, most = 0;
	double bytes = bytes_of("recording") + bytes_of("recording.1") + bytes_of("recording.2");

	for (const char *at = dump(); (at = strstr(at, "_realtime_usec\":")) != NULL; at++) {
		if (sscanf(at, "_realtime_usec\":%llu", &at_real) != 1)
			continue;
		least = MIN(least, at_real);
		most = MAX(most, at_real);
	}
	if (most <= least)
		return 0;
	return (double)(12 * MIB) / bytes * (double)(most - least) / (double)USEC_PER_HOUR;
}

static uint64_t run(bool recorder, unsigned passes)
{
	char name[32];

	rig_open(&rig, recorder ? "recorder: {size: 16Mi}\nunits:\n  - match: q*.service\n"
				: "recorder: {enabled: false}\nunits:\n  - match: q*.service\n");
	for (unsigned i = 0; i < UNITS; i++) {
		snprintf(name, sizeof name, "q%03u.service", i);
		rig_add(&rig, name, 200, 64 * MIB)->anon_bytes = 20 * MIB;
	}
	noise = 1;
	if (rig_start(&rig) < 0)
		exit(1);
	rig_reflex(&rig, passes, turn);
	rig_stop(&rig);
	return rig.own_cpu_usec;
}

int main(int argc, char **argv)
{
	const char *world = argc > 1 ? argv[1] : "mixed";
	unsigned passes = (unsigned)((argc > 2 ? atof(argv[2]) : 1) * 36000);
	double off, on;

	working = strcmp(world, "busy") == 0 ? UNITS : strcmp(world, "mixed") == 0 ? 2 : 0;
	off = (double)run(false, passes);
	rig_close(&rig);
	on = (double)run(true, passes);
	printf("{\"name\":\"flight_hours_%s\",\"value\":%.2f,\"unit\":\"h\"}\n", world,
	       least_hours());
	printf("{\"name\":\"flight_cost_%s\",\"value\":%.3f,\"unit\":\"us\"}\n", world,
	       (on - off) / UNITS / passes * 10);
	printf("{\"name\":\"flight_loop_%s\",\"value\":%.3f,\"unit\":\"us\"}\n", world,
	       off / UNITS / passes * 10);
	rig_close(&rig);
	return 0;
}
