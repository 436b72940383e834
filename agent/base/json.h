/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where a JSON text becomes a tree of cJSON: checked by the strict scanner first. */
#pragma once

#include "agent/base/scan.h"
#include <cjson/cJSON.h>

static inline void drop_json(cJSON **j)
{
	cJSON_Delete(*j);
}

/* One value, owned. -EBADMSG: not JSON, err says what is wrong; -ENOMEM. */
int json_parse(const char *text, size_t len, cJSON **ret, struct scan_error *err);
/* The same of an object of the API server, as scan_slim(): it changes the text. -E2BIG. */
int json_parse_slim(char *text, size_t len, scan_cut_fn *cut, cJSON **ret, struct scan_error *err);
