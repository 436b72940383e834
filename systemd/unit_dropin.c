// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_dropin.h"
#include "systemd/unit_conn.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROL "run/systemd/system.control"
/* The first name that SetUnitProperties writes: what comes before it is always beaten. */
#define FIRST "50-CPUQuota.conf"
/* More than a drop-in usually has; the rest of a larger one is not read. */
#define FILE_BYTES 16384

const struct unit_dropin_row unit_dropin_rows[UNIT_DROPIN_ROWS] = {
	{UNIT_DROPIN_CPU, "zz-vscaled-cpu.conf"},
	{UNIT_DROPIN_MEMORY, "zz-vscaled-memory.conf"},
};

static const struct {
	const char *path;
	bool same_name; /* a file of the name that SetUnitProperties writes is not its own */
} homes[] = {
	{"etc/systemd/system.control", true}, {CONTROL, false},
	{"run/systemd/transient", false},     {"etc/systemd/system", true},
	{"run/systemd/system", true},         {"usr/local/lib/systemd/system", true},
	{"usr/lib/systemd/system", true},
};

static const char *const keys[] = {"CPUQuota", "MemoryMax", "MemoryHigh", "MemoryLimit"};

/* --- drop-ins of others --- */

static void drop_dir(DIR **d)
{
	if (*d != NULL)
		closedir(*d);
}

static bool file_names_limit(int dir, const char *name)
{
	OWN(unit_drop_fd) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char text[FILE_BYTES];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

	/* For systemd a byte 0 ends a line, and not the file. */
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(keys); i++)
		if (memmem(text, (size_t)n, keys[i], strlen(keys[i])) != NULL)
			return true;
	return false;
}

static bool is_own(const char *name)
{
	for (size_t i = 0; i < UNIT_DROPIN_ROWS; i++)
		if (strcmp(name, unit_dropin_rows[i].file) == 0)
			return true;
	return false;
}

static bool is_of_property(const char *name)
{
	for (size_t i = 0; i < UNIT_PROP_ROWS; i++)
		if (strcmp(name, unit_prop_rows[i].dropin) == 0)
			return true;
	return false;
}

/* Whether a folder of drop-ins has one that wins. */
static bool folder_beats(const char *path, bool same_name)
{
	OWN(drop_dir) DIR *d = opendir(path);
	const struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		const char *end = strrchr(e->d_name, '.');

		if (end == NULL || strcmp(end, ".conf") != 0 || is_own(e->d_name) ||
		    strcmp(e->d_name, FIRST) < 0 || (is_of_property(e->d_name) && !same_name))
			continue;
		if (file_names_limit(dirfd(d), e->d_name))
			return true;
	}
	return false;
}

static bool homes_beat(const char *root, const char *folder)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		if (snprintf(path, sizeof path, "%s/%s/%s.d", root, homes[i].path, folder) <
			    (int)sizeof path &&
		    folder_beats(path, homes[i].same_name))
			return true;
	return false;
}

/* The unit's own folder, its template's, those of its dashed prefixes, and its type's. */
int unit_dropin_beaten(const char *root, const char *unit, bool *ret)
{
	const char *type = strrchr(unit, '.'), *at = strchr(unit, '@');
	char name[NAME_MAX + 1];
	bool beaten;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	beaten = homes_beat(root, unit) || homes_beat(root, type + 1);
	if (!beaten && at != NULL && at < type) {
		snprintf(name, sizeof name, "%.*s%s", (int)(at + 1 - unit), unit, type);
		beaten = homes_beat(root, name);
	}
	for (const char *c = type; !beaten && c-- > unit;) {
		if (*c != '-')
			continue;
		snprintf(name, sizeof name, "%.*s%s", (int)(c + 1 - unit), unit, type);
		beaten = homes_beat(root, name);
	}
	*ret = beaten;
	return 0;
}

/* The folder of a unit's drop-ins, opened without following a link at its end. */
static int open_folder(const char *root, const char *home, const char *unit, int access, int *ret)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof path, "%s/%s/%s.d", root, home, unit) >= (int)sizeof path)
		return -ENAMETOOLONG;
	fd = open(path, access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

/* --- drop-ins that systemd writes for a property call --- */

static const char *const written[] = {CONTROL, "run/systemd/transient"};

int unit_dropin_find(const char *root, const char *unit, uint32_t *ret)
{
	uint32_t found = 0;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	for (size_t h = 0; h < ARRAY_SIZE(written); h++) {
		OWN(unit_drop_fd) int fd = -1;
		int r = open_folder(root, written[h], unit, O_PATH, &fd);

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		for (size_t i = 0; i < UNIT_PROP_ROWS; i++)
			if (faccessat(fd, unit_prop_rows[i].dropin, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
				found |= unit_prop_rows[i].bit;
	}
	*ret = found;
	return 0;
}

/* In a container the folder is mounted read-only: the files that systemd made stay until the
 * reboot, with the value that was set last. */
static bool may_stay(int error)
{
	return error == ENOENT || error == EROFS;
}

static int remove_in(int fd, uint32_t mask)
{
	int result = 0;

	for (size_t i = 0; i < UNIT_PROP_ROWS; i++)
		if ((unit_prop_rows[i].bit & mask) &&
		    unlinkat(fd, unit_prop_rows[i].dropin, 0) < 0 && !may_stay(errno))
			result = -errno;
	for (size_t i = 0; i < UNIT_DROPIN_ROWS; i++)
		if ((unit_dropin_rows[i].bit & mask) &&
		    unlinkat(fd, unit_dropin_rows[i].file, 0) < 0 && !may_stay(errno))
			result = -errno;
	return result;
}

int unit_dropin_remove(const char *root, const char *unit, uint32_t mask)
{
	char path[PATH_MAX];
	int result = 0;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	for (size_t h = 0; h < ARRAY_SIZE(written); h++) {
		OWN(unit_drop_fd) int fd = -1;
		int r = open_folder(root, written[h], unit, O_PATH, &fd);

		if (r == 0)
			r = remove_in(fd, mask);
		/* Only an empty folder is removed: other files in it are not vscaled's. */
		if (r == 0 && snprintf(path, sizeof path, "%s/%s/%s.d", root, written[h], unit) <
				      (int)sizeof path)
			(void)rmdir(path);
		if (r < 0 && r != -ENOENT)
			result = r;
	}
	return result;
}

/* --- drop-ins of vscaled --- */

static int unit_dropin_put(char *text, const char *key, uint64_t value, const char *none,
			   const char *unit)
{
	size_t length = strlen(text);

	return value == UINT64_MAX
		       ? snprintf(text + length, UNIT_DROPIN_TEXT - length, "%s=%s\n", key, none)
		       : snprintf(text + length, UNIT_DROPIN_TEXT - length, "%s=%" PRIu64 "%s\n",
				  key, value, unit);
}

int unit_dropin_text(const char *unit, const struct unit_props *p, uint32_t mask, uint32_t bit,
		     char ret[UNIT_DROPIN_TEXT])
{
	uint64_t quota = p->cpu_quota_per_sec_usec;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	snprintf(ret, UNIT_DROPIN_TEXT,
		 "# Of vscaled: has to come after the other drop-ins. vscalectl restore removes "
		 "it.\n[%s]\n",
		 strrchr(unit_interface_of(unit), '.') + 1);
	if (bit == UNIT_DROPIN_CPU && (mask & UNIT_PROP_CPU_QUOTA)) {
		/* Quotas are whole percents: rounding up is for those of others only. */
		if (quota != UINT64_MAX)
			quota = quota / 10000 + !!(quota % 10000);
		unit_dropin_put(ret, "CPUQuota", quota, "", "%");
		unit_dropin_put(ret, "CPUQuotaPeriodSec", p->cpu_quota_period_usec, "", "us");
	}
	if (bit == UNIT_DROPIN_MEMORY && (mask & UNIT_PROP_MEM_MAX))
		unit_dropin_put(ret, "MemoryMax", p->mem_max, "infinity", "");
	if (bit == UNIT_DROPIN_MEMORY && (mask & UNIT_PROP_MEM_HIGH))
		unit_dropin_put(ret, "MemoryHigh", p->mem_high, "infinity", "");
	return 0;
}

/* Its folder, made as systemd makes it; the umask of a daemon would hide it from users. */
static int make_folder(const char *root, const char *unit, int *ret)
{
	char path[PATH_MAX];
	size_t parent;

	snprintf(path, sizeof path, "%s/" CONTROL, root);
	parent = strlen(path);
	for (int i = 0; i < 2; i++) {
		if (mkdir(path, 0755) == 0)
			(void)chmod(path, 0755);
		else if (errno != EEXIST)
			return -errno;
		if (snprintf(path + parent, sizeof path - parent, "/%s.d", unit) >=
		    (int)(sizeof path - parent))
			return -ENAMETOOLONG;
	}
	return open_folder(root, CONTROL, unit, O_RDONLY, ret);
}

/* Whole or not at all: systemd may read it at any moment. In /run, where nothing survives. */
static int unit_dropin_replace(int dir, const char *file, const char *text)
{
	OWN(unit_drop_fd) int fd = -1;
	char fresh[64];
	size_t length = strlen(text);

	snprintf(fresh, sizeof fresh, ".%s", file);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0 || write(fd, text, length) != (ssize_t)length ||
	    renameat(dir, fresh, dir, file) < 0) {
		int error = errno ? -errno : -EIO;

		unlinkat(dir, fresh, 0);
		return error;
	}
	return 0;
}

int unit_dropin_write(const char *root, const char *unit, const struct unit_props *p, uint32_t mask)
{
	static const uint32_t needs[UNIT_DROPIN_ROWS] = {UNIT_PROP_CPU_QUOTA,
							 UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH};
	OWN(unit_drop_fd) int dir = -1;
	char text[UNIT_DROPIN_TEXT];
	int r;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	r = make_folder(root, unit, &dir);
	for (size_t i = 0; r == 0 && i < UNIT_DROPIN_ROWS; i++) {
		if (!(mask & needs[i]))
			continue;
		r = unit_dropin_text(unit, p, mask, unit_dropin_rows[i].bit, text);
		if (r == 0)
			r = unit_dropin_replace(dir, unit_dropin_rows[i].file, text);
	}
	return r;
}
