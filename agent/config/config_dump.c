// SPDX-License-Identifier: Apache-2.0
/* The effective configuration, in a form that loads again. */
#include "agent/config/config_table.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void drop_json(cJSON **j)
{
	cJSON_Delete(*j);
}

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

static int add_unit(cJSON *list, const struct config_unit *u)
{
	cJSON *map = cJSON_CreateObject();
	cJSON *match;

	if (map == NULL || !cJSON_AddItemToArray(list, map)) {
		cJSON_Delete(map);
		return -ENOMEM;
	}
	match = cJSON_AddArrayToObject(map, "match");
	for (size_t i = 0; i < u->glob_count; i++) {
		cJSON *glob = cJSON_CreateString(u->globs[i]);

		if (match == NULL || glob == NULL || !cJSON_AddItemToArray(match, glob)) {
			cJSON_Delete(glob);
			return -ENOMEM;
		}
	}
	return add_rule(map, &u->rule);
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
	return r;
}

cJSON *config_dump_json(const struct config *c)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();

	if (root == NULL || add_all(root, c) < 0)
		return NULL;
	return STEAL(root);
}

/* Single quotes keep every character as it is. */
static void put_text(FILE *f, const char *text)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789./_,%";

	if (text[0] != '%' && text[0] != ',' && text[strspn(text, bare)] == '\0') {
		fputs(text, f);
		return;
	}
	putc('\'', f);
	for (; *text != '\0'; text++)
		fputs(*text == '\'' ? "''" : (char[]){*text, '\0'}, f);
	putc('\'', f);
}

static void put_list(FILE *f, const cJSON *list)
{
	const char *separator = "";
	const cJSON *item;

	putc('[', f);
	cJSON_ArrayForEach (item, list) {
		fputs(separator, f);
		put_text(f, item->valuestring);
		separator = ", ";
	}
	fputs("]\n", f);
}

/* The entries of a map, each on a line. The first one follows `first`, the others `indent`. */
static void put_map(FILE *f, const cJSON *map, const char *first, const char *indent)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, map) {
		fprintf(f, "%s%s: ", item == map->child ? first : indent, item->string);
		if (cJSON_IsArray(item)) {
			put_list(f, item);
		} else {
			put_text(f, item->valuestring);
			putc('\n', f);
		}
	}
}

static void put_root(FILE *f, const cJSON *root)
{
	const cJSON *item, *unit;

	cJSON_ArrayForEach (item, root) {
		fprintf(f, "%s:", item->string);
		if (cJSON_IsString(item))
			putc(' ', f);
		if (cJSON_IsString(item))
			put_text(f, item->valuestring);
		putc('\n', f);
		if (cJSON_IsObject(item))
			put_map(f, item, "  ", "  ");
		if (!cJSON_IsArray(item))
			continue;
		cJSON_ArrayForEach (unit, item) {
			put_map(f, unit, "- ", "  ");
		}
	}
}

int config_dump_yaml(const struct config *c, char **ret)
{
	OWN(drop_json) cJSON *root = config_dump_json(c);
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	if (root == NULL)
		return -ENOMEM;
	f = open_memstream(&text, &len);
	if (f == NULL)
		return -errno;
	put_root(f, root);
	if (fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}
