// SPDX-License-Identifier: Apache-2.0
/* Where events go: the journal's socket, standard error, or both. */
#include "agent/journal/event.h"
#include "test/check.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Catches what the log writes to its descriptor. */
static void read_line(struct event_log *l, char *buf, size_t size)
{
	int fds[2];
	ssize_t n;

	CHECK_EQ(pipe(fds), 0);
	l->fd = fds[1];
	event_log_use(l);
	event_tell(EVENT_PSI_MISSING);
	close(fds[1]);
	n = read(fds[0], buf, size - 1);
	buf[MAX(n, 0)] = '\0';
	close(fds[0]);
}

TEST(open)
{
	char dir[] = "/tmp/event-XXXXXX", path[64], line[1024], stream[64];
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct event_log_options o = {.journal_socket = path};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct event_log l;
	struct stat st;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/socket", dir);
	unsetenv("JOURNAL_STREAM");
	/* no socket: stderr, and sd_journal's silent success is not believed */
	CHECK_EQ(event_log_open(&l, &o), 0);
	CHECK(!l.journal && l.lines && !l.prefix);
	read_line(&l, line, sizeof line);
	CHECK(strstr(line, " level=warning msg=\"pressure information (PSI) is not available") !=
	      NULL);
	o.target = EVENT_TARGET_JOURNAL;
	CHECK_EQ(event_log_open(&l, &o), -ENOTCONN);
	CHECK(l.lines);
	/* stderr goes to the journal all the same: lines carry the priority */
	CHECK_EQ(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	o.target = EVENT_TARGET_AUTO;
	o.format = EVENT_FORMAT_JSON;
	CHECK_EQ(event_log_open(&l, &o), 0);
	read_line(&l, line, sizeof line);
	CHECK(strncmp(line, "<4>{\"ts\":", 9) == 0);
	/* a socket: native, and not twice */
	strcpy(sa.sun_path, path);
	CHECK_EQ(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	o.target = EVENT_TARGET_JOURNAL;
	CHECK_EQ(event_log_open(&l, &o), 0);
	CHECK(l.journal && !l.lines && !l.prefix);
	o.target = EVENT_TARGET_AUTO;
	CHECK_EQ(event_log_open(&l, &o), 0);
	CHECK(l.journal && !l.lines);
	/* in a container stderr is the runtime's: kubectl logs shows it */
	unsetenv("JOURNAL_STREAM");
	CHECK_EQ(event_log_open(&l, &o), 0);
	CHECK(l.journal && l.lines && !l.prefix);
	setenv("JOURNAL_STREAM", stream, 1);
	o.target = EVENT_TARGET_STDERR;
	CHECK_EQ(event_log_open(&l, &o), 0);
	CHECK(!l.journal && l.lines);
	/* no process listens at the socket any more */
	close(fd);
	o.target = EVENT_TARGET_AUTO;
	CHECK_EQ(event_log_open(&l, &o), 0);
	CHECK(!l.journal && l.lines);
	unsetenv("JOURNAL_STREAM");
	unlink(path);
	rmdir(dir);
	event_log_use(NULL);
}
