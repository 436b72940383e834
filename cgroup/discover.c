// SPDX-License-Identifier: Apache-2.0
#include "cgroup/discover.h"
#include "cgroup/group.h"
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>

enum fs_kind { FS_NONE, FS_V1, FS_V2 };

static enum fs_kind fs_kind_of(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return FS_NONE;
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return FS_V2;
	return fs.f_type == CGROUP_SUPER_MAGIC ? FS_V1 : FS_NONE;
}

/* libcgroup would print to stdout; errors come back as results instead. */
__attribute__((format(printf, 3, 0))) static void quiet(void *, int, const char *, va_list)
{
}

/* Which version a controller is mounted under; a version 2 mount point goes to mount. */
static enum fs_kind controller_kind(const char *name, char mount[static CG_MOUNT_BYTES])
{
	OWN(drop_free) char *at = NULL;
	enum fs_kind kind;

	if (cgroup_get_subsys_mount_point(name, &at) != 0 || at == NULL)
		return FS_NONE;
	kind = fs_kind_of(at);
	if (kind == FS_V2 && strlen(at) < CG_MOUNT_BYTES)
		strcpy(mount, at);
	return kind;
}

static void drop_mntent(FILE **f)
{
	if (*f != NULL)
		endmntent(*f);
}

/* A version 2 tree without a controller that libcgroup would know it by. */
static void find_v2_mount(char mount[static CG_MOUNT_BYTES])
{
	OWN(drop_mntent) FILE *table = setmntent("/proc/self/mounts", "re");
	char line[PATH_MAX];
	struct mntent m;

	if (table == NULL)
		return;
	while (getmntent_r(table, &m, line, sizeof line) != NULL)
		if (strcmp(m.mnt_type, "cgroup2") == 0 && strlen(m.mnt_dir) < CG_MOUNT_BYTES) {
			strcpy(mount, m.mnt_dir);
			return;
		}
}

/* The host's own arrangement. */
static void find_host(struct cg_host *h)
{
	enum fs_kind cpu = FS_NONE, memory = FS_NONE;

	cgroup_set_logger(quiet, CGROUP_LOG_ERROR, NULL);
	if (cgroup_init() == 0) {
		cpu = controller_kind("cpu", h->mount);
		memory = controller_kind("memory", h->mount);
	}
	if (h->mount[0] == '\0')
		find_v2_mount(h->mount);
	if (cpu == FS_V1 || memory == FS_V1)
		h->mode = h->mount[0] != '\0' ? CG_MODE_HYBRID : CG_MODE_V1;
	else
		h->mode = h->mount[0] != '\0' ? CG_MODE_UNIFIED : CG_MODE_NONE;
}

/* In a child: libcgroup's table of mounts takes 800 KB that it never gives back. */
static int find_host_in_child(struct cg_host *h)
{
	int fds[2], r;
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	r = pid < 0 ? -errno : 0;
	if (pid == 0) {
		find_host(h);
		n = write(fds[1], h, sizeof *h);
		_exit(n == sizeof *h ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	/* Else the end of the child would not be noticed. */
	close(fds[1]);
	if (r == 0) {
		do
			n = read(fds[0], h, sizeof *h);
		while (n < 0 && errno == EINTR);
		r = n == sizeof *h ? 0 : -EIO;
	}
	close(fds[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

static int read_mask(int dir, const char *name, uint32_t *ret)
{
	char text[CG_TEXT_BYTES];
	int n = cg_text_read(dir, name, text);

	return n < 0 ? n : cg_parse_controllers(text, (size_t)n, ret);
}

/* Reads the controllers and properties of the root of the tree at h->mount. */
static int probe_root(struct cg_host *h)
{
	OWN(cg_drop_fd) int dir = open(h->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[CG_TEXT_BYTES];
	int r;

	if (dir < 0)
		return -errno;
	r = read_mask(dir, "cgroup.controllers", &h->available);
	if (r < 0)
		return r;
	r = read_mask(dir, "cgroup.subtree_control", &h->enabled);
	if (r < 0)
		return r;
	/* Booted with psi=0 the files are there, and cannot be read. */
	r = cg_text_read(dir, "cpu.pressure", text);
	if (r > 0)
		r = cg_text_read(dir, "memory.pressure", text);
	if (r < 0 && r != -ENOENT && r != -EOPNOTSUPP && r != -EACCES)
		return r;
	h->psi = r > 0;
	h->writable = faccessat(dir, "cgroup.subtree_control", W_OK, AT_EACCESS) == 0;
	return 0;
}

/* The given root instead of the host's. A hybrid host's version 2 tree is useless here too. */
static int use_root(struct cg_host *h, const char *root, bool trust)
{
	enum fs_kind kind = trust ? FS_V2 : fs_kind_of(root);

	if (strlen(root) >= CG_MOUNT_BYTES)
		return -ENAMETOOLONG;
	if (!trust && access(root, F_OK) < 0)
		return -errno;
	if (kind != FS_V2) {
		if (h->mode == CG_MODE_UNIFIED)
			h->mode = CG_MODE_NONE;
		h->mount[0] = '\0';
		return 0;
	}
	if (trust || h->mode != CG_MODE_HYBRID)
		h->mode = CG_MODE_UNIFIED;
	strcpy(h->mount, root);
	return 0;
}

int cg_discover(const char *root, bool trust, struct cg_host *ret)
{
	struct cg_host h = {0};
	struct utsname u;
	int r = 0;

	if (root == NULL || !trust)
		r = find_host_in_child(&h);
	if (r < 0)
		return r;
	if (uname(&u) == 0) {
		strcpy(h.kernel, u.release);
		h.kernel_old = strverscmp(u.release, CG_KERNEL_OLDEST) < 0;
	}
	if (root != NULL) {
		r = use_root(&h, root, trust);
		if (r < 0)
			return r;
	}
	if (h.mount[0] != '\0') {
		r = probe_root(&h);
		if (r < 0)
			return r;
	}
	*ret = h;
	return 0;
}

static bool offers(int dir, const char *file, const char *line)
{
	char text[CG_TEXT_BYTES], key[32];
	int n;

	if (line == NULL)
		return faccessat(dir, file, F_OK, 0) == 0;
	snprintf(key, sizeof key, "%s ", line);
	n = cg_text_read(dir, file, text);
	return n < 0 || memmem(text, (size_t)n, key, strlen(key)) != NULL;
}

void cg_lacks(int dir, char *ret, size_t size)
{
	/* Each with the file that shows its controller. */
	static const struct {
		const char *controller, *file, *line;
	} newer[] = {
		{"memory.max", "memory.peak", NULL},
		{"memory.max", "memory.reclaim", NULL},
		{"cpu.max", "cpu.max.burst", NULL},
		{"cpu.max", "cpu.stat", "\nnr_throttled"},
		{"memory.max", "memory.stat", "\nkernel"},
		{"memory.max", "memory.stat", "\nsock"},
		{"memory.max", "memory.stat", "\nunevictable"},
		{"memory.max", "memory.stat", "\nslab_reclaimable"},
	};
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(newer) && len < size; i++)
		if (offers(dir, newer[i].controller, NULL) &&
		    !offers(dir, newer[i].file, newer[i].line))
			len += (size_t)snprintf(ret + len, size - len, "%s%s%s%s",
						len > 0 ? ", " : "", newer[i].file,
						newer[i].line != NULL ? ":" : "",
						newer[i].line != NULL ? newer[i].line + 1 : "");
}

const char *cg_mode_name(enum cg_mode m)
{
	static const char *const names[CG_MODE_COUNT] = {
		[CG_MODE_NONE] = "none",
		[CG_MODE_V1] = "v1",
		[CG_MODE_HYBRID] = "hybrid",
		[CG_MODE_UNIFIED] = "unified",
	};

	return names[m];
}

int cg_gaps(int root_dirfd, const char *path, uint32_t need, cg_gap_fn fn, void *ctx)
{
	char folder[PATH_MAX] = "/";
	const char *rest = path + strspn(path, "/");
	size_t len = 0;
	int gaps = 0;

	while (*rest != '\0') {
		OWN(drop_cg) struct cg *c = NULL;
		uint32_t enabled;
		int r = cg_open(root_dirfd, folder, &c);

		if (r == 0)
			r = read_mask(cg_dirfd(c), "cgroup.subtree_control", &enabled);
		if (r < 0)
			return r;
		if (need & ~enabled) {
			fn(ctx, folder, need & ~enabled);
			gaps++;
		}
		/* On to the next name: what was the child is now the folder. */
		r = snprintf(folder + len, sizeof folder - len, "/%.*s", (int)strcspn(rest, "/"),
			     rest);
		if ((size_t)r >= sizeof folder - len)
			return -ENAMETOOLONG;
		len += (size_t)r;
		rest += strcspn(rest, "/");
		rest += strspn(rest, "/");
	}
	return gaps;
}
