/* SPDX-License-Identifier: Apache-2.0 */
/* The page size of the played kernel: sysconf() tells it, and a limit of memory that is written to
 * a file of a fake tree is rounded down to it, as the kernel does. Until it is set, FAKE_PAGE_BYTES
 * of the environment, else this machine's. */
#pragma once

#include <stdint.h>

void fake_page(uint64_t bytes);
uint64_t fake_page_bytes(void);
/* Writes of limits of memory so far. */
extern unsigned fake_limit_writes;
/* The name of a file that is there and cannot be read, with EOPNOTSUPP, as the pressure files of a
 * kernel that was booted with psi=0. NULL: none. */
extern const char *fake_refused;
