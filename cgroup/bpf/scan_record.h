/* SPDX-License-Identifier: Apache-2.0 */
/* A record of the BPF reader: bytes in, snapshot out. No I/O, no allocation. */
#pragma once

#include "policy/types/usage.h"

/* What the record must be. */
struct scan_expect {
	uint64_t id;         /* of the cgroup */
	uint64_t pass;       /* number of the last pass, not 0 */
	uint64_t page_bytes; /* of this machine */
	uint32_t want;       /* enum usage_have */
};

/* Fills *ret with what the record has of want. -ENODEV: the pass did not come by this cgroup;
 * -EBADMSG: not a record, another cgroup's, or values that no kernel file would show. *ret is
 * written on success only. */
int scan_record_decode(const void *bytes, size_t len, const struct scan_expect *e,
		       struct usage *ret);

/* The fields, a bit each, in which scan lies outside of two text reads that frame its pass, or that
 * neither of them has. The first of the two also aggregates, so pressure is no exception. */
uint64_t scan_differing_fields(const struct usage *before, const struct usage *scan,
			       const struct usage *after);
/* The parts (enum usage_have) that these fields are of. */
uint32_t scan_parts_of(uint64_t fields_mask);

/* Copies what from has of parts into to, and sets their bits. */
void scan_take(struct usage *to, const struct usage *from, uint32_t parts);
