/* SPDX-License-Identifier: Apache-2.0 */
/* One listing of units: their names by pattern, then the properties of each. */
#pragma once

#include "systemd/unit_read.h"

struct unit_list;

/* Called once, never from inside unit_list_start. The listing is gone afterwards, its owner may be
 * freed inside. error 0: units is valid and sorted by the bus; borrowed. */
typedef void (*unit_list_done)(void *ctx, int error, const struct unit_info *units, size_t count);

struct unit_list_request {
	const char *const *patterns;
	size_t count;
	unit_list_done done;
	bool (*known)(void *ctx, const char *name); /* not read; NULL: all are */
	void *ctx;
};

int unit_list_start(sd_bus *bus, struct unit_reader *rr, const struct unit_list_request *request,
		    struct unit_list **ret);
/* Ends it without calling done. NULL is fine. */
void unit_list_free(struct unit_list *l);
