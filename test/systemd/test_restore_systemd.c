// SPDX-License-Identifier: Apache-2.0
/* A restore without the daemon, against a scripted PID 1: what has just been created is waited for.
 */
#include "agent/restore/restore.h"
#include "peer.h"
#include "test/check.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ID        "00000000000000000000000000000000000000000000000000000000000000aa"
#define CONTAINER "cri-containerd-" ID ".scope"
#define LEFT_USEC USEC_PER_SEC
#define NEW       "docker-" ID ".scope"
#define OTHER     "run-u1.scope"

/* One has LEFT_USEC left until its runtime is surely done, the others have just begun. */
static void serve(const char *path, int ready)
{
	struct peer p;
	sd_event *event = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sd_event_new(&event) < 0 || peer_open(&p, event, path) < 0)
		_exit(1);
	peer_add(&p, CONTAINER, "active")->enter_usec = now_usec() - UNIT_CREATING_USEC + LEFT_USEC;
	peer_add(&p, NEW, "active")->enter_usec = now_usec();
	peer_add(&p, OTHER, "active")->enter_usec = now_usec();
	if (write(ready, "", 1) != 1)
		_exit(1);
	sd_event_loop(event);
	_exit(0);
}

/* How long a call took. */
static usec_t set(const struct restore_systemd *s, const char *unit)
{
	const struct unit_props want = {UINT64_MAX, UINT64_MAX, 9 * MIB, UINT64_MAX};
	usec_t begin = now_usec();

	CHECK_EQ(s->units.set(s->units.ctx, unit, &want, UNIT_PROP_MEM_MAX), 0);
	return now_usec() - begin;
}

static void test_waits(const char *dir)
{
	static struct restore_systemd s;
	char path[160];
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_EQ(restore_systemd_init(&s, dir), 0);
	CHECK_EQ(pipe(ready), 0);
	snprintf(path, sizeof path, "%s/run/systemd/private", dir);
	pid = fork();
	if (pid == 0)
		serve(path, ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK(set(&s, CONTAINER) >= LEFT_USEC / 4);
	CHECK(set(&s, OTHER) < UNIT_CREATING_USEC / 2);
	/* The daemon knows by itself. */
	s.waits_for_runtime = false;
	CHECK(set(&s, NEW) < UNIT_CREATING_USEC / 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
}

int main(void)
{
	char dir[] = "/tmp/vscaled-restore-XXXXXX", path[96];

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/run", dir);
	CHECK_EQ(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/run/systemd", dir);
	CHECK_EQ(mkdir(path, 0700), 0);
	test_waits(dir);
	CHECK_EQ(rmdir(path), 0);
	snprintf(path, sizeof path, "%s/run", dir);
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(rmdir(dir), 0);
	return check_result();
}
