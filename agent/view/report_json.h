/* SPDX-License-Identifier: Apache-2.0 */
/* What `vscalectl report` is made of: the containers of a node, a short JSON object for each.
 * docs/control-api.md has the keys. */
#pragma once

#include "agent/view/view.h"
#include <stdio.h>

#define REPORT_JSON_VERSION 1

struct report_json {
	FILE *file;
	char *text;
	size_t size;
	size_t count;
	bool failed;
};

/* node NULL: not known. -ENOMEM. */
int report_json_begin(struct report_json *r, const char *node);
/* arg: struct report_json. What is no container is left out. */
void report_json_add(void *arg, const struct unit_view *v);
/* Ends it in any case. *ret is owned by the caller. -ENOMEM. */
int report_json_end(struct report_json *r, char **ret);
