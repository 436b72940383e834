// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/managed.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

/* "0::/system.slice/vscaled.service" of /proc/self/cgroup. */
static void read_own_cgroup(struct host *h)
{
	char line[sizeof h->own_cgroup + 8];
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "0::", 3) == 0)
			snprintf(h->own_cgroup, sizeof h->own_cgroup, "%.*s",
				 (int)strcspn(line + 3, "\n"), line + 3);
	if (f != NULL)
		fclose(f);
}

/* Inside a container the cgroup says nothing: its namespace begins right there. */
static void read_own_pod(struct host *h)
{
	const char *namespace = getenv("POD_NAMESPACE"), *pod = getenv("POD_NAME");

	if (namespace == NULL || pod == NULL)
		return;
	snprintf(h->own_namespace, sizeof h->own_namespace, "%s", namespace);
	snprintf(h->own_pod, sizeof h->own_pod, "%s", pod);
}

void host_init(struct host *h)
{
	sd_id128_t boot;

	*h = (struct host){.root = -1};
	if (sd_id128_get_boot(&boot) >= 0)
		sd_id128_to_string(boot, h->boot_id);
	read_own_cgroup(h);
	read_own_pod(h);
}

int host_open(struct host *h)
{
	h->root = open(h->cg.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->root < 0)
		return -errno;
	snprintf(h->controllers, sizeof h->controllers, "%s%s",
		 h->cg.enabled & CG_CPU ? "cpu " : "", h->cg.enabled & CG_MEMORY ? "memory" : "");
	h->cpu_milli = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000;
	return 0;
}

void host_close(struct host *h)
{
	if (h->root >= 0)
		close(h->root);
	h->root = -1;
}

int host_find_pod(const struct host *h, const char *uid, char ret[static KUBEPODS_PATH_MAX])
{
	return kubepods_find_pod(h->root, h->kubelet_root, uid, ret, KUBEPODS_PATH_MAX);
}
