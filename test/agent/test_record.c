// SPDX-License-Identifier: Apache-2.0
/* The line format: round trip of hard values, and refusal of everything not canonical. */
#include "agent/record.h"
#include "policy/limits.h"
#include "test/check.h"
#include <errno.h>
#include <math.h>

struct sample {
	char *name;
	uint64_t number;
	uint64_t limit;
	uint32_t small;
	double weight;
	char id[RECORD_ID_SIZE];
	uint32_t weights[4];
};

static const struct record_field fields[] = {
	{"name", RECORD_NAME, offsetof(struct sample, name), 0},
	{"number", RECORD_U64, offsetof(struct sample, number), 0},
	{"limit", RECORD_LIMIT, offsetof(struct sample, limit), 0},
	{"small", RECORD_U32, offsetof(struct sample, small), 7},
	{"weight", RECORD_DOUBLE, offsetof(struct sample, weight), 0},
	{"id", RECORD_ID, offsetof(struct sample, id), 0},
	{"weights", RECORD_WEIGHTS, offsetof(struct sample, weights), 4},
};
static const struct record_layout layout = {fields, ARRAY_SIZE(fields), sizeof(struct sample)};

#define GOOD                                                                                       \
	"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=0:1,3:4294967295"

static void check_round_trip(const struct sample *s, const char *want)
{
	struct sample back = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	record_write(f, &layout, s);
	fclose(f);
	if (want != NULL)
		CHECK_STR(text, want);
	CHECK(len > 0 && text[len - 1] == '\n');
	CHECK_EQ(record_read(&layout, text, len - 1, &back), 0);
	CHECK_STR(back.name, s->name);
	CHECK(memcmp((char *)&back + sizeof back.name, (const char *)s + sizeof s->name,
		     offsetof(struct sample, weights) + sizeof s->weights - sizeof s->name) == 0);
	record_clear(&layout, &back);
	CHECK(back.name == NULL && back.number == 0);
	free(text);
}

static void test_round_trip(void)
{
	char bytes[256];
	struct sample s;

	memset(&s, 0, sizeof s);
	s.name = bytes;
	s.weight = 1.5;
	for (int i = 1; i < 256; i++)
		bytes[i - 1] = (char)i;
	bytes[255] = '\0';
	check_round_trip(&s, NULL);
	s.name = (char *)"unit:a b=%.service";
	s.limit = LIMIT_MAX;
	s.number = UINT64_MAX;
	s.small = 7;
	s.weight = 0x1.fffffffffffffp1023;
	strcpy(s.id, "0123456789abcdef0123456789abcdef");
	s.weights[2] = 10000;
	check_round_trip(&s, "name=unit:a%20b%3D%25.service number=18446744073709551615 limit=max "
			     "small=7 weight=7fefffffffffffff "
			     "id=0123456789abcdef0123456789abcdef weights=2:10000\n");
}

static void test_refused(void)
{
	static const char *const bad[] = {
		"",
		"name=a",
		GOOD " ",
		GOOD " more=1",
		" " GOOD,
		"number=1 name=a limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name= number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=%61 number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=%3d number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=%00 number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=%2 number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=a\x01 number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=a number=01 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=a number=+1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=a number= limit=2 small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=a number=18446744073709551616 limit=2 small=3 weight=3ff8000000000000 "
		"id=00ff weights=-",
		"name=a number=1 limit=18446744073709551615 small=3 weight=3ff8000000000000 "
		"id=00ff weights=-",
		"name=a number=1 limit=Max small=3 weight=3ff8000000000000 id=00ff weights=-",
		"name=a number=1 limit=2 small=8 weight=3ff8000000000000 id=00ff weights=-",
		"name=a number=1 limit=2 small=3 weight=1.5 id=00ff weights=-",
		"name=a number=1 limit=2 small=3 weight=7ff0000000000000 id=00ff weights=-",
		"name=a number=1 limit=2 small=3 weight=7ff8000000000000 id=00ff weights=-",
		"name=a number=1 limit=2 small=3 weight=bff8000000000000 id=00ff weights=-",
		"name=a number=1 limit=2 small=3 weight=3FF8000000000000 id=00ff weights=-",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id= weights=-",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=FF weights=-",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 "
		"id=0123456789abcdef0123456789abcdef0 weights=-",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=1:0",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=4:1",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=1:1,",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=1:1,1:1",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=2:1,1:1",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff weights=1",
		"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff "
		"weights=1:4294967296",
	};
	char long_name[RECORD_NAME_MAX + 200];
	struct sample s = {.small = 42};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int r = record_read(&layout, bad[i], strlen(bad[i]), &s);

		if (r != -EBADMSG)
			fprintf(stderr, "accepted: %s\n", bad[i]);
		CHECK_EQ(r, -EBADMSG);
	}
	/* Every cut of a good line, short of its last weight. */
	for (size_t len = 0; len < strlen(GOOD) - strlen(",3:4294967295"); len++)
		CHECK_EQ(record_read(&layout, GOOD, len, &s), -EBADMSG);
	memset(long_name, 'a', sizeof long_name);
	memcpy(long_name, "name=", 5);
	strcpy(long_name + 5 + RECORD_NAME_MAX + 1, GOOD + 6);
	CHECK_EQ(record_read(&layout, long_name, strlen(long_name), &s), -EBADMSG);
	CHECK_EQ(s.small, 42);
	strcpy(long_name + 5 + RECORD_NAME_MAX, GOOD + 6);
	CHECK_EQ(record_read(&layout, long_name, strlen(long_name), &s), 0);
	CHECK_EQ(strlen(s.name), RECORD_NAME_MAX);
	record_clear(&layout, &s);
}

static int count_line(void *ctx, const char *line, size_t len)
{
	(void)line;
	*(int *)ctx += 1;
	return len == 3 && memcmp(line, "bad", 3) == 0 ? -EBADMSG : 0;
}

static void test_lines(void)
{
	int n = 0;

	CHECK_EQ(record_lines("", 0, count_line, &n), 0);
	CHECK_EQ(n, 0);
	CHECK_EQ(record_lines("a\n\nb\n", 5, count_line, &n), 0);
	CHECK_EQ(n, 3);
	CHECK_EQ(record_lines("a\nb", 3, count_line, &n), -EBADMSG);
	CHECK_EQ(record_lines("bad\na\n", 6, count_line, &n), -EBADMSG);
	CHECK_EQ(n, 5);
}

int main(void)
{
	test_round_trip();
	test_refused();
	test_lines();
	return check_result();
}
