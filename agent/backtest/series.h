/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded series as CSV, strictly. The first line names the columns:
 *	time,cpu_cores[,memory_bytes]	cores used since that time, memory in bytes
 *	timestamp,value			percent of so many CPUs
 * A time is seconds with up to three decimals, or YYYY-MM-DD HH:MM:SS (T for the space, Z at the
 * end). Each is at least 0.1 s after the one before it, the last at most 366 days after the first;
 * a gap of more than a day is left out.
 */
#pragma once

#include "policy/backtest/backtest.h"

struct series {
	struct backtest_sample *samples; /* owned */
	size_t count;
	bool memory;
	size_t gaps; /* left out */
	size_t lone; /* samples left out with them */
	usec_t left_out_usec;
};

struct series_error {
	size_t line; /* 1 is the header */
	const char *what;
};

/* cpus: of the machine; 0: not given, which percent need. -EBADMSG: e says where and why; -ENOMEM.
 */
int series_parse(const char *text, size_t size, uint32_t cpus, struct series *ret,
		 struct series_error *ret_e);
void series_drop(struct series *s);
