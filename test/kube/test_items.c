// SPDX-License-Identifier: Apache-2.0
/* A list in pieces: the same items and the same frame, however it is cut. */
#include "agent/kube/watch/items.h"
#include "policy/base/base.h"
#include "test/check.h"
#include <errno.h>

static char seen[512];

static int take(void *arg, const char *text, size_t len)
{
	size_t used = strlen(seen);

	snprintf(seen + used, sizeof seen - used, "%.*s|", (int)len, text);
	return arg != NULL && text[0] == '9' ? -EBADMSG : 0;
}

static const struct {
	const char *text;
	const char *items;
	const char *frame;
} rows[] = {
	{"{\"items\":[]}", "", "{\"items\":[]}"},
	{"{\"a\":1,\"items\":[{\"b\":[1,{}]},{}],\"m\":{}}", "{\"b\":[1,{}]}|{}|",
	 "{\"a\":1,\"items\":[0,0],\"m\":{}}"},
	{" { \"items\" : [ {} , 7 ,\"x,]\" , [ 1 ] ] } ", "{}|7|\"x,]\"|[ 1 ]|",
	 " { \"items\" : [0,0,0,0] } "},
	/* Brackets, quotes and escapes inside of strings. */
	{"{\"items\":[{\"s\":\"}]\\\"\\\\\"},{\"t\":\"{[\"}]}",
	 "{\"s\":\"}]\\\"\\\\\"}|{\"t\":\"{[\"}|", "{\"items\":[0,0]}"},
	/* Another array, a value of that name, a key that only ends so, a deeper one. */
	{"{\"x\":[1],\"y\":\"items\",\"z\":[2]}", "", "{\"x\":[1],\"y\":\"items\",\"z\":[2]}"},
	{"{\"x\\\"items\":[1]}", "", "{\"x\\\"items\":[1]}"},
	{"{\"x,\\\"items\":[1]}", "", "{\"x,\\\"items\":[1]}"},
	{"{\"m\":{\"items\":[1]}}", "", "{\"m\":{\"items\":[1]}}"},
	{"[{\"items\":[1]}]", "", "[{\"items\":[1]}]"},
	{"{\"items\":null}", "", "{\"items\":null}"},
	/* Of two the first counts. */
	{"{\"items\":[1],\"items\":[2]}", "1|", "{\"items\":[0],\"items\":[2]}"},
	{"{\"items\":null,\"items\":[2]}", "", "{\"items\":null,\"items\":[2]}"},
	/* What is no JSON stays no JSON. */
	{"{\"items\":[{}{}]}", "{}|{}|", "{\"items\":[00]}"},
	{"{\"items\":[,]}", "", "{\"items\":[,]}"},
	{"{\"items\":[{]}]}", "{]|", "{\"items\":[0}]}"},
	{"]]}}{", "", "]]}}{"},
	{"<html>", "", "<html>"},
	{"{\"items\":[{\"a\":", "", "{\"items\":["},
};

static void check_cut(size_t row, size_t a, size_t b)
{
	const char *text = rows[row].text;
	size_t len = strlen(text);
	struct items i = {.max = 100};

	seen[0] = '\0';
	CHECK_EQ(items_feed(&i, text, a, take, NULL), 0);
	CHECK_EQ(items_feed(&i, text + a, b - a, take, NULL), 0);
	CHECK_EQ(items_feed(&i, text + b, len - b, take, NULL), 0);
	CHECK_STR(seen, rows[row].items);
	CHECK_EQ(i.frame.len, strlen(rows[row].frame));
	CHECK(memcmp(i.frame.text, rows[row].frame, i.frame.len) == 0);
	items_drop(&i);
}

TEST(cuts)
{
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
		for (size_t a = 0; a <= strlen(rows[row].text); a++)
			for (size_t b = a; b <= strlen(rows[row].text); b++)
				check_cut(row, a, b);
}

static int cut(void *, const char *text, size_t len)
{
	size_t used = strlen(seen);

	CHECK_EQ(len, 6);
	snprintf(seen + used, sizeof seen - used, "(%.*s)|", (int)len, text);
	return 0;
}

/* A longer element is skipped to its very end, and its beginning is shown once. */
TEST(skip)
{
	static const struct {
		const char *text;
		const char *items;
		const char *frame;
	} longer[] = {
		{"{\"items\":[1,{\"a\":[1,\"]},{\",{}]},2]}", "1|({\"a\":[)|2|",
		 "{\"items\":[0,0,0]}"},
		{"{\"items\":[{\"a\":\"\\\"]}\"} ,\"123456\" , [1]]}", "({\"a\":\")|(\"12345)|[1]|",
		 "{\"items\":[0,0,0]}"},
		{"{\"items\":[12345678]}", "(123456)|", "{\"items\":[0]}"},
		{"{\"items\":[{\"a\":\"bcdef", "({\"a\":\")|", "{\"items\":["},
	};

	for (size_t row = 0; row < ARRAY_SIZE(longer); row++)
		for (size_t a = 0; a <= strlen(longer[row].text); a++) {
			struct items i = {.max = 6, .too_long = cut};
			size_t len = strlen(longer[row].text);

			seen[0] = '\0';
			CHECK_EQ(items_feed(&i, longer[row].text, a, take, NULL), 0);
			CHECK_EQ(items_feed(&i, longer[row].text + a, len - a, take, NULL), 0);
			CHECK_STR(seen, longer[row].items);
			CHECK_EQ(i.frame.len, strlen(longer[row].frame));
			CHECK(memcmp(i.frame.text, longer[row].frame, i.frame.len) == 0);
			items_drop(&i);
		}
}

TEST(bounds)
{
	struct items i = {.max = 4};
	int stop = 1;

	seen[0] = '\0';
	CHECK_EQ(items_feed(&i, "{\"items\":[1234,12345", 20, take, NULL), -EMSGSIZE);
	items_drop(&i);
	CHECK_EQ(items_feed(&i, "{\"items\":[1,9,1]}", 17, take, &stop), -EBADMSG);
	CHECK_STR(seen, "1234|1|9|");
	items_drop(&i);
	/* The frame has a bound of its own. */
	for (size_t k = 0; k < ITEMS_FRAME_MAX; k++)
		CHECK_EQ(items_feed(&i, " ", 1, take, NULL), 0);
	CHECK_EQ(items_feed(&i, " ", 1, take, NULL), -EMSGSIZE);
	items_drop(&i);
}
