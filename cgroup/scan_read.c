// SPDX-License-Identifier: Apache-2.0
#include "cgroup/reader_bpf.h"
#include "cgroup/scan_record.h"

int cg_scan_read(const struct cg_scan *s, uint32_t slot, struct cg *c, uint32_t want,
		 uint32_t by_text, struct usage *ret)
{
	struct usage u, text;
	int r;

	if (s == NULL || cg_scan_get(s, slot, want & ~by_text, &u) < 0)
		return cg_read(c, want, ret);
	by_text = want & (by_text | ~cg_scan_passed(s));
	if (by_text != 0) {
		r = cg_read(c, by_text, &text);
		if (r < 0)
			return r;
		scan_take(&u, &text, by_text);
	}
	*ret = u;
	return 0;
}
