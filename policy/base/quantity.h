/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes quantities: "100m", "0.5", "1e3", "1536Mi", "128974848".
 *
 * The finest unit is a nano; what is finer rounds away from zero, as in Kubernetes. Beyond
 * 2^63 - 1 whole units Kubernetes silently caps, here it is -ERANGE. */
#pragma once

#include "policy/base/base.h"

/* Holds the text of every quantity. */
#define QUANTITY_TEXT_SIZE 40

/* In billionths, at most (2^63 - 1) * 10^9 either way. -EINVAL; -ERANGE: too large. */
int quantity_parse(const char *s, __int128 *ret_nano);

/* For requests and limits, rounded up. -EINVAL also for a negative one. */
int quantity_parse_cpu(const char *s, uint64_t *ret_milli);
int quantity_parse_bytes(const char *s, uint64_t *ret_bytes);

/* For people and logs; all return buf, which is empty when size does not do (QUANTITY_TEXT_SIZE
 * always does). LIMIT_MAX gives "max". */
/* "500m", "2". */
const char *quantity_format_cpu(uint64_t milli, char *buf, size_t size);
/* Exact: "512Mi", "1000". */
const char *quantity_format_bytes(uint64_t bytes, char *buf, size_t size);
/* Two decimals, ties to even: "1.50Gi"; whole below 1Ki. */
const char *quantity_format_human(uint64_t bytes, char *buf, size_t size);

/* Spans of time in config and annotations: "100ms", "5min", "1h30m", "7d". */

/* Holds the text of every duration. */
#define DURATION_TEXT_SIZE 40

/* Numbers without fraction, each with a unit: us, ms, s, m or min, h, d; larger units first, each
 * at most once. -EINVAL: anything else, a bare 0 too; -ERANGE: does not fit. */
int duration_parse(const char *s, usec_t *ret);
/* In the same form, "0s" for none; returns buf, empty when size does not do. */
const char *duration_format(usec_t span, char *buf, size_t size);
