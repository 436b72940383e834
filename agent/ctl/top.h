/* SPDX-License-Identifier: Apache-2.0 */
/* One frame of `vscalectl top`: the units of the daemon's answer, as many as the screen has lines
 * for. No terminal and no socket here. */
#pragma once

#include "agent/ctl/render.h"

enum top_sort { TOP_CPU, TOP_MEMORY, TOP_PRESSURE, TOP_SLACK, TOP_AGE, TOP_NAME, TOP_SORT_COUNT };

#define TOP_FILTER_SIZE 64
#define TOP_WIDTH_MIN   78

struct top_view {
	unsigned width;  /* columns; at least TOP_WIDTH_MIN are used */
	unsigned height; /* lines; 0: as many as there are units */
	enum top_sort sort;
	bool reverse;
	size_t first; /* unit on the first line */
	char filter[TOP_FILTER_SIZE];
	bool typing; /* the filter */
};

extern const char *const top_sort_names[TOP_SORT_COUNT];

/* Writes the lines to c->out, each ended by end_of_line. status may be NULL. -ENOMEM. */
int top_frame(const struct ctl *c, const cJSON *answer, const cJSON *status,
	      const struct top_view *v, const char *end_of_line);
