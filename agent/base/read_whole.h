/* SPDX-License-Identifier: Apache-2.0 */
/* The whole of an open file. */
#pragma once

#include <stddef.h>

/* Reads until the end, or until buf has `size` bytes. *ret is how many there are. */
int read_whole(int fd, char *buf, size_t size, size_t *ret);
