/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of every file that vscaled stores: one header line, then the body.
 *	vscaled NAME VERSION LENGTH CRC32C\n
 * with VERSION and LENGTH in decimal and, in eight hex digits, the checksum of all else.
 */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>

struct state_kind {
	const char *name; /* also the name of the file */
	uint32_t version; /* the one written; older ones are handed out with their number */
	size_t max_bytes; /* of the body */
};

#define STATE_ASIDE_MAX 64

struct state_file {
	char *body; /* owned, NUL after the last byte */
	size_t len;
	uint32_t version;
};

void state_file_free(struct state_file *f);

/* Replaces the file: temporary file, fsync, rename, fsync of the folder. On failure the file that
 * was there is whole (only when the very last fsync fails is it already the new one).
 * -EFBIG: more than max_bytes. */
int state_file_save(int dir, const struct state_kind *k, const char *body, size_t len);

/* -ENOENT: there is none. -EBADMSG: damaged or too large; -EPROTONOSUPPORT: written by a newer
 * version. In these two cases the file is set aside under another name, which goes to aside
 * (STATE_ASIDE_MAX bytes; "" in every other case, and when even the renaming failed). */
int state_file_load(int dir, const struct state_kind *k, char *aside, struct state_file *ret);

/* For a body that the caller could not decode: sets the file aside as damaged. */
int state_file_set_aside(int dir, const struct state_kind *k, char *aside);

/* All of it, in as many calls as that takes. 0 or -errno. */
int state_write_all(int fd, const char *p, size_t len);

/* The version that a file says it has, whatever follows it. -EBADMSG: it is no file of this kind.
 */
int state_file_version(const struct state_kind *k, const char *text, size_t len, uint32_t *ret);

/* The strict part, on bytes already read. 0, -EBADMSG, -EPROTONOSUPPORT, -ENOMEM. */
int state_file_parse(const struct state_kind *k, const char *text, size_t len,
		     struct state_file *ret);
