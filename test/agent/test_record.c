// SPDX-License-Identifier: Apache-2.0
/* The line format: round trip of hard values, and refusal of everything not canonical. */
#include "agent/state/state_file.h"
#include "policy/types/limits.h"
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
	int64_t sign;
	double weights[4];
};

static const struct record_field fields[] = {
	{"name", RECORD_NAME, offsetof(struct sample, name), 0},
	{"number", RECORD_U64, offsetof(struct sample, number), UINT64_MAX},
	{"limit", RECORD_LIMIT, offsetof(struct sample, limit), 0},
	{"small", RECORD_U32, offsetof(struct sample, small), 7},
	{"weight", RECORD_DOUBLE, offsetof(struct sample, weight), 0},
	{"id", RECORD_ID, offsetof(struct sample, id), 0},
	{"sign", RECORD_I64, offsetof(struct sample, sign), 0},
	{"weights", RECORD_WEIGHTS, offsetof(struct sample, weights), 4},
};
static const struct record_layout layout = {fields, ARRAY_SIZE(fields), sizeof(struct sample)};

#define GOOD                                                                                       \
	"name=a number=1 limit=2 small=3 weight=3ff8000000000000 id=00ff sign=-4 "                 \
	"weights=0:3ff0000000000000,3:4000000000000000"
#define LAST_WEIGHT ",3:4000000000000000"

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

TEST(round_trip)
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
	s.weights[2] = 0x1p-1074;
	s.sign = INT64_MIN;
	check_round_trip(&s, "name=unit:a%20b%3D%25.service number=18446744073709551615 limit=max "
			     "small=7 weight=7fefffffffffffff id=0123456789abcdef0123456789abcdef "
			     "sign=-9223372036854775808 weights=2:0000000000000001\n");
}

/* GOOD with one field's value replaced. */
static const char *spoilt(const char *name, const char *value, char *buf)
{
	const char *at = strstr(GOOD, name), *end = at + strcspn(at, " ");

	sprintf(buf, "%.*s%s=%s%s", (int)(at - GOOD), GOOD, name, value, end);
	return buf;
}

static void check_refused(const char *line)
{
	struct sample s = {.small = 42};
	int r = record_read(&layout, line, strlen(line), &s);

	if (r != -EBADMSG)
		fprintf(stderr, "accepted: %s\n", line);
	CHECK_EQ(r, -EBADMSG);
	CHECK_EQ(s.small, 0);
}

/* One spoilt field each. */
static const struct {
	const char *name, *value;
} bad[] = {
	{"name", ""},
	{"name", "%61"},
	{"name", "%3d"},
	{"name", "%00"},
	{"name", "%2"},
	{"name", "a\x01"},
	{"name", "a=b"},
	{"number", ""},
	{"number", "01"},
	{"number", "+1"},
	{"number", "-1"},
	{"number", "0x1"},
	{"number", "18446744073709551616"},
	{"limit", "18446744073709551615"},
	{"limit", "Max"},
	{"limit", "maxx"},
	{"small", "8"},
	{"small", "4294967299"},
	{"weight", "1.5"},
	{"weight", "7ff0000000000000"},
	{"weight", "7ff8000000000000"},
	{"weight", "bff8000000000000"},
	{"weight", "8000000000000000"},
	{"weight", "3FF8000000000000"},
	{"weight", "3ff80000000000000"},
	{"id", ""},
	{"id", "FF"},
	{"id", "--"},
	{"id", "0123456789abcdef0123456789abcdef0"},
	{"sign", ""},
	{"sign", "-"},
	{"sign", "-0"},
	{"sign", "-01"},
	{"sign", "9223372036854775808"},
	{"sign", "-9223372036854775809"},
	{"weights", ""},
	{"weights", "--"},
	{"weights", "1"},
	{"weights", "1:1"},
	{"weights", "1:0000000000000000"},
	{"weights", "1:7ff0000000000000"},
	{"weights", "4:3ff0000000000000"},
	{"weights", "1:3ff0000000000000,"},
	{"weights", "1:3ff0000000000000,1:3ff0000000000000"},
	{"weights", "2:3ff0000000000000,1:3ff0000000000000"},
};

TEST(refused)
{
	char buf[256];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_refused(spoilt(bad[i].name, bad[i].value, buf));
	check_refused("");
	check_refused(GOOD " ");
	check_refused(GOOD " more=1");
	check_refused(" " GOOD);
	check_refused("number=1 name=a limit=2 small=3 weight=3ff8000000000000 id=00ff sign=-4 "
		      "weights=-");
	/* Every cut, but for the one that leaves a shorter list of weights. */
	for (size_t len = 0; len < strlen(GOOD); len++) {
		sprintf(buf, "%.*s", (int)len, GOOD);
		if (len != strlen(GOOD) - strlen(LAST_WEIGHT))
			check_refused(buf);
	}
}

TEST(long_name)
{
	char line[RECORD_NAME_MAX + 256];
	struct sample s;

	memset(line, 'a', sizeof line);
	memcpy(line, "name=", 5);
	strcpy(line + 5 + RECORD_NAME_MAX + 1, &GOOD[6]);
	check_refused(line);
	strcpy(line + 5 + RECORD_NAME_MAX, &GOOD[6]);
	CHECK_EQ(record_read(&layout, line, strlen(line), &s), 0);
	CHECK_EQ(strlen(s.name), RECORD_NAME_MAX);
	CHECK_EQ(s.sign, -4);
	CHECK(s.weights[0] == 1.0 && s.weights[3] == 2.0);
	record_clear(&layout, &s);
}

static int count_line(void *ctx, const char *line, size_t len)
{
	(void)line;
	*(int *)ctx += 1;
	return len == 3 && memcmp(line, "bad", 3) == 0 ? -EBADMSG : 0;
}

TEST(lines)
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
