/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole daemon on a fake tree: plain files for cgroups, a recorder for PID 1, a clock that the
 * test moves. Only the kernel's side of a write is played (rig_settle).
 */
#pragma once

#include "agent/daemon.h"
#include "test/fake.h"

#define RIG_UNITS_MAX 256

struct rig_unit {
	char name[48];
	char cgroup[96]; /* "system.slice/a.service" */
	bool running;
	bool asked; /* unit_get() */
	struct unit_props props;
	uint64_t usage_usec, nr_periods, nr_throttled, throttled_usec;
	uint64_t anon_bytes, file_bytes;
	uint64_t max_events;
};

struct rig {
	struct fake tree;
	char folder[64]; /* config, state, runtime */
	char config[128];
	struct daemon *daemon;
	usec_t boot, real;
	struct rig_unit unit[RIG_UNITS_MAX];
	size_t unit_count;
	bool silent;        /* PID 1 takes calls and never answers */
	unsigned set_calls; /* SetUnitProperties */
	struct unit_props last_set;
	uint32_t last_mask;
	char last_unit[48];
	unsigned events[EVENT_KIND_COUNT];
	char last_message[EVENT_MESSAGE_SIZE];
};

/* units: the flow text of the configuration's `units` list. */
void rig_open(struct rig *r, const char *config_body);
void rig_close(struct rig *r);
void rig_write_config(struct rig *r, const char *config_body);
struct rig_unit *rig_add(struct rig *r, const char *name, uint64_t quota_milli, uint64_t mem_max);
/* Starts the daemon; 0 or what daemon_new() said. */
int rig_start(struct rig *r);
void rig_stop(struct rig *r);
/* Virtual time passes in ticks of a second; step (may be NULL) moves the counters before each. */
void rig_run(struct rig *r, unsigned seconds, void (*step)(struct rig *r));
/* A second of load: threads that want demand_milli, cut off at the present quota. */
void rig_burn(struct rig *r, struct rig_unit *u, uint64_t demand_milli);
uint64_t rig_cpu_milli(struct rig *r, const struct rig_unit *u);
uint64_t rig_bytes(struct rig *r, const struct rig_unit *u, const char *file);
/* What systemd does when it realises a unit: its stored properties go to the files. */
void rig_realise(struct rig *r, struct rig_unit *u);
