/* SPDX-License-Identifier: Apache-2.0 */
/* The views as JSON. The keys are a contract (docs/control-api.md): they come from tables with one
 * row for each key, and a test compares the documentation with the tables. */
#pragma once

#include "agent/view/view.h"
#include <cjson/cJSON.h>

/* Owned by the caller; NULL when memory is short. */
cJSON *view_json_status(const struct status_view *v);
cJSON *view_json_unit(const struct unit_view *v, bool brief);

/* A time as these views have it: RFC 3339 with six decimals. */
int view_time_parse(const char *text, usec_t *ret);
