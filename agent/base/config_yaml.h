/* SPDX-License-Identifier: Apache-2.0 */
/* YAML text as a small tree of untyped nodes, and the list of what is wrong in a file.
 * Refused: anchors, aliases, tags, duplicate keys, keys that are not plain words, a second
 * document, directives, more than CONFIG_DEPTH_MAX levels, CONFIG_NODES_MAX nodes or
 * CONFIG_TEXT_MAX bytes. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>

#define CONFIG_TEXT_MAX  MIB
#define CONFIG_DEPTH_MAX 16
#define CONFIG_NODES_MAX 20000

#define CONFIG_ERRORS_MAX     20
#define CONFIG_ERROR_TEXT_MAX 640

/* "FILE:LINE: key: what is wrong; what is allowed" each; control bytes never get in. */
struct config_errors {
	size_t count; /* of text */
	size_t dropped;
	char text[CONFIG_ERRORS_MAX][CONFIG_ERROR_TEXT_MAX];
};

/* Where a message belongs. line 0: the file as a whole. key "": none. */
struct config_place {
	const char *file;
	uint32_t line;
	const char *key;
};

void config_error(struct config_errors *e, const struct config_place *at, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
	enum node_kind kind;
	bool plain;    /* a scalar without quotes: may mean "nothing" */
	uint32_t line; /* of the value, from 1 */
	char *key;     /* in a map, else NULL */
	char *text;    /* of a scalar, else NULL */
	struct node *child;
	struct node *next;
};

/* A plain scalar that is empty, "~" or "null", or no node at all. */
bool node_is_null(const struct node *n);
const char *node_kind_name(enum node_kind k);
/* The entry of a map with that key; NULL: there is none. */
const struct node *node_child(const struct node *map, const char *key);
/* How many there are from this one on. */
size_t node_count(const struct node *first);

/* *ret is NULL for an empty document. -EBADMSG: no tree, the reason is in errs; -ENOMEM. With 0
 * there may be errors too (anchors, aliases, tags, duplicate keys, of which the first stays): the
 * caller can use the tree to find further errors. */
int node_parse(const char *file, const char *text, size_t len, struct config_errors *errs,
	       struct node **ret);
void node_free(struct node *n);

static inline void drop_node(struct node **n)
{
	node_free(*n);
}
