/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/recommendation: what a pod that is only described would need. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

/* ctx: struct serve. The answer, owned; NULL: ret_why says what is wrong with the text, and is ""
 * where memory is short. */
cJSON *serve_recommend(void *ctx, const char *text, size_t len, char *ret_why, size_t why_size);
