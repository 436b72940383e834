/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Of the sources that this was built from (a commit, short); "unknown". */
extern const char *const vscaled_revision;
