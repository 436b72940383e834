/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are sorted by the first member of their items, a char *key. */
#pragma once

#include <stddef.h>

/* The index of the key, or the index at which it would be inserted. */
size_t sorted_array_position(const void *items, size_t count, size_t size, const char *key);
/* NULL: the array does not have the key. */
void *sorted_array_find(const void *items, size_t count, size_t size, const char *key);
/* Returns the array with a gap at that index; the caller fills the gap and counts it. The old array
 * is freed. NULL: no memory, the old array is unchanged. */
void *sorted_array_make_room(void *items, size_t count, size_t size, size_t at);
