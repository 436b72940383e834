/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3339 in UTC: "2026-01-31T10:00:00.123Z". */
#pragma once

#include "policy/base/base.h"

#define TIME_TEXT_SIZE 40

/* With so many decimals, 0 to 6. Returns ret. */
const char *time_text(usec_t real_usec, int decimals, char ret[static TIME_TEXT_SIZE]);
