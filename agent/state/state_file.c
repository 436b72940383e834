// SPDX-License-Identifier: Apache-2.0
#include "agent/state/state_file.h"
#include "agent/base/file.h"
#include "policy/base/text.h"
#include "policy/types/limits.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files */

/* "vscaled " + name + two numbers + checksum fits easily. */
#define HEADER_MAX 128
/* Damaged files are kept, but only this many: the last number is reused. */
#define ASIDE_COUNT 9

void state_file_free(struct state_file *f)
{
	free(f->body);
	*f = (struct state_file){0};
}

/* The checksum is over the header up to it and the body. */
static size_t header_format(const struct state_kind *k, const char *body, size_t len, char *ret)
{
	size_t n =
		(size_t)snprintf(ret, HEADER_MAX, "vscaled %s %u %zu ", k->name, k->version, len);
	uint32_t crc = crc32c(crc32c(0, ret, n), body, len);

	return n + (size_t)snprintf(ret + n, HEADER_MAX - n, "%08x\n", crc);
}

/* Out of a header line without its newline. */
static int header_version(const struct state_kind *k, const char *line, uint32_t *ret)
{
	char prefix[HEADER_MAX], *end;
	size_t n = (size_t)snprintf(prefix, sizeof prefix, "vscaled %s ", k->name);
	unsigned long long version;

	if (strncmp(line, prefix, n) != 0 || line[n] < '1' || line[n] > '9')
		return -EBADMSG;
	version = strtoull(line + n, &end, 10);
	if (version > UINT32_MAX || *end != ' ')
		return -EBADMSG;
	*ret = (uint32_t)version;
	return 0;
}

/* The first line, without its newline. NULL: there is none. */
static const char *header_line(const char *text, size_t len, char ret[static HEADER_MAX])
{
	const char *newline = memchr(text, '\n', MIN(len, (size_t)HEADER_MAX - 1));

	if (newline == NULL)
		return NULL;
	memcpy(ret, text, (size_t)(newline - text));
	ret[newline - text] = '\0';
	return newline;
}

int state_file_version(const struct state_kind *k, const char *text, size_t len, uint32_t *ret)
{
	char line[HEADER_MAX];

	return header_line(text, len, line) == NULL ? -EBADMSG : header_version(k, line, ret);
}

int state_file_parse(const struct state_kind *k, const char *text, size_t len,
		     struct state_file *ret)
{
	char line[HEADER_MAX], want[HEADER_MAX];
	const char *newline = header_line(text, len, line), *body;
	size_t body_len, head_len;
	uint32_t version;
	int r = newline == NULL ? -EBADMSG : header_version(k, line, &version);

	if (r < 0)
		return r;
	/* After the version number another format may differ. */
	if (version != k->version)
		return -EPROTONOSUPPORT;
	body = newline + 1;
	body_len = len - (size_t)(body - text);
	if (body_len > k->max_bytes)
		return -EBADMSG;
	head_len = header_format(k, body, body_len, want);
	if (head_len != (size_t)(body - text) || memcmp(want, text, head_len) != 0)
		return -EBADMSG;

	char *copy = malloc(body_len + 1);

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, body, body_len);
	copy[body_len] = '\0';
	*ret = (struct state_file){copy, body_len};
	return 0;
}

int state_write_all(int fd, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_temporary(int dir, const char *name, const struct state_kind *k, const char *body,
			   size_t len)
{
	char header[HEADER_MAX];
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = state_write_all(fd, header, header_format(k, body, len, header));
	if (r == 0)
		r = state_write_all(fd, body, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	/* Network and quota file systems report a failed write here. */
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

int state_file_save(int dir, const struct state_kind *k, const char *body, size_t len)
{
	char temporary[STATE_ASIDE_MAX];
	int r;

	if (len > k->max_bytes)
		return -EFBIG;
	snprintf(temporary, sizeof temporary, ".%s.new", k->name);
	r = write_temporary(dir, temporary, k, body, len);
	if (r == 0 && renameat(dir, temporary, dir, k->name) < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(dir, temporary, 0);
		return r;
	}
	return fsync(dir) < 0 ? -errno : 0;
}

static int set_aside(int dir, const char *name, const char *why, char *aside)
{
	char to[STATE_ASIDE_MAX];

	aside[0] = '\0';
	for (int i = 1; i <= ASIDE_COUNT; i++) {
		snprintf(to, sizeof to, "%s.%s-%d", name, why, i);
		if (faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			break;
	}
	if (renameat(dir, name, dir, to) < 0)
		return -errno;
	memcpy(aside, to, sizeof to);
	return 0;
}

static int read_and_parse(int dir, const struct state_kind *k, struct state_file *ret)
{
	OWN(drop_fd) int fd = openat(dir, k->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	OWN(drop_free) char *text = NULL;
	struct stat st;
	size_t size, len = 0;
	int r;

	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > k->max_bytes + HEADER_MAX)
		return -EBADMSG;
	size = (size_t)st.st_size + 1;
	text = malloc(size);
	if (text == NULL)
		return -ENOMEM;
	r = read_whole(fd, text, size, &len);
	if (r < 0)
		return r;
	return state_file_parse(k, text, len, ret);
}

int state_file_load(int dir, const struct state_kind *k, char *aside, struct state_file *ret)
{
	int r = read_and_parse(dir, k, ret);

	aside[0] = '\0';
	if (r == -EBADMSG)
		set_aside(dir, k->name, "damaged", aside);
	else if (r == -EPROTONOSUPPORT)
		set_aside(dir, k->name, "version", aside);
	return r;
}

/* --- records */

/* What is left of a line. */
struct cursor {
	const char *p;
	const char *end;
};

static bool plain(char c)
{
	return c > ' ' && c < 0x7f && c != '%' && c != '=';
}

static int hex_digit(char c, const char *digits)
{
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

static void write_name(FILE *f, const char *s)
{
	for (; *s != '\0'; s++)
		if (plain(*s))
			putc(*s, f);
		else
			fprintf(f, "%%%02X", (unsigned char)*s);
}

/* One escaped or plain byte of a name. */
static int read_byte(struct cursor *c, char *ret)
{
	static const char digits[] = "0123456789ABCDEF";
	int high, low;

	if (*c->p != '%') {
		if (!plain(*c->p))
			return -EBADMSG;
		*ret = *c->p++;
		return 0;
	}
	if (c->end - c->p < 3)
		return -EBADMSG;
	high = hex_digit(c->p[1], digits);
	low = hex_digit(c->p[2], digits);
	if (high < 0 || low < 0)
		return -EBADMSG;
	*ret = (char)(high << 4 | low);
	/* A byte that needs no escape must not have one: names are compared as text. */
	if (*ret == '\0' || plain(*ret))
		return -EBADMSG;
	c->p += 3;
	return 0;
}

static int read_name(struct cursor *c, char **ret)
{
	char buf[RECORD_NAME_MAX + 1];
	size_t n = 0;
	int r;

	while (c->p < c->end) {
		if (n == RECORD_NAME_MAX)
			return -EBADMSG;
		r = read_byte(c, &buf[n++]);
		if (r < 0)
			return r;
	}
	if (n == 0)
		return -EBADMSG;
	*ret = strndup(buf, n);
	return *ret != NULL ? 0 : -ENOMEM;
}

static int read_text(struct cursor *c, char **ret)
{
	if (c->end - c->p != 1 || *c->p != '-')
		return read_name(c, ret);
	c->p = c->end;
	*ret = NULL;
	return 0;
}

/* A canonical decimal number up to max; stops at the first other character. */
static int read_number(struct cursor *c, uint64_t max, uint64_t *ret)
{
	/* A blank or the line's end is behind the value. */
	const char *end = text_number(c->p, ret);

	if (end == NULL || *ret > max || (*c->p == '0' && end - c->p > 1))
		return -EBADMSG;
	c->p = end;
	return 0;
}

static int read_limit(struct cursor *c, uint64_t *ret)
{
	if (c->end - c->p == 3 && memcmp(c->p, "max", 3) == 0) {
		c->p = c->end;
		*ret = LIMIT_MAX;
		return 0;
	}
	return read_number(c, LIMIT_MAX - 1, ret);
}

static int read_i64(struct cursor *c, int64_t *ret)
{
	bool negative = c->p < c->end && *c->p == '-';
	uint64_t n;
	int r;

	if (negative)
		c->p++;
	r = read_number(c, (uint64_t)INT64_MAX + negative, &n);
	if (r < 0 || (negative && n == 0))
		return -EBADMSG;
	*ret = negative ? (int64_t)(0 - n) : (int64_t)n;
	return 0;
}

static int read_u32(struct cursor *c, uint64_t max, uint32_t *ret)
{
	uint64_t n;
	int r = read_number(c, MIN(max, (uint64_t)UINT32_MAX), &n);

	if (r == 0)
		*ret = (uint32_t)n;
	return r;
}

static int read_double(struct cursor *c, double *ret)
{
	uint64_t bits = 0;
	double value;

	if (c->end - c->p < 16)
		return -EBADMSG;
	for (int i = 0; i < 16; i++) {
		int digit = hex_digit(*c->p++, "0123456789abcdef");

		if (digit < 0)
			return -EBADMSG;
		bits = bits << 4 | (uint64_t)digit;
	}
	memcpy(&value, &bits, sizeof value);
	if (!isfinite(value) || signbit(value))
		return -EBADMSG;
	*ret = value;
	return 0;
}

static void write_double(FILE *f, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	fprintf(f, "%016" PRIx64, bits);
}

static int read_id(struct cursor *c, char *ret)
{
	size_t n = (size_t)(c->end - c->p);

	if (n == 1 && *c->p == '-')
		n = 0;
	else if (n == 0 || n >= RECORD_ID_SIZE)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		if (hex_digit(c->p[i], "0123456789abcdef") < 0)
			return -EBADMSG;
	memcpy(ret, c->p, n);
	ret[n] = '\0';
	c->p = c->end;
	return 0;
}

static void write_weights(FILE *f, const double *weights, uint64_t count)
{
	const char *separator = "";

	for (uint64_t i = 0; i < count; i++)
		if (weights[i] > 0) {
			fprintf(f, "%s%" PRIu64 ":", separator, i);
			write_double(f, weights[i]);
			separator = ",";
		}
	if (*separator == '\0')
		putc('-', f);
}

static int read_weights(struct cursor *c, uint64_t count, double *weights)
{
	uint64_t index, next = 0;

	if (c->end - c->p == 1 && *c->p == '-') {
		c->p++;
		return 0;
	}
	for (;;) {
		if (read_number(c, count - 1, &index) < 0 || index < next || c->p == c->end ||
		    *c->p++ != ':' || read_double(c, &weights[index]) < 0 || weights[index] == 0)
			return -EBADMSG;
		next = index + 1;
		if (c->p == c->end)
			return 0;
		if (*c->p++ != ',')
			return -EBADMSG;
	}
}

static void write_value(FILE *out, const struct record_field *f, const void *value)
{
	const char *text;

	switch (f->type) {
	case RECORD_NAME:
		write_name(out, *(char *const *)value);
		break;
	case RECORD_TEXT:
		text = *(char *const *)value;
		write_name(out, text != NULL && *text != '\0' ? text : "-");
		break;
	case RECORD_U64:
		fprintf(out, "%" PRIu64, *(const uint64_t *)value);
		break;
	case RECORD_LIMIT:
		if (*(const uint64_t *)value == LIMIT_MAX)
			fputs("max", out);
		else
			fprintf(out, "%" PRIu64, *(const uint64_t *)value);
		break;
	case RECORD_I64:
		fprintf(out, "%" PRId64, *(const int64_t *)value);
		break;
	case RECORD_U32:
		fprintf(out, "%" PRIu32, *(const uint32_t *)value);
		break;
	case RECORD_DOUBLE:
		write_double(out, *(const double *)value);
		break;
	case RECORD_ID:
		fputs(*(const char *)value != '\0' ? (const char *)value : "-", out);
		break;
	case RECORD_WEIGHTS:
		write_weights(out, value, f->max);
		break;
	}
}

static int read_value(struct cursor *c, const struct record_field *f, void *value)
{
	switch (f->type) {
	case RECORD_NAME:
		return read_name(c, value);
	case RECORD_TEXT:
		return read_text(c, value);
	case RECORD_U64:
		return read_number(c, f->max, value);
	case RECORD_LIMIT:
		return read_limit(c, value);
	case RECORD_I64:
		return read_i64(c, value);
	case RECORD_U32:
		return read_u32(c, f->max, value);
	case RECORD_DOUBLE:
		return read_double(c, value);
	case RECORD_ID:
		return read_id(c, value);
	case RECORD_WEIGHTS:
		return read_weights(c, f->max, value);
	}
	return -EBADMSG;
}

void record_write(FILE *f, const struct record_layout *l, const void *record)
{
	for (size_t i = 0; i < l->count; i++) {
		fprintf(f, "%s%s=", i > 0 ? " " : "", l->fields[i].name);
		write_value(f, &l->fields[i], (const char *)record + l->fields[i].offset);
	}
	putc('\n', f);
}

static int read_field(struct cursor *line, const struct record_field *f, void *value)
{
	size_t name_len = strlen(f->name), left = (size_t)(line->end - line->p);
	const char *space = memchr(line->p, ' ', left);
	struct cursor c = {line->p, space != NULL ? space : line->end};
	int r;

	if ((size_t)(c.end - c.p) <= name_len || memcmp(c.p, f->name, name_len) != 0 ||
	    c.p[name_len] != '=')
		return -EBADMSG;
	c.p += name_len + 1;
	r = read_value(&c, f, value);
	if (r < 0)
		return r;
	if (c.p != c.end)
		return -EBADMSG;
	line->p = c.end;
	return 0;
}

static int read_fields(const struct record_layout *l, struct cursor *line, char *record)
{
	for (size_t i = 0; i < l->count; i++) {
		int r;

		if (i > 0 && (line->p == line->end || *line->p++ != ' '))
			return -EBADMSG;
		r = read_field(line, &l->fields[i], record + l->fields[i].offset);
		if (r < 0)
			return r;
	}
	return line->p == line->end ? 0 : -EBADMSG;
}

int record_read(const struct record_layout *l, const char *line, size_t len, void *ret)
{
	struct cursor c = {line, line + len};
	int r;

	memset(ret, 0, l->size);
	r = read_fields(l, &c, ret);
	if (r < 0)
		record_clear(l, ret);
	return r;
}

void record_clear(const struct record_layout *l, void *record)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->fields[i].type == RECORD_NAME || l->fields[i].type == RECORD_TEXT)
			free(*(char **)((char *)record + l->fields[i].offset));
	memset(record, 0, l->size);
}

int record_lines(const char *text, size_t len, record_line_fn *each, void *ctx)
{
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		int r;

		if (newline == NULL)
			return -EBADMSG;
		r = each(ctx, text, (size_t)(newline - text));
		if (r < 0)
			return r;
		text = newline + 1;
	}
	return 0;
}

/* A text that grows in steps as it is written: open_memstream() doubles its buffer, and writes to
 * all of it while it holds the old one. */
struct growing {
	char *text; /* NUL after the last byte */
	size_t len, size;
	bool failed; /* a part is missing */
};

static ssize_t text_write(void *ctx, const char *data, size_t n)
{
	struct growing *t = ctx;

	if (t->len + n >= t->size) {
		size_t size = t->len + n + RECORD_TEXT_STEP;
		char *grown = realloc(t->text, size);

		/* fclose() would report the last write alone. */
		t->failed |= grown == NULL;
		if (grown == NULL)
			return 0;
		t->text = grown;
		t->size = size;
	}
	memcpy(t->text + t->len, data, n);
	t->len += n;
	t->text[t->len] = '\0';
	return (ssize_t)n;
}

int record_encode(const struct record_layout *l, const void *items, size_t count, char **ret,
		  size_t *ret_len)
{
	const cookie_io_functions_t io = {.write = text_write};
	struct growing t = {0};
	FILE *f = text_write(&t, "", 0) == 0 && t.text != NULL ? fopencookie(&t, "w", io) : NULL;

	for (size_t i = 0; f != NULL && i < count; i++)
		record_write(f, l, (const char *)items + i * l->size);
	if (f == NULL || fclose(f) != 0 || t.failed) {
		free(t.text);
		return -ENOMEM;
	}
	*ret = t.text;
	*ret_len = t.len;
	return 0;
}

int state_file_load_lines(int dir, const struct state_kind *k, char *aside, record_line_fn *each,
			  void *ctx)
{
	OWN(state_file_free) struct state_file f = {0};
	int r = state_file_load(dir, k, aside, &f);

	if (r < 0)
		return r;
	r = record_lines(f.body, f.len, each, ctx);
	if (r == -EBADMSG)
		set_aside(dir, k->name, "damaged", aside);
	return r;
}

/* --- sorted arrays */

static const char *key_of(const void *items, size_t size, size_t at)
{
	return *(char *const *)((const char *)items + at * size);
}

size_t sorted_array_position(const void *items, size_t count, size_t size, const char *key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(key_of(items, size, middle), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void *sorted_array_find(const void *items, size_t count, size_t size, const char *key)
{
	size_t at = sorted_array_position(items, count, size, key);

	return at < count && strcmp(key_of(items, size, at), key) == 0 ? (char *)items + at * size
								       : NULL;
}

void *sorted_array_make_room(void *items, size_t count, size_t size, size_t at)
{
	char *grown = items;

	/* The array is full at each power of two and doubles there, so no capacity is stored. */
	if ((count & (count - 1)) == 0)
		grown = reallocarray(items, MAX(2 * count, (size_t)1), size);
	if (grown != NULL)
		memmove(grown + (at + 1) * size, grown + at * size, (count - at) * size);
	return grown;
}
