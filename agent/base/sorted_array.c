// SPDX-License-Identifier: Apache-2.0
#include "agent/base/sorted_array.h"
#include "policy/base/base.h"
#include <stdlib.h>
#include <string.h>

static const char *key_of(const void *items, size_t size, size_t at)
{
	return *(char *const *)((const char *)items + at * size);
}

size_t sorted_array_position(const void *items, size_t count, size_t size, const char *key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(key_of(items, size, middle), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void *sorted_array_find(const void *items, size_t count, size_t size, const char *key)
{
	size_t at = sorted_array_position(items, count, size, key);

	return at < count && strcmp(key_of(items, size, at), key) == 0 ? (char *)items + at * size
								       : NULL;
}

void *sorted_array_make_room(void *items, size_t count, size_t size, size_t at)
{
	char *grown = items;

	/* The array is full at each power of two and doubles there, so no capacity is stored. */
	if ((count & (count - 1)) == 0)
		grown = reallocarray(items, MAX(2 * count, (size_t)1), size);
	if (grown != NULL)
		memmove(grown + (at + 1) * size, grown + at * size, (count - at) * size);
	return grown;
}
