// SPDX-License-Identifier: Apache-2.0
/* The tests of a program, their count of checks, and main() where the program has none. */
#include "test/check.h"
#include <time.h>

#define TESTS_MAX 256

int check_failures, check_count;

uint64_t now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static struct {
	void (*run)(void);
	const char *name;
} tests[TESTS_MAX];
static size_t test_count, tests_run;

void check_add(void (*run)(void), const char *name)
{
	if (test_count == TESTS_MAX)
		abort();
	tests[test_count].run = run;
	tests[test_count++].name = name;
}

void check_run(void)
{
	for (; tests_run < test_count; tests_run++) {
		int before = check_failures;

		tests[tests_run].run();
		if (check_failures > before)
			fprintf(stderr, "TEST(%s) failed\n", tests[tests_run].name);
	}
}

static void (*at_end)(void);

void check_at_end(void (*end)(void))
{
	at_end = end;
}

int check_result(void)
{
	if (at_end != NULL)
		at_end();
	fprintf(stderr, "%d checks, %d failed\n", check_count, check_failures);
	return check_failures > 0 || check_count == 0 || tests_run < test_count ? EXIT_FAILURE
										: EXIT_SUCCESS;
}

__attribute__((weak)) int main(void)
{
	check_run();
	return check_result();
}
