/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers behind a decision, in words: "throttled 43 % of the last second". */
#pragma once

#include "policy/control/control.h"

#define DECISION_TEXT_BYTES 160

void decision_text(const struct decision *d, enum resource r, char ret[static DECISION_TEXT_BYTES]);
