/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the resident size at what the loop needs. */
#pragma once

/*
 * Start-up runs code that never runs again: dynamic linking, the TLS library behind the HTTP server
 * initialising itself, parsing the configuration. Its pages stay in the page cache, but need not
 * stay mapped: they count as ours, and would be charged to us. Unmaps the code pages of this
 * process; those that are still needed come back from the page cache at their next use.
 */
void footprint_trim(void);
