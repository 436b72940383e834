// SPDX-License-Identifier: Apache-2.0
/* /proc/meminfo: a refusal leaves the output as it was, and what is accepted makes sense. */
#include "cgroup/meminfo.h"
#include "policy/base/base.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that one byte too far is seen. */
	OWN(drop_free) char *text = malloc(size ? size : 1);
	struct meminfo m = {1, 2, 3};
	int r;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	r = meminfo_parse(text, size, &m);
	if (r == 0 && (m.total == 0 || m.available > m.total || m.total % 1024 != 0))
		abort();
	if (r == 0 && m.kubelet_available > m.total && m.kubelet_available != UINT64_MAX)
		abort();
	if (r != 0 &&
	    (r != -EBADMSG || m.total != 1 || m.available != 2 || m.kubelet_available != 3))
		abort();
	return 0;
}
