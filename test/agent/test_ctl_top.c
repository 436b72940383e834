// SPDX-License-Identifier: Apache-2.0
/* vscalectl top: frames of several sizes, orders and filters, and a terminal that is left as it was
 * found. The frame of the fixtures stands in test_ctl's goldens. */
#include "agent/ctl/client.h"
#include "agent/ctl/top.h"
#include "fake_control.h"
#include "test/check.h"
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#define UNITS 40

static char *text;

/* Unit i uses i x 10m of 1 CPU and (40 - i) MiB of 100, and was raised i minutes ago. */
static cJSON *answer(void)
{
	cJSON *root = cJSON_CreateObject(), *units = cJSON_AddArrayToObject(root, "units");

	for (int i = 1; i <= UNITS; i++) {
		cJSON *unit = cJSON_CreateObject(), *cpu, *memory, *last;
		char name[64], at[32];

		snprintf(name, sizeof name, "team/web-%02d/app", i);
		snprintf(at, sizeof at, "2026-03-01T11:%02d:00.000000Z", 59 - i);
		cJSON_AddStringToObject(unit, "name", name);
		cJSON_AddStringToObject(unit, "state", i % 10 == 0 ? "paused" : "managed");
		cpu = cJSON_AddObjectToObject(unit, "cpu");
		cJSON_AddNumberToObject(cpu, "use", i * 10);
		cJSON_AddNumberToObject(cpu, "limit", 1000);
		cJSON_AddNumberToObject(cpu, "throttled_permille", i * 20);
		cJSON_AddNumberToObject(cpu, "psi_some_ppm", i % 7 * 10000);
		last = cJSON_AddObjectToObject(cpu, "last");
		cJSON_AddStringToObject(last, "at", at);
		cJSON_AddNumberToObject(last, "from", 500);
		cJSON_AddNumberToObject(last, "to", 1000);
		memory = cJSON_AddObjectToObject(unit, "memory");
		cJSON_AddNumberToObject(memory, "use", (double)((UNITS - i) * MIB));
		cJSON_AddNumberToObject(memory, "kernel", (double)(100 * MIB));
		cJSON_AddItemToArray(units, unit);
	}
	return root;
}

static void draw(const struct top_view *v)
{
	struct ctl c = {.now_realtime_usec = FIXTURE_NOW_USEC};
	cJSON *a = answer();
	size_t size;

	free(text);
	c.out = open_memstream(&text, &size);
	CHECK_EQ(top_frame(&c, a, NULL, v, "\n"), 0);
	fclose(c.out);
	cJSON_Delete(a);
}

static unsigned lines(void)
{
	unsigned n = 0;

	for (const char *s = text; *s != '\0'; s++)
		n += *s == '\n';
	return n;
}

static size_t longest(void)
{
	size_t most = 0, at = 0;

	for (const char *s = text; *s != '\0'; s++) {
		at = *s == '\n' ? 0 : at + 1;
		most = MAX(most, at);
	}
	return most;
}

/* The name on the first line of units. */
static bool first_is(const char *name)
{
	const char *s = text;

	for (int i = 0; i < 3 && s != NULL; i++) {
		s = strchr(s, '\n');
		s = s != NULL ? s + 1 : NULL;
	}
	return s != NULL && strncmp(s, name, strlen(name)) == 0;
}

TEST(sizes)
{
	static const struct top_view sizes[] = {{.width = 80, .height = 24},
						{.width = 40, .height = 10},
						{.width = 200, .height = 50}};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		draw(&sizes[i]);
		CHECK(lines() <= sizes[i].height);
		CHECK_EQ(lines(), MIN(sizes[i].height, UNITS + 3u));
		CHECK(longest() <= MAX(sizes[i].width, 80u));
	}
	/* Bars where there is room; whole and parts of cores in one unit; a change from old to new.
	 */
	CHECK(strstr(text, "[###") != NULL);
	draw(&(struct top_view){.width = 80});
	CHECK_EQ(lines(), UNITS + 3u);
	CHECK(strstr(text, "[#") == NULL);
	CHECK(strstr(text, "m/1000m ") != NULL);
	CHECK(strstr(text, "->") != NULL);
	draw(&(struct top_view){.width = 80, .height = 1});
	CHECK_EQ(lines(), 4);
	CHECK(strstr(text, "36 managed, 4 not") != NULL);
	CHECK(strstr(text, "cpu 8200m of 40") != NULL);
}

TEST(orders)
{
	static const struct {
		enum top_sort sort;
		bool reverse;
		const char *first;
	} rows[] = {
		{TOP_CPU, false, "team/web-40/app"},      {TOP_CPU, true, "team/web-01/app"},
		{TOP_MEMORY, false, "team/web-01/app"},   {TOP_SLACK, false, "team/web-40/app"},
		{TOP_PRESSURE, false, "team/web-06/app"}, {TOP_AGE, false, "team/web-01/app"},
		{TOP_NAME, false, "team/web-01/app"},     {TOP_NAME, true, "team/web-40/app"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		draw(&(struct top_view){
			.width = 80, .sort = rows[i].sort, .reverse = rows[i].reverse});
		CHECK(first_is(rows[i].first));
	}
	draw(&(struct top_view){.width = 80, .height = 10, .first = 39});
	CHECK(first_is("team/web-01/app"));
	CHECK_EQ(lines(), 4);
	draw(&(struct top_view){.width = 80, .filter = "web-1"});
	CHECK_EQ(lines(), 10 + 3);
	draw(&(struct top_view){.width = 80, .filter = "nothing", .typing = true});
	CHECK_EQ(lines(), 3);
	CHECK(strstr(text, "/nothing_") != NULL);
}

/* ---- a terminal ---- */

static char socket_path[] = "/tmp/vscaled-top-XXXXXX";

static pid_t serve(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct http_server *server;
		struct fake_control fake;
		sd_event *event;

		fake_control_init(&fake);
		if (sd_event_new(&event) < 0 ||
		    control_server_new(event, &fake.control, socket_path, (gid_t)-1, &server) < 0)
			_exit(1);
		sd_event_loop(event);
		_exit(1);
	}
	for (int i = 0; i < 500 && client_probe(socket_path) < 0; i++)
		usleep(10000);
	return pid;
}

/* Reads until the text has come, at most 10 s. */
static bool wait_for(int fd, const char *want)
{
	static char seen[1 << 16];
	size_t size = 0;

	for (int i = 0; i < 100 && size + 1 < sizeof seen; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t got =
			poll(&p, 1, 100) > 0 ? read(fd, seen + size, sizeof seen - 1 - size) : 0;

		if (got < 0)
			return false;
		size += (size_t)got;
		seen[size] = '\0';
		if (strstr(seen, want) != NULL)
			return true;
	}
	return false;
}

static int run_top(void)
{
	char *argv[] = {"vscalectl", "top", "--socket", socket_path, "-d", "1", NULL};
	struct ctl c;

	ctl_default(&c, ctl_commands);
	c.config = "/nonexistent";
	return ctl_main(&c, 6, argv);
}

/* Runs it in the foreground, as a shell does, and says when it is stopped. Its result. */
static int shell(void)
{
	int status = 0;
	pid_t job;

	signal(SIGTTOU, SIG_IGN);
	job = fork();
	if (job == 0) {
		setpgid(0, 0);
		tcsetpgrp(STDIN_FILENO, getpid());
		signal(SIGTTOU, SIG_DFL);
		_exit(run_top());
	}
	while (waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status))
		if (write(STDOUT_FILENO, "[stopped]", 9) != 9)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static pid_t start(int *ret_fd, struct termios *ret_before)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	int other;
	pid_t pid;

	if (openpty(ret_fd, &other, NULL, NULL, &size) != 0) {
		perror("openpty: mount devpts on /dev/pts");
		exit(1);
	}
	CHECK_EQ(tcgetattr(other, ret_before), 0);
	pid = fork();
	if (pid == 0) {
		login_tty(other);
		close(*ret_fd);
		_exit(shell());
	}
	close(other);
	return pid;
}

/* As a shell does: the job is stopped and goes on in the foreground. */
static void test_stop(void)
{
	struct termios before, after;
	int fd, status;
	pid_t job, pid = start(&fd, &before);

	CHECK(wait_for(fd, "web.service"));
	job = tcgetpgrp(fd);
	CHECK(job > 0 && job != pid);
	CHECK_EQ(write(fd, "\032", 1), 1);
	CHECK(wait_for(fd, "\033[?7h\033[?25h\033[?1049l[stopped]"));
	CHECK_EQ(tcgetattr(fd, &after), 0);
	CHECK_EQ(after.c_lflag, before.c_lflag);
	if (job > 0)
		CHECK_EQ(kill(job, SIGCONT), 0);
	CHECK(wait_for(fd, "\033[?1049h"));
	CHECK(wait_for(fd, "web.service"));
	CHECK_EQ(write(fd, "q", 1), 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CTL_OK);
	close(fd);
}

static void test_terminal(const char *keys, int signal)
{
	struct termios before, after;
	int fd, status;
	pid_t job, pid = start(&fd, &before);

	CHECK(wait_for(fd, "web.service"));
	CHECK_EQ(write(fd, "/d\033[Ab", 6), 6);
	CHECK(wait_for(fd, "/db_"));
	CHECK_EQ(write(fd, "\033", 1), 1);
	CHECK(wait_for(fd, "NAME"));
	CHECK_EQ(write(fd, "mr\033[B\033[A", 8), 8);
	/* A slow line: 'A' alone would be a letter of the filter, and Escape would end it. */
	CHECK_EQ(write(fd, "/w\033", 3), 3);
	usleep(10000);
	CHECK_EQ(write(fd, "[", 1), 1);
	usleep(10000);
	CHECK_EQ(write(fd, "Aeb", 3), 3);
	CHECK(wait_for(fd, "/web_"));
	CHECK_EQ(write(fd, "\n", 1), 1);
	CHECK(wait_for(fd, "web.service"));
	job = tcgetpgrp(fd);
	CHECK(job > 0); /* kill(-1) would end every process */
	if (signal != 0 && job > 0)
		CHECK_EQ(kill(job, signal), 0);
	else
		CHECK_EQ(write(fd, keys, strlen(keys)), (ssize_t)strlen(keys));
	/* The cursor is shown, the first screen is back. */
	CHECK(wait_for(fd, "\033[?7h\033[?25h\033[?1049l"));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CTL_OK);
	CHECK_EQ(tcgetattr(fd, &after), 0);
	CHECK_EQ(after.c_lflag, before.c_lflag);
	close(fd);
}

int main(void)
{
	pid_t daemon;

	check_run();
	CHECK(mkstemp(socket_path) >= 0);
	unlink(socket_path);
	daemon = serve();
	test_terminal("q", 0);
	test_terminal(NULL, SIGINT);
	test_terminal(NULL, SIGTERM);
	test_stop();
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	unlink(socket_path);
	free(text);
	return check_result();
}
