// SPDX-License-Identifier: Apache-2.0
/* The file and the environment around config_load_text(). */
#include "agent/base/drop.h"
#include "agent/base/read_whole.h"
#include "agent/config/config.h"
#include "agent/config/config_source.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define STATE_DIR   "/var/lib/vscaled"
#define RUNTIME_DIR "/run/vscaled"
#define CGROUP_ROOT "/sys/fs/cgroup"
#define SOCKET      "control.sock"

#define SOCKET_PATH_MAX (sizeof((struct sockaddr_un *)0)->sun_path - 1)

static int config_file_fill(char **field, const char *value, size_t len)
{
	if (*field == NULL)
		*field = strndup(value, len);
	return *field != NULL ? 0 : -ENOMEM;
}

/* systemd gives a list when a unit asks for several folders. */
static int fill_first(char **field, const char *list, const char *fallback)
{
	if (list == NULL || list[0] != '/')
		list = fallback;
	return config_file_fill(field, list, strcspn(list, ":"));
}

int config_set_paths(struct config *c, const char *state_dir, const char *runtime_dir)
{
	int r = fill_first(&c->paths.state_dir, state_dir, STATE_DIR);

	if (r == 0)
		r = fill_first(&c->paths.runtime_dir, runtime_dir, RUNTIME_DIR);
	if (r == 0)
		r = config_file_fill(&c->paths.cgroup_root, CGROUP_ROOT, strlen(CGROUP_ROOT));
	if (r == 0 && c->paths.socket == NULL &&
	    asprintf(&c->paths.socket, "%s/" SOCKET, c->paths.runtime_dir) < 0) {
		c->paths.socket = NULL;
		r = -ENOMEM;
	}
	if (r == 0 && strlen(c->paths.socket) > SOCKET_PATH_MAX)
		r = -ENAMETOOLONG;
	return r;
}

/* The whole file, one byte more than allowed at most. */
static int read_file(const char *path, char **ret, size_t *ret_len)
{
	OWN(drop_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	OWN(drop_free) char *text = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	text = malloc(CONFIG_TEXT_MAX + 1);
	if (text == NULL)
		return -ENOMEM;
	r = read_whole(fd, text, CONFIG_TEXT_MAX + 1, ret_len);
	if (r == 0)
		*ret = STEAL(text);
	return r;
}

int config_load_file(const char *path, struct config *ret, struct config_errors *errs)
{
	OWN(drop_free) char *text = NULL;
	struct config c;
	size_t len = 0;
	int r = read_file(path, &text, &len);

	if (r < 0) {
		config_error(errs, &(struct config_place){path, 0, ""}, "cannot be read: %s",
			     strerror(-r));
		return r;
	}
	r = config_load_text(path, text, len, &c, errs);
	if (r < 0)
		return r;
	r = config_set_paths(&c, getenv("STATE_DIRECTORY"), getenv("RUNTIME_DIRECTORY"));
	if (r == -ENAMETOOLONG)
		config_error(errs, &(struct config_place){path, 0, "paths.runtimeDirectory"},
			     "too long for a socket in it; allowed: set paths.socket");
	if (r < 0) {
		config_free(&c);
		return r;
	}
	*ret = c;
	return 0;
}

void config_source_loaded(struct config_source *s, usec_t now_real)
{
	snprintf(s->result, sizeof s->result, "ok");
	s->loaded_real = now_real;
}

void config_source_failed(struct config_source *s, const char *why)
{
	snprintf(s->result, sizeof s->result, "%.*s", (int)sizeof s->result - 1, why);
}
