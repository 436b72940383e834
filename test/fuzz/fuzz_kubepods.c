// SPDX-License-Identifier: Apache-2.0
/* Names of pods' cgroups: what is accepted leads to no other folder than its own. */
#include "cgroup/kubepods.h"
#include "test/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kubepods_name n;
	char path[KUBEPODS_PATH_MAX];

	if (size >= sizeof path)
		return 0;
	memcpy(path, data, size);
	path[size] = '\0';
	if (kubepods_parse(path, &n) < 0)
		return 0;
	must(n.uid[0] != '\0' && strpbrk(n.uid, "/._") == NULL);
	must(strpbrk(n.id, "/.-") == NULL && strchr(n.unit, '/') == NULL);
	must((n.driver == DRIVER_SYSTEMD) == (n.unit[0] != '\0'));
	must(n.id[0] == '\0' || strstr(path, n.id) != NULL);
	return 0;
}
