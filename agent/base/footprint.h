/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the resident size at what the loop needs. */
#pragma once

/*
 * Once, before anything else. The allocator raises its threshold for pages of their own with the
 * first large piece that is freed: from then on, the text of a save leaves a hole in the heap, in
 * which small things settle.
 */
void footprint_start(void);

/*
 * Start-up runs code that never runs again: dynamic linking, the TLS library behind the HTTP server
 * initialising itself, parsing the configuration. Its pages stay in the page cache, but need not
 * stay mapped: they count as ours, and would be charged to us. So does a TLS handshake. Unmaps what
 * nobody wrote to of the files of this process; what is still needed comes back from the page cache
 * at its next use. Frees what the heap has to spare.
 */
void footprint_trim(void);
