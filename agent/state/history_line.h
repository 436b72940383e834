/* SPDX-License-Identifier: Apache-2.0 */
/* One record of the history as a line of text. For agent/history*.c alone. */
#pragma once

#include "agent/state/history_file.h"

/* *ret is owned and ends with a newline. -EINVAL for a bad key, -ENOMEM. */
int history_line_write(const char *key, const struct history_record *r, char **ret);
/* Without the newline. *ret_key is owned. -EBADMSG, -ENOMEM. t NULL: the saved half life. */
int history_line_read(const char *line, size_t len, const struct tuning_history *t, char **ret_key,
		      struct history_record *ret);
