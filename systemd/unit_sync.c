// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_sync.h"
#include "systemd/drop.h"
#include "systemd/unit_dropin.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void drop_bus(sd_bus **bus)
{
	sd_bus_close_unref(*bus);
}

static void drop_message(sd_bus_message **m)
{
	sd_bus_message_unref(*m);
}

static usec_t now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

/* sd_bus_call() waits up to 90 s for a new connection, whatever its timeout. */
static int wait_ready(sd_bus *bus, usec_t until)
{
	int r;

	while ((r = sd_bus_is_ready(bus)) == 0) {
		usec_t now = now_usec();

		if (now >= until)
			return -ETIMEDOUT;
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, until - now);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return r < 0 ? r : 0;
}

/* Waits for the answer; an error in it becomes the result. */
static int call(sd_bus *bus, sd_bus_message *m, usec_t until, sd_bus_message **ret)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *answer = NULL;
	usec_t now;
	int r = wait_ready(bus, until);

	if (r < 0)
		return r;
	now = now_usec();
	if (now >= until)
		return -ETIMEDOUT;
	r = sd_bus_call(bus, m, until - now, &error, &answer);
	if (r < 0 && sd_bus_error_is_set(&error))
		r = unit_error_to_errno(&error);
	sd_bus_error_free(&error);
	if (r < 0)
		return r;
	*ret = answer;
	return 0;
}

int unit_set_now(const struct unit_address *at, const char *unit, const struct unit_props *want,
		 uint32_t mask, usec_t timeout_usec)
{
	OWN(drop_bus) sd_bus *bus = NULL;
	OWN(drop_message) sd_bus_message *m = NULL;
	OWN(drop_message) sd_bus_message *answer = NULL;
	usec_t until = now_usec() + timeout_usec;
	bool direct;
	int r;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	r = unit_conn_open(at, &bus, &direct);
	if (r < 0)
		return r;
	r = sd_bus_message_new_method_call(bus, &m, UNIT_BUS_NAME, UNIT_BUS_PATH,
					   UNIT_INTERFACE_MANAGER, "SetUnitProperties");
	if (r < 0)
		return r;
	r = unit_message_append_set(m, unit, want, mask);
	return r < 0 ? r : call(bus, m, until, &answer);
}

static int get(sd_bus *bus, const char *unit, const char *interface, const char *property,
	       usec_t until, uint64_t *ret)
{
	OWN(drop_message) sd_bus_message *m = NULL;
	OWN(drop_message) sd_bus_message *answer = NULL;
	OWN(drop_free) char *path = NULL;
	int r = sd_bus_path_encode(UNIT_BUS_PATH_UNIT, unit, &path);

	if (r < 0)
		return r;
	r = sd_bus_message_new_method_call(bus, &m, UNIT_BUS_NAME, path,
					   "org.freedesktop.DBus.Properties", "Get");
	if (r < 0)
		return r;
	r = sd_bus_message_append(m, "ss", interface, property);
	if (r < 0)
		return r;
	r = call(bus, m, until, &answer);
	return r < 0 ? r : unit_message_read_u64(answer, ret);
}

int unit_get_now(const struct unit_address *at, const char *unit, usec_t timeout_usec,
		 struct unit_props *ret)
{
	OWN(drop_bus) sd_bus *bus = NULL;
	usec_t until = now_usec() + timeout_usec;
	struct unit_props props;
	bool direct;
	int r;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	r = unit_conn_open(at, &bus, &direct);
	for (size_t i = 0; r >= 0 && i < UNIT_PROP_ROWS; i++)
		r = get(bus, unit, unit_interface_of(unit), unit_prop_rows[i].name, until,
			(uint64_t *)((char *)&props + unit_prop_rows[i].offset));
	if (r < 0)
		return r;
	*ret = props;
	return 0;
}

int unit_age_now(const struct unit_address *at, const char *unit, usec_t timeout_usec, usec_t *ret)
{
	OWN(drop_bus) sd_bus *bus = NULL;
	usec_t until = now_usec() + timeout_usec, since = 0, now;
	bool direct;
	int r;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	r = unit_conn_open(at, &bus, &direct);
	if (r >= 0)
		r = get(bus, unit, UNIT_INTERFACE, "ActiveEnterTimestampMonotonic", until, &since);
	if (r < 0)
		return r;
	now = now_usec();
	*ret = since != 0 && now > since ? now - since : 0;
	return 0;
}

static const char *const homes[] = {
	"run/systemd/system.control",
	"run/systemd/transient",
};

/* The folder of a unit's drop-ins, opened without following a link at its end. */
static int open_folder(const char *root, const char *home, const char *unit, int *ret)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof path, "%s/%s/%s.d", root, home, unit) >= (int)sizeof path)
		return -ENAMETOOLONG;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

int unit_dropin_find(const char *root, const char *unit, uint32_t *ret)
{
	uint32_t found = 0;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	for (size_t h = 0; h < ARRAY_SIZE(homes); h++) {
		OWN(drop_fd) int fd = -1;
		int r = open_folder(root, homes[h], unit, &fd);

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

/* Only an empty folder is removed: other files in it are not vscaled's. */
static void remove_folder(const char *root, const char *home, const char *unit)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/%s/%s.d", root, home, unit) < (int)sizeof path)
		(void)rmdir(path);
}

int unit_dropin_remove(const char *root, const char *unit, uint32_t mask)
{
	int result = 0;

	if (unit_interface_of(unit) == NULL)
		return -EINVAL;
	for (size_t h = 0; h < ARRAY_SIZE(homes); h++) {
		OWN(drop_fd) int fd = -1;
		int r = open_folder(root, homes[h], unit, &fd);

		if (r == 0)
			r = remove_in(fd, mask);
		if (r == 0)
			remove_folder(root, homes[h], unit);
		if (r < 0 && r != -ENOENT)
			result = r;
	}
	return result;
}
