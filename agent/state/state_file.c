// SPDX-License-Identifier: Apache-2.0
#include "agent/state/state_file.h"
#include "agent/base/crc32c.h"
#include "agent/base/drop.h"
#include "agent/base/read_whole.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	struct state_kind as_written = *k;
	size_t body_len, head_len;
	int r = newline == NULL ? -EBADMSG : header_version(k, line, &as_written.version);

	if (r < 0)
		return r;
	/* After the version number a newer format may differ. */
	if (as_written.version > k->version)
		return -EPROTONOSUPPORT;
	body = newline + 1;
	body_len = len - (size_t)(body - text);
	if (body_len > k->max_bytes)
		return -EBADMSG;
	head_len = header_format(&as_written, body, body_len, want);
	if (head_len != (size_t)(body - text) || memcmp(want, text, head_len) != 0)
		return -EBADMSG;

	char *copy = malloc(body_len + 1);

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, body, body_len);
	copy[body_len] = '\0';
	*ret = (struct state_file){copy, body_len, as_written.version};
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

int state_file_set_aside(int dir, const struct state_kind *k, char *aside)
{
	return set_aside(dir, k->name, "damaged", aside);
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
		set_aside(dir, k->name, "newer", aside);
	return r;
}
