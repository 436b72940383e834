/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for PID 1 on a Unix socket: real D-Bus, scripted answers, and it remembers all calls.
 */
#pragma once

#include "systemd/unit_props.h"
#include <systemd/sd-event.h>

#define PEER_UNITS 48
#define PEER_LOG   64

struct peer_unit {
	char name[128];
	char *state;  /* borrowed */
	char *cgroup; /* borrowed */
	uint8_t id[16];
	uint64_t enter_usec;
	struct unit_props props;
};

struct peer_set {
	char unit[128];
	struct unit_props props; /* only what the call named */
	uint32_t rows;           /* bit i: unit_prop_rows[i] was in the call */
	bool runtime;
};

struct peer {
	sd_event *event;
	sd_event_source *listener;
	int listen_fd;
	char path[108];
	sd_bus *connections[8];
	unsigned connection_count; /* ever */

	struct peer_unit units[PEER_UNITS];
	size_t unit_count;

	usec_t set_delay_usec; /* before SetUnitProperties is done and answered */
	const char *set_error; /* its name instead of an answer */
	bool set_silent;       /* never answered */
	bool list_silent;      /* ListUnitsByPatterns never answered */
	bool get_silent;       /* Properties.Get of a unit never answered */
	const char *vanish;    /* shown in listings, without properties */
	const char *subscribe_error;
	bool subscribe_silent; /* never answered */

	struct peer_set sets[PEER_LOG];
	unsigned set_count, list_count, subscribe_count, get_count;
	unsigned in_flight, in_flight_max; /* of SetUnitProperties */
};

/* Listens at path. Both ends may share the event loop. */
int peer_open(struct peer *p, sd_event *event, const char *path);
void peer_close(struct peer *p);
struct peer_unit *peer_add(struct peer *p, const char *name, const char *state);
/* Closes all connections, as a daemon-reexec does with private ones. */
void peer_hang_up(struct peer *p);
/* Stops listening (and listens again). */
void peer_leave(struct peer *p);
int peer_return(struct peer *p);
void peer_emit_reloading(struct peer *p, bool active);
void peer_emit_unit(struct peer *p, const char *member, const char *unit);
void peer_emit_job_removed(struct peer *p, const char *unit);
/* PropertiesChanged of the Unit interface with this ActiveState. */
void peer_emit_state(struct peer *p, const char *unit, const char *state);
