/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. VIEW_NONE (agent/view/view.h) is "-", LIMIT_MAX is "max". */
#pragma once

#include "policy/types/limits.h"

#define HUMAN_SIZE 32

/* Both return their buffer. */
const char *human_amount(enum resource which, uint64_t amount, char ret[static HUMAN_SIZE]);
const char *human_span(usec_t span_usec, char ret[static HUMAN_SIZE]);
