// SPDX-License-Identifier: Apache-2.0
/* The container of the state files: round trip, every damage, every failing system call. */
#include "agent/base/file.h"
#include "agent/state/state_file.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct state_kind kind = {"notes", 2, 1000};

/* The system call that fails, and at which of its calls (1 = the first); short writes instead of
 * a failure when error is 0. */
static struct fault {
	const char *call;
	int at;
	int error;
} fault;

static bool fails(const char *call)
{
	if (fault.call == NULL || strcmp(fault.call, call) != 0 || --fault.at != 0)
		return false;
	errno = fault.error;
	return true;
}

int __real_openat(int dir, const char *path, int flags, mode_t mode);
ssize_t __real_write(int fd, const void *buf, size_t len);
int __real_fsync(int fd);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __real_close(int fd);
int __wrap_openat(int dir, const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *buf, size_t len);
int __wrap_fsync(int fd);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_close(int fd);

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return fails("openat") ? -1 : __real_openat(dir, path, flags, mode);
}

ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
	if (!fails("write"))
		return __real_write(fd, buf, len);
	return fault.error != 0 ? -1 : __real_write(fd, buf, MIN(len, (size_t)3));
}

int __wrap_fsync(int fd)
{
	return fails("fsync") ? -1 : __real_fsync(fd);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fails("renameat") ? -1 : __real_renameat(from_dir, from, to_dir, to);
}

int __wrap_close(int fd)
{
	bool failing = fails("close");
	int error = errno;

	__real_close(fd);
	errno = error;
	return failing ? -1 : 0;
}

static int new_folder(char *path)
{
	strcpy(path, "/tmp/vscaled-state-XXXXXX");
	CHECK(mkdtemp(path) != NULL);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_folder(int dir, const char *path)
{
	char command[128];

	close(dir);
	snprintf(command, sizeof command, "rm -rf %s", path);
	CHECK_EQ(system(command), 0);
}

static bool exists(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put_file(int dir, const char *name, const char *text, size_t len)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static void check_body(int dir, const char *want)
{
	char aside[STATE_ASIDE_MAX];
	struct state_file f = {0};

	CHECK_EQ(state_file_load(dir, &kind, aside, &f), 0);
	CHECK_EQ(f.len, strlen(want));
	CHECK_STR(f.body, want);
	CHECK_STR(aside, "");
	state_file_free(&f);
}

TEST(crc)
{
	/* RFC 3720 B.4 and the customary check value. */
	unsigned char bytes[32];

	CHECK_EQ(crc32c(0, "123456789", 9), 0xe3069283);
	CHECK_EQ(crc32c(crc32c(0, "12345", 5), "6789", 4), 0xe3069283);
	CHECK_EQ(crc32c(0, "", 0), 0);
	memset(bytes, 0, sizeof bytes);
	CHECK_EQ(crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
	memset(bytes, 0xff, sizeof bytes);
	CHECK_EQ(crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (unsigned char)i;
	CHECK_EQ(crc32c(0, bytes, sizeof bytes), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		bytes[i] = (unsigned char)(31 - i);
	CHECK_EQ(crc32c(0, bytes, sizeof bytes), 0x113fdb5c);
}

TEST(round_trip)
{
	char path[64], big[1001] = {0}, aside[STATE_ASIDE_MAX] = "x";
	int dir = new_folder(path);
	struct state_file f = {0};
	struct stat st;

	CHECK_EQ(state_file_load(dir, &kind, aside, &f), -ENOENT);
	CHECK_STR(aside, "");
	CHECK_EQ(state_file_save(dir, &kind, "", 0), 0);
	check_body(dir, "");
	CHECK_EQ(state_file_save(dir, &kind, "a=1\nb=2\n", 8), 0);
	check_body(dir, "a=1\nb=2\n");
	CHECK_EQ(state_file_save(dir, &kind, big, 1001), -EFBIG);
	check_body(dir, "a=1\nb=2\n");
	CHECK_EQ(state_file_save(dir, &kind, big, 1000), 0);
	CHECK_EQ(fstatat(dir, "notes", &st, 0), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK(!exists(dir, ".notes.new"));
	remove_folder(dir, path);
}

/* A file with a right checksum: head, checksum, newline, body. */
static size_t compose(const char *head, const char *body, char *ret)
{
	uint32_t crc = crc32c(crc32c(0, head, strlen(head)), body, strlen(body));

	return (size_t)sprintf(ret, "%s%08x\n%s", head, crc, body);
}

/* Whole, but not what we write. */
TEST(not_ours)
{
	static const struct {
		const char *head, *body;
		int result;
	} rows[] = {
		{"vscaled notes 2 0 ", "", 0},
		{"vscaled notes 2 1 ", "x", 0},
		{"vscaled notes 1 1 ", "x", -EPROTONOSUPPORT},
		{"vscaled other 2 0 ", "", -EBADMSG},
		{"vscaled notes 2 1 ", "", -EBADMSG}, /* cut */
		{"vscaled notes 2 0 ", "x", -EBADMSG},
		{"vscaled notes 2  0 ", "", -EBADMSG},
		{"vscaled notes 02 0 ", "", -EBADMSG},
		{"vscaled notes 2 00 ", "", -EBADMSG},
		{"vscaled notes 2 -1 ", "", -EBADMSG},
		{"vscaled notes 2 0", "", -EBADMSG},
		{"vscaled notes 2 0 more ", "", -EBADMSG},
		{"vscaled notes 99999999999999999999 0 ", "", -EBADMSG},
		{"vscaled notes 3 0 ", "", -EPROTONOSUPPORT},
		{"vscaled notes 3 with another header ", "x", -EPROTONOSUPPORT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct state_file f = {.len = 77};
		char text[128];
		size_t len = compose(rows[i].head, rows[i].body, text);

		CHECK_EQ(state_file_parse(&kind, text, len, &f), rows[i].result);
		CHECK_EQ(f.len == 77 && f.body == NULL, rows[i].result < 0);
		state_file_free(&f);
	}
}

TEST(too_long)
{
	char path[64], text[1200], body[1002], aside[STATE_ASIDE_MAX];
	int dir = new_folder(path);
	struct state_file f = {0};

	memset(body, 'x', 1001);
	body[1001] = '\0';
	put_file(dir, "notes", text, compose("vscaled notes 2 1001 ", body, text));
	CHECK_EQ(state_file_load(dir, &kind, aside, &f), -EBADMSG);
	CHECK_STR(aside, "notes.damaged-1");
	put_file(dir, "notes", text, compose("vscaled notes 3 1001 ", body, text));
	CHECK_EQ(state_file_load(dir, &kind, aside, &f), -EPROTONOSUPPORT);
	CHECK_STR(aside, "notes.version-1");
	CHECK(exists(dir, aside) && !exists(dir, "notes"));
	remove_folder(dir, path);
}

/* No single flipped bit and no cut goes unnoticed. */
TEST(every_bit)
{
	char good[64], text[64];
	size_t size = compose("vscaled notes 2 9 ", "123456789", good);
	struct state_file f = {0};

	for (size_t bit = 0; bit < 8 * size; bit++) {
		memcpy(text, good, size);
		text[bit / 8] ^= (char)(1 << bit % 8);
		CHECK(state_file_parse(&kind, text, size, &f) < 0);
	}
	for (size_t len = 0; len < size; len++)
		CHECK_EQ(state_file_parse(&kind, good, len, &f), -EBADMSG);
	CHECK(f.body == NULL);
}

TEST(set_aside)
{
	char path[64], aside[STATE_ASIDE_MAX], want[32];
	int dir = new_folder(path);
	struct state_file f = {0};

	for (int i = 1; i <= 12; i++) {
		put_file(dir, "notes", "x", 1);
		CHECK_EQ(state_file_load(dir, &kind, aside, &f), -EBADMSG);
		snprintf(want, sizeof want, "notes.damaged-%d", i < 9 ? i : 9);
		CHECK_STR(aside, want);
	}
	CHECK_EQ(symlinkat("/etc/passwd", dir, "notes"), 0);
	CHECK_EQ(state_file_load(dir, &kind, aside, &f), -EBADMSG);
	CHECK_EQ(mkdirat(dir, "notes", 0700), 0);
	CHECK_EQ(state_file_load(dir, &kind, aside, &f), -EBADMSG);
	CHECK(f.body == NULL);
	remove_folder(dir, path);
}

TEST(faults)
{
	static const struct {
		struct fault fault;
		const char *then; /* what the file holds afterwards */
	} rows[] = {
		{{"openat", 1, EACCES}, "old"}, {{"openat", 1, ENOSPC}, "old"},
		{{"write", 1, ENOSPC}, "old"},  {{"write", 2, ENOSPC}, "old"},
		{{"write", 2, EIO}, "old"},     {{"fsync", 1, EIO}, "old"},
		{{"close", 1, EDQUOT}, "old"},  {{"renameat", 1, ENOSPC}, "old"},
		{{"fsync", 2, EIO}, "new"},
	};
	char path[64];
	int dir = new_folder(path);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(state_file_save(dir, &kind, "old", 3), 0);
		fault = rows[i].fault;
		CHECK_EQ(state_file_save(dir, &kind, "new", 3), -rows[i].fault.error);
		CHECK_EQ(fault.at, 0);
		fault = (struct fault){0};
		check_body(dir, rows[i].then);
		CHECK(!exists(dir, ".notes.new"));
	}
	/* Interrupted and short writes are not failures. */
	fault = (struct fault){"write", 1, EINTR};
	CHECK_EQ(state_file_save(dir, &kind, "again", 5), 0);
	fault = (struct fault){"write", 1, 0};
	CHECK_EQ(state_file_save(dir, &kind, "short", 5), 0);
	fault = (struct fault){0};
	check_body(dir, "short");
	remove_folder(dir, path);
}

/* A write that the kernel really cuts short. */
TEST(no_room)
{
	char path[64], body[1000];
	int dir = new_folder(path);
	struct rlimit before, small;

	memset(body, 'x', sizeof body);
	CHECK_EQ(state_file_save(dir, &kind, "old", 3), 0);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){500, before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ(state_file_save(dir, &kind, body, sizeof body), -EFBIG);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
	check_body(dir, "old");
	CHECK(!exists(dir, ".notes.new"));
	remove_folder(dir, path);
}

/* A file that cannot be read or moved stays where it is. */
TEST(failed_load)
{
	char path[64], aside[STATE_ASIDE_MAX];
	int dir = new_folder(path);
	struct state_file f = {0};

	CHECK_EQ(state_file_save(dir, &kind, "kept", 4), 0);
	fault = (struct fault){"openat", 1, EMFILE};
	CHECK_EQ(state_file_load(dir, &kind, aside, &f), -EMFILE);
	fault = (struct fault){0};
	CHECK_STR(aside, "");
	check_body(dir, "kept");
	put_file(dir, "notes", "x", 1);
	fault = (struct fault){"renameat", 1, EROFS};
	CHECK_EQ(state_file_load(dir, &kind, aside, &f), -EBADMSG);
	CHECK_STR(aside, "");
	fault = (struct fault){0};
	CHECK(exists(dir, "notes"));
	remove_folder(dir, path);
}
