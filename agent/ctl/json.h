/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the daemon's answers, and printing them as they are. */
#pragma once

#include "agent/ctl/ctl.h"
#include "agent/view/human.h"
#include "agent/view/view.h"

/* "-" when it is missing or no text. */
const char *json_text(const cJSON *object, const char *key);
/* VIEW_NONE when it is missing, null or no amount; "max" is LIMIT_MAX. */
uint64_t json_amount(const cJSON *object, const char *key);
bool json_flag(const cJSON *object, const char *key);
/* 0 when it is missing or no time. */
usec_t json_time(const cJSON *object, const char *key);
/* NULL when it is missing or no object. */
const cJSON *json_object(const cJSON *object, const char *key);

/* For a printer of its own: json_print() writes whole numbers of up to 2^53 as digits. False: no
 * memory. */
bool json_whole_numbers(cJSON *value);
/* Prints as JSON or YAML, and frees it. */
int json_print(const struct ctl *c, cJSON *value);
