/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are sorted by the first member of their items, a char *key. */
#pragma once

#include <stddef.h>

/* Where the key stands or would stand. */
size_t keyed_position(const void *items, size_t count, size_t size, const char *key);
/* NULL: it does not stand there. */
void *keyed_find(const void *items, size_t count, size_t size, const char *key);
/* The array with a gap at that place, which is the caller's to fill and to count; the old one is
 * gone. NULL: no memory, it stays. */
void *keyed_make_room(void *items, size_t count, size_t size, size_t at);
