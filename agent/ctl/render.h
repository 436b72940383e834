/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's answers for people: one function an answer, writing to c->out. */
#pragma once

#include "agent/ctl/json.h"

/* An object of an answer, to be printed. */
struct screen {
	const struct ctl *c;
	const cJSON *json;
	enum resource which; /* what an {amount:...} of it is */
};

void render_status(const struct ctl *c, const cJSON *status);
void render_list(const struct ctl *c, const cJSON *answer);
void render_explain(const struct ctl *c, const cJSON *unit);

/* Prints a text in which {KIND:KEY} stands for a value of the object, "-" where it is not known.
 * Kinds: text, count, amount (of s->which), bytes, span (microseconds), ago (a time), percent (of
 * permille, and of KEY_ppm), whole (percent without decimals). KEY may be "cpu.use", and name
 * several keys: "kernel|limit" is the first that is known. [...] is left out where its first value
 * is not known. */
void render_put(const struct screen *s, const char *text);
/* The same as a text, owned; NULL when memory is short. */
char *render_text(const struct screen *s, const char *text);
/* The same as a line under a title; no line where nothing of the text is left. */
void render_row(const struct screen *s, const char *title, const char *text);
/* A number of this key is there. */
bool render_has(const struct screen *s, const char *key);

enum paint { PAINT_GOOD, PAINT_WARN, PAINT_BAD, PAINT_BOLD, PAINT_NONE };

/* Terminal sequences to go around a text; "" without colour. */
const char *paint_on(const struct ctl *c, enum paint p);
const char *paint_off(const struct ctl *c, enum paint p);
enum paint paint_state(const char *state);

/* "2 min ago", or "-". */
const char *render_ago(const struct ctl *c, usec_t at_realtime_usec, char ret[static HUMAN_SIZE]);

/* A table of JSON objects, one per line, as wide as its cells. */
struct table_column {
	const char *title;
	bool wide;        /* only with -o wide */
	const char *text; /* of the object, for render_text(); NULL: choose() */
	const char *(*choose)(const cJSON *row);
	bool is_state; /* painted as one */
};

#define TABLE_COLUMNS_MAX ((size_t)24)

void render_table(const struct ctl *c, const struct table_column *columns, size_t count,
		  const cJSON *rows);
