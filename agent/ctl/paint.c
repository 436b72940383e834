// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <string.h>

static const char *const sequences[] = {
	[PAINT_GOOD] = "\033[32m", [PAINT_WARN] = "\033[33m", [PAINT_BAD] = "\033[31m",
	[PAINT_BOLD] = "\033[1m",  [PAINT_NONE] = "",
};

struct state_paint {
	const char *state;
	enum paint paint;
};

static const struct state_paint state_paints[] = {
	{"managed", PAINT_GOOD}, {"paused", PAINT_WARN},   {"restored", PAINT_WARN},
	{"gave-way", PAINT_BAD}, {"unmanaged", PAINT_BAD},
};

const char *paint_on(const struct ctl *c, enum paint p)
{
	return c->color ? sequences[p] : "";
}

const char *paint_off(const struct ctl *c, enum paint p)
{
	return c->color && p != PAINT_NONE ? "\033[0m" : "";
}

enum paint paint_state(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_paints); i++)
		if (strcmp(state_paints[i].state, state) == 0)
			return state_paints[i].paint;
	return PAINT_NONE;
}

const char *render_ago(const struct ctl *c, usec_t at_realtime_usec, char ret[static HUMAN_SIZE])
{
	char span[HUMAN_SIZE];

	if (at_realtime_usec == 0)
		snprintf(ret, HUMAN_SIZE, "-");
	else if (at_realtime_usec >= c->now_realtime_usec)
		snprintf(ret, HUMAN_SIZE, "now");
	else
		snprintf(ret, HUMAN_SIZE, "%.27s ago",
			 human_span(c->now_realtime_usec - at_realtime_usec, span));
	return ret;
}
