/* SPDX-License-Identifier: Apache-2.0 */
/* CHECK for test programs: counts, prints the place and the expression, survives NDEBUG. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;
static int check_count;

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

/* The exit status of main(): prints a summary line. A program without a single check has failed. */
static inline int check_result(void)
{
	fprintf(stderr, "%d checks, %d failed\n", check_count, check_failures);
	return check_failures > 0 || check_count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Ends the test as skipped (77), or as failed where skips are not allowed. */
static inline int check_skip(const char *why)
{
	fprintf(stderr, "SKIP: %s\n", why);
	return getenv("VSCALED_MUST_RUN") ? EXIT_FAILURE : 77;
}
