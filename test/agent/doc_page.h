/* SPDX-License-Identifier: Apache-2.0 */
/* A page of docs/ that is generated between two marks: VSCALED_REGEN=1 writes that part anew,
 * without it a difference is a failure. */
#pragma once

#include "policy/base/base.h"
#include "test/check.h"

/* Owned. */
static inline char *page_read(const char *path)
{
	char *text = calloc(1, MIB);
	FILE *f = fopen(path, "re");

	if (f == NULL || fread(text, 1, MIB - 1, f) == 0)
		fprintf(stderr, "%s: cannot be read\n", path);
	if (f != NULL)
		fclose(f);
	return text;
}

static inline void page_check(const char *path, const char *begin_mark, const char *end_mark,
			      void (*generate)(FILE *f))
{
	OWN(drop_free) char *have = page_read(path), *want = NULL;
	char *begin = strstr(have, begin_mark), *end = strstr(have, end_mark);
	size_t len;
	FILE *f;

	CHECK(begin != NULL && end != NULL && begin < end);
	if (begin == NULL || end == NULL)
		return;
	f = open_memstream(&want, &len);
	fprintf(f, "%.*s%s", (int)(begin - have), have, begin_mark);
	generate(f);
	fputs(end, f);
	fclose(f);
	if (getenv("VSCALED_REGEN") != NULL) {
		f = fopen(path, "we");
		CHECK(f != NULL && fputs(want, f) >= 0 && fclose(f) == 0);
		return;
	}
	if (strcmp(have, want) != 0)
		fprintf(stderr, "%s is not what the table says; VSCALED_REGEN=1 rewrites it\n",
			path);
	CHECK(strcmp(have, want) == 0);
}
