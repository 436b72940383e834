// SPDX-License-Identifier: Apache-2.0
/* The line splitter in every cut, and base64 as strict as it says. */
#include "agent/kube/client/config.h"
#include "agent/kube/client/lines.h"
#include "policy/base/base.h"
#include "test/check.h"
#include <errno.h>

static char seen[256];

static int take(void *arg, const char *line, size_t len)
{
	size_t used = strlen(seen);

	CHECK(len > 0);
	snprintf(seen + used, sizeof seen - used, "%.*s|", (int)len, line);
	return arg != NULL && line[0] == 'x' ? -EBADMSG : 0;
}

/* Text in three pieces, in every way. */
TEST(cuts)
{
	static const char text[] = "one\n\ntwo 2\n{\"three\":3}\n\n\nlast";
	size_t len = strlen(text);

	for (size_t a = 0; a <= len; a++)
		for (size_t b = a; b <= len; b++) {
			struct lines l = {.max = 20};

			seen[0] = '\0';
			CHECK_EQ(lines_feed(&l, text, a, take, NULL), 0);
			CHECK_EQ(lines_feed(&l, text + a, b - a, take, NULL), 0);
			CHECK_EQ(lines_feed(&l, text + b, len - b, take, NULL), 0);
			CHECK_STR(seen, "one|two 2|{\"three\":3}|");
			CHECK_EQ(l.kept.len, 4);
			lines_drop(&l);
		}
}

TEST(max)
{
	struct lines l = {.max = 4};

	seen[0] = '\0';
	CHECK_EQ(lines_feed(&l, "four\nfi", 7, take, NULL), 0);
	CHECK_EQ(lines_feed(&l, "ve\n", 3, take, NULL), 0);
	CHECK_EQ(lines_feed(&l, "seven\n", 6, take, NULL), -EMSGSIZE);
	lines_drop(&l);
	CHECK_EQ(lines_feed(&l, "fi", 2, take, NULL), 0);
	CHECK_EQ(lines_feed(&l, "ver", 3, take, NULL), -EMSGSIZE);
	lines_drop(&l);
	CHECK_EQ(lines_feed(&l, "fi", 2, take, NULL), 0);
	CHECK_EQ(lines_feed(&l, "ver\n", 4, take, NULL), -EMSGSIZE);
	CHECK_STR(seen, "four|five|");
	lines_drop(&l);
}

static int cut(void *, const char *line, size_t len)
{
	size_t used = strlen(seen);

	CHECK(len > 0);
	snprintf(seen + used, sizeof seen - used, "(%c)|", line[0]);
	return 0;
}

/* A longer line is skipped in every cut, and its beginning is shown once. */
TEST(skip)
{
	static const char text[] = "one\nlonger\ntwo\n\nfiver\nx";
	size_t len = strlen(text);

	for (size_t a = 0; a <= len; a++)
		for (size_t b = a; b <= len; b++) {
			struct lines l = {.max = 4, .too_long = cut};

			seen[0] = '\0';
			CHECK_EQ(lines_feed(&l, text, a, take, NULL), 0);
			CHECK_EQ(lines_feed(&l, text + a, b - a, take, NULL), 0);
			CHECK_EQ(lines_feed(&l, text + b, len - b, take, NULL), 0);
			CHECK_STR(seen, "one|(l)|two|(f)|");
			CHECK(lines_is_inside(&l));
			CHECK_EQ(l.kept.len, 1);
			lines_drop(&l);
		}
}

/* Nothing of the rest of such a line is kept. */
TEST(skip_memory)
{
	struct lines l = {.max = 4 * KIB, .too_long = cut};
	char *text = calloc(1, MIB);

	memset(text, 'y', MIB);
	seen[0] = '\0';
	CHECK_EQ(lines_feed(&l, text, 2 * KIB, take, NULL), 0);
	for (int i = 0; i < 16; i++)
		CHECK_EQ(lines_feed(&l, text, MIB, take, NULL), 0);
	CHECK(lines_is_inside(&l) && l.kept.size == 0);
	CHECK_EQ(lines_feed(&l, "\nz\n", 3, take, NULL), 0);
	CHECK(!lines_is_inside(&l));
	CHECK_STR(seen, "(y)|z|");
	free(text);
	lines_drop(&l);
}

TEST(stop)
{
	struct lines l = {.max = 4};
	int stop = 1;

	seen[0] = '\0';
	CHECK_EQ(lines_feed(&l, "a\nx\nb\n", 6, take, &stop), -EBADMSG);
	CHECK_STR(seen, "a|x|");
	lines_drop(&l);
}

/* A large line does not keep its memory. */
TEST(memory)
{
	struct lines l = {.max = MIB};
	char *text = calloc(1, MIB);

	memset(text, 'y', MIB);
	seen[0] = '\0';
	CHECK_EQ(lines_feed(&l, text, MIB, take, NULL), 0);
	CHECK(l.kept.size >= MIB && l.kept.size <= 2 * MIB);
	CHECK_EQ(lines_feed(&l, "\n", 1, take, NULL), 0);
	CHECK_EQ(l.kept.size, 0);
	CHECK(l.kept.text == NULL);
	free(text);
	lines_drop(&l);
}

TEST(base64)
{
	static const struct {
		const char *in;
		const char *out; /* NULL: refused */
	} rows[] = {
		{"Zg==", "f"},
		{"Zm8=", "fo"},
		{"Zm9v", "foo"},
		{"Zm9vYg==", "foob"},
		{"Zm9vYmE=", "fooba"},
		{"Zm9vYmFy", "foobar"},
		{"//79", "\xff\xfe\xfd"},
		{"", NULL},
		{"Zg", NULL},
		{"Zg=", NULL},
		{"Zg===", NULL},
		{"Zh==", NULL}, /* spare bits */
		{"Zm9=", NULL},
		{"Zm9v\n", "foo"},
		{"Zm9v\r\nYmFy\r\n", "foobar"},
		{"Zm 9v", NULL},
		{"Zm9vZg==Zg==", NULL},
		{"Zm-v", NULL},
		{"====", NULL},
		{"Z===", NULL},
		{"AGZv", NULL}, /* a NUL inside */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(drop_free) char *out = NULL;
		int r = base64_text(rows[i].in, &out);

		CHECK_EQ(r, rows[i].out != NULL ? 0 : -EBADMSG);
		if (rows[i].out != NULL)
			CHECK_STR(out, rows[i].out);
		else
			CHECK(out == NULL);
	}
}
