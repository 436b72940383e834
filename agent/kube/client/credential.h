/* SPDX-License-Identifier: Apache-2.0 */
/* A text that is replaced while the agent runs: a token, a CA, a certificate, a key. Symlinks are
 * followed (the kubelet's files are symlinks). The text is overwritten when it is released. */
#pragma once

#include "policy/base/base.h"
#include <stddef.h>
#include <sys/stat.h>

#define CREDENTIAL_BYTES_MAX MIB

struct credential {
	const char *path; /* borrowed; NULL: the text never changes */
	char *text;       /* owned; NULL: none */
	size_t len;
	uint64_t version; /* counts up when the text changes */
	usec_t read_at;
	struct timespec mtime;
	ino_t inode;
};

/* A regular file of at most max bytes. -EFBIG; -EINVAL: no file, or with a NUL; -errno. */
int credential_read(const char *path, size_t max, char **ret);
/* Takes blanks and line ends off the end. */
void credential_trim(char *text);
void credential_wipe(char *text); /* and frees it */

/* Reads the file if it was replaced since, or if nothing was read yet. If that fails and there is a
 * text already, the text is kept and the result is 0. */
int credential_follow(struct credential *c);
/* The same for a token: reads the file whatever its mtime, because the kernel's clock is too
 * coarse, and trims it. -EBADMSG: it is empty, or not valid in a header. */
int credential_follow_token(struct credential *c, usec_t now);
