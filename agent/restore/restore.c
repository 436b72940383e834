// SPDX-License-Identifier: Apache-2.0
#include "agent/restore/restore.h"
#include "agent/base/file.h"
#include "agent/view/view.h"
#include "cgroup/kubepods.h"
#include "cgroup/writer.h"
#include "policy/base/text.h"
#include "systemd/unit_dropin.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CGROUP_PATH_MAX 1024

/* Why a container or pod has no cgroup. */
enum restore_missing {
	RESTORE_THERE,     /* it has one, or it is a unit */
	RESTORE_RESTARTED, /* a container that was restarted in its pod */
	RESTORE_POD_GONE,
};

struct restore_target {
	const struct baseline *baseline;
	const char *name;           /* as shown */
	const char *unit;           /* systemd's name; NULL: systemd does not manage it */
	char path[CGROUP_PATH_MAX]; /* "": it has no cgroup now */
	enum restore_missing missing;
	bool grow_only;      /* the pod of what is restored */
	const char *pending; /* why it must not be touched now; NULL: it may be */
	unsigned depth;
	bool was_read;        /* by restore_grow(), before it wrote: */
	struct limits before; /* what stood */
};

/* --- a unit's cgroup is found in the tree itself: works without the daemon and the bus */

/* Deeper than any unit; cgroups that containers make inside are not searched. */
#define DEPTH_MAX 12

struct search {
	const char *unit;
	uint64_t inode;
	bool in_slices;             /* below others a user or a container has its own units */
	char path[CGROUP_PATH_MAX]; /* of the folder being read */
	char named[CGROUP_PATH_MAX];
	char exact[CGROUP_PATH_MAX];
};

static int search_folder(int parent, const char *name, unsigned depth, struct search *s);

static int search_entry(int dir, const struct dirent *entry, unsigned depth, struct search *s)
{
	size_t length = strlen(s->path);
	const char *dot = strrchr(entry->d_name, '.');
	/* systemd puts "_" before a name that could be taken for a file of the kernel. */
	bool named = strcmp(entry->d_name, s->unit) == 0 ||
		     (entry->d_name[0] == '_' && strcmp(entry->d_name + 1, s->unit) == 0);
	int n, r = 0;

	if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
	    strcmp(entry->d_name, "..") == 0)
		return 0;
	n = snprintf(s->path + length, sizeof(s->path) - length, "%s%s", length ? "/" : "",
		     entry->d_name);
	if (n < 0 || (size_t)n >= sizeof(s->path) - length) {
		s->path[length] = '\0';
		return 0;
	}
	if (named && s->inode != 0 && entry->d_ino == s->inode)
		strcpy(s->exact, s->path);
	else if (named)
		strcpy(s->named, s->path);
	if (s->exact[0] == '\0' && depth < DEPTH_MAX &&
	    (!s->in_slices || (dot != NULL && strcmp(dot, ".slice") == 0)))
		r = search_folder(dir, entry->d_name, depth + 1, s);
	s->path[length] = '\0';
	return r == -ENOENT ? 0 : r;
}

static int search_folder(int parent, const char *name, unsigned depth, struct search *s)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	OWN(drop_dir) DIR *dir = NULL;
	const struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && s->exact[0] == '\0' && (entry = readdir(dir)))
		r = search_entry(fd, entry, depth, s);
	return r;
}

/* The folder of that name and inode, else one of the name: a restarted unit has a new inode, and
 * after a boot another may have the old one. ret receives the path below root without a leading
 * slash. -ENOENT: none. */
static int cgroup_find(int root, const char *unit, uint64_t inode, char ret[static CGROUP_PATH_MAX])
{
	struct search s = {.unit = unit, .inode = inode};
	int r;

	/* Where PID 1 has its own cgroup at the root, its units are in slices. */
	s.in_slices = faccessat(root, "init.scope", F_OK, 0) == 0;
	r = search_folder(root, ".", 0, &s);
	if (r < 0)
		return r;
	if (s.exact[0] == '\0' && s.named[0] == '\0')
		return -ENOENT;
	strcpy(ret, s.exact[0] ? s.exact : s.named);
	return 0;
}

/* --- and the cgroup of a record */

static bool is_folder(int root, const char *path, ino_t *ret)
{
	struct stat st;

	if (path[0] == '\0' || fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return false;
	*ret = st.st_ino;
	return true;
}

/* The pod's UID, and whether the record is that of a container. -EINVAL: of no pod. */
static int pod_uid(const struct baseline *b, char *ret, size_t size, bool *ret_container)
{
	const char *uid = baseline_pod(b);
	size_t length = uid != NULL ? strcspn(uid, "/") : 0;

	if (length == 0 || length >= size)
		return -EINVAL;
	snprintf(ret, size, "%.*s", (int)length, uid);
	*ret_container = uid[length] == '/';
	return 0;
}

/* Does the pod still have a cgroup: above the container's old one, or at any place it can be? */
static bool pod_runs(const struct restore *r, const struct baseline *b, const char *uid,
		     bool container)
{
	char path[CGROUP_PATH_MAX];
	ino_t inode;
	char *slash;

	snprintf(path, sizeof(path), "%s", b->cgroup != NULL ? b->cgroup : "");
	slash = strrchr(path, '/');
	if (container && slash != NULL)
		*slash = '\0';
	if (is_folder(r->root, path, &inode))
		return true;
	return kubepods_find_pod(r->root, "", uid, path, sizeof(path)) == 0;
}

static void locate_pod(const struct restore *r, struct restore_target *t)
{
	const struct baseline *b = t->baseline;
	bool container = false;
	char uid[KUBEPODS_UID_MAX];
	ino_t inode = 0;

	t->unit = b->unit;
	/* The path of a container has its id, and the inode shows that it is the same cgroup. */
	if (b->cgroup != NULL && strlen(b->cgroup) < sizeof(t->path) &&
	    is_folder(r->root, b->cgroup, &inode) &&
	    (b->cgroup_inode == 0 || b->cgroup_inode == inode)) {
		strcpy(t->path, b->cgroup);
		return;
	}
	if (pod_uid(b, uid, sizeof(uid), &container) < 0 || !pod_runs(r, b, uid, container))
		t->missing = RESTORE_POD_GONE;
	else
		t->missing = RESTORE_RESTARTED;
}

/* The name of a record as users give it: a unit, or NAMESPACE/POD[/CONTAINER]. */
static const char *restore_shown_name(const struct baseline *b)
{
	const char *unit = baseline_unit(b);

	if (unit == NULL && b->shown != NULL)
		return b->shown;
	return unit != NULL ? unit : b->key;
}

/* Finds the cgroup and what systemd calls it. */
static void restore_locate(const struct restore *r, const struct baseline *b,
			   struct restore_target *ret)
{
	*ret = (struct restore_target){
		.baseline = b,
		.name = restore_shown_name(b),
		.unit = baseline_unit(b),
	};
	if (ret->unit == NULL) {
		locate_pod(r, ret);
	} else if (cgroup_find(r->root, ret->unit, b->cgroup_inode, ret->path) < 0) {
		ret->path[0] = '\0';
	}
	for (const char *c = ret->path; *c; c++)
		ret->depth += *c == '/';
}

/* --- the steps for a single record */

#define WANT (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT | USAGE_MEM | USAGE_MEM_STAT)

/* A reclaim call takes back 64 MiB at most: 16 GiB of page cache, then it is left. */
#define RECLAIM_CALLS_MAX 256

/* One unit that is being restored. */
struct work {
	const struct restore *restore;
	const struct restore_target *target;
	const struct limits *original;
	struct cg *cg;
	struct usage usage;
	bool memory_left; /* its memory stays what the kernel holds, for systemd as well */
	struct restore_result *result;
};

__attribute__((format(printf, 2, 3))) static void say(struct restore_result *result,
						      const char *format, ...)
{
	size_t length = strlen(result->detail);
	size_t room = sizeof(result->detail) - length;
	va_list arguments;
	int n;

	if (length > 0) {
		n = snprintf(result->detail + length, room, "; ");
		length += MIN((size_t)n, room - 1);
		room = sizeof(result->detail) - length;
	}
	va_start(arguments, format);
	vsnprintf(result->detail + length, room, format, arguments);
	va_end(arguments);
}

static void fail(struct work *w, const char *what, int error)
{
	w->result->outcome = RESTORE_FAILED;
	say(w->result, "%s: %s", what, strerror(-error));
}

static int units_set(const struct restore *r, const char *unit, const struct unit_props *want,
		     uint32_t mask)
{
	return r->units && unit ? r->units->set(r->units->ctx, unit, want, mask) : 0;
}

static int units_get(const struct restore *r, const char *unit, struct unit_props *ret)
{
	return r->units && unit ? r->units->get(r->units->ctx, unit, ret) : -EOPNOTSUPP;
}

static int units_drop(const struct restore *r, const char *unit, uint32_t mask)
{
	return r->units && unit ? r->units->drop(r->units->ctx, unit, mask) : 0;
}

static uint64_t margin_of(const struct restore *r, uint64_t use)
{
	return MAX(use / 1000 * r->margin_permille, r->margin_min_bytes);
}

/* Whether a memory value may stand: it is no lower than what the kernel holds, or use fits. */
static bool restore_one_fits(const struct work *w, uint64_t value, uint64_t held, uint64_t use)
{
	if (value == LIMIT_MAX || value >= held || !(w->usage.have & USAGE_MEM))
		return true;
	return use <= value && margin_of(w->restore, use) <= value - use;
}

/* Whether all four memory values may stand, the kernel's and systemd's. */
static bool memory_fits(const struct work *w, uint64_t use)
{
	const struct unit_props *props = &w->target->baseline->props;
	const struct limits *held = &w->usage.limits;

	return restore_one_fits(w, w->original->mem_max, held->mem_max, use) &&
	       restore_one_fits(w, w->original->mem_high, held->mem_high, use) &&
	       restore_one_fits(w, props->mem_max, held->mem_max, use) &&
	       restore_one_fits(w, props->mem_high, held->mem_high, use);
}

/* The smallest memory value to be restored. */
static uint64_t memory_lowest(const struct work *w)
{
	const struct unit_props *props = &w->target->baseline->props;
	uint64_t kernel = MIN(w->original->mem_max, w->original->mem_high);

	return MIN(kernel, MIN(props->mem_max, props->mem_high));
}

static int write_knob(struct work *w, enum knob knob, uint64_t to)
{
	const struct change change = {
		.knob = knob,
		.to = to,
		.period_usec = w->original->cpu_period_usec,
		.margin_bytes = w->restore->force || !(w->usage.have & USAGE_MEM)
					? 0
					: margin_of(w->restore, w->usage.mem_current),
	};
	int r = cg_write(w->cg, &change);

	/* A file that the kernel does not show holds its default. */
	return r == -EOPNOTSUPP && to == (knob == KNOB_CPU_BURST ? 0 : LIMIT_MAX) ? APPLY_UNCHANGED
										  : r;
}

/* Reclaims page cache, if that alone keeps the originals from fitting. */
static void make_room(struct work *w)
{
	uint64_t lowest = memory_lowest(w);
	uint64_t bound = mem_unreclaimable(&w->usage.stat);

	if (!(w->usage.have & USAGE_MEM_STAT) || !memory_fits(w, bound))
		return;
	for (int i = 0; i < RECLAIM_CALLS_MAX && !memory_fits(w, w->usage.mem_current); i++) {
		uint64_t use = w->usage.mem_current;
		uint64_t keep = lowest - MIN(lowest, margin_of(w->restore, use));
		struct change change = {.knob = KNOB_MEM_RECLAIM, .to = use - MIN(use, keep)};

		if (change.to == 0 || cg_write(w->cg, &change) != APPLY_DONE ||
		    cg_read(w->cg, WANT, &w->usage) < 0)
			return;
	}
}

static void say_left(struct work *w)
{
	char use[HUMAN_SIZE], original[HUMAN_SIZE], held[HUMAN_SIZE];

	w->result->outcome = RESTORE_LEFT;
	say(w->result, "memory stays at %s: %s in use and the margin do not fit in the original %s",
	    human_amount(RESOURCE_MEMORY, w->usage.limits.mem_max, held),
	    human_amount(RESOURCE_MEMORY, w->usage.mem_current, use),
	    human_amount(RESOURCE_MEMORY, memory_lowest(w), original));
}

/* Does memory fit? After page cache is reclaimed and a lowered memory.high is raised. */
static void check_memory(struct work *w)
{
	if (w->usage.limits.mem_high < w->original->mem_high)
		(void)write_knob(w, KNOB_MEM_HIGH, w->original->mem_high);
	if (w->restore->reclaim && !memory_fits(w, w->usage.mem_current))
		make_room(w);
	w->memory_left = !w->restore->force && !memory_fits(w, w->usage.mem_current);
	if (w->memory_left)
		say_left(w);
}

/* For systemd; with memory left as it is, the kernel's limit, so that no reload lowers it. */
static struct unit_props props_wanted(const struct work *w)
{
	struct unit_props want = w->target->baseline->props;

	if (w->memory_left) {
		want.mem_max = w->usage.limits.mem_max;
		want.mem_high = LIMIT_MAX;
	}
	return want;
}

static void restore_properties(struct work *w)
{
	struct unit_props want = props_wanted(w);
	uint32_t own = UNIT_PROP_ALL & ~w->target->baseline->dropins;
	int r = units_set(w->restore, w->target->unit, &want, UNIT_PROP_ALL);

	if (r < 0) {
		fail(w, "systemd did not accept the values", r);
		return;
	}
	/* A reload must not lower a memory value that was left. */
	own |= UNIT_DROPIN_OWN;
	if (w->memory_left)
		own &= UNIT_PROP_CPU_QUOTA | UNIT_DROPIN_CPU;
	r = units_drop(w->restore, w->target->unit, own);
	if (r < 0)
		fail(w, "a drop-in could not be removed", r);
}

/* Below the least quota the original is the spec's: what stood is handed back, and where that is
 * not known any more what PID 1 stores, which it writes at its next reload. */
static uint64_t cpu_quota_before(const struct work *w)
{
	const struct baseline *b = w->target->baseline;
	uint64_t least = cpu_quota_in_file(w->original);
	uint64_t stored = b->props.cpu_quota_per_sec_usec;

	if (w->original->cpu_quota_usec == least)
		return least;
	if (b->cpu_stood_usec != 0)
		return b->cpu_stood_usec;
	return stored == UINT64_MAX
		       ? least
		       : MAX(least, stored * w->original->cpu_period_usec / USEC_PER_SEC);
}

/* Use grew past the original after it was found to fit. */
static void leave_memory(struct work *w)
{
	struct usage now;

	if (cg_read(w->cg, WANT, &now) == 0)
		w->usage = now;
	w->memory_left = true;
	say_left(w);
	(void)write_knob(w, KNOB_MEM_HIGH, LIMIT_MAX);
}

/* Lowers memory.max if use fits right before the write. False: left, or failed. */
static bool lower_max(struct work *w, uint64_t to)
{
	int r = write_knob(w, KNOB_MEM_MAX, to);

	/* --force */
	if (r == APPLY_REFUSED && w->restore->force)
		r = cg_force_mem_max(w->cg, to);
	if (r == APPLY_REFUSED) {
		leave_memory(w);
	} else if (r < 0) {
		fail(w, "memory.max", r);
		/* The file has the higher value: systemd would write the lower one unchecked. */
		w->memory_left = r != -EOPNOTSUPP;
	}
	return r >= 0 && r != APPLY_REFUSED;
}

/* Before the call to systemd: it may take seconds, and ends in a write of memory.max without a
 * check of use. Once the file has the lower one of the two originals, use cannot exceed either. */
static void lower_memory(struct work *w)
{
	const struct unit_props *props = &w->target->baseline->props;
	uint64_t max = MIN(w->original->mem_max, props->mem_max);
	uint64_t high = MIN(w->original->mem_high, props->mem_high);
	struct usage now;

	if (w->memory_left) {
		(void)write_knob(w, KNOB_MEM_HIGH, LIMIT_MAX);
		return;
	}
	if (max < w->usage.limits.mem_max && !lower_max(w, max))
		return;
	/* A memory.high below use stops the tasks: use is read again. */
	if (cg_read(w->cg, WANT, &now) < 0)
		return;
	w->usage = now;
	if (!w->restore->force && !memory_fits(w, now.mem_current))
		leave_memory(w);
	else if (high < now.limits.mem_high)
		(void)write_knob(w, KNOB_MEM_HIGH, high);
}

/* Restores what differs from the original after systemd's own write. */
static void restore_memory_files(struct work *w)
{
	int r;

	if (w->memory_left)
		return;
	if (!lower_max(w, w->original->mem_max)) {
		if (w->memory_left)
			restore_properties(w);
		return;
	}
	r = write_knob(w, KNOB_MEM_HIGH, w->original->mem_high);
	if (r < 0)
		fail(w, "memory.high", r);
}

/* Reads everything back: the result is what the kernel and systemd have, not what was written. */
static void verify(struct work *w)
{
	struct unit_props stored, want = props_wanted(w);
	int r = cg_read(w->cg, WANT, &w->usage);

	if (r < 0) {
		fail(w, "reading back", r);
		return;
	}
	if (w->usage.limits.cpu_quota_usec != cpu_quota_before(w) ||
	    w->usage.limits.cpu_burst_usec != w->original->cpu_burst_usec)
		fail(w, "cpu.max is not the original", -EBUSY);
	if (!w->memory_left && (w->usage.limits.mem_max != cg_mem_kept(w->original->mem_max) ||
				w->usage.limits.mem_high != cg_mem_kept(w->original->mem_high)))
		fail(w, "memory.max or memory.high is not the original", -EBUSY);
	r = units_get(w->restore, w->target->unit, &stored);
	if (r < 0 && r != -EOPNOTSUPP)
		fail(w, "reading systemd's values back", r);
	else if (r == 0 && (stored.cpu_quota_per_sec_usec != want.cpu_quota_per_sec_usec ||
			    stored.mem_max != want.mem_max || stored.mem_high != want.mem_high))
		fail(w, "systemd holds other values", -EBUSY);
}

/* The pod's spec still has vscaled's values, and the next start of the container uses them. */
static void say_ratified(const struct restore *r, const struct restore_target *t,
			 struct restore_result *ret)
{
	if (r->spec_stays && t->baseline->ratified)
		say(ret, "the pod's spec still has values of vscaled: they return with its "
			 "next restart or resize");
}

/* Without a cgroup only systemd's properties for the next start can be restored. */
static void restore_gone(const struct restore *r, const struct restore_target *t,
			 struct restore_result *ret)
{
	int e;

	ret->outcome = RESTORE_GONE;
	if (t->missing == RESTORE_RESTARTED) {
		say(ret, "restarted since: it has the values of its spec");
		return;
	}
	e = units_set(r, t->unit, &t->baseline->props, UNIT_PROP_ALL);
	if (e == 0 || e == -ENOENT)
		e = units_drop(r, t->unit,
			       (UNIT_PROP_ALL & ~t->baseline->dropins) | UNIT_DROPIN_OWN);
	if (e < 0) {
		ret->outcome = RESTORE_FAILED;
		say(ret, "not running, and systemd did not accept the values: %s", strerror(-e));
	}
}

static int work_open(const struct restore *r, const struct restore_target *t, struct work *ret)
{
	struct work w = {.restore = r, .target = t, .original = &t->baseline->limits};
	int e = t->path[0] ? cg_open(r->root, t->path, &w.cg) : -ENOENT;

	if (e == 0)
		e = cg_read(w.cg, WANT, &w.usage);
	if (e < 0) {
		cg_close(w.cg);
		return e;
	}
	*ret = w;
	return 0;
}

/* Notes what stands, and raises memory.max and memory.high where the original is higher. Errors
 * show up in the next. */
static void restore_grow(const struct restore *r, struct restore_target *t)
{
	struct work w;

	if (work_open(r, t, &w) < 0)
		return;
	t->before = w.usage.limits;
	t->was_read = true;
	if (w.usage.limits.mem_max < w.original->mem_max)
		(void)write_knob(&w, KNOB_MEM_MAX, w.original->mem_max);
	if (w.usage.limits.mem_high < w.original->mem_high)
		(void)write_knob(&w, KNOB_MEM_HIGH, w.original->mem_high);
	cg_close(w.cg);
}

/* Restores everything else, and fills the result. */
static void restore_unit(const struct restore *r, const struct restore_target *t,
			 struct restore_result *ret)
{
	struct work w;
	int e = work_open(r, t, &w);

	*ret = (struct restore_result){
		.unit = t->name, .record = t->baseline, .outcome = RESTORE_RESTORED};
	ret->from = ret->to = t->baseline->limits;
	if (e == -ENOENT || e == -ENODEV) {
		restore_gone(r, t, ret);
		say_ratified(r, t, ret);
		return;
	}
	w.result = ret;
	if (e < 0) {
		ret->outcome = RESTORE_FAILED;
		say(ret, "its cgroup cannot be read: %s", strerror(-e));
		return;
	}
	ret->from = t->was_read ? t->before : w.usage.limits;
	check_memory(&w);
	lower_memory(&w);
	/* systemd refuses to lower cpu.max below the burst, without an error. */
	if (w.usage.limits.cpu_burst_usec > w.original->cpu_burst_usec)
		(void)write_knob(&w, KNOB_CPU_BURST, w.original->cpu_burst_usec);
	restore_properties(&w);
	e = write_knob(&w, KNOB_CPU_MAX, cpu_quota_before(&w));
	if (e < 0)
		fail(&w, "cpu.max", e);
	e = write_knob(&w, KNOB_CPU_BURST, w.original->cpu_burst_usec);
	if (e < 0)
		fail(&w, "cpu.max.burst", e);
	restore_memory_files(&w);
	verify(&w);
	say_ratified(r, t, ret);
	cg_close(w.cg);
}

/* A call to systemd re-asserts every value it holds, so it goes out only if its own memory.high is
 * the low one, and then carries the memory.max that the kernel holds, should that be higher. */
static int lift_property(struct work *w)
{
	struct unit_props stored;
	int r = units_get(w->restore, w->target->unit, &stored);

	if (r < 0 || stored.mem_high >= w->target->baseline->high_before)
		return r == -EOPNOTSUPP || r == -ENOENT ? 0 : r;
	stored.mem_high = w->target->baseline->high_before;
	stored.mem_max = MAX(stored.mem_max, w->usage.limits.mem_max);
	return units_set(w->restore, w->target->unit, &stored,
			 UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH);
}

/* Raises a lowered memory.high to what it was before. 1: done, 0: nothing to do, or -errno. */
static int restore_lift_unit(const struct restore *r, const struct restore_target *t)
{
	struct work w;
	int e = work_open(r, t, &w);

	if (e == -ENOENT || e == -ENODEV)
		return 0;
	if (e < 0)
		return e;
	if (w.usage.limits.mem_high < t->baseline->high_before) {
		e = write_knob(&w, KNOB_MEM_HIGH, t->baseline->high_before);
		if (e >= 0)
			e = lift_property(&w);
		e = e < 0 ? e : 1;
	}
	cg_close(w.cg);
	return e;
}

/* --- all records, or those of a name */

/* The name itself, or that of the pod it belongs to. */
static bool is_named(const struct baseline *b, const char *name)
{
	const char *shown = restore_shown_name(b);
	size_t length = strlen(name);

	if (strcmp(shown, name) == 0)
		return true;
	return baseline_unit(b) == NULL && strchr(name, '/') != NULL &&
	       strncmp(shown, name, length) == 0 && shown[length] == '/';
}

/* "pod:UID", not "pod:UID/CONTAINER". */
static bool is_whole_pod(const struct baseline *b)
{
	return baseline_pod(b) != NULL && strchr(b->key, '/') == NULL;
}

/* The pod of one that is named: "pod:UID" before "pod:UID/CONTAINER". */
static bool is_parent_of_named(const struct baseline_set *set, const struct baseline *b,
			       const char *name)
{
	size_t length = strlen(b->key);

	if (!is_whole_pod(b))
		return false;
	for (size_t i = 0; i < set->count; i++) {
		const struct baseline *child = &set->items[i];

		if (strncmp(child->key, b->key, length) == 0 && child->key[length] == '/' &&
		    is_named(child, name))
			return true;
	}
	return false;
}

static int by_depth(const void *a, const void *b)
{
	const struct restore_target *x = a, *y = b;

	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* The records of that name, or all, and the pods above them, with parents before their children. */
static int targets_of(const struct restore *r, const struct baseline_set *set, const char *name,
		      struct restore_target **ret, size_t *ret_count)
{
	struct restore_target *items = calloc(set->count + 1, sizeof(*items));
	size_t count = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++) {
		const struct baseline *b = &set->items[i];
		struct restore_target *t = &items[count];
		bool wanted = name == NULL || (r->exact ? strcmp(restore_shown_name(b), name) == 0
							: is_named(b, name));

		if (!wanted && !is_parent_of_named(set, b, name))
			continue;
		restore_locate(r, b, t);
		t->grow_only = !wanted;
		if (wanted && r->pending != NULL)
			t->pending = r->pending(r->pending_ctx, t->name);
		count++;
	}
	qsort(items, count, sizeof(*items), by_depth);
	*ret = items;
	*ret_count = count;
	return 0;
}

/* Restores one record; true: the record is no longer needed. */
static bool restore_target(const struct restore *r, const struct restore_target *t,
			   restore_each_fn *each, void *arg)
{
	struct restore_result result = {
		.unit = t->name, .record = t->baseline, .outcome = RESTORE_PENDING};
	bool keep = r->keep_pods && baseline_pod(t->baseline) != NULL;

	if (t->missing == RESTORE_POD_GONE)
		return !keep;
	if (t->pending != NULL)
		snprintf(result.detail, sizeof(result.detail), "%s", t->pending);
	else
		restore_unit(r, t, &result);
	each(arg, &result);
	return !keep && (result.outcome == RESTORE_GONE || result.outcome == RESTORE_RESTORED);
}

int restore_set(const struct restore *r, struct baseline_set *set, const char *name,
		restore_each_fn *each, void *arg)
{
	OWN(drop_free) struct restore_target *targets = NULL;
	OWN(drop_free) bool *finished = NULL; /* by the place in the set */
	size_t count = 0;
	int e = targets_of(r, set, name, &targets, &count);

	if (e < 0)
		return e;
	if (name && count == 0)
		return -ENOENT;
	finished = calloc(set->count + 1, sizeof(*finished));
	if (!finished)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (targets[i].pending == NULL || is_whole_pod(targets[i].baseline))
			restore_grow(r, &targets[i]);
	for (size_t i = count; i-- > 0;) {
		const struct restore_target *t = &targets[i];

		if (t->grow_only)
			continue;
		/* What systemd stores from here on is no property of the daemon's. */
		if (t->pending == NULL && baseline_unit(t->baseline) != NULL)
			memset(set->items[t->baseline - set->items].sent_over, 0,
			       sizeof t->baseline->sent_over);
		finished[t->baseline - set->items] = restore_target(r, t, each, arg);
	}
	/* Only after the last use of all: the records behind one that goes move. */
	for (size_t i = set->count; i-- > 0;)
		if (finished[i])
			baseline_remove(set, &set->items[i]);
	return 0;
}

int restore_lift(const struct restore *r, struct baseline_set *set)
{
	int lifted = 0, error = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct baseline *b = &set->items[i];
		struct restore_target t;
		int e;

		if (b->high != BASELINE_HIGH_LOWERED)
			continue;
		restore_locate(r, b, &t);
		e = restore_lift_unit(r, &t);
		if (e < 0) {
			error = error ? error : e;
			continue;
		}
		b->high = BASELINE_HIGH_KEPT;
		lifted += e;
	}
	return error < 0 ? error : lifted;
}

/* --- calls to systemd without an event loop */

/* PID 1 answers in 10 ms, in tens of seconds while it starts many units. */
#define TIMEOUT_USEC   (30 * USEC_PER_SEC)
#define PRIVATE_SOCKET "/run/systemd/private"
#define SYSTEM_SOCKET  "/run/dbus/system_bus_socket" /* the longer one */

/* A missing socket and a missing unit give the same error. */
static int classify_error(const struct restore_systemd *s, int error)
{
	bool reachable =
		access(s->private_socket, F_OK) == 0 || access(s->system_socket, F_OK) == 0;

	return error == -ENOENT && !reachable ? -ENOTCONN : error;
}

static usec_t clock_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

/* How long the next call may take; 0: not at all. */
static usec_t patience(const struct restore_systemd *s)
{
	if (s->total_usec == 0)
		return s->timeout_usec;
	return MIN(s->timeout_usec, s->total_usec - MIN(s->spent_usec, s->total_usec));
}

/* A container that has just appeared: waits for its runtime. */
static void wait_for_runtime(const struct restore_systemd *s, const char *unit)
{
	usec_t age = 0, left;
	struct timespec pause;

	if (!s->waits_for_runtime || !text_is_container_scope(unit) ||
	    unit_age_now(&s->address, unit, patience(s), &age) < 0 || age >= UNIT_CREATING_USEC)
		return;
	left = UNIT_CREATING_USEC - age;
	pause = (struct timespec){.tv_sec = (time_t)(left / USEC_PER_SEC),
				  .tv_nsec = (long)(left % USEC_PER_SEC) * 1000};
	nanosleep(&pause, NULL);
}

static int set_now(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask)
{
	struct restore_systemd *s = ctx;
	usec_t begin, timeout = patience(s);
	int r;

	wait_for_runtime(s, unit);
	begin = clock_usec();
	r = timeout == 0 ? -ETIMEDOUT : unit_set_now(&s->address, unit, want, mask, timeout);
	s->spent_usec += clock_usec() - begin;
	return classify_error(s, r);
}

static int get_now(void *ctx, const char *unit, struct unit_props *ret)
{
	struct restore_systemd *s = ctx;
	usec_t begin = clock_usec(), timeout = patience(s);
	int r = timeout == 0 ? -ETIMEDOUT : unit_get_now(&s->address, unit, timeout, ret);

	s->spent_usec += clock_usec() - begin;
	return classify_error(s, r);
}

static int drop_now(void *ctx, const char *unit, uint32_t mask)
{
	const struct restore_systemd *s = ctx;

	return unit_dropin_remove(s->root, unit, mask);
}

int restore_systemd_init(struct restore_systemd *ret, const char *root)
{
	*ret = (struct restore_systemd){
		.units = {.ctx = ret, .set = set_now, .get = get_now, .drop = drop_now},
		.root = root,
		.timeout_usec = TIMEOUT_USEC,
		.waits_for_runtime = true,
	};
	ret->address = (struct unit_address){ret->private_socket, ret->system_socket};
	if (strlen(root) + sizeof SYSTEM_SOCKET > sizeof ret->system_socket)
		return -ENAMETOOLONG;
	snprintf(ret->private_socket, sizeof ret->private_socket, "%s" PRIVATE_SOCKET, root);
	snprintf(ret->system_socket, sizeof ret->system_socket, "%s" SYSTEM_SOCKET, root);
	return 0;
}
