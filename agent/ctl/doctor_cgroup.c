// SPDX-License-Identifier: Apache-2.0
/* Checks of the kernel. */
#include "agent/base/drop.h"
#include "agent/ctl/doctor.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NEEDED (CG_CPU | CG_MEMORY)

/* "cpu and memory", "cpu", "memory". */
static const char *names_of(uint32_t controllers)
{
	if ((controllers & NEEDED) == NEEDED)
		return "cpu and memory";
	return controllers & CG_CPU ? "cpu" : "memory";
}

enum finding check_cgroup_version(const struct doctor *d, char *text)
{
	static const char *const words[CG_MODE_COUNT] = {
		[CG_MODE_NONE] = "no cgroup file system is mounted",
		[CG_MODE_V1] = "only cgroup v1 is mounted",
		[CG_MODE_HYBRID] = "hybrid: cgroup v2 is mounted, but cpu or memory belong to v1",
		[CG_MODE_UNIFIED] = "cgroup v2 at",
	};

	if (d->host_error < 0)
		return doctor_say(text, FINDING_MISSING, "the cgroup tree cannot be read: %s",
				  strerror(-d->host_error));
	if (d->host.mode != CG_MODE_UNIFIED)
		return doctor_say(text, FINDING_MISSING, "%s", words[d->host.mode]);
	return doctor_say(text, FINDING_OK, "%s %s", words[CG_MODE_UNIFIED], d->host.mount);
}

enum finding check_controllers(const struct doctor *d, char *text)
{
	uint32_t missing = NEEDED & ~d->host.available;

	if (!doctor_has_tree(d))
		return doctor_skip(text, DOCTOR_NO_TREE);
	if (missing)
		return doctor_say(text, FINDING_MISSING,
				  "the kernel does not offer the %s controller", names_of(missing));
	return doctor_say(text, FINDING_OK, "the kernel offers cpu and memory");
}

static void note_gap(void *ctx, const char *folder, uint32_t missing)
{
	char *text = ctx;

	/* Reports the first gap on the path: it is the one to fix. */
	if (text[0] == '\0')
		snprintf(text, DOCTOR_TEXT_MAX, "%s %s not enabled below %s", names_of(missing),
			 (missing & NEEDED) == NEEDED ? "are" : "is", folder);
}

enum finding check_enabled(const struct doctor *d, char *text)
{
	OWN(drop_fd) int root = -1;

	if (!doctor_has_tree(d))
		return doctor_skip(text, DOCTOR_NO_TREE);
	if ((NEEDED & ~d->host.enabled) != 0) {
		note_gap(text, "/", NEEDED & ~d->host.enabled);
		return FINDING_MISSING;
	}
	root = open(d->host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A slice enables the cpu controller when a unit in it needs it. */
	if (root >= 0 && cg_gaps(root, "system.slice/x.service", NEEDED, note_gap, text) > 0)
		return FINDING_WARN;
	return doctor_say(text, FINDING_OK, "cpu and memory are enabled down to the services");
}

/* Whether some folder right below the root, or the system slice, has the file. */
static bool offers_file(const struct doctor *d, const char *name)
{
	OWN(drop_fd) int root = open(d->host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "system.slice/%s", name);
	return root >= 0 && faccessat(root, path, F_OK, 0) == 0;
}

enum finding check_files(const struct doctor *d, char *text)
{
	static const char *const files[] = {"memory.reclaim", "memory.peak", "memory.high"};
	struct utsname u;

	if (!doctor_has_tree(d))
		return doctor_skip(text, DOCTOR_NO_TREE);
	if (uname(&u) < 0)
		strcpy(u.release, "?");
	if (!offers_file(d, "memory.max"))
		return doctor_skip(text, "system.slice has no memory files");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (offers_file(d, files[i]))
			continue;
		return doctor_say(text, FINDING_WARN, "kernel %.60s has no %s", u.release,
				  files[i]);
	}
	return doctor_say(text, FINDING_OK, "kernel %.60s has memory.reclaim and memory.peak",
			  u.release);
}

enum finding check_psi(const struct doctor *d, char *text)
{
	char path[512], line[64];
	int fd;
	ssize_t n = -1;

	if (!doctor_path(d, "/proc/pressure/memory", path, sizeof(path)))
		return FINDING_SKIPPED;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Built in but switched off, the file is there and cannot be read. */
	if (fd >= 0) {
		n = read(fd, line, sizeof(line));
		close(fd);
	}
	if (n <= 0)
		return doctor_say(text, FINDING_WARN, "pressure stall information is off");
	return doctor_say(text, FINDING_OK, "pressure stall information is on");
}

/* Containers use the same user's instances: on a full node a restarted agent gets none. */
enum finding check_inotify(const struct doctor *, char *text)
{
	/* vscaled needs as many. */
	int first = inotify_init1(IN_CLOEXEC), second = inotify_init1(IN_CLOEXEC);
	int error = errno;

	if (first >= 0)
		close(first);
	if (second < 0)
		return doctor_say(text, FINDING_WARN, "too few inotify instances are left (%s)",
				  strerror(error));
	close(second);
	return doctor_say(text, FINDING_OK, "inotify instances are left for this user");
}

/* Only the agent knows whether it may load programs: see `vscalectl status`. */
enum finding check_bpf(const struct doctor *d, char *text)
{
	static const char types[] = "/sys/kernel/btf/vmlinux";
	char path[512];

	if (!doctor_path(d, types, path, sizeof(path)))
		return FINDING_SKIPPED;
	if (access(path, R_OK) < 0)
		return doctor_say(text, FINDING_WARN,
				  "the kernel has no type information, BTF (%s: %s)", types,
				  strerror(errno));
	return doctor_say(text, FINDING_OK, "the kernel has type information (BTF)");
}

enum finding check_privilege(const struct doctor *d, char *text)
{
	if (!doctor_has_tree(d))
		return doctor_skip(text, DOCTOR_NO_TREE);
	if (d->observes)
		return doctor_say(text, FINDING_SKIPPED,
				  "the cgroup tree is read-only, as it may be: "
				  "kubernetes.highestMode is Off, no limit is written");
	if (!d->host.writable)
		return doctor_say(text, FINDING_MISSING, "user %u may not write to %s",
				  (unsigned)geteuid(), d->host.mount);
	return doctor_say(text, FINDING_OK, "user %u may write limits", (unsigned)geteuid());
}
