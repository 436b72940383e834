// SPDX-License-Identifier: Apache-2.0
/* The files of the flight recorder: full, gone on with, torn, foreign, on a disk that stalls. */
#include "agent/base/file.h"
#include "agent/state/flight_file.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES (1 * MIB)
#define TEXT  (BYTES / FLIGHT_FILES + FLIGHT_WAITING_BYTES)
/* Many enough that every file has been begun anew. */
#define MANY 30000

static char folder[] = "/tmp/vscaled-flight-XXXXXX";
static int dir;
static struct saver saver;
static uint32_t of_file[2]; /* of two containers */

struct seen {
	unsigned samples, gaps;
	usec_t first, last;
};

static int see(void *user, const struct flight_event *e)
{
	struct seen *s = user;

	CHECK_EQ(e->kind, FLIGHT_SAMPLE);
	CHECK(!e->replayed);
	CHECK_STR(e->container, e->call->now_real % 2 == 0 ? "even" : "an odd one");
	CHECK_EQ(e->call->usage.cpu_usage_usec, 10 * e->call->now_real);
	CHECK_EQ(e->call->usage.limits.mem_max, LIMIT_MAX);
	CHECK_EQ(mem_unreclaimable(&e->call->usage.stat), 7 * MIB);
	if (s->samples++ == 0)
		s->first = e->call->now_real;
	else
		s->gaps += e->call->now_real != s->last + 1;
	s->last = e->call->now_real;
	return 0;
}

static size_t load(int age, char *ret)
{
	char name[32];
	ssize_t n;

	flight_file_name(FLIGHT_FILE, age, name, sizeof name);
	OWN(drop_fd) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, ret, TEXT);
	CHECK(n >= 0 && n < (ssize_t)TEXT);
	return n < 0 ? 0 : (size_t)n;
}

static int read_all(struct seen *ret)
{
	static char text[TEXT];
	int r = 0;

	*ret = (struct seen){0};
	for (int age = FLIGHT_FILES - 1; r == 0 && age >= 0; age--) {
		size_t size = load(age, text);

		if (size > 0)
			r = flight_read(text, size, see, ret);
	}
	return r;
}

static void begin(struct flight_log *l)
{
	memset(l, 0, sizeof *l);
	of_file[0] = of_file[1] = 0;
	CHECK_EQ(flight_log_open(l, &saver, dir, BYTES), 0);
}

static void add(struct flight_log *l, usec_t from, usec_t to)
{
	for (usec_t i = from; i <= to; i++) {
		const struct usage u = {.cpu_usage_usec = 10 * i,
					.stat = {.anon = 6 * MIB, .sock = MIB},
					.limits.mem_max = LIMIT_MAX};
		const struct flight_line line = {
			.kind = FLIGHT_SAMPLE,
			.name = i % 2 == 0 ? "even" : "an odd one",
			.number = i % 2,
			.file = &of_file[i % 2],
			.now_real = i,
			.seen = &u,
		};

		flight_log_add(l, &tuning_default, 4000, &line);
	}
}

TEST(full)
{
	static char text[TEXT];
	static struct flight_log l;
	struct seen s;

	begin(&l);
	for (usec_t i = 1; i < MANY; i += 100) {
		add(&l, i, i + 99);
		CHECK_EQ(flight_log_flush(&l), 0);
	}
	CHECK_EQ(read_all(&s), 0);
	CHECK_EQ(s.last, MANY);
	CHECK(s.first > 1);
	CHECK_EQ(s.gaps, 0);
	CHECK_EQ(s.last - s.first + 1, s.samples);
	for (int age = 1; age < FLIGHT_FILES; age++)
		CHECK(load(age, text) > BYTES / FLIGHT_FILES);
	CHECK_EQ(l.dropped, 0);
}

/* Another run goes on in the newest file, behind what the one before it has torn. */
TEST(goes_on)
{
	OWN(drop_fd) int fd = openat(dir, FLIGHT_FILE, O_RDWR | O_APPEND | O_CLOEXEC);
	static struct flight_log l;
	struct seen before, s;
	struct stat st;

	CHECK_EQ(read_all(&before), 0);
	CHECK(fstat(fd, &st) == 0 && ftruncate(fd, st.st_size - 9) == 0);
	CHECK_EQ(read_all(&s), 0);
	CHECK_EQ(s.last, MANY - 1);
	begin(&l);
	add(&l, MANY, MANY + 5);
	CHECK_EQ(flight_log_flush(&l), 0);
	CHECK_EQ(read_all(&s), 0);
	CHECK_EQ(s.last, MANY + 5);
	CHECK_EQ(s.first, before.first);
	CHECK_EQ(s.gaps, 0);
}

/* A byte that is another one: its line is lost, and no other. */
TEST(damaged)
{
	static char text[TEXT];
	size_t size = load(1, text);
	struct seen s = {0}, whole = {0};
	char *at;

	CHECK_EQ(flight_read(text, size, see, &whole), 0);
	text[size - 20] ^= 1;
	CHECK_EQ(flight_read(text, size, see, &s), 0);
	CHECK_EQ(s.last, whole.last - 1);
	CHECK_EQ(s.gaps, 0);
	/* The name of a container: so are its own. */
	s = (struct seen){0};
	at = strstr(text, "\nname 1 ");
	CHECK(at != NULL);
	at[1] ^= 1;
	CHECK_EQ(flight_read(text, size, see, &s), 0);
	CHECK(s.samples > whole.samples / 3 && s.samples < whole.samples * 2 / 3);
}

/* Lines whose checksum is right. */
TEST(strict)
{
	static const char *const wrong[] = {
		"sample 0 1 2 3 4 5 6 7 8",
		"sample 0 1 2 3 4 5 6 7 8 9 ",
		"sample 0 1 2 3 4 5 6 7 8 9 10",
		"sample 0 1 2 3 4 5 6 7 8 99999999999999999999",
		"sample 65536 1 2 3 4 5 6 7 8 9",
		"sample -0 1 2 3 4 5 6 7 8 9",
		"reflex 0 1 2 3 4 5 6 7 8 9 f",
		"reflex 0 1 2 3 4 5 6 7 8 9 z0=1",
		"reflex 0 1 2 3 4 5 6 7 8 9 f0=1,",
		"reflex 0 1 2 3 4 5 6 7 8 9 f0",
		"reflex 0 1 2 3 4 5 6 7 8 9 f0=",
		"reflex 0 1 2 3 4 5 6 7 8 9 f9999=1",
		"reflex 0 1 2 3 4 5 6 7 8 9 x175=1,1",
		"name 65536 a",
		"name 0",
		"node 1",
		"other",
		"",
	};
	struct seen s;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char text[256];
		int size = snprintf(text, sizeof text, "vscaled-recording 3 %" PRIu32,
				    flight_layout());

		size += sprintf(text + size, " %05u\n", crc32c(0, text, (size_t)size) & 0xffff);
		s = (struct seen){0};
		CHECK_EQ(flight_read(text, (size_t)size, see, &s), 0);
		size += sprintf(text + size, "%s %05u\n", wrong[i],
				crc32c(0, wrong[i], strlen(wrong[i])) & 0xffff);
		CHECK_EQ(flight_read(text, (size_t)size, see, &s), -EBADMSG);
	}
}

/* What this build cannot read is set aside as an older file. */
TEST(foreign)
{
	static const char ring[] = "VSCRING1 and so on";
	struct seen s = {0};
	char text[TEXT];
	static struct flight_log l;
	int fd = openat(dir, FLIGHT_FILE, O_WRONLY | O_TRUNC | O_CLOEXEC);

	CHECK_EQ(write(fd, ring, sizeof ring), sizeof ring);
	close(fd);
	begin(&l);
	add(&l, 1, 2);
	CHECK_EQ(flight_log_flush(&l), 0);
	CHECK_EQ(load(1, text), sizeof ring);
	CHECK_EQ(flight_read(text, sizeof ring, see, &s), -EPROTONOSUPPORT);
	CHECK_EQ(flight_read(text, load(0, text), see, &s), 0);
	CHECK_EQ(s.samples, 2);
	CHECK_EQ(flight_read(text, 0, see, &s), -EBADMSG);
	CHECK_EQ(flight_read("name 1 a\n", 9, see, &s), -EBADMSG);
}

static void unlink_all(void)
{
	for (int age = 0; age < FLIGHT_FILES; age++) {
		char name[32];

		flight_file_name(FLIGHT_FILE, age, name, sizeof name);
		unlinkat(dir, name, 0);
	}
}

/* A disk that stands still: the caller never waits, and what finds no room is counted. */
TEST(slow)
{
	static struct flight_log l;
	struct seen s;

	unlink_all();
	begin(&l);
	add(&l, 1, 2);
	CHECK_EQ(flight_log_flush(&l), 0);
	/* As if the thread were at work on it. */
	saver.slots[SAVE_RECORDING].state = SAVE_WRITING;
	add(&l, 3, MANY);
	CHECK_EQ(flight_log_flush(&l), 0);
	CHECK(l.dropped > 0);
	saver.slots[SAVE_RECORDING].state = SAVE_ENDED;
	CHECK_EQ(flight_log_flush(&l), 0);
	add(&l, MANY + 1, MANY + 2);
	CHECK_EQ(flight_log_flush(&l), 0);
	CHECK_EQ(read_all(&s), 0);
	CHECK_EQ(s.first, 1);
	CHECK_EQ(s.last, MANY + 2);
	CHECK_EQ(s.gaps, 1);
	CHECK_EQ(s.samples + l.dropped, MANY + 2);
}

/* A disk that is full for a while, when a file is begun: what follows is read again. */
TEST(full_disk)
{
	static struct flight_log l;
	struct seen s;

	unlink_all();
	begin(&l);
	add(&l, 1, 2);
	CHECK_EQ(flight_log_flush(&l), 0);
	saver.slots[SAVE_RECORDING].result = -ENOSPC;
	unlink_all();
	add(&l, 3, 4);
	CHECK_EQ(flight_log_flush(&l), -ENOSPC);
	add(&l, 5, 6);
	CHECK_EQ(flight_log_flush(&l), 0);
	CHECK_EQ(read_all(&s), 0);
	CHECK_EQ(s.first, 5);
	CHECK_EQ(s.samples, 2);
}

TEST(no_file)
{
	static struct flight_log l;

	unlinkat(dir, FLIGHT_FILE, 0);
	CHECK_EQ(symlinkat("/dev/null", dir, FLIGHT_FILE), 0);
	CHECK_EQ(flight_log_open(&l, &saver, dir, BYTES), -ELOOP);
	unlinkat(dir, FLIGHT_FILE, 0);
	/* A folder is set aside. */
	CHECK_EQ(mkdirat(dir, FLIGHT_FILE, 0700), 0);
	begin(&l);
	add(&l, 1, 1);
	CHECK_EQ(flight_log_flush(&l), 0);
}

int main(void)
{
	char command[64];

	CHECK(mkdtemp(folder) != NULL);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	saver_init(&saver);
	check_run();
	saver_free(&saver);
	close(dir);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	CHECK_EQ(system(command), 0);
	return check_result();
}
