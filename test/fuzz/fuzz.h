/* SPDX-License-Identifier: Apache-2.0 */
/* The entry that libFuzzer and replay.c call. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}
