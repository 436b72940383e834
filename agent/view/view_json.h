/* SPDX-License-Identifier: Apache-2.0 */
/* What the control API is written with. The keys are a contract (docs/control-api.md): a test
 * compares the documentation with the answers. */
#pragma once

#include "agent/view/view.h"
#include <cjson/cJSON.h>

/* An object or array that is filled; json NULL, as any item: memory is short. */
struct view_json {
	cJSON *json;
	bool failed;
};

/* Takes item over. key NULL: into an array. */
void view_put(struct view_json *o, const char *key, cJSON *item);
/* Owned by the caller; NULL when memory was short at any step. */
cJSON *view_end(struct view_json *o);

cJSON *view_text(const char *text);     /* NULL: null */
cJSON *view_amount(uint64_t amount);    /* VIEW_NONE: null, LIMIT_MAX: "max" */
cJSON *view_time(usec_t realtime_usec); /* 0: null, else RFC 3339 in UTC */

/* Owned by the caller; NULL when memory is short. */
cJSON *view_json_status(const struct status_view *v);

/* Of the answer of GET /v1/report. */
#define REPORT_JSON_VERSION 1

/* A time as view_time() writes it: RFC 3339 with six decimals. */
int view_time_parse(const char *text, usec_t *ret);
