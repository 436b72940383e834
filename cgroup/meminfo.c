// SPDX-License-Identifier: Apache-2.0
#include "cgroup/meminfo.h"
#include "policy/base/text.h"
#include <errno.h>
#include <unistd.h>

/* About 1.5 KiB on today's kernels. */
#define FILE_MAX_BYTES 8192
/* More than any node has, and in bytes it still fits. */
#define KIB_MAX (UINT64_MAX / 1024)

/* "       123 kB" up to the end of its line. The newline at the end of all text ends every scan. */
static bool scan_kib(const char *p, uint64_t *ret)
{
	const char *end;
	uint64_t kib;

	while (*p == ' ')
		p++;
	end = text_number(p, &kib);
	if (end == NULL || (*p == '0' && end - p > 1) || kib >= KIB_MAX)
		return false;
	*ret = kib * 1024;
	return end[0] == ' ' && end[1] == 'k' && end[2] == 'B' && end[3] == '\n';
}

enum { TOTAL, AVAILABLE, FREE, INACTIVE_FILE, COUNT };
#define NEEDED  (1u << TOTAL | 1u << AVAILABLE)
#define KUBELET (1u << FREE | 1u << INACTIVE_FILE)

/* value[] where seen has its bit. */
static int check(const uint64_t value[COUNT], unsigned seen, struct meminfo *ret)
{
	struct meminfo m = {value[TOTAL], value[AVAILABLE], UINT64_MAX};

	/* LXC gives its own total and the host's available memory: as free(1) then. */
	if (m.available > m.total && seen & 1u << FREE)
		m.available = value[FREE];
	if ((seen & NEEDED) != NEEDED || m.total == 0 || m.available > m.total)
		return -EBADMSG;
	if (seen & KUBELET) {
		if ((seen & KUBELET) != KUBELET)
			return -EBADMSG;
		m.kubelet_available = value[FREE] + value[INACTIVE_FILE];
		/* The lines are not of one moment. */
		if (m.kubelet_available < value[FREE] || m.kubelet_available > m.total)
			m.kubelet_available = m.total;
	}
	*ret = m;
	return 0;
}

int meminfo_parse(const char *text, size_t len, struct meminfo *ret)
{
	static const struct {
		const char *name;
		size_t len;
	} keys[COUNT] = {
		{"MemTotal:", 9}, {"MemAvailable:", 13}, {"MemFree:", 8}, {"Inactive(file):", 15}};
	uint64_t value[COUNT] = {0};
	unsigned seen = 0;

	if (len == 0 || text[len - 1] != '\n' || memchr(text, '\0', len) != NULL)
		return -EBADMSG;
	for (const char *line = text, *end; line < text + len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + len - line));
		for (unsigned i = 0; i < COUNT; i++) {
			if ((size_t)(end - line) < keys[i].len ||
			    memcmp(line, keys[i].name, keys[i].len) != 0)
				continue;
			if (seen & 1u << i || !scan_kib(line + keys[i].len, &value[i]))
				return -EBADMSG;
			seen |= 1u << i;
		}
	}
	return check(value, seen, ret);
}

int meminfo_read(int fd, struct meminfo *ret)
{
	char buf[FILE_MAX_BYTES];
	ssize_t n = pread(fd, buf, sizeof buf, 0);

	if (n < 0)
		return -errno;
	return meminfo_parse(buf, (size_t)n, ret);
}
