/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon's worth of metrics. */
#pragma once

#include "agent/metrics/metrics.h"

struct metrics_fixture {
	struct counters counters;
	char (*names)[64]; /* of the containers */
	char workload[32];
};

/* Two units and `containers` containers. */
void metrics_fixture_init(struct metrics_fixture *f, size_t containers);
void metrics_fixture_free(struct metrics_fixture *f);
/* As a daemon fills it at a scrape. */
int metrics_fixture_collect(const struct metrics_fixture *f, size_t containers,
			    struct metrics_input *in);
/* The whole page, NUL-terminated; read in steps of `step` bytes. Takes over what in owns. NULL: no
 * memory. */
char *metrics_fixture_render(struct metrics_input *in, size_t step);
