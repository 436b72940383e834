/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of time in config and annotations: "100ms", "5min", "1h30m", "7d". */
#pragma once

#include "policy/base/base.h"

/* Holds the text of every duration. */
#define DURATION_TEXT_SIZE 40

/* Numbers without fraction, each with a unit: us, ms, s, m or min, h, d; larger units first, each
 * at most once. -EINVAL: anything else, a bare 0 too; -ERANGE: does not fit. */
int duration_parse(const char *s, usec_t *ret);
/* In the same form, "0s" for none; returns buf, empty when size does not do. */
const char *duration_format(usec_t span, char *buf, size_t size);
