// SPDX-License-Identifier: Apache-2.0
/* Loads the nodes of a file into a struct config, with a message for every error. */
#include "agent/config/config.h"
#include "agent/config/config_rule.h"
#include "agent/config/config_table.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Keys that are no rows: the two that name the format, and what holds rules. */
#define SECTION_DEFAULTS "defaults"
#define SECTION_UNITS    "units"
#define SECTION_PODS     "pods"

/* At most this many rows; the loader notes the line of each. */
#define ROWS_MAX 128

struct loader {
	struct config_load load;
	struct config *config;
	uint32_t line[ROWS_MAX]; /* of each row that the file sets, else 0 */
};

int config_default(struct config *ret)
{
	struct config c = {.tuning = tuning_default, .defaults = policy_rule_default};

	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];
		int r = k->fallback != NULL ? config_value_set(k, k->fallback, &c) : 0;

		if (r < 0)
			return r;
	}
	/* policy/ is the source; a test compares the table with it. */
	c.tuning = tuning_default;
	c.kubernetes.report = report_tuning_default;
	c.tuning.memory.page_bytes = c.kubernetes.report.page_bytes =
		(uint64_t)sysconf(_SC_PAGESIZE);
	*ret = c;
	return 0;
}

/* The field of a row that is a string, else NULL. */
static char **string_of(const struct config_key *k, struct config *c)
{
	if (k->type < CONFIG_FILE)
		return NULL;
	return (char **)((char *)c + k->offset);
}

void config_free(struct config *c)
{
	for (size_t i = 0; i < config_key_count; i++) {
		char **text = string_of(&config_keys[i], c);

		if (text != NULL)
			free(*text);
	}
	config_units_free(c);
	config_pods_free(c);
	*c = (struct config){0};
}

/* The keys of a section, or its name alone for "": the words after "allowed:". */
static const char *section_keys(const char *section, char *buf, size_t size)
{
	size_t prefix = strlen(section), n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < config_key_count && n < size; i++) {
		const char *path = config_keys[i].path;

		if (strncmp(path, section, prefix) == 0 && path[prefix] == '.')
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n > 0 ? ", " : "",
					      path + prefix + 1);
	}
	return buf;
}

static bool is_section(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < config_key_count; i++)
		if (strncmp(config_keys[i].path, name, n) == 0 && config_keys[i].path[n] == '.')
			return true;
	return false;
}

static const char *sections(char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size, "apiVersion, kind");

	for (size_t i = 0; i < config_key_count && n < size; i++) {
		const char *path = config_keys[i].path;
		int length = (int)strcspn(path, ".");

		if (i == 0 || strncmp(path, config_keys[i - 1].path, (size_t)length + 1) != 0)
			n += (size_t)snprintf(buf + n, size - n, ", %.*s", length, path);
	}
	if (n < size)
		snprintf(buf + n, size - n,
			 ", " SECTION_DEFAULTS ", " SECTION_UNITS ", " SECTION_PODS);
	return buf;
}

static int load_section(struct loader *l, const struct node *section)
{
	char allowed[CONFIG_ERROR_TEXT_MAX], path[CONFIG_KEY_TEXT];

	if (node_is_null(section))
		return 0;
	if (section->kind != NODE_MAP) {
		config_say(&l->load, section->line, section->key, "%s; allowed: a section with %s",
			   node_kind_name(section->kind),
			   section_keys(section->key, allowed, sizeof allowed));
		return 0;
	}
	for (const struct node *n = section->child; n != NULL; n = n->next) {
		const struct config_key *k;
		int r;

		snprintf(path, sizeof path, "%s.%s", section->key, n->key);
		k = config_key_find(config_keys, config_key_count, path);
		if (k == NULL) {
			config_say(&l->load, n->line, path, "unknown key; allowed: %s",
				   section_keys(section->key, allowed, sizeof allowed));
			continue;
		}
		r = config_load_value(&l->load, n, k, path, l->config);
		if (r < 0)
			return r;
		l->line[k - config_keys] = n->line;
	}
	return 0;
}

/* A key whose only value is `want`. */
static void check_constant(struct loader *l, const struct node *root, const char *key,
			   const char *want)
{
	const struct node *n = root->child;

	while (n != NULL && strcmp(n->key, key) != 0)
		n = n->next;
	if (n == NULL)
		config_say(&l->load, root->line, key, "missing; allowed: %s", want);
	else if (n->kind != NODE_SCALAR || strcmp(n->text, want) != 0)
		config_say(&l->load, n->line, key, "\"%s\" is not known; allowed: %s",
			   config_shown(n, (char[CONFIG_SHOWN_TEXT]){0}), want);
}

static int load_defaults(struct loader *l, const struct node *root)
{
	for (const struct node *n = root->child; n != NULL; n = n->next)
		if (strcmp(n->key, SECTION_DEFAULTS) == 0)
			return config_load_defaults(&l->load, n, &l->config->defaults);
	return 0;
}

static int load_root(struct loader *l, const struct node *root)
{
	char allowed[CONFIG_ERROR_TEXT_MAX];
	int r;

	check_constant(l, root, "apiVersion", CONFIG_API_VERSION);
	check_constant(l, root, "kind", CONFIG_KIND);
	/* Before the units, wherever the section is: they inherit from it. */
	r = load_defaults(l, root);
	for (const struct node *n = root->child; n != NULL && r == 0; n = n->next) {
		if (strcmp(n->key, SECTION_UNITS) == 0)
			r = config_load_units(&l->load, n, l->config);
		else if (strcmp(n->key, SECTION_PODS) == 0)
			r = config_load_pods(&l->load, n, l->config);
		else if (is_section(n->key))
			r = load_section(l, n);
		else if (strcmp(n->key, SECTION_DEFAULTS) != 0 &&
			 strcmp(n->key, "apiVersion") != 0 && strcmp(n->key, "kind") != 0)
			config_say(&l->load, n->line, n->key, "unknown key; allowed: %s",
				   sections(allowed, sizeof allowed));
	}
	return r;
}

/* Pairs that must be in order; the message names the later of the two lines. */
static void check_orders(struct loader *l)
{
	for (size_t i = 0; i < config_order_count; i++) {
		const struct config_order *o = &config_orders[i];
		const struct config_key *low =
			config_key_find(config_keys, config_key_count, o->low);
		const struct config_key *high =
			config_key_find(config_keys, config_key_count, o->high);
		char low_text[CONFIG_VALUE_TEXT], high_text[CONFIG_VALUE_TEXT];

		if (config_value_none(high, l->config) ||
		    config_value_number(low, l->config) <= config_value_number(high, l->config))
			continue;
		config_say(&l->load, MAX(l->line[low - config_keys], l->line[high - config_keys]),
			   low->path, "%s is above %s (%s); allowed: at most that",
			   config_value_text(low, l->config, low_text, sizeof low_text), high->path,
			   config_value_text(high, l->config, high_text, sizeof high_text));
	}
}

static void drop_config(struct config *c)
{
	config_free(c);
}

int config_load_text(const char *name, const char *text, size_t len, struct config *ret,
		     struct config_errors *errs)
{
	OWN(drop_config) struct config c = {0};
	OWN(drop_node) struct node *root = NULL;
	struct loader l = {.load = {name, errs}, .config = &c};
	int r = config_default(&c);

	if (r == 0)
		r = node_parse(name, text, len, errs, &root);
	if (r < 0)
		return r;
	if (root == NULL || root->kind != NODE_MAP) {
		config_say(&l.load, 0, "", "no keys; allowed: a file that begins with apiVersion");
		return -EBADMSG;
	}
	r = load_root(&l, root);
	if (r < 0)
		return r;
	check_orders(&l);
	if (errs->count > 0)
		return -EBADMSG;
	*ret = c;
	c = (struct config){0};
	return 0;
}

char *config_node_name(const struct config_kubernetes *k)
{
	const char *named = k->node != NULL ? k->node : getenv("NODE_NAME");
	char host[256] = "";

	if (named != NULL && named[0] != '\0')
		return strdup(named);
	if (gethostname(host, sizeof host - 1) < 0)
		return NULL;
	return strdup(host);
}

void config_replace(struct config *c, struct config *fresh)
{
	config_free(c);
	*c = *fresh;
	*fresh = (struct config){0};
}

bool config_cluster_wanted(const struct config_kubernetes *k)
{
	if (k->enabled != CONFIG_AUTO)
		return k->enabled == CONFIG_TRUE;
	return k->kubeconfig != NULL || getenv("KUBERNETES_SERVICE_HOST") != NULL;
}
