/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For test programs: TEST(name) { ... } with CHECKs, which count, print the place and the
 * expression and survive NDEBUG. check.c has a main() that runs every TEST in the order in which
 * they stand. A program with a main() of its own calls check_run() and returns check_result().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int check_failures, check_count;

/* The line is the priority of the constructor: what stands first is added first. */
#define TEST(name)                                                                                 \
	static void test_##name(void);                                                             \
	static void __attribute__((constructor(1000 + __LINE__))) check_add_##name(void)           \
	{                                                                                          \
		check_add(test_##name, #name);                                                     \
	}                                                                                          \
	static void test_##name(void)

/* A test with a parameter, which runs with 0 to count - 1. */
#define TEST_EACH(name, type, parameter, count)                                                    \
	static void test_##name(type parameter);                                                   \
	TEST(name##_each)                                                                          \
	{                                                                                          \
		for (int i_ = 0; i_ < (int)(count); i_++)                                          \
			test_##name((type)i_);                                                     \
	}                                                                                          \
	static void test_##name(type parameter)

/* With false and true. */
#define TEST_BOTH(name, parameter) TEST_EACH(name, bool, parameter, 2)

#define CHECK(expression)                                                                          \
	do {                                                                                       \
		check_count++;                                                                     \
		if (!(expression)) {                                                               \
			check_failures++;                                                          \
			fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__,           \
				#expression);                                                      \
		}                                                                                  \
	} while (0)

/* Compares two integers and shows both on failure. */
#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		check_count++;                                                                     \
		if (got_ != want_) {                                                               \
			check_failures++;                                                          \
			fprintf(stderr, "%s:%d: %s = %lld, want %lld\n", __FILE__, __LINE__, #got, \
				got_, want_);                                                      \
		}                                                                                  \
	} while (0)

/* Of a call that returns 0 for done. */
#define CHECK_OK(got) CHECK_EQ(got, 0)

#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *got_ = (got), *want_ = (want);                                         \
		check_count++;                                                                     \
		if (got_ == NULL || strcmp(got_, want_) != 0) {                                    \
			check_failures++;                                                          \
			fprintf(stderr, "%s:%d: %s = \"%s\", want \"%s\"\n", __FILE__, __LINE__,   \
				#got, got_ ? got_ : "(null)", want_);                              \
		}                                                                                  \
	} while (0)

/* Under QEMU (test/debian.sh --arch): slow, and memory is the emulator's. */
static inline int check_emulated(void)
{
	return getenv("VSCALED_EMULATED") != NULL;
}

/* CLOCK_MONOTONIC. */
uint64_t now_usec(void);

/* For TEST(). */
void check_add(void (*run)(void), const char *name);
/* Runs the TESTs of the program, and says which have failed. */
void check_run(void);
/* Called once, before the summary. */
void check_at_end(void (*end)(void));
/* The exit status of main(): prints a summary line. A program without a single check has failed,
 * and one whose TESTs did not run. */
int check_result(void);

/* Ends the test as skipped (77), or as failed where skips are not allowed. */
static inline int check_skip(const char *why)
{
	fprintf(stderr, "SKIP: %s\n", why);
	return getenv("VSCALED_MUST_RUN") ? EXIT_FAILURE : 77;
}
