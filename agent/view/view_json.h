/* SPDX-License-Identifier: Apache-2.0 */
/* The views as JSON. The keys are a contract (docs/control-api.md): they come from tables with one
 * row for each key, and a test compares the documentation with the tables. */
#pragma once

#include "agent/view/view.h"
#include <cjson/cJSON.h>

/* Owned by the caller; NULL when memory is short. */
cJSON *view_json_status(const struct status_view *v);
cJSON *view_json_unit(const struct unit_view *v, bool brief);

/* RFC 3339 text of a time, and back; the parser takes exactly what the printer writes. */
#define VIEW_TIME_SIZE 28
void view_time_print(usec_t realtime_usec, char out[static VIEW_TIME_SIZE]);
int view_time_parse(const char *text, usec_t *ret);
