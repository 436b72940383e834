// SPDX-License-Identifier: Apache-2.0
/* Keys that a reload does not change. */
#include "agent/config/config_table.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool restart_only_same(const struct config_key *k, const struct config *a,
			      const struct config *b)
{
	char one[PATH_MAX], other[PATH_MAX];

	return strcmp(config_value_text(k, a, one, sizeof one),
		      config_value_text(k, b, other, sizeof other)) == 0;
}

const char *config_keep_restart_only(struct config *fresh, struct config *old, char *buf,
				     size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];

		if (!k->at_start)
			continue;
		if (!restart_only_same(k, fresh, old) && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n > 0 ? ", " : "",
					      k->path);
		config_value_swap(k, fresh, old);
	}
	return buf;
}
