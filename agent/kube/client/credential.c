// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/credential.h"
#include "agent/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#define TOKEN_BYTES_MAX (16 * KIB)

static void drop_secret(char **text)
{
	credential_wipe(*text);
}

void credential_wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void credential_trim(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		text[--len] = '\0';
}

static int read_all(int fd, size_t max, char **ret)
{
	OWN(drop_secret) char *text = NULL;
	struct stat st;
	size_t len;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((size_t)st.st_size > max)
		return -EFBIG;
	text = calloc(1, (size_t)st.st_size + 1);
	if (text == NULL)
		return -ENOMEM;
	r = read_whole(fd, text, (size_t)st.st_size, &len);
	if (r < 0)
		return r;
	if (strlen(text) != len)
		return -EINVAL;
	*ret = STEAL(text);
	return 0;
}

int credential_read(const char *path, size_t max, char **ret)
{
	/* O_NONBLOCK: opening a FIFO must not hang us. */
	OWN(drop_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	return read_all(fd, max, ret);
}

/* Takes text over, which is freed if it says nothing new. */
static void credential_take(struct credential *c, char *text)
{
	if (c->text != NULL && strcmp(c->text, text) == 0) {
		credential_wipe(text);
		return;
	}
	credential_wipe(c->text);
	c->text = text;
	c->len = strlen(text);
	c->version++;
}

int credential_follow(struct credential *c)
{
	struct stat st;
	char *text;
	int r;

	if (c->path == NULL)
		return 0;
	if (stat(c->path, &st) < 0)
		return c->text != NULL ? 0 : -errno;
	if (c->text != NULL && st.st_ino == c->inode && st.st_mtim.tv_sec == c->mtime.tv_sec &&
	    st.st_mtim.tv_nsec == c->mtime.tv_nsec)
		return 0;
	r = credential_read(c->path, CREDENTIAL_BYTES_MAX, &text);
	if (r < 0)
		return c->text != NULL ? 0 : r;
	c->inode = st.st_ino;
	c->mtime = st.st_mtim;
	credential_take(c, text);
	return 0;
}

static bool token_ok(const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return text[0] != '\0';
}

int credential_follow_token(struct credential *c, usec_t now)
{
	char *text;
	int r;

	if (c->path == NULL)
		return 0;
	c->read_at = now;
	r = credential_read(c->path, TOKEN_BYTES_MAX, &text);
	if (r < 0)
		return c->text != NULL ? 0 : r;
	credential_trim(text);
	if (!token_ok(text)) {
		credential_wipe(text);
		return c->text != NULL ? 0 : -EBADMSG;
	}
	credential_take(c, text);
	return 0;
}
