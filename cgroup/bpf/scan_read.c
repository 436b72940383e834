// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/bpf/scan_record.h"
#include "cgroup/levels.h"

/* Both levels as of the pass. */
static int get_levels(const struct cg_scan *s, struct cg_scan_slots slots, struct cg *c,
		      uint32_t want, struct usage *ret)
{
	struct usage u, inner;
	int r = cg_scan_get(s, slots.own, want, &u);

	want &= CG_LEVEL_USAGE & cg_scan_passed(s);
	if (r == 0 && want != 0 && cg_inner_id(c) != 0) {
		r = cg_scan_get(s, slots.inner, want, &inner);
		if (r == 0)
			cg_levels_merge(c, &inner, &u);
	}
	if (r == 0)
		*ret = u;
	return r;
}

int cg_scan_read(const struct cg_scan *s, struct cg_scan_slots slots, struct cg *c, uint32_t want,
		 uint32_t by_text, struct usage *ret)
{
	struct usage u, text;
	int r;

	if (s == NULL || get_levels(s, slots, c, want & ~by_text, &u) < 0)
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
