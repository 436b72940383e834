// SPDX-License-Identifier: Apache-2.0
/* The effective configuration, in a form that loads again. */
#include "agent/base/json.h"
#include "agent/config/config_table.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int add_text(cJSON *to, const char *name, const char *text)
{
	return cJSON_AddStringToObject(to, name, text) != NULL ? 0 : -ENOMEM;
}

/* The row's value under its name in its section, which is made when it is the first. */
static int add_row(cJSON *root, const struct config_key *k, const struct config *c)
{
	char text[PATH_MAX], section[CONFIG_VALUE_TEXT];
	const char *name = strchr(k->path, '.') + 1;
	cJSON *map;

	snprintf(section, sizeof section, "%.*s", (int)(name - 1 - k->path), k->path);
	map = cJSON_GetObjectItemCaseSensitive(root, section);
	if (map == NULL)
		map = cJSON_AddObjectToObject(root, section);
	if (map == NULL)
		return -ENOMEM;
	config_value_text(k, c, text, sizeof text);
	/* A path that is not set has no text of its own. */
	return text[0] != '\0' ? add_text(map, name, text) : 0;
}

static int add_rule(cJSON *to, const struct policy_rule *rule)
{
	char text[CONFIG_VALUE_TEXT];
	int r = 0;

	for (size_t i = 0; i < config_rule_key_count && r == 0; i++) {
		const struct config_key *k = &config_rule_keys[i];

		r = add_text(to, k->path, config_value_text(k, rule, text, sizeof text));
	}
	return r;
}

/* Nothing for an empty list, which would not load. */
static int add_words(cJSON *to, const char *name, const struct config_words *w)
{
	cJSON *list = w->count > 0 ? cJSON_AddArrayToObject(to, name) : NULL;

	for (size_t i = 0; i < w->count; i++) {
		cJSON *word = cJSON_CreateString(w->item[i]);

		if (list == NULL || word == NULL || !cJSON_AddItemToArray(list, word)) {
			cJSON_Delete(word);
			return -ENOMEM;
		}
	}
	return 0;
}

static int add_unit(cJSON *list, const struct config_unit *u)
{
	cJSON *map = cJSON_CreateObject();
	int r;

	if (map == NULL || !cJSON_AddItemToArray(list, map)) {
		cJSON_Delete(map);
		return -ENOMEM;
	}
	r = add_words(map, "match", &u->match);
	return r == 0 ? add_rule(map, &u->rule) : r;
}

static int add_pod_rule(cJSON *list, const struct config_pod_rule *p)
{
	cJSON *map = cJSON_CreateObject(), *match;
	int r;

	if (map == NULL || !cJSON_AddItemToArray(list, map)) {
		cJSON_Delete(map);
		return -ENOMEM;
	}
	match = cJSON_AddObjectToObject(map, "match");
	if (match == NULL)
		return -ENOMEM;
	r = add_words(match, "namespace", &p->namespaces);
	if (r == 0)
		r = add_words(match, "labels", &p->labels);
	if (r == 0)
		r = add_words(match, "owner", &p->owners);
	for (size_t i = 0; r == 0 && i < p->key_count; i++)
		r = add_text(map, p->keys[i].key, p->keys[i].value);
	return r;
}

/* Left out where there are none: earlier versions do not know the section. */
static int add_pod_rules(cJSON *root, const struct config *c)
{
	cJSON *list = c->pod_rule_count > 0 ? cJSON_AddArrayToObject(root, "pods") : NULL;
	int r = c->pod_rule_count == 0 || list != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < c->pod_rule_count; i++)
		r = add_pod_rule(list, &c->pods[i]);
	return r;
}

static int add_all(cJSON *root, const struct config *c)
{
	cJSON *defaults, *units;
	int r = add_text(root, "apiVersion", CONFIG_API_VERSION);

	if (r == 0)
		r = add_text(root, "kind", CONFIG_KIND);
	for (size_t i = 0; i < config_key_count && r == 0; i++)
		r = add_row(root, &config_keys[i], c);
	defaults = cJSON_AddObjectToObject(root, "defaults");
	units = cJSON_AddArrayToObject(root, "units");
	if (r < 0 || defaults == NULL || units == NULL)
		return -ENOMEM;
	r = add_rule(defaults, &c->defaults);
	for (size_t i = 0; i < c->unit_count && r == 0; i++)
		r = add_unit(units, &c->units[i]);
	return r == 0 ? add_pod_rules(root, c) : r;
}

cJSON *config_dump_json(const struct config *c)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();

	if (root == NULL || add_all(root, c) < 0)
		return NULL;
	return STEAL(root);
}
