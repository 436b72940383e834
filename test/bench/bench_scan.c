// SPDX-License-Identifier: Apache-2.0
/*
 * Cost of reading one cgroup, several ways over the same groups in the same run: the BPF reader,
 * the text reader's kept descriptors, open + read + close by path, and libcgroup. At 10, 100, 250
 * and 1,000 groups, or --count of them. One JSON line per figure, NAME_COUNT, microseconds per
 * cgroup: the best of several passes over all groups, the ways taking turns. *_growth: the cost per
 * group at the largest count, over that at 100.
 *
 * libcgroup reads a group as a whole (cgroup_get_cgroup), then its values are asked for by name. A
 * file that is not among them, because its controller is bound to another hierarchy, is read by
 * name (cgroup_read_value_begin). *_libcgroup_value reads every file that second way.
 *
 * scan_*: the files of the fast loop; scan_all_*: every file the reader knows. The BPF reader walks
 * all cgroups of the host for it; its pressure is as of the kernel's last aggregation.
 *
 * Makes its own cgroups below the cgroup2 mount and removes them: needs root.
 */
#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/discover.h"
#include "cgroup/group.h"
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define PASSES     30
#define PASSES_MIN 2
/* A way that has had this much time gets no further pass. */
#define BUDGET_USEC 2e6
#define COUNT_MAX   2000
/* What growth is measured against. */
#define COUNT_BASE 100
/* This host has no cgroup2 tree, or no right to make cgroups in it. */
#define EXIT_CANNOT_RUN 77
/* The files of the fast loop; memory.stat, which costs eight times as much, is read more rarely,
 * and limits are watched instead of read. */
#define WANT_LOOP                                                                                  \
	(USAGE_CPU | USAGE_THROTTLE | USAGE_MEM | USAGE_MEM_EVENTS | USAGE_PSI_CPU | USAGE_PSI_MEM)
#define WANT_ALL ((USAGE_MEM_LIMIT << 1) - 1)

struct bench {
	char root[CG_MOUNT_BYTES];        /* of the cgroup2 tree */
	char top[64];                     /* own folder in it */
	char folder[CG_MOUNT_BYTES + 64]; /* both */
	char controller[FILENAME_MAX];    /* one that libcgroup finds the tree by */
	uint32_t count;
	uint32_t want;
	uint32_t files; /* bit per enum cg_file: exists and is wanted */
	struct cg **cgroups;
	struct cg_scan *scan; /* NULL: the programs do not load here */
	uint32_t *slots;      /* of the cgroups in it */
};

typedef int (*scan_fn)(const struct bench *b, uint32_t index);

/* Everything read is added up here, so that no work can be left out. */
static volatile uint64_t sink;

/* CPU time of this thread: the load of other processes is no cost of reading. Everything
 * measured happens in our own system calls. */
static double now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int scan_kept_fd(const struct bench *b, uint32_t index)
{
	struct usage u;
	int r = cg_read(b->cgroups[index], b->want, &u);

	sink += u.cpu_usage_usec;
	return r;
}

static int pass_bpf(const struct bench *b)
{
	return cg_scan_pass(b->scan, b->want);
}

static int scan_bpf(const struct bench *b, uint32_t index)
{
	struct usage u;
	int r = cg_scan_get(b->scan, b->slots[index], b->want, &u);

	sink += u.cpu_usage_usec;
	return r;
}

static int read_by_path(const struct bench *b, uint32_t index, enum cg_file file, struct usage *u)
{
	char path[PATH_MAX], text[CG_TEXT_BYTES];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%s/%u/%s", b->folder, index, cg_file_names[file]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof text);
	close(fd);
	return n < 0 ? -EIO : cg_file_fill(file, text, (size_t)n, u);
}

static int scan_open_read_close(const struct bench *b, uint32_t index)
{
	struct usage u = {0};
	int r = 0;

	for (enum cg_file file = 0; file < CG_FILE_COUNT && r == 0; file++)
		if (b->files & 1u << file)
			r = read_by_path(b, index, file, &u);
	sink += u.cpu_usage_usec;
	return r;
}

static int read_by_libcgroup(const struct bench *b, const char *group, enum cg_file file,
			     struct usage *u)
{
	char text[CG_TEXT_BYTES], part[CG_TEXT_BYTES];
	void *handle = NULL;
	size_t len = 0;
	int r;

	/* One line at a time, without its newline. */
	r = cgroup_read_value_begin(b->controller, group, (char *)cg_file_names[file], &handle,
				    part, sizeof part);
	while (r == 0 && len < sizeof text) {
		part[strcspn(part, "\n")] = '\0';
		len += (size_t)snprintf(text + len, sizeof text - len, "%s\n", part);
		r = cgroup_read_value_next(&handle, part, sizeof part);
	}
	cgroup_read_value_end(&handle);
	if (r != ECGEOF || len >= sizeof text)
		return -EIO;
	return cg_file_fill(file, text, len, u);
}

static int scan_libcgroup_value(const struct bench *b, uint32_t index)
{
	struct usage u = {0};
	char group[96];
	int r = 0;

	snprintf(group, sizeof group, "%s/%u", b->top, index);
	for (enum cg_file file = 0; file < CG_FILE_COUNT && r == 0; file++)
		if (b->files & 1u << file)
			r = read_by_libcgroup(b, group, file, &u);
	sink += u.cpu_usage_usec;
	return r;
}

/* Value of a file in a group that was read as a whole; NULL: not among its values. */
static char *value_of(struct cgroup *group, enum cg_file file)
{
	const char *name = cg_file_names[file];
	struct cgroup_controller *controller;
	char prefix[16], *value = NULL;

	snprintf(prefix, sizeof prefix, "%.*s", (int)strcspn(name, "."), name);
	controller = cgroup_get_controller(group, prefix);
	if (controller == NULL || cgroup_get_value_string(controller, name, &value) != 0)
		return NULL;
	return value;
}

/* libcgroup cuts the last newline off. */
static int fill_value(enum cg_file file, const char *value, struct usage *u)
{
	char text[CG_TEXT_BYTES];
	int len = snprintf(text, sizeof text, "%s\n", value);

	return cg_file_fill(file, text, (size_t)len, u);
}

static int scan_libcgroup(const struct bench *b, uint32_t index)
{
	struct usage u = {0};
	struct cgroup *group;
	char name[96];
	int r;

	snprintf(name, sizeof name, "%s/%u", b->top, index);
	group = cgroup_new_cgroup(name);
	r = group == NULL ? -ENOMEM : cgroup_get_cgroup(group) == 0 ? 0 : -EIO;
	for (enum cg_file file = 0; file < CG_FILE_COUNT && r == 0; file++) {
		OWN(drop_free) char *value = NULL;

		if (!(b->files & 1u << file))
			continue;
		value = value_of(group, file);
		r = value == NULL ? read_by_libcgroup(b, name, file, &u)
				  : fill_value(file, value, &u);
	}
	cgroup_free(&group);
	sink += u.cpu_usage_usec;
	return r;
}

static const struct way {
	const char *name;
	scan_fn scan;
	int (*before)(const struct bench *b); /* once a pass, counted like the rest */
} ways[] = {
	{"kept_fd", scan_kept_fd, NULL},
	{"bpf", scan_bpf, pass_bpf},
	{"open_read_close", scan_open_read_close, NULL},
	{"libcgroup", scan_libcgroup, NULL},
	{"libcgroup_value", scan_libcgroup_value, NULL},
};

struct figures {
	double best[ARRAY_SIZE(ways)]; /* microseconds per cgroup; 0: not measured */
};

static bool can(const struct bench *b, const struct way *w)
{
	return w->scan != scan_bpf || b->scan != NULL;
}

static int run_pass(const struct bench *b, const struct way *w, double *ret_usec)
{
	double begin = now_usec();
	int r = w->before == NULL ? 0 : w->before(b);

	for (uint32_t i = 0; i < b->count && r >= 0; i++)
		r = w->scan(b, i);
	if (r < 0)
		return r;
	*ret_usec = now_usec() - begin;
	return 0;
}

static int measure(const struct bench *b, struct figures *ret)
{
	double spent[ARRAY_SIZE(ways)] = {0}, usec = 0;

	*ret = (struct figures){0};
	for (int pass = 0; pass < PASSES; pass++)
		for (size_t w = 0; w < ARRAY_SIZE(ways); w++) {
			int r;

			if (!can(b, &ways[w]) || (pass >= PASSES_MIN && spent[w] > BUDGET_USEC))
				continue;
			r = run_pass(b, &ways[w], &usec);
			if (r < 0)
				return r;
			spent[w] += usec;
			if (pass == 0 || usec / b->count < ret->best[w])
				ret->best[w] = usec / b->count;
		}
	return 0;
}

static void print(const char *set, const char *way, const char *what, double value,
		  const char *unit)
{
	printf("{\"name\":\"%s_%s_%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", set, way, what, value,
	       unit);
}

/* One set of files, every way. base: the figures that growth is counted from. */
static int run(const struct bench *b, const char *set, struct figures *base)
{
	struct figures now;
	char what[32];
	int r = measure(b, &now);

	if (r < 0)
		return r;
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++) {
		if (now.best[w] == 0)
			continue;
		snprintf(what, sizeof what, "%u", b->count);
		print(set, ways[w].name, what, now.best[w], "us/cgroup");
		snprintf(what, sizeof what, "%u_ratio", b->count);
		if (w > 0)
			print(set, ways[w].name, what, now.best[w] / now.best[0], "x");
		snprintf(what, sizeof what, "%u_growth", b->count);
		if (b->count > COUNT_BASE && base->best[w] > 0)
			print(set, ways[w].name, what, now.best[w] / base->best[w], "x");
	}
	if (b->count == COUNT_BASE)
		*base = now;
	return 0;
}

/* Any controller of the version 2 tree will do: libcgroup knows the tree by it. */
static int find_controller(struct bench *b)
{
	struct cgroup_mount_point m;
	void *handle = NULL;
	int r;

	for (r = cgroup_get_controller_begin(&handle, &m); r == 0;
	     r = cgroup_get_controller_next(&handle, &m))
		if (strcmp(m.path, b->root) == 0) {
			snprintf(b->controller, sizeof b->controller, "%s", m.name);
			break;
		}
	cgroup_get_controller_end(&handle);
	return b->controller[0] == '\0' ? -ENOENT : 0;
}

/* Children get the controllers that the root hands down. */
static void enable_controllers(const struct bench *b)
{
	static const char *const words[] = {"+cpu", "+memory"};
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/cgroup.subtree_control", b->folder);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		OWN(cg_drop_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

		/* Refused where the controller is not there: then its files are not, either. */
		if (fd >= 0 && write(fd, words[i], strlen(words[i])) < 0)
			fprintf(stderr, "without %s\n", words[i] + 1);
	}
}

static int open_child(struct bench *b, int root, uint32_t index)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%u", b->folder, index);
	if (mkdir(path, 0755) < 0)
		return -errno;
	snprintf(path, sizeof path, "%s/%u", b->top, index);
	return cg_open(root, path, &b->cgroups[index]);
}

// clang-format off
/* What each file is read for. */
static const uint32_t file_parts[CG_FILE_COUNT] = {
	[CG_FILE_CPU_STAT]    = USAGE_CPU | USAGE_THROTTLE,
	[CG_FILE_MEM_CURRENT] = USAGE_MEM,
	[CG_FILE_MEM_STAT]    = USAGE_MEM_STAT,
	[CG_FILE_MEM_PEAK]    = USAGE_MEM_PEAK,
	[CG_FILE_MEM_EVENTS]  = USAGE_MEM_EVENTS,
	[CG_FILE_PSI_CPU]     = USAGE_PSI_CPU,
	[CG_FILE_PSI_MEM]     = USAGE_PSI_MEM,
	[CG_FILE_CPU_MAX]     = USAGE_CPU_LIMIT,
	[CG_FILE_CPU_BURST]   = USAGE_CPU_LIMIT,
	[CG_FILE_MEM_MAX]     = USAGE_MEM_LIMIT,
	[CG_FILE_MEM_HIGH]    = USAGE_MEM_LIMIT,
};
// clang-format on

/* The files of a set that this kernel shows here. */
static void choose_files(struct bench *b, const char *set, uint32_t want)
{
	b->want = want;
	b->files = 0;
	fprintf(stderr, "%s:", set);
	for (enum cg_file file = 0; file < CG_FILE_COUNT; file++)
		if (file_parts[file] & want &&
		    faccessat(cg_dirfd(b->cgroups[0]), cg_file_names[file], R_OK, 0) == 0) {
			b->files |= 1u << file;
			fprintf(stderr, " %s", cg_file_names[file]);
		}
	fprintf(stderr, "\n");
}

static int run_sets(struct bench *b)
{
	static struct {
		const char *name;
		uint32_t want;
		struct figures base;
	} sets[] = {{.name = "scan", .want = WANT_LOOP}, {.name = "scan_all", .want = WANT_ALL}};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sets) && r == 0; i++) {
		choose_files(b, sets[i].name, sets[i].want);
		r = run(b, sets[i].name, &sets[i].base);
	}
	return r;
}

/* Without the programs the other ways are measured, and the reason is printed. */
static int set_up_bpf(struct bench *b, int root)
{
	struct cg_probe probe;
	int r = cg_scan_open(root, b->count, false, &b->scan, &probe);

	fprintf(stderr, "%s: %s\n", probe.program, probe.why);
	if (r < 0)
		return 0;
	b->slots = calloc(b->count, sizeof *b->slots);
	if (b->slots == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count && r == 0; i++)
		r = cg_scan_add(b->scan, cg_id(b->cgroups[i]), &b->slots[i]);
	return r;
}

static int set_up(struct bench *b)
{
	OWN(cg_drop_fd) int root = open(b->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rlimit files;
	int r = 0;

	if (root < 0 || mkdir(b->folder, 0755) < 0)
		return -errno;
	enable_controllers(b);
	/* One descriptor per cgroup and file, and some for all else. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	b->cgroups = calloc(b->count, sizeof(struct cg *));
	if (b->cgroups == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count && r == 0; i++)
		r = open_child(b, root, i);
	return r < 0 ? r : set_up_bpf(b, root);
}

static void tear_down(struct bench *b)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; b->cgroups != NULL && i < b->count; i++) {
		cg_close(b->cgroups[i]);
		snprintf(path, sizeof path, "%s/%u", b->folder, i);
		(void)rmdir(path);
	}
	cg_scan_close(STEAL(b->scan));
	free(STEAL(b->slots));
	free(STEAL(b->cgroups));
	(void)rmdir(b->folder);
}

static int run_count(struct bench *b, uint32_t count)
{
	int r;

	b->count = count;
	r = set_up(b);
	if (r == 0)
		r = run_sets(b);
	tear_down(b);
	return r;
}

int main(int argc, char **argv)
{
	uint32_t counts[] = {10, COUNT_BASE, 250, 1000};
	size_t rounds = ARRAY_SIZE(counts);
	struct bench b = {0};
	struct cg_host host;
	int r;

	if (argc == 3 && strcmp(argv[1], "--count") == 0) {
		counts[0] = (uint32_t)strtoul(argv[2], NULL, 10);
		rounds = 1;
	}
	if ((argc != 1 && argc != 3) || counts[0] == 0 || counts[0] > COUNT_MAX) {
		fprintf(stderr, "usage: %s [--count 1..%d]\n", argv[0], COUNT_MAX);
		return 2;
	}
	r = cg_discover(NULL, false, &host);
	if (r < 0 || host.mount[0] == '\0') {
		fprintf(stderr, "no cgroup2 mount here\n");
		return EXIT_CANNOT_RUN;
	}
	snprintf(b.root, sizeof b.root, "%s", host.mount);
	snprintf(b.top, sizeof b.top, "vscaled-bench-%d", (int)getpid());
	snprintf(b.folder, sizeof b.folder, "%s/%s", b.root, b.top);
	r = find_controller(&b);
	for (size_t i = 0; i < rounds && r == 0; i++)
		r = run_count(&b, counts[i]);
	if (r < 0)
		fprintf(stderr, "bench_scan: %s\n", strerror(-r));
	if (r == -EACCES || r == -EPERM || r == -EROFS)
		return EXIT_CANNOT_RUN;
	return r < 0;
}
