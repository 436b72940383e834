/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON bodies that the control API takes: text in, struct out, strict. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>

/* NAMESPACE/POD/CONTAINER: 63, 253 and 63 at most. */
#define CONTROL_NAME_MAX 512

struct control_body {
	char name[CONTROL_NAME_MAX]; /* "": none given */
	bool all;
	bool force;
};

enum control_key {
	CONTROL_KEY_NAME = 1 << 0,
	CONTROL_KEY_ALL = 1 << 1,
	CONTROL_KEY_FORCE = 1 << 2,
};

/* Takes one object with the keys of the mask, each at most once; an empty text is an empty object.
 * -EBADMSG: the text is not such an object; *ret is untouched, and *ret_why says what is wrong. */
int control_body_parse(const char *text, size_t size, unsigned keys, struct control_body *ret,
		       const char **ret_why);
