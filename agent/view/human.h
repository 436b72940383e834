/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. VIEW_NONE (agent/view/view.h) is "-", LIMIT_MAX is "max". */
#pragma once

#include "policy/control/control.h"

#define HUMAN_SIZE 32

/* Both return their buffer. */
const char *human_amount(enum resource which, uint64_t amount, char ret[static HUMAN_SIZE]);
const char *human_span(usec_t span_usec, char ret[static HUMAN_SIZE]);

/* The numbers behind a decision, in words: "throttled 43 % of the last second". */

#define DECISION_TEXT_BYTES 160

void decision_text(const struct decision *d, enum resource r, char ret[static DECISION_TEXT_BYTES]);
