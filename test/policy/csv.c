// SPDX-License-Identifier: Apache-2.0
#include "test/policy/csv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const struct csv *c, const char *what, const char *detail)
{
	fprintf(stderr, "row %llu: %s: %s\n", c ? (unsigned long long)c->row : 0ULL, what, detail);
	exit(EXIT_FAILURE);
}

/* Cuts a line into fields in place. A field in quotes may hold commas; "" in it is one quote. */
static uint32_t split(struct csv *c, char *s, const char **ret_fields)
{
	uint32_t n = 0;

	for (;;) {
		char *out = s;
		bool quoted = *s == '"';

		if (n == CSV_FIELDS_MAX)
			die(c, "too many fields", s);
		ret_fields[n++] = out;
		s += quoted;
		while (*s && (quoted || *s != ',')) {
			if (quoted && *s == '"' && *++s != '"')
				quoted = false;
			else
				*out++ = *s++;
		}
		if (quoted)
			die(c, "quote without end", ret_fields[n - 1]);
		bool last = *s++ == '\0';
		*out = '\0';
		if (last)
			return n;
	}
}

static bool read_line(struct csv *c, char *line)
{
	size_t n;

	if (!gzgets(c->file, line, CSV_LINE_MAX))
		return false;
	n = strlen(line);
	if (n == 0 || line[n - 1] != '\n')
		die(c, "line too long or cut off", line);
	/* One of the recorded files ends its lines with \r\n. */
	line[n - 1 - (n > 1 && line[n - 2] == '\r')] = '\0';
	c->row++;
	return true;
}

static void read_header(struct csv *c)
{
	if (!read_line(c, c->header))
		die(c, "no header", "");
	c->count = split(c, c->header, c->column);
}

struct csv *csv_open(const char *dir, const char *base)
{
	static const char *const endings[] = {".csv.gz", ".csv"};
	struct csv *c = calloc(1, sizeof *c);
	char path[4096];

	if (!c)
		abort();
	for (size_t i = 0; i < 2 && !c->file; i++) {
		snprintf(path, sizeof path, "%s/%s%s", dir, base, endings[i]);
		c->file = gzopen(path, "rb");
	}
	if (!c->file)
		die(c, "cannot open", path);
	read_header(c);
	return c;
}

void csv_close(struct csv *c)
{
	gzclose(c->file);
	free(c);
}

bool csv_next(struct csv *c)
{
	if (c->kept) {
		c->kept = false;
		return true;
	}
	if (!read_line(c, c->line))
		return false;
	if (split(c, c->line, c->field) != c->count)
		die(c, "wrong number of fields", c->line);
	return true;
}

void csv_unread(struct csv *c)
{
	c->kept = true;
}

void csv_rewind(struct csv *c)
{
	gzrewind(c->file);
	c->kept = false;
	c->row = 0;
	read_header(c);
}

const char *csv_text(const struct csv *c, const char *column)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (strcmp(c->column[i], column) == 0)
			return c->field[i];
	die(c, "no such column", column);
	return NULL;
}

double csv_double(const struct csv *c, const char *column)
{
	const char *s = csv_text(c, column);
	char *end;
	double v = strtod(s, &end);

	if (*s == '\0' || *end != '\0')
		die(c, column, s);
	return v;
}

int64_t csv_int(const struct csv *c, const char *column)
{
	const char *s = csv_text(c, column);
	char *end;
	int64_t v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (*s == '\0' || *end != '\0' || errno != 0)
		die(c, column, s);
	return v;
}

bool csv_bool(const struct csv *c, const char *column)
{
	const char *s = csv_text(c, column);

	if (strcmp(s, "true") != 0 && strcmp(s, "false") != 0)
		die(c, column, s);
	return *s == 't';
}
