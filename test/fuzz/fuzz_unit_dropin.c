// SPDX-License-Identifier: Apache-2.0
/* Drop-ins of others: the file as it may be, and any name of a unit. Found are the keys that are
 * in it, and what is written fits. The input is the name, a line's end, and the file. */
#include "systemd/unit_dropin.h"
#include "test/fuzz/fuzz.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX 16384u

static char root[] = "/tmp/vscaled-dropin-XXXXXX";
static int file = -1;

static void remove_root(void)
{
	static const char *const parts[] = {"/run/systemd/system/web.service.d/60-user.conf",
					    "/run/systemd/system/web.service.d",
					    "/run/systemd/system",
					    "/run/systemd",
					    "/run",
					    ""};
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof path, "%s%s", root, parts[i]);
		(void)remove(path);
	}
}

static void open_root(void)
{
	static const char *const folders[] = {"/run", "/run/systemd", "/run/systemd/system",
					      "/run/systemd/system/web.service.d"};
	char path[128];

	require(mkdtemp(root) != NULL, "mkdtemp");
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof path, "%s%s", root, folders[i]);
		require(mkdir(path, 0700) == 0, "mkdir");
	}
	snprintf(path, sizeof path, "%s/run/systemd/system/web.service.d/60-user.conf", root);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	require(file >= 0, "open");
	atexit(remove_root);
}

/* Bytes 0 end a line, as for systemd. */
static bool names_limit(const uint8_t *data, size_t size)
{
	static const char *const keys[] = {"CPUQuota", "MemoryMax", "MemoryHigh", "MemoryLimit"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (memmem(data, size, keys[i], strlen(keys[i])) != NULL)
			return true;
	return false;
}

static void try_name(const char *unit)
{
	const struct unit_props p = {.cpu_quota_per_sec_usec = UINT64_MAX - 1,
				     .cpu_quota_period_usec = UINT64_MAX - 1,
				     .mem_max = UINT64_MAX - 1,
				     .mem_high = UINT64_MAX - 1};
	char text[UNIT_DROPIN_TEXT];
	uint32_t found;
	bool beaten;

	(void)unit_dropin_beaten(root, unit, &beaten);
	(void)unit_dropin_find(root, unit, &found);
	for (size_t i = 0; i < UNIT_DROPIN_ROWS; i++)
		if (unit_dropin_text(unit, &p, ~0u, unit_dropin_rows[i].bit, text) == 0)
			require(text[strlen(text) - 1] == '\n', "cut off");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t length = end != NULL ? (size_t)(end - data) : 0;
	const uint8_t *text = data + (end != NULL ? length + 1 : 0);
	OWN(drop_free) char *unit = strndup((const char *)data, length);
	bool beaten = false;

	size -= (size_t)(text - data);
	if (file < 0)
		open_root();
	require(unit != NULL && ftruncate(file, 0) == 0 &&
			pwrite(file, text, size, 0) == (ssize_t)size,
		"write");
	require(unit_dropin_beaten(root, "web.service", &beaten) == 0, "not read");
	require(beaten == names_limit(text, MIN(size, READ_MAX)), "another answer");
	try_name(unit);
	return 0;
}
