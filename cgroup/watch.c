// SPDX-License-Identifier: Apache-2.0
#include "cgroup/watch.h"
#include "cgroup/group.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

/* One drain reads at most this often; a full buffer holds some 250 events without names. */
#define DRAIN_READS  16
#define DRAIN_BYTES  4096
#define FOLDER_MASK  (IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR)
#define ENTRIES_STEP 64

struct entry {
	int wd;
	enum knob knob; /* KNOB_COUNT: the folder, watched for children */
	uint64_t cookie;
};

/* Entries are sorted by wd. The kernel counts wd upwards, so adding is nearly always appending. */
struct cg_watch {
	int fd;
	size_t count;
	size_t room;
	struct entry *entries;
};

int cg_watch_new(struct cg_watch **ret)
{
	OWN(drop_cg_watch) struct cg_watch *w = malloc(sizeof *w);
	int r;

	*ret = NULL;
	if (w == NULL)
		return -ENOMEM;
	*w = (struct cg_watch){.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
	r = w->fd < 0 ? -errno : 0;
	*ret = STEAL(w);
	return r;
}

void cg_watch_free(struct cg_watch *w)
{
	if (w == NULL)
		return;
	cg_drop_fd(&w->fd);
	free(w->entries);
	free(w);
}

int cg_watch_fd(const struct cg_watch *w)
{
	return w->fd;
}

size_t cg_watch_count(const struct cg_watch *w)
{
	return w->count;
}

/* Index of wd, or where it would stand. */
static size_t position(const struct cg_watch *w, int wd)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->entries[mid].wd < wd)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void remove_at(struct cg_watch *w, size_t at)
{
	w->count--;
	memmove(&w->entries[at], &w->entries[at + 1], (w->count - at) * sizeof w->entries[0]);
}

static int reserve(struct cg_watch *w)
{
	struct entry *grown;

	if (w->count < w->room)
		return 0;
	grown = reallocarray(w->entries, w->room + ENTRIES_STEP, sizeof *grown);
	if (grown == NULL)
		return -ENOMEM;
	w->entries = grown;
	w->room += ENTRIES_STEP;
	return 0;
}

/* file NULL: the folder. The path goes through the descriptor: no name is looked up. */
static int watch_add(struct cg_watch *w, const struct cg *c, const char *file, struct entry e)
{
	char path[64];
	size_t at;
	int r;

	r = reserve(w);
	if (r < 0)
		return r;
	snprintf(path, sizeof path, "/proc/self/fd/%d%s%s", cg_dirfd(c), file ? "/" : "",
		 file ? file : "");
	e.wd = inotify_add_watch(w->fd, path, file ? IN_MODIFY : FOLDER_MASK);
	if (e.wd < 0)
		return -errno;
	at = position(w, e.wd);
	if (at == w->count || w->entries[at].wd != e.wd) {
		memmove(&w->entries[at + 1], &w->entries[at],
			(w->count - at) * sizeof w->entries[0]);
		w->count++;
	}
	w->entries[at] = e;
	return 0;
}

static void forget(struct cg_watch *w, uint64_t cookie, bool folders)
{
	for (size_t i = w->count; i-- > 0;) {
		const struct entry *e = &w->entries[i];

		if (e->cookie != cookie || (!folders && e->knob == KNOB_COUNT))
			continue;
		/* Fails only if the kernel ended the watch already. */
		(void)inotify_rm_watch(w->fd, e->wd);
		remove_at(w, i);
	}
}

static int watch_files(struct cg_watch *w, const struct cg *c, uint64_t cookie)
{
	static const enum knob watched[] = {KNOB_CPU_MAX, KNOB_MEM_MAX, KNOB_MEM_HIGH};
	int count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		struct entry e = {.knob = watched[i], .cookie = cookie};
		int r = watch_add(w, c, knobs[e.knob].file, e);

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		count++;
	}
	return count;
}

int cg_watch_limits(struct cg_watch *w, const struct cg *c, uint64_t cookie)
{
	int inner = 0, r = watch_files(w, c, cookie);

	if (r >= 0 && c->inner != NULL)
		inner = watch_files(w, c->inner, cookie);
	if (r < 0 || inner < 0) {
		forget(w, cookie, false);
		return r < 0 ? r : inner;
	}
	/* Its second level comes later than its limits. */
	if (c->scope)
		(void)cg_watch_children(w, c, cookie);
	return r + inner;
}

int cg_watch_children(struct cg_watch *w, const struct cg *c, uint64_t cookie)
{
	return watch_add(w, c, NULL, (struct entry){.knob = KNOB_COUNT, .cookie = cookie});
}

void cg_watch_forget(struct cg_watch *w, uint64_t cookie)
{
	forget(w, cookie, true);
}

/* Does the event in concern the caller? Then *ret describes it. */
static bool translate(const struct inotify_event *in, const struct entry *e,
		      struct cg_watch_event *ret)
{
	struct cg_watch_event ev = {.cookie = e->cookie, .knob = e->knob, .what = CG_WATCH_GONE};

	if (e->knob != KNOB_COUNT) {
		if (!(in->mask & IN_MODIFY))
			return false;
		ev.what = CG_WATCH_LIMIT;
	} else if (in->mask & (IN_CREATE | IN_DELETE)) {
		if (!(in->mask & IN_ISDIR) || in->len == 0)
			return false;
		ev.what = in->mask & IN_CREATE ? CG_WATCH_CHILD_NEW : CG_WATCH_CHILD_GONE;
		ev.name = in->name;
	}
	*ret = ev;
	return true;
}

/* Returns 1 if fn was called. IN_IGNORED is the kernel's last event of a watch. */
static int deliver(struct cg_watch *w, const struct inotify_event *in, cg_watch_fn fn, void *ctx)
{
	struct cg_watch_event ev = {.what = CG_WATCH_OVERFLOW, .knob = KNOB_COUNT};
	size_t at = position(w, in->wd);

	if (in->mask & IN_Q_OVERFLOW) {
		fn(ctx, &ev);
		return 1;
	}
	if (at == w->count || w->entries[at].wd != in->wd)
		return 0;
	if (in->mask & IN_IGNORED) {
		remove_at(w, at);
		return 0;
	}
	if (!translate(in, &w->entries[at], &ev))
		return 0;
	fn(ctx, &ev);
	return 1;
}

int cg_watch_drain(struct cg_watch *w, cg_watch_fn fn, void *ctx)
{
	_Alignas(struct inotify_event) char buf[DRAIN_BYTES];
	int calls = 0;

	for (int reads = 0; reads < DRAIN_READS; reads++) {
		ssize_t n = read(w->fd, buf, sizeof buf);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return errno == EINTR ? calls : -errno;
		for (const char *p = buf; p < buf + n;) {
			const struct inotify_event *in = (const void *)p;

			calls += deliver(w, in, fn, ctx);
			p += sizeof *in + in->len;
		}
	}
	return calls;
}
