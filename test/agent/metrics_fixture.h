/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon's worth of metrics. */
#pragma once

#include "agent/http/http.h"
#include "agent/serve/metrics.h"

struct metrics_fixture {
	struct counters counters;
	char (*names)[64]; /* of the containers */
	char workload[32];
};

/* Two units and `containers` containers. */
void metrics_fixture_init(struct metrics_fixture *f, size_t containers);
void metrics_fixture_free(struct metrics_fixture *f);
/* As a daemon fills it at a scrape, owned. */
struct metrics_page *metrics_fixture_page(const struct metrics_fixture *f, size_t containers);
/* The same as an answer. */
int metrics_fixture_answer(const struct metrics_fixture *f, size_t containers,
			   struct http_stream *ret);
/* The whole page, NUL-terminated, and freed; read in steps of `step` bytes. NULL: no memory. */
char *metrics_fixture_render(struct metrics_page *page, size_t step);
