// SPDX-License-Identifier: Apache-2.0
/* The rules in the configuration: `defaults` and `units`. */
#include "agent/config/config_rule.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MATCH         "match"
#define UNIT_NAME_MAX 255 /* systemd's own bound */
/* Room for the longest word: a label of a pod, see config_pods.c. */
#define CONFIG_WORD_TEXT 400

void config_say(const struct config_load *l, uint32_t line, const char *key, const char *format,
		...)
{
	char text[CONFIG_ERROR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	config_error(l->errs, &(struct config_place){l->file, line, key}, "%s", text);
}

const char *config_shown(const struct node *n, char *buf)
{
	if (n->kind != NODE_SCALAR)
		snprintf(buf, CONFIG_SHOWN_TEXT, "%s", node_kind_name(n->kind));
	else if (strlen(n->text) < CONFIG_SHOWN_TEXT - 4)
		snprintf(buf, CONFIG_SHOWN_TEXT, "%s", n->text);
	else
		snprintf(buf, CONFIG_SHOWN_TEXT, "%.40s...", n->text);
	return buf;
}

/* [cpu, memory] as "cpu,memory"; other lists give an empty text, which nothing accepts. */
static const char *joined(const struct node *list, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (const struct node *item = list->child; item != NULL; item = item->next) {
		if (item->kind != NODE_SCALAR || strlen(item->text) + 2 > size - n) {
			buf[0] = '\0';
			return buf;
		}
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n > 0 ? "," : "", item->text);
	}
	return buf;
}

int config_load_value(const struct config_load *l, const struct node *n, const struct config_key *k,
		      const char *path, void *base)
{
	char shown[CONFIG_SHOWN_TEXT], allowed[CONFIG_ERROR_TEXT_MAX], list[CONFIG_VALUE_TEXT];
	const char *text = n->text;
	int r;

	config_value_allowed(k, allowed, sizeof allowed);
	if (n->kind == NODE_LIST && k->type == CONFIG_RESOURCES) {
		text = joined(n, list, sizeof list);
	} else if (n->kind != NODE_SCALAR) {
		config_say(l, n->line, path, "%s; allowed: %s", node_kind_name(n->kind), allowed);
		return 0;
	} else if (node_is_null(n)) {
		config_say(l, n->line, path, "no value; allowed: %s", allowed);
		return 0;
	}
	r = config_value_set(k, text, base);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		config_say(l, n->line, path, "\"%s\" is %s; allowed: %s", config_shown(n, shown),
			   r == -ERANGE ? "out of range" : "not valid", allowed);
	return 0;
}

static const char *rule_keys(char *buf, size_t size, bool with_match)
{
	size_t n = (size_t)snprintf(buf, size, "%s", with_match ? MATCH : "");

	for (size_t i = 0; i < config_rule_key_count && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n > 0 ? ", " : "",
				      config_rule_keys[i].path);
	return buf;
}

static bool pod_key(const char *key)
{
	for (size_t i = 0; config_pod_keys[i] != NULL; i++)
		if (strcmp(config_pod_keys[i], key) == 0)
			return true;
	return false;
}

static void check_range(const struct config_load *l, uint32_t line, const char *path,
			const struct policy_rule *rule)
{
	static const struct {
		const char *low, *high;
	} pairs[] = {{"min-cpu", "max-cpu"}, {"min-memory", "max-memory"}};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct config_key *low =
			config_key_find(config_rule_keys, config_rule_key_count, pairs[i].low);
		const struct config_key *high =
			config_key_find(config_rule_keys, config_rule_key_count, pairs[i].high);
		uint64_t max = config_value_number(high, rule);
		char low_text[CONFIG_VALUE_TEXT], high_text[CONFIG_VALUE_TEXT];

		if (max == 0 || config_value_number(low, rule) <= max)
			continue;
		config_say(l, line, path, "%s (%s) is above %s (%s); allowed: at most that",
			   low->path, config_value_text(low, rule, low_text, sizeof low_text),
			   high->path, config_value_text(high, rule, high_text, sizeof high_text));
	}
}

/* The keys of a rule on top of what *rule holds already. */
static int load_rule(const struct config_load *l, const struct node *map, const char *path,
		     struct policy_rule *rule)
{
	bool unit = strcmp(path, "defaults") != 0;
	char key[CONFIG_KEY_TEXT], allowed[CONFIG_ERROR_TEXT_MAX];
	int r;

	for (const struct node *n = map->child; n != NULL; n = n->next) {
		const struct config_key *k =
			config_key_find(config_rule_keys, config_rule_key_count, n->key);

		snprintf(key, sizeof key, "%s.%s", path, n->key);
		if (unit && strcmp(n->key, MATCH) == 0)
			continue;
		if (k == NULL) {
			config_say(l, n->line, key, "%s; allowed: %s",
				   pod_key(n->key) ? "is for pods and means nothing for a unit"
						   : "unknown key",
				   rule_keys(allowed, sizeof allowed, unit));
			continue;
		}
		r = config_load_value(l, n, k, key, rule);
		if (r < 0)
			return r;
	}
	check_range(l, map->line, path, rule);
	return 0;
}

int config_load_defaults(const struct config_load *l, const struct node *section,
			 struct policy_rule *rule)
{
	char allowed[CONFIG_ERROR_TEXT_MAX];

	if (node_is_null(section))
		return 0;
	if (section->kind == NODE_MAP)
		return load_rule(l, section, section->key, rule);
	config_say(l, section->line, section->key, "%s; allowed: a section with %s",
		   node_kind_name(section->kind), rule_keys(allowed, sizeof allowed, false));
	return 0;
}

/* A name or glob that some service, scope or slice could have. */
static bool glob_valid(const char *glob)
{
	static const char *const ends[] = {".service", ".scope", ".slice", "*"};
	static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789:-_.\\@*?[]!";
	size_t len = strlen(glob);

	if (len == 0 || len > UNIT_NAME_MAX || strspn(glob, characters) != len)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t n = strlen(ends[i]);

		if (len >= n && strcmp(glob + len - n, ends[i]) == 0)
			return true;
	}
	return false;
}

static const struct config_selector unit_selector = {
	.valid = glob_valid,
	.allowed = "a name or glob that ends in .service, .scope, .slice or *, or a list of them",
};

/* One word, an item of a list, or "key: value" of a section. */
static int load_word(const struct config_load *l, const struct node *n, const char *path,
		     const struct config_selector *s, bool pair, struct config_words *w)
{
	char text[CONFIG_WORD_TEXT], shown[CONFIG_SHOWN_TEXT];
	int len = 0;

	if (n->kind == NODE_SCALAR)
		len = snprintf(text, sizeof text, "%s%s%s", pair ? n->key : "", pair ? "=" : "",
			       n->text);
	if (n->kind != NODE_SCALAR || (size_t)len >= sizeof text || !s->valid(text)) {
		config_say(l, n->line, path, "\"%s\" is not valid; allowed: %s",
			   config_shown(n, shown), s->allowed);
		return 0;
	}
	w->item[w->count] = strdup(text);
	return w->item[w->count++] != NULL ? 0 : -ENOMEM;
}

int config_load_words(const struct config_load *l, const struct node *n, const char *path,
		      const struct config_selector *s, struct config_words *w)
{
	bool pairs = n->kind == NODE_MAP && s->pairs;
	bool many = n->kind == NODE_LIST || pairs;
	int r = 0;

	w->item = calloc(many ? node_count(n->child) + 1 : 1, sizeof *w->item);
	if (w->item == NULL)
		return -ENOMEM;
	/* An empty list would match everything. */
	if (!many || n->child == NULL)
		return load_word(l, n, path, s, false, w);
	for (const struct node *item = n->child; item != NULL && r == 0; item = item->next)
		r = load_word(l, item, path, s, pairs, w);
	return r;
}

void config_words_free(struct config_words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->item[i]);
	free(w->item);
}

bool config_words_match(const struct config_words *globs, const char *name)
{
	for (size_t i = 0; i < globs->count; i++)
		/* Escapes in unit names are part of the name. */
		if (fnmatch(globs->item[i], name, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

size_t config_sections(const struct config_load *l, const struct node *list)
{
	if (node_is_null(list))
		return 0;
	if (list->kind == NODE_LIST)
		return node_count(list->child);
	config_say(l, list->line, list->key, "%s; allowed: a list of sections with " MATCH,
		   node_kind_name(list->kind));
	return 0;
}

static int load_unit(const struct config_load *l, const struct node *n, size_t index,
		     struct config_unit *u)
{
	char path[CONFIG_KEY_TEXT], key[CONFIG_KEY_TEXT + sizeof "." MATCH];
	const struct node *match = n->child;
	int r;

	snprintf(path, sizeof path, "units[%zu]", index);
	snprintf(key, sizeof key, "%s." MATCH, path);
	if (n->kind != NODE_MAP) {
		config_say(l, n->line, path, "%s; allowed: a section that begins with " MATCH,
			   node_kind_name(n->kind));
		return 0;
	}
	while (match != NULL && strcmp(match->key, MATCH) != 0)
		match = match->next;
	if (match == NULL) {
		config_say(l, n->line, key, "missing; allowed: a name or glob, or a list of them");
	} else {
		r = config_load_words(l, match, key, &unit_selector, &u->match);
		if (r < 0)
			return r;
	}
	u->line = n->line;
	return load_rule(l, n, path, &u->rule);
}

int config_load_units(const struct config_load *l, const struct node *list, struct config *c)
{
	size_t count = config_sections(l, list);
	int r = 0;

	c->units = count > 0 ? calloc(count, sizeof *c->units) : NULL;
	if (c->units == NULL)
		return count > 0 ? -ENOMEM : 0;
	for (const struct node *n = list->child; n != NULL && r == 0; n = n->next) {
		struct config_unit *u = &c->units[c->unit_count];

		u->rule = c->defaults;
		r = load_unit(l, n, c->unit_count++, u);
	}
	return r;
}

void config_units_free(struct config *c)
{
	for (size_t i = 0; i < c->unit_count; i++)
		config_words_free(&c->units[i].match);
	free(c->units);
	c->units = NULL;
	c->unit_count = 0;
}

const struct policy_rule *config_rule_for(const struct config *c, const char *unit)
{
	for (size_t i = 0; i < c->unit_count; i++)
		if (config_words_match(&c->units[i].match, unit))
			return &c->units[i].rule;
	return NULL;
}
