/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon that serves the fixtures and records what it was asked to do. */
#pragma once

#include "agent/control_api/control_api.h"

/* 2026-03-01T12:00:00Z: the present of control_fixture.json. */
#define FIXTURE_NOW_USEC (1772366400ULL * USEC_PER_SEC)

struct fake_control {
	struct control_api control; /* give this to control_server_new() */
	char last[300];             /* "pause web.service", "restore * force", ... */
	int error;                  /* < 0: what every operation answers */
	unsigned pending;           /* so many restores of web.service find it being started */
	bool pod;                   /* restore: of shop/web-0, and "app" in it is what is pending */
	unsigned restores;          /* ... of them were asked for */
	unsigned fail_after;        /* > 0: every later restore answers fail_with */
	int fail_with;              /* < 0; 0: no result, as for a pod that is gone */
	char *log;                  /* shared: the names that restore was asked for; may be NULL */
	bool refuse_peers;
	bool not_ready;
	bool cluster; /* not standalone */
};

void fake_control_init(struct fake_control *f);
