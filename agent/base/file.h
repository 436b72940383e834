/* SPDX-License-Identifier: Apache-2.0 */
/* Open files: all of one, its checksum, and what OWN() runs for them. */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* A directory of vscaled, made when it is missing; the descriptor, or -errno. */
int directory_open(const char *path, mode_t mode);

/* Reads until the end, or until buf has `size` bytes. *ret is how many there are. */
int read_whole(int fd, char *buf, size_t size, size_t *ret);

/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), as in iSCSI and ext4. */

/* The checksum of len bytes; pass the result of one part as seed of the next, 0 for the first. */
uint32_t crc32c(uint32_t seed, const void *data, size_t len);

/* What OWN() runs for descriptors, folders and files; policy/ has none. */

static inline void drop_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void drop_dir(DIR **d)
{
	if (*d != NULL)
		closedir(*d);
}
