// SPDX-License-Identifier: Apache-2.0
/* Checks of systemd, the file systems and other programs of the host. */
#include "agent/annotation/annotation.h"
#include "agent/base/drop.h"
#include "agent/base/listen.h"
#include "agent/config/config.h"
#include "agent/ctl/client.h"
#include "agent/ctl/doctor.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Room for the originals and the history of a full node. */
#define STATE_BYTES_MIN (32 * MIB)

static bool exists(const struct doctor *d, const char *path)
{
	char full[512];

	return doctor_path(d, path, full, sizeof(full)) && access(full, F_OK) == 0;
}

/* Checks what sd_booted() checks; in a pod only PID 1's private socket is mounted. */
static bool has_systemd(const struct doctor *d)
{
	return exists(d, "/run/systemd/system") ||
	       (d->cluster.wanted && exists(d, "/run/systemd/private"));
}

enum finding check_systemd(const struct doctor *d, char *text)
{
	if (!has_systemd(d))
		return doctor_say(text, d->systemd_optional ? FINDING_SKIPPED : FINDING_MISSING,
				  "systemd is not PID 1 here%s",
				  d->systemd_optional ? ", and is not needed" : "");
	return doctor_say(text, FINDING_OK, "systemd is PID 1");
}

enum finding check_bus(const struct doctor *d, char *text)
{
	static const char *const sockets[] = {"/run/systemd/private",
					      "/run/dbus/system_bus_socket"};
	char path[512];
	int error = -ENOENT;

	if (!has_systemd(d))
		return doctor_skip(text, "there is no systemd");
	for (size_t i = 0; i < ARRAY_SIZE(sockets) && error < 0; i++) {
		if (doctor_path(d, sockets[i], path, sizeof(path)))
			error = client_probe(path);
		if (error == 0)
			snprintf(text, DOCTOR_TEXT_MAX, "%s answers", sockets[i]);
	}
	if (error < 0)
		snprintf(text, DOCTOR_TEXT_MAX, "systemd cannot be reached: %s", strerror(-error));
	if (error < 0 && d->systemd_optional)
		return FINDING_SKIPPED;
	return error < 0 ? FINDING_MISSING : FINDING_OK;
}

enum finding check_journal(const struct doctor *d, char *text)
{
	char path[512];
	int r = -ENAMETOOLONG;

	/* Sending without a socket there succeeds. */
	if (doctor_path(d, "/run/systemd/journal/socket", path, sizeof(path)))
		r = listen_probe(path, SOCK_DGRAM);
	if (r < 0)
		return doctor_say(text, FINDING_WARN, "the journal is not available: %s",
				  strerror(-r));
	return doctor_say(text, FINDING_OK, "the journal is available");
}

/* The folder itself, or the one in which it will be made. */
static const char *existing_part(const char *path, char *ret, size_t size)
{
	snprintf(ret, size, "%s", path);
	while (ret[0] && ret[1] && access(ret, F_OK) < 0) {
		char *slash = strrchr(ret, '/');

		if (!slash)
			break;
		slash[slash == ret ? 1 : 0] = '\0';
	}
	return ret;
}

enum finding check_state(const struct doctor *d, char *text)
{
	const char *wanted = d->ctl->state_directory;
	char path[512];
	struct statvfs fs;

	existing_part(wanted, path, sizeof(path));
	if (access(path, W_OK | X_OK) < 0)
		return doctor_say(text, FINDING_MISSING, "%.150s cannot be written: %s", wanted,
				  strerror(errno));
	if (statvfs(path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < STATE_BYTES_MIN)
		return doctor_say(text, FINDING_MISSING, "the file system of %.150s is full",
				  wanted);
	return doctor_say(text, FINDING_OK, "%.150s %s", wanted,
			  strcmp(path, wanted) == 0 ? "can be written" : "can be created");
}

enum finding check_config(const struct doctor *d, char *text)
{
	const char *path = d->ctl->config;
	struct config_errors *errors = calloc(1, sizeof(*errors));
	enum finding f = FINDING_OK;
	struct config config;
	int r = errors ? annotation_load_config(path, &config, errors) : -ENOMEM;

	if (r < 0) {
		snprintf(text, DOCTOR_TEXT_MAX, "%s",
			 errors && errors->count ? errors->text[0] : strerror(-r));
		free(errors);
		return FINDING_WARN;
	}
	snprintf(text, DOCTOR_TEXT_MAX, "%.150s is valid and names units in %zu rules", path,
		 config.unit_count);
	if (config.unit_count == 0 && !d->cluster.wanted) {
		snprintf(text, DOCTOR_TEXT_MAX, "%.150s is valid, but names no units", path);
		f = FINDING_WARN;
	}
	config_free(&config);
	free(errors);
	return f;
}

/* Programs that write limits of cgroups themselves. */
static bool is_writer(const struct doctor *d, const char *name)
{
	static const char *const names[] = {"kubelet",     "koordlet", "katalyst-agent",
					    "crane-agent", "oomd",     "senpai"};

	/* In a cluster it is expected, and its writes are known. */
	for (size_t i = d->cluster.wanted ? 1 : 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void read_name(const struct doctor *d, const char *pid, char *ret, size_t size)
{
	char path[512], part[300];
	FILE *f;

	ret[0] = '\0';
	snprintf(part, sizeof(part), "/proc/%s/comm", pid);
	if (!doctor_path(d, part, path, sizeof(path)))
		return;
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(ret, (int)size, f))
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	fclose(f);
}

enum finding check_writers(const struct doctor *d, char *text)
{
	char path[512], name[32];
	OWN(drop_dir) DIR *proc = NULL;
	const struct dirent *entry;

	if (doctor_path(d, "/proc", path, sizeof(path)))
		proc = opendir(path);
	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		read_name(d, entry->d_name, name, sizeof(name));
		if (!is_writer(d, name))
			continue;
		return doctor_say(text, FINDING_WARN, "%s (pid %.20s) also writes limits", name,
				  entry->d_name);
	}
	return doctor_say(text, FINDING_OK, "no other program that sizes cgroups is running");
}

/* A folder UNIT.d with a limit that set-property without --runtime has left. */
static bool sets_limit(int parent, const char *folder)
{
	static const char *const files[] = {"50-CPUQuota.conf", "50-CPUQuotaPeriodSec.conf",
					    "50-MemoryMax.conf", "50-MemoryHigh.conf"};
	char path[400];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		if (faccessat(parent, path, F_OK, 0) == 0)
			return true;
	}
	return false;
}

enum finding check_dropins(const struct doctor *d, char *text)
{
	char path[512];
	OWN(drop_dir) DIR *folders = NULL;
	const struct dirent *entry;

	if (doctor_path(d, "/etc/systemd/system.control", path, sizeof(path)))
		folders = opendir(path);
	while (folders && (entry = readdir(folders))) {
		if (!sets_limit(dirfd(folders), entry->d_name))
			continue;
		return doctor_say(text, FINDING_WARN, "a persistent limit of %.150s",
				  entry->d_name);
	}
	return doctor_say(text, FINDING_OK,
			  "no unit has a persistent limit of systemctl set-property");
}

enum finding check_daemon(const struct doctor *d, char *text)
{
	int r = client_probe(d->ctl->socket);

	if (r == 0)
		return doctor_say(text, FINDING_OK, "vscaled listens at %.150s", d->ctl->socket);
	if (client_no_daemon(r))
		return doctor_say(text, FINDING_WARN,
				  "vscaled is not running: no process listens at %.120s",
				  d->ctl->socket);
	return doctor_say(text, FINDING_WARN, "%.150s: %s", d->ctl->socket, strerror(-r));
}
