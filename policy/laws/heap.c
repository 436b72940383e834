// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/heap.h"
#include <string.h>

const char *const heap_runtime_names[HEAP_RUNTIME_COUNT] = {
	[HEAP_JVM] = "JVM",
	[HEAP_NODE] = "Node.js",
	[HEAP_GO] = "Go",
	[HEAP_DOTNET] = ".NET",
};

/* The ceiling as a share of the memory limit. JVM: guides for Java in containers print 70 to 80 %.
 * Node.js: its manual names 1536 MiB on a machine with 2 GiB. .NET: its own default in a container.
 * Go: the guide to its collector names 5 to 10 % for C code and mapped files. */
static const uint64_t share_permille[HEAP_RUNTIME_COUNT] = {
	[HEAP_JVM] = 750,
	[HEAP_NODE] = 750,
	[HEAP_GO] = 900,
	[HEAP_DOTNET] = 750,
};

/* Percentages are numbers from 0 to 100 (HotSpot: gc_globals.hpp, Node.js: cli.md). */
#define PERCENT_MAX 100u

struct unit {
	const char *suffix;
	uint64_t bytes;
};

/* -XX options of a memory size (HotSpot, Arguments::parse_memory_size). */
static const struct unit jvm_units[] = {
	{"k", KIB}, {"K", KIB},        {"m", MIB},        {"M", MIB}, {"g", GIB},
	{"G", GIB}, {"t", 1024 * GIB}, {"T", 1024 * GIB}, {"", 1},    {NULL, 0},
};
static const struct unit go_units[] = {
	{"", 1}, {"B", 1}, {"KiB", KIB}, {"MiB", MIB}, {"GiB", GIB}, {"TiB", 1024 * GIB}, {NULL, 0},
};
static const struct unit node_units[] = {{"", MIB}, {NULL, 0}};

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (unsigned)((c | 0x20) - 'a') + 10;
	return UINT32_MAX;
}

/* Digits at s; returns how many, 0 also when they are too large. */
static size_t digits(const char *s, size_t len, unsigned base, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < len && digit(s[i]) < base; i++)
		if (__builtin_mul_overflow(n, base, &n) ||
		    __builtin_add_overflow(n, (uint64_t)digit(s[i]), &n))
			return 0;
	*ret = n;
	return i;
}

/* "512m": sets *ret if it is a size above 0. */
static void parse_size(const char *s, size_t len, const struct unit *units, uint64_t *ret)
{
	uint64_t n;
	size_t used = digits(s, len, 10, &n);

	if (used == 0 || n == 0)
		return;
	for (; units->suffix != NULL; units++)
		if (strlen(units->suffix) == len - used &&
		    memcmp(units->suffix, s + used, len - used) == 0 &&
		    !__builtin_mul_overflow(n, units->bytes, &n) && n != LIMIT_MAX)
			*ret = n;
}

/* "75", "66.6": rounded up to a permille. */
static void parse_percentage(const char *s, size_t len, uint32_t *ret)
{
	uint64_t whole, part = 0;
	size_t used = digits(s, len, 10, &whole), places;

	if (used == 0 || whole > PERCENT_MAX)
		return;
	whole *= 10;
	if (used < len && s[used] == '.') {
		s += used + 1;
		len -= used + 1;
		places = digits(s, len, 10, &part);
		if (places != len || places == 0)
			return;
		whole += digit(s[0]);
		whole += strspn(s + 1, "0") < places - 1;
	} else if (used != len) {
		return;
	}
	if (whole > 0 && whole <= 10 * PERCENT_MAX)
		*ret = (uint32_t)whole;
}

enum option_kind { OPTION_SIZE, OPTION_PERCENTAGE, OPTION_FRACTION, OPTION_NODE_SIZE };

static const struct option {
	const char *start;
	bool dashes; /* V8 takes '_' for '-' */
	enum heap_runtime runtime;
	enum option_kind kind;
} options[] = {
	{"-Xmx", false, HEAP_JVM, OPTION_SIZE},
	{"-XX:MaxHeapSize=", false, HEAP_JVM, OPTION_SIZE},
	{"-XX:MaxRAMPercentage=", false, HEAP_JVM, OPTION_PERCENTAGE},
	{"-XX:MaxRAMFraction=", false, HEAP_JVM, OPTION_FRACTION},
	{"--max-old-space-size-percentage=", true, HEAP_NODE, OPTION_PERCENTAGE},
	{"--max-old-space-size", true, HEAP_NODE, OPTION_NODE_SIZE},
};

/* What stands behind an option. */
static void take_option(struct heap_options *h, const struct option *o, const char *s, size_t len)
{
	uint64_t n;

	switch (o->kind) {
	case OPTION_SIZE:
		parse_size(s, len, jvm_units, &h->runtime[o->runtime].bytes);
		break;
	case OPTION_PERCENTAGE:
		parse_percentage(s, len, &h->runtime[o->runtime].permille);
		break;
	case OPTION_FRACTION:
		if (digits(s, len, 10, &n) == len && n > 0)
			h->jvm_fraction_permille = (uint32_t)((999 + n) / n);
		break;
	case OPTION_NODE_SIZE:
		h->node_value_next = len == 0;
		if (len > 1 && s[0] == '=')
			parse_size(s + 1, len - 1, node_units, &h->runtime[o->runtime].bytes);
	}
}

static bool starts(const char *s, size_t len, const char *start, bool dashes)
{
	size_t n = strlen(start);

	if (len < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] != start[i] && !(dashes && i > 1 && start[i] == '-' && s[i] == '_'))
			return false;
	return true;
}

static void take_word(struct heap_options *h, const char *s, size_t len)
{
	if (h->node_value_next) {
		h->node_value_next = false;
		parse_size(s, len, node_units, &h->runtime[HEAP_NODE].bytes);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		size_t n = strlen(options[i].start);

		if (starts(s, len, options[i].start, options[i].dashes)) {
			take_option(h, &options[i], s + n, len - n);
			return;
		}
	}
}

void heap_words(struct heap_options *h, const char *text)
{
	static const char between[] = " \t\r\n\v\f\"';()&|";

	for (;;) {
		size_t len;

		text += strspn(text, between);
		len = strcspn(text, between);
		if (len == 0)
			return;
		take_word(h, text, len);
		text += len;
	}
}

void heap_jvm_size(struct heap_options *h, const char *value)
{
	parse_size(value, strlen(value), jvm_units, &h->runtime[HEAP_JVM].bytes);
}

void heap_jvm_mib(struct heap_options *h, const char *value)
{
	parse_size(value, strlen(value), node_units, &h->runtime[HEAP_JVM].bytes);
}

void heap_go_limit(struct heap_options *h, const char *value)
{
	parse_size(value, strlen(value), go_units, &h->runtime[HEAP_GO].bytes);
}

/* Hexadecimal, with or without 0x. */
static bool parse_hex(const char *s, uint64_t *ret)
{
	if (s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	return s[0] != '\0' && digits(s, strlen(s), 16, ret) == strlen(s) && *ret > 0 &&
	       *ret != LIMIT_MAX;
}

void heap_dotnet_limit(struct heap_options *h, const char *value)
{
	uint64_t n;

	if (parse_hex(value, &n))
		h->runtime[HEAP_DOTNET].bytes = n;
}

void heap_dotnet_percent(struct heap_options *h, const char *value)
{
	uint64_t n;

	if (parse_hex(value, &n) && n <= PERCENT_MAX)
		h->runtime[HEAP_DOTNET].permille = (uint32_t)n * 10;
}

static struct heap_ceiling ceiling_of(const struct heap_options *h, enum heap_runtime runtime)
{
	struct heap_ceiling c = {runtime, h->runtime[runtime].bytes, h->runtime[runtime].permille};
	bool share_wins = runtime == HEAP_NODE;

	if (runtime == HEAP_JVM && c.permille == 0)
		c.permille = h->jvm_fraction_permille;
	if (c.bytes > 0 && c.permille > 0 && share_wins)
		c.bytes = 0;
	if (c.bytes > 0)
		c.permille = 0;
	return c;
}

struct heap_ceiling heap_highest(const struct heap_options *h)
{
	struct heap_ceiling most = ceiling_of(h, HEAP_JVM);

	for (enum heap_runtime r = HEAP_NODE; r < HEAP_RUNTIME_COUNT; r++) {
		struct heap_ceiling c = ceiling_of(h, r);
		uint64_t floor = heap_floor(&c, LIMIT_MAX), before = heap_floor(&most, LIMIT_MAX);

		if (floor > before || (before == 0 && c.permille > most.permille))
			most = c;
	}
	return most;
}

uint64_t heap_floor(const struct heap_ceiling *h, uint64_t limit_bytes)
{
	uint64_t bytes = h->bytes;

	if (bytes == 0 && limit_bytes != LIMIT_MAX)
		bytes = mul_div(limit_bytes, h->permille, 1000);
	return mul_div(bytes, 1000, share_permille[h->runtime]);
}
