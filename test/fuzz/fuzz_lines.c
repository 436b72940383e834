// SPDX-License-Identifier: Apache-2.0
/*
 * The line splitter. The first byte says how long the pieces are, the second how long a line may
 * be; pieces must give the same lines, and the same refusal, as the text as a whole, and with
 * skipping the same lines and the same number of those that are too long.
 */
#include "agent/kube/client/lines.h"
#include "policy/base/base.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct sum {
	size_t max;
	size_t count;
	size_t skipped;
	uint64_t hash;
};

static int add(void *arg, const char *line, size_t len)
{
	struct sum *s = arg;

	if (len == 0 || len > s->max || memchr(line, '\n', len) != NULL)
		abort();
	s->count++;
	for (size_t i = 0; i < len; i++)
		s->hash = (s->hash ^ (unsigned char)line[i]) * 0x100000001b3;
	s->hash = (s->hash ^ '\n') * 0x100000001b3;
	return 0;
}

static int skip(void *arg, const char *line, size_t len)
{
	struct sum *s = arg;

	if (line == NULL || len == 0)
		abort();
	s->skipped++;
	return 0;
}

static int split(const char *text, size_t len, size_t piece, size_t max, lines_fn *too_long,
		 struct sum *ret)
{
	struct lines l = {.max = max, .too_long = too_long};
	int r = 0;

	*ret = (struct sum){.max = max};
	for (size_t at = 0; at < len && r == 0; at += piece)
		r = lines_feed(&l, text + at, MIN(piece, len - at), add, ret);
	lines_drop(&l);
	return r;
}

static void compare(const uint8_t *data, size_t size, lines_fn *too_long)
{
	const char *text = (const char *)data + 2;
	struct sum whole, pieces;
	int r = split(text, size - 2, size, data[1] + 1U, too_long, &whole);

	if (r == split(text, size - 2, data[0] + 1U, data[1] + 1U, too_long, &pieces) &&
	    whole.count == pieces.count && whole.hash == pieces.hash &&
	    whole.skipped == pieces.skipped && (too_long == NULL || r == 0))
		return;
	fprintf(stderr, "pieces of %u give other lines\n", data[0] + 1U);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	compare(data, size, NULL);
	compare(data, size, skip);
	return 0;
}
