// SPDX-License-Identifier: Apache-2.0
#include "agent/base/json.h"
#include <errno.h>

/* What the scanner has taken can be parsed. */
static int build(const char *text, size_t len, cJSON **ret)
{
	*ret = cJSON_ParseWithLengthOpts(text, len, NULL, false);
	return *ret != NULL ? 0 : -ENOMEM;
}

int json_parse(const char *text, size_t len, cJSON **ret, struct scan_error *err)
{
	struct span whole;
	int r = scan_document(text, len, &whole, err);

	return r < 0 ? r : build(whole.s, whole.len, ret);
}

int json_parse_slim(char *text, size_t len, scan_cut_fn *cut, cJSON **ret, struct scan_error *err)
{
	int r = scan_slim(text, len, cut, err);

	return r < 0 ? r : build(text, len, ret);
}
