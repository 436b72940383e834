/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the daemon: read, printed as they are, and for people, to c->out. */
#pragma once

#include "agent/ctl/ctl.h"
#include "agent/view/view.h"

/* "-" when it is missing or no text. */
const char *json_text(const cJSON *object, const char *key);
/* VIEW_NONE when it is missing, null or no amount; "max" is LIMIT_MAX. */
uint64_t json_amount(const cJSON *object, const char *key);
/* "607Mi", "1000m": no wider than it must be, and with a unit. Returns its buffer. */
const char *render_narrow(enum resource which, uint64_t amount, char ret[static HUMAN_SIZE]);
/* 0 when it is missing or no number. */
double json_number(const cJSON *object, const char *key);
bool json_flag(const cJSON *object, const char *key);
/* 0 when it is missing or no time. */
usec_t json_time(const cJSON *object, const char *key);
/* NULL when it is missing or no object. */
const cJSON *json_object(const cJSON *object, const char *key);

/* Of an answer from outside: it is printed to a terminal, and into patches. */
void json_remove_controls(cJSON *value);
/* For a printer of its own: json_print() writes whole numbers of up to 2^53 as digits. */
void json_whole_numbers(cJSON *value);
/* Prints as JSON or YAML, and frees it. CTL_OK. */
int json_print(const struct ctl *c, cJSON *value);

void render_status(const struct ctl *c, const cJSON *status);
void render_list(const struct ctl *c, const cJSON *answer);
void render_explain(const struct ctl *c, const cJSON *unit);

enum paint { PAINT_GOOD, PAINT_WARN, PAINT_BAD, PAINT_BOLD, PAINT_NONE };

/* Terminal sequences to go around a text; "" without colour. */
const char *paint_on(const struct ctl *c, enum paint p);
const char *paint_off(const struct ctl *c, enum paint p);

/* A table of JSON objects, one per line, as wide as its cells. */
struct table_column {
	const char *title;
	bool wide;        /* only with -o wide */
	const char *text; /* {KIND:KEY} of the object, as render_put(); NULL: choose() */
	const char *(*choose)(const cJSON *row);
	bool is_state; /* painted by how it begins */
	bool is_cut;   /* the first: for a table of TABLE_WIDTH */
};

#define TABLE_COLUMNS_MAX ((size_t)24)
#define CELL_SIZE         120
#define TABLE_WIDTH       100

void render_table(const struct ctl *c, const struct table_column *columns, size_t count,
		  const cJSON *rows);
