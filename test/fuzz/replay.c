// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a fuzz target over kept inputs, without a fuzzer: each argument is a file or a folder of
 * files. Every input is also tried cut short at each of its first bytes, and with one byte spoilt.
 */
#include "test/fuzz/fuzz.h"
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_BYTES (1 << 20)
/* Longer inputs are varied in their first bytes only, to stay within a second. */
#define VARIED_BYTES 2048

static uint8_t input[INPUT_BYTES];

static void run_variants(size_t size)
{
	size_t varied = size < VARIED_BYTES ? size : VARIED_BYTES;

	(void)LLVMFuzzerTestOneInput(input, size);
	for (size_t i = 0; i < varied; i++) {
		uint8_t kept = input[i];

		(void)LLVMFuzzerTestOneInput(input, i);
		input[i] = (uint8_t)(kept ^ 0x15);
		(void)LLVMFuzzerTestOneInput(input, size);
		input[i] = 0;
		(void)LLVMFuzzerTestOneInput(input, size);
		input[i] = kept;
	}
}

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t size;

	if (f == NULL) {
		perror(path);
		return -1;
	}
	size = fread(input, 1, sizeof input, f);
	if (ferror(f) || size == sizeof input) {
		fprintf(stderr, "%s: cannot be read whole\n", path);
		fclose(f);
		return -1;
	}
	fclose(f);
	run_variants(size);
	return 1;
}

static int replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *d;
	int count = 0;

	if (dir == NULL) {
		perror(path);
		return -1;
	}
	while (count >= 0 && (d = readdir(dir)) != NULL) {
		char file[PATH_MAX];

		if (d->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s", path, d->d_name);
		count = replay_file(file) < 0 ? -1 : count + 1;
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		int r;

		if (stat(argv[i], &st) < 0) {
			perror(argv[i]);
			return EXIT_FAILURE;
		}
		r = S_ISDIR(st.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
		if (r < 0)
			return EXIT_FAILURE;
		count += r;
	}
	fprintf(stderr, "%d inputs replayed\n", count);
	return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
