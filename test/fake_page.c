// SPDX-License-Identifier: Apache-2.0
/* Linked with --wrap=sysconf,--wrap=write,--wrap=pread: what the code under test asks for, writes
 * and reads. */
#include "test/fake_page.h"
#include "policy/base/base.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned fake_limit_writes;
const char *fake_refused;

long __real_sysconf(int name);
long __wrap_sysconf(int name);
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __real_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __real___pread_chk(int fd, void *buf, size_t size, off_t at, size_t room);
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t at, size_t room);

void fake_page(uint64_t bytes)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, bytes);
	setenv("FAKE_PAGE_BYTES", text, 1);
}

uint64_t fake_page_bytes(void)
{
	const char *s = getenv("FAKE_PAGE_BYTES");

	return s != NULL ? strtoull(s, NULL, 10) : (uint64_t)__real_sysconf(_SC_PAGESIZE);
}

long __wrap_sysconf(int name)
{
	return name == _SC_PAGESIZE ? (long)fake_page_bytes() : __real_sysconf(name);
}

static bool is_named(int fd, const char *name)
{
	char link[32], path[512];
	const char *at;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[MAX(n, 0)] = '\0';
	at = strrchr(path, '/');
	return at != NULL && strcmp(at + 1, name) == 0;
}

static bool is_limit(int fd)
{
	return is_named(fd, "memory.max") || is_named(fd, "memory.high") ||
	       is_named(fd, "memory.low");
}

static bool is_refused(int fd)
{
	if (fake_refused == NULL || !is_named(fd, fake_refused))
		return false;
	errno = EOPNOTSUPP;
	return true;
}

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at)
{
	return is_refused(fd) ? -1 : __real_pread(fd, buf, size, at);
}

ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t at, size_t room)
{
	return is_refused(fd) ? -1 : __real___pread_chk(fd, buf, size, at, room);
}

/* page_counter_memparse(): whole pages, "max" from what no counter holds on. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	uint64_t page = fake_page_bytes(), pages;
	char text[32];

	if (size >= sizeof text || size == 0 || !isalnum(*(const char *)data) || !is_limit(fd))
		return __real_write(fd, data, size);
	fake_limit_writes++;
	memcpy(text, data, size);
	text[size] = '\0';
	pages = text[0] == 'm' ? UINT64_MAX : strtoull(text, NULL, 10) / page;
	if (pages >= INT64_MAX / page)
		snprintf(text, sizeof text, "max\n");
	else
		snprintf(text, sizeof text, "%" PRIu64 "\n", pages * page);
	return __real_write(fd, text, strlen(text)) < 0 ? -1 : (ssize_t)size;
}
