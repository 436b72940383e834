/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the resident size at what the loop needs. */
#pragma once

/* Once, before anything else. Sets a constant mmap threshold for the allocator. By default it rises
 * when the first large block is freed: from then on the text of a save leaves a hole in the heap,
 * which later small allocations occupy. */
void footprint_start(void);

/* Start-up runs code that never runs again: dynamic linking, the TLS library behind the HTTP server
 * initialising itself, parsing the configuration. Its pages stay in the page cache, but need not
 * stay mapped, where they count towards the resident size of this process. A TLS handshake has the
 * same effect. Unmaps the pages of this process's files that were never written; those that are
 * still needed are mapped again from the page cache at their next use. Returns unused heap memory
 * to the system. Without it 250 containers of a cluster take 19 MB, not 8, and 1,000 a peak of 24
 * MB, not 17: most of it are pages of the TLS library. */
void footprint_trim(void);
