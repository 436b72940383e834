/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for a line of the journal or an Event: those of other writers escaped and shortened, times.
 */
#pragma once

#include "policy/base/base.h"
#include <stddef.h>

/* Room for a value that is shown: 40 bytes of it, each of which may need an escape. */
#define ESCAPE_SIZE 168

/* Printable ASCII as it is, \" and \\, all else as \xNN; long values end in "...". Returns buf. */
const char *escape_value(const char *value, char buf[static ESCAPE_SIZE]);
/* Bytes of the well-formed UTF-8 character at p; 0: none (Unicode, table 3-7). */
size_t escape_utf8_length(const char *p, size_t left);
/* How many bytes of s fit into max without cutting a UTF-8 character. */
size_t escape_fit(const char *s, size_t max);
/* Copies what fits into size bytes, cut as above, control characters as blanks. */
void escape_copy(const char *s, char *buf, size_t size);

/* RFC 3339 in UTC: "2026-01-31T10:00:00.123Z". */

#define TIME_TEXT_SIZE 40

/* With so many decimals, 0 to 6. Returns ret. */
const char *time_text(usec_t real_usec, int decimals, char ret[static TIME_TEXT_SIZE]);
