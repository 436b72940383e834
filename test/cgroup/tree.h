/* SPDX-License-Identifier: Apache-2.0 */
/* A service with every file the reader knows, as a 6.12 kernel shows them. */
#pragma once

#include "test/fake.h"

#define TREE_UNIT "system.slice/web.service"

static const struct fake_file tree_files[] = {
	{TREE_UNIT "/cpu.stat", "usage_usec 1000\nuser_usec 600\nsystem_usec 400\nnr_periods 30\n"
				"nr_throttled 20\nthrottled_usec 500\n"},
	{TREE_UNIT "/cpu.pressure", "some avg10=1.00 avg60=0.00 avg300=0.00 total=11\n"
				    "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"},
	{TREE_UNIT "/memory.pressure", "some avg10=2.00 avg60=0.00 avg300=0.00 total=21\n"
				       "full avg10=0.00 avg60=0.00 avg300=0.00 total=22\n"},
	{TREE_UNIT "/memory.current", "83886080\n"},
	{TREE_UNIT "/memory.peak", "94371840\n"},
	{TREE_UNIT "/memory.events", "low 0\nhigh 1\nmax 2\noom 900\noom_kill 3\n"
				     "oom_group_kill 0\n"},
	{TREE_UNIT "/memory.stat",
	 "anon 60000000\nfile 20000000\nkernel 3000000\nshmem 0\ninactive_anon 60000000\n"
	 "active_anon 0\ninactive_file 15000000\n"
	 "active_file 5000000\nunevictable 0\nslab_reclaimable 1000000\nsock 0\n"
	 "workingset_refault_anon 0\nworkingset_refault_file 7\n"},
	{TREE_UNIT "/cpu.max", "20000 100000\n"},
	{TREE_UNIT "/cpu.max.burst", "10000\n"},
	{TREE_UNIT "/memory.max", "134217728\n"},
	{TREE_UNIT "/memory.high", "max\n"},
	{TREE_UNIT "/memory.reclaim", ""},
};

#define TREE_COUNT (sizeof tree_files / sizeof tree_files[0])
