// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/kernel/life.h"
#include "cgroup/bpf/watch_bpf.h"
#include <errno.h>
#include <string.h>

int cg_life_decode(const void *bytes, size_t len, struct cg_life_event *ret)
{
	const struct life_record *rec = bytes;
	struct cg_life_event e = {0};

	/* The ring hands out records at multiples of 8 bytes. */
	if (len != sizeof *rec || (uintptr_t)bytes % _Alignof(struct life_record) != 0 ||
	    rec->version != LIFE_VERSION || rec->id == 0)
		return -EBADMSG;
	if (rec->what != LIFE_MADE && rec->what != LIFE_REMOVED)
		return -EBADMSG;
	e.what = rec->what == LIFE_MADE ? CG_LIFE_MADE : CG_LIFE_REMOVED;
	e.id = rec->id;
	/* A path that fills the room to the last byte may go on behind it. */
	if (rec->path_bytes > 0 && rec->path_bytes < LIFE_PATH_BYTES) {
		if (rec->path[0] != '/' ||
		    strnlen(rec->path, LIFE_PATH_BYTES) != (size_t)rec->path_bytes - 1)
			return -EBADMSG;
		e.path = rec->path;
	}
	*ret = e;
	return 0;
}
