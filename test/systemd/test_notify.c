// SPDX-License-Identifier: Apache-2.0
/* What a service manager would receive on its socket. */
#include "systemd/notify.h"
#include "test/check.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void test_format(void)
{
	char text[128] = "untouched", tiny[12];

	CHECK_EQ(notify_format(NOTIFY_READY, NULL, 5, sizeof text, text), 0);
	CHECK_STR(text, "READY=1");
	CHECK_EQ(notify_format(NOTIFY_READY, "2 units", 5, sizeof text, text), 0);
	CHECK_STR(text, "READY=1\nSTATUS=2 units");
	CHECK_EQ(notify_format(NOTIFY_RELOADING, NULL, 123456789012, sizeof text, text), 0);
	CHECK_STR(text, "RELOADING=1\nMONOTONIC_USEC=123456789012");
	CHECK_EQ(notify_format(NOTIFY_STOPPING, NULL, 0, sizeof text, text), 0);
	CHECK_STR(text, "STOPPING=1");
	CHECK_EQ(notify_format(NOTIFY_WATCHDOG, NULL, 0, sizeof text, text), 0);
	CHECK_STR(text, "WATCHDOG=1");
	/* a status cannot smuggle a field in */
	CHECK_EQ(notify_format(NOTIFY_STATUS, "a\nMAINPID=1\r\x7f", 0, sizeof text, text), 0);
	CHECK_STR(text, "STATUS=a MAINPID=1  ");
	CHECK_EQ(notify_format(NOTIFY_READY, "too long", 0, sizeof tiny, tiny), -ENOBUFS);
	CHECK_EQ(notify_format(NOTIFY_READY, NULL, 0, 7, tiny), -ENOBUFS);
	CHECK_EQ(notify_format(NOTIFY_READY, NULL, 0, 8, tiny), 0);
}

static void test_socket(void)
{
	char dir[] = "/tmp/notify-XXXXXX", text[256];
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ssize_t n;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(sa.sun_path, sizeof sa.sun_path, "%s/socket", dir);
	CHECK_EQ(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	setenv("NOTIFY_SOCKET", sa.sun_path, 1);
	CHECK_EQ(notify_send(NOTIFY_READY, "managing 2 units", 0), 0);
	n = recv(fd, text, sizeof text - 1, 0);
	CHECK(n > 0);
	text[MAX(n, 0)] = '\0';
	CHECK_STR(text, "READY=1\nSTATUS=managing 2 units");
	CHECK_EQ(notify_send(NOTIFY_STATUS, "paused", 0), 0);
	n = recv(fd, text, sizeof text - 1, 0);
	text[MAX(n, 0)] = '\0';
	CHECK_STR(text, "STATUS=paused");
	close(fd);
	CHECK(notify_send(NOTIFY_READY, NULL, 0) < 0);
	unlink(sa.sun_path);
	rmdir(dir);
	/* not under a manager: nothing to do, no error */
	unsetenv("NOTIFY_SOCKET");
	CHECK_EQ(notify_send(NOTIFY_READY, NULL, 0), 0);
}

int main(void)
{
	test_format();
	test_socket();
	return check_result();
}
