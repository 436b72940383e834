/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the resident size at what the loop needs. */
#pragma once

/* Once, before anything else. Sets a constant mmap threshold for the allocator. By default it rises
 * when the first large block is freed: from then on the text of a save leaves a hole in the heap,
 * which later small allocations occupy. */
void footprint_start(void);

/* Start-up and TLS handshakes run code that does not run again; its pages count towards the
 * resident size. Unmaps the pages of this process's files that were never written (they are mapped
 * again from the page cache when needed) and returns unused heap memory. Without it 250 containers
 * of a cluster take 19 MB, not 8, and 1,000 a peak of 24 MB, not 17. */
void footprint_trim(void);
