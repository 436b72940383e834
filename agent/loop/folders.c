// SPDX-License-Identifier: Apache-2.0
/* The state and runtime directories: made, locked, and whether this process still owns both. */
#include "agent/loop/folders.h"
#include "agent/loop/daemon_state.h"
#include "agent/loop/tick.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/recorder/recorder.h"
#include "agent/serve/serve.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a directory of vscaled, made when it is missing. */
static int directory_open(const char *path, int *ret)
{
	int fd;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

/* The pid is the node's only where the process is not in a pod. */
static void holder_text(const struct host *host, char ret[LOCK_HOLDER_MAX])
{
	if (host->own_pod[0] != '\0')
		snprintf(ret, LOCK_HOLDER_MAX, "the vscaled of pod %.60s/%.60s",
			 host->own_namespace, host->own_pod);
	else
		snprintf(ret, LOCK_HOLDER_MAX, "vscaled, process %d of the host", (int)getpid());
}

static struct lock_place lock_place(const struct config *config, const char *holder)
{
	return (struct lock_place){
		.state_directory = config->paths.state_dir,
		.runtime_directory = config->paths.runtime_dir,
		.holder = holder,
	};
}

int folders_start(struct folders *f, struct daemon *d)
{
	char holder[LOCK_HOLDER_MAX], other[LOCK_HOLDER_MAX], what[LOCK_HOLDER_MAX + 64];
	struct lock_place at;
	int fd = -1, r = directory_open(d->config.paths.state_dir, &fd);

	if (r < 0) {
		message_unsupported("the state folder cannot be opened", d->config.paths.state_dir,
				    r);
		return r;
	}
	persist_use_folder(&d->records, fd);
	holder_text(&d->host, holder);
	at = lock_place(&d->config, holder);
	r = lock_take(&at, &f->lock, other);
	if (r == -EWOULDBLOCK) {
		snprintf(what, sizeof what, "this node is already managed by %s", other);
		message_unsupported(what,
				    "run one agent per node: stop one of the two, or wait until a "
				    "running vscalectl has ended",
				    0);
	} else if (r < 0) {
		message_unsupported("the lock cannot be taken", d->config.paths.state_dir, r);
	}
	return r;
}

/* What waited for its record need not wait for the next tick. */
static int on_saved(sd_event_source *, int fd, uint32_t, void *userdata)
{
	struct daemon *d = userdata;
	eventfd_t ended;

	daemon_wake(&d->wake);
	(void)eventfd_read(fd, &ended);
	if (persist_saved(&d->records))
		tick_reflex(&d->units);
	/* What was changed meanwhile. What failed is tried again by the clock. */
	if (!d->records.failed)
		persist_baselines(&d->records);
	return 0;
}

int folders_save_beside(struct daemon *d)
{
	/* Without the thread the loop waits for the disk. */
	if (saver_start(&d->records.saver) < 0)
		return 0;
	return sd_event_add_io(d->wake.event, NULL, saver_fd(&d->records.saver), EPOLLIN, on_saved,
			       d);
}

/* The directory was created again, or emptied: everything is written once more. */
static int reopen_state(struct daemon *d)
{
	int fd = -1, r = directory_open(d->config.paths.state_dir, &fd);

	if (r >= 0) {
		recorder_stop(&d->units);
		persist_use_folder(&d->records, fd);
		recorder_start(&d->units);
	}
	return r;
}

static void removed(const char *file, const char *what)
{
	event_tell(EVENT_FILE_REMOVED, .file = file, .detail = what);
}

/* An error that persists is reported once in this time. */
#define REPEAT_USEC USEC_PER_HOUR

static void cannot(const struct daemon *d, struct reported_error *t, const char *file,
		   const char *what, int error)
{
	char text[256];

	if (t->error == error && d->wake.now - t->at < REPEAT_USEC)
		return;
	*t = (struct reported_error){error, d->wake.now};
	snprintf(text, sizeof text, "%s (%s)", what, strerror(-error));
	removed(file, text);
}

static void check_lock(struct folders *f, struct daemon *d)
{
	char holder[LOCK_HOLDER_MAX], other[LOCK_HOLDER_MAX], what[LOCK_HOLDER_MAX + 64];
	struct lock_place at;
	int r;

	holder_text(&d->host, holder);
	at = lock_place(&d->config, holder);
	r = lock_check(&at, &f->lock, other);
	f->reopen_due |= r == LOCK_RETAKEN;
	if (r >= 0 && !f->reopen_due) {
		f->lock_reported.error = 0;
	} else if (r >= 0) {
		r = reopen_state(d);
		f->reopen_due = r < 0;
		if (r < 0)
			cannot(d, &f->lock_reported, d->config.paths.state_dir,
			       "and it cannot be opened again: nothing is saved", r);
		else
			removed("the lock", "vscaled took it again and saved the state again");
	} else if (r == -EWOULDBLOCK) {
		snprintf(what, sizeof what, "%s holds it now, this agent stops", other);
		removed("the lock", what);
		persist_abandon(&d->records);
		sd_event_exit(d->wake.event, FOLDERS_LOST);
	} else if (r < 0) {
		cannot(d, &f->lock_reported, "the lock",
		       "and it cannot be taken again: a second agent would not be detected", r);
	}
}

/* The file of the control socket, through which vscalectl finds the daemon. */
static void check_socket(struct folders *f, const struct daemon *d, struct serve *s)
{
	int r;

	if (serve_reachable(s))
		return;
	r = serve_start(s);
	if (r < 0) {
		cannot(d, &f->socket_reported, d->config.paths.socket,
		       "and it cannot be created again: vscalectl cannot connect", r);
		return;
	}
	f->socket_reported.error = 0;
	removed(d->config.paths.socket, "vscaled created it again");
}

void folders_check(struct folders *f, struct daemon *d, struct serve *s)
{
	check_lock(f, d);
	check_socket(f, d, s);
}
