// SPDX-License-Identifier: Apache-2.0
/*
 * The line splitter. The first byte says how long the pieces are, the second how long a line may
 * be; pieces must give the same lines, and the same refusal, as the text as a whole.
 */
#include "agent/kube/lines.h"
#include "policy/base.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct sum {
	size_t max;
	size_t count;
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

static int split(const char *text, size_t len, size_t piece, size_t max, struct sum *ret)
{
	struct lines l = {.max = max};
	int r = 0;

	*ret = (struct sum){.max = max};
	for (size_t at = 0; at < len && r == 0; at += piece)
		r = lines_feed(&l, text + at, MIN(piece, len - at), add, ret);
	lines_drop(&l);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sum whole, pieces;
	int r;

	if (size < 3)
		return 0;
	r = split((const char *)data + 2, size - 2, size, data[1] + 1U, &whole);
	if (r != split((const char *)data + 2, size - 2, data[0] + 1U, data[1] + 1U, &pieces) ||
	    whole.count != pieces.count || whole.hash != pieces.hash) {
		fprintf(stderr, "pieces of %u give other lines\n", data[0] + 1U);
		abort();
	}
	return 0;
}
