// SPDX-License-Identifier: Apache-2.0
#include "agent/base/config_yaml.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define KEY_MAX 1024

struct builder {
	yaml_parser_t parser;
	const char *file;
	struct config_errors *errs;
	size_t nodes;
};

void config_error(struct config_errors *e, const struct config_place *at, const char *format, ...)
{
	char *text = e->text[MIN(e->count, (size_t)CONFIG_ERRORS_MAX - 1)];
	size_t size = CONFIG_ERROR_TEXT_MAX;
	va_list args;
	int n;

	if (e->count == CONFIG_ERRORS_MAX) {
		e->dropped++;
		return;
	}
	if (at->line > 0)
		n = snprintf(text, size, "%s:%u: ", at->file, at->line);
	else
		n = snprintf(text, size, "%s: ", at->file);
	if (at->key[0] != '\0' && (size_t)n < size)
		n += snprintf(text + n, size - (size_t)n, "%s: ", at->key);
	va_start(args, format);
	if ((size_t)n < size)
		vsnprintf(text + n, size - (size_t)n, format, args);
	va_end(args);
	/* The text goes to journals and terminals. */
	for (char *p = text; *p != '\0'; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	e->count++;
}

bool node_is_null(const struct node *n)
{
	return n == NULL ||
	       (n->kind == NODE_SCALAR && n->plain &&
		(n->text[0] == '\0' || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0));
}

const char *node_kind_name(enum node_kind k)
{
	static const char *const names[] = {
		[NODE_SCALAR] = "a single value",
		[NODE_LIST] = "a list",
		[NODE_MAP] = "a section",
	};

	return names[k];
}

size_t node_count(const struct node *first)
{
	size_t count = 0;

	for (; first != NULL; first = first->next)
		count++;
	return count;
}

void node_free(struct node *n)
{
	while (n != NULL) {
		struct node *next = n->next;

		node_free(n->child);
		free(n->key);
		free(n->text);
		free(n);
		n = next;
	}
}

static void drop_event(yaml_event_t *e)
{
	yaml_event_delete(e);
}

static uint32_t line_of(const yaml_mark_t *mark)
{
	return (uint32_t)MIN(mark->line, (size_t)UINT32_MAX - 1) + 1;
}

/* Reports an error; reading goes on where it can, to find further errors. */
static void refuse(struct builder *b, uint32_t line, const char *what)
{
	config_error(b->errs, &(struct config_place){b->file, line, ""}, "%s", what);
}

/* Next event. Any problem of the syntax ends the reading. */
static int next_event(struct builder *b, yaml_event_t *ret)
{
	const char *problem;
	uint32_t line;

	if (yaml_parser_parse(&b->parser, ret))
		return 0;
	if (b->parser.error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	problem = b->parser.problem != NULL ? b->parser.problem : "not YAML";
	line = line_of(&b->parser.problem_mark);
	config_error(b->errs, &(struct config_place){b->file, line, ""}, "syntax: %s", problem);
	return -EBADMSG;
}

/* Anchors and tags have no meaning here, so they are refused. */
static void check_decoration(struct builder *b, const yaml_event_t *e)
{
	uint32_t line = line_of(&e->start_mark);
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
		break;
	default:
		break;
	}
	if (anchor != NULL)
		refuse(b, line, "anchors (&name) are not allowed; write the value again");
	if (tag != NULL)
		refuse(b, line, "tags (!name) are not allowed; write the value alone");
}

static int build_node(struct builder *b, yaml_event_t *e, int depth, struct node **ret);

static int build_scalar(struct builder *b, const yaml_event_t *e, struct node *n)
{
	const char *value = (const char *)e->data.scalar.value;

	if (strlen(value) != e->data.scalar.length)
		refuse(b, n->line, "a NUL byte is not allowed in a value");
	n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	n->text = strdup(value);
	return n->text != NULL ? 0 : -ENOMEM;
}

static int build_list(struct builder *b, struct node *n, int depth)
{
	struct node **tail = &n->child;

	for (;;) {
		OWN(drop_event) yaml_event_t e = {0};
		int r = next_event(b, &e);

		if (r < 0 || e.type == YAML_SEQUENCE_END_EVENT)
			return r;
		r = build_node(b, &e, depth + 1, tail);
		if (r < 0)
			return r;
		if (*tail != NULL)
			tail = &(*tail)->next;
	}
}

/* The key of the next entry; *ret stays NULL at the end of the map. */
static int build_key(struct builder *b, uint32_t *ret_line, char **ret)
{
	OWN(drop_event) yaml_event_t e = {0};
	const char *key;
	int r = next_event(b, &e);

	if (r < 0 || e.type == YAML_MAPPING_END_EVENT)
		return r;
	*ret_line = line_of(&e.start_mark);
	check_decoration(b, &e);
	key = e.type == YAML_SCALAR_EVENT ? (const char *)e.data.scalar.value : "";
	if (key[0] == '\0' || strlen(key) > KEY_MAX || strlen(key) != e.data.scalar.length) {
		refuse(b, *ret_line, "a key must be one plain word");
		return -EBADMSG;
	}
	*ret = strdup(key);
	return *ret != NULL ? 0 : -ENOMEM;
}

const struct node *node_child(const struct node *map, const char *key)
{
	for (const struct node *n = map->child; n != NULL; n = n->next)
		if (n->key != NULL && strcmp(n->key, key) == 0)
			return n;
	return NULL;
}

/* Ends the list at *tail with the entry just built, or says why it is no entry and drops it. */
static struct node **accept_entry(struct builder *b, const struct node *map, struct node **tail,
				  uint32_t line, char **key)
{
	const struct node *first;

	if (*tail == NULL)
		return tail;
	first = node_child(map, *key);
	if (first != NULL) {
		config_error(b->errs, &(struct config_place){b->file, line, *key},
			     "is there twice, first on line %u; allowed: once", first->line);
		node_free(*tail);
		*tail = NULL;
		return tail;
	}
	(*tail)->key = STEAL(*key);
	(*tail)->line = line;
	return &(*tail)->next;
}

static int build_map(struct builder *b, struct node *n, int depth)
{
	struct node **tail = &n->child;

	for (;;) {
		OWN(drop_event) yaml_event_t e = {0};
		OWN(drop_free) char *key = NULL;
		uint32_t line;
		int r = build_key(b, &line, &key);

		if (r < 0 || key == NULL)
			return r;
		r = next_event(b, &e);
		if (r == 0)
			r = build_node(b, &e, depth + 1, tail);
		if (r < 0)
			return r;
		tail = accept_entry(b, n, tail, line, &key);
	}
}

/* The node that starts with e. An alias leaves *ret empty. On failure *ret may be half built: it
 * hangs in the tree already and goes with it. */
static int build_node(struct builder *b, yaml_event_t *e, int depth, struct node **ret)
{
	uint32_t line = line_of(&e->start_mark);
	struct node *n;

	check_decoration(b, e);
	if (e->type == YAML_ALIAS_EVENT) {
		refuse(b, line, "aliases (*name) are not allowed; write the value again");
		return 0;
	}
	if (depth > CONFIG_DEPTH_MAX || b->nodes++ >= CONFIG_NODES_MAX) {
		refuse(b, line,
		       depth > CONFIG_DEPTH_MAX ? "nested too deeply; allowed: 16 levels"
						: "too many values; allowed: 20000");
		return -EBADMSG;
	}
	n = calloc(1, sizeof *n);
	if (n == NULL)
		return -ENOMEM;
	*ret = n;
	n->line = line;
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return build_scalar(b, e, n);
	case YAML_SEQUENCE_START_EVENT:
		n->kind = NODE_LIST;
		return build_list(b, n, depth);
	case YAML_MAPPING_START_EVENT:
		n->kind = NODE_MAP;
		return build_map(b, n, depth);
	default:
		return -EBADMSG;
	}
}

/* The one document of the stream. */
static int build_document(struct builder *b, struct node **ret)
{
	for (;;) {
		OWN(drop_event) yaml_event_t e = {0};
		int r = next_event(b, &e);

		if (r < 0 || e.type == YAML_STREAM_END_EVENT)
			return r;
		if (e.type == YAML_STREAM_START_EVENT || e.type == YAML_DOCUMENT_END_EVENT)
			continue;
		if (e.type != YAML_DOCUMENT_START_EVENT) {
			r = build_node(b, &e, 1, ret);
			if (r < 0)
				return r;
			continue;
		}
		if (*ret != NULL) {
			refuse(b, line_of(&e.start_mark), "a second document; allowed: one");
			return -EBADMSG;
		}
		if (e.data.document_start.version_directive != NULL ||
		    e.data.document_start.tag_directives.start !=
			    e.data.document_start.tag_directives.end)
			refuse(b, line_of(&e.start_mark), "directives (%NAME) are not allowed");
	}
}

int node_parse(const char *file, const char *text, size_t len, struct config_errors *errs,
	       struct node **ret)
{
	OWN(drop_node) struct node *root = NULL;
	struct builder b = {.file = file, .errs = errs};
	int r;

	if (len > CONFIG_TEXT_MAX) {
		refuse(&b, 0, "larger than 1 MiB");
		return -EBADMSG;
	}
	if (!yaml_parser_initialize(&b.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	r = build_document(&b, &root);
	yaml_parser_delete(&b.parser);
	if (r < 0)
		return r;
	*ret = STEAL(root);
	return 0;
}
