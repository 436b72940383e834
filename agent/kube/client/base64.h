/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 of RFC 4648, strictly: padded, no blanks but the ends of lines, no spare bits, nothing
 * behind it. */
#pragma once

#include <stddef.h>

/* Owned text with a NUL behind it. -EBADMSG, also for a NUL inside; -ENOMEM. */
int base64_text(const char *in, char **ret);
