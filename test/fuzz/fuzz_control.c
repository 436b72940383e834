// SPDX-License-Identifier: Apache-2.0
/* What a client of the control socket may send: bodies and paths. */
#include "agent/control_api/control_api.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

/* A body that is taken names one thing to do, or nothing. */
static void check_body(const char *text, size_t size)
{
	const unsigned keys = CONTROL_KEY_NAME | CONTROL_KEY_ALL | CONTROL_KEY_FORCE;
	struct control_body b;
	OWN(drop_free) char *exact = malloc(size);
	const char *why;

	if (exact == NULL)
		return;
	/* What is behind the text counts for nothing, and is not read. */
	memcpy(exact, text, size);
	if (control_body_parse(exact, size, keys, &b, &why) !=
	    control_body_parse(text, size, keys, &b, &why))
		abort();
	if (control_body_parse(text, size, keys, &b, &why) < 0)
		return;
	if ((b.all && b.name[0]) || strnlen(b.name, sizeof(b.name)) == sizeof(b.name))
		abort();
	if (control_body_parse(text, size, CONTROL_KEY_NAME, &b, &why) == 0 && (b.all || b.force))
		abort();
}

static void check_path(const uint8_t *data, size_t size)
{
	OWN(drop_free) char *path = malloc(size + 1);
	char decoded[HTTP_PATH_MAX];

	if (!path)
		return;
	memcpy(path, data, size);
	path[size] = '\0';
	if (http_path_decode(path, sizeof(decoded), decoded) < 0)
		return;
	for (const char *c = decoded; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_body((const char *)data, size);
	check_path(data, size);
	return 0;
}
