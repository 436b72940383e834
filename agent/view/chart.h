/* SPDX-License-Identifier: Apache-2.0 */
/* Use and limit over time, as text for a terminal and as SVG in a page of its own. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stdio.h>

/* The points are equally far apart. NaN: nothing is known there, or no limit. */
struct chart {
	const char *title;
	const double *use, *limit;
	const double *mean; /* of use where that is the highest of many; NULL: none */
	const bool *marks;  /* at the bottom: throttled, OOM-killed; NULL: none */
	size_t count;
	double hours;
	const char *end; /* of the time axis: "now" */
	/* A value of the left axis as text, into HUMAN_SIZE bytes. */
	const char *(*text)(double value, char *ret);
};

/* Cores as the left axis has them: "0.25". */
const char *chart_cores(double cores, char *ret);
const char *chart_bytes(double bytes, char *ret);

/* rows: of the plot, 1 to 32; columns: of the whole line, 40 at least. ascii: no other characters.
 */
void chart_print(const struct chart *c, unsigned columns, unsigned rows, bool ascii, FILE *out);

void chart_page_begin(const char *title, FILE *out);
void chart_page_end(FILE *out);
void chart_svg(const struct chart *c, FILE *out);
/* Text inside an element. */
void chart_escape(const char *text, FILE *out);
