// SPDX-License-Identifier: Apache-2.0
/* Loads a file into a struct config, with a message for every error; what else is known of it, and
 * the effective configuration in a form that loads again. */
#include "agent/config/config.h"
#include "agent/base/file.h"
#include "agent/base/json.h"
#include "agent/config/config_table.h"
#include "policy/base/text.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* Keys that are no rows: the two that name the format, and what holds rules. */
#define SECTION_DEFAULTS "defaults"
#define SECTION_UNITS    "units"
#define SECTION_PODS     "pods"

#define MATCH         "match"
#define POD_SELECTORS "a section with one or more of namespace, labels, owner"

/* Room for "units[19999].some-key" and for "section." + the longest key. */
#define KEY_TEXT 160
/* Room for a value as shown in a message. */
#define SHOWN_TEXT 48
/* Room for the longest word: a label of a pod. */
#define WORD_TEXT 400

#define UNIT_NAME_MAX   255 /* systemd's own bound */
#define NAMESPACE_MAX   63u
#define LABEL_KEY_MAX   317u /* a domain of 253, "/", a name of 63 */
#define LABEL_VALUE_MAX 63u
#define KIND_MAX        63u
/* The longest value that is read: the annotation `policy`. */
#define VALUE_MAX 16384u

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

#define STATE_DIR   "/var/lib/vscaled"
#define RUNTIME_DIR "/run/vscaled"
#define CGROUP_ROOT "/sys/fs/cgroup"
#define SOCKET      "control.sock"

#define SOCKET_PATH_MAX (sizeof((struct sockaddr_un *)0)->sun_path - 1)

/* At most this many rows; the loader notes the line of each. */
#define ROWS_MAX 128

struct loader {
	const char *file;
	struct config_errors *errs;
	struct config *config;
	uint32_t line[ROWS_MAX]; /* of each row that the file sets, else 0 */
};

/* What an entry is selected by: a word, or a list of them. */
struct selector {
	const char *key;
	size_t offset; /* of the words, in struct config_pod_rule */
	bool (*valid)(const char *word);
	const char *allowed;
	bool pairs; /* "key=value", or a section with key: value */
};

/* --- defaults, and the end --- */

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

static void words_free(const struct config_words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->item[i]);
	free(w->item);
}

static void pod_rule_free(const struct config_pod_rule *p)
{
	words_free(&p->namespaces);
	words_free(&p->labels);
	words_free(&p->owners);
	for (size_t k = 0; k < p->key_count; k++) {
		free(p->keys[k].key);
		free(p->keys[k].value);
	}
	free(p->keys);
	free(p->file);
}

void config_free(struct config *c)
{
	for (size_t i = 0; i < config_key_count; i++)
		if (config_keys[i].type >= CONFIG_FILE) /* a string */
			free(*(char **)((char *)c + config_keys[i].offset));
	for (size_t i = 0; i < c->unit_count; i++)
		words_free(&c->units[i].match);
	free(c->units);
	for (size_t i = 0; i < c->pod_rule_count; i++)
		pod_rule_free(&c->pods[i]);
	free(c->pods);
	*c = (struct config){0};
}

/* --- one value --- */

static void __attribute__((format(printf, 4, 5))) say(const struct loader *l, uint32_t line,
						      const char *key, const char *format, ...)
{
	char text[CONFIG_ERROR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	config_error(l->errs, &(struct config_place){l->file, line, key}, "%s", text);
}

static const char *shown_value(const struct node *n, char *buf)
{
	if (n->kind != NODE_SCALAR)
		snprintf(buf, SHOWN_TEXT, "%s", node_kind_name(n->kind));
	else if (strlen(n->text) < SHOWN_TEXT - 4)
		snprintf(buf, SHOWN_TEXT, "%s", n->text);
	else
		snprintf(buf, SHOWN_TEXT, "%.40s...", n->text);
	return buf;
}

/* As it would stand in an annotation: a list of words with commas between them. */
static int value_text(const struct node *n, char **ret)
{
	OWN(drop_free) char *text = calloc(1, VALUE_MAX + 1);
	const struct node *item = n->kind == NODE_LIST ? n->child : n;
	size_t len = 0;

	if (text == NULL)
		return -ENOMEM;
	if (n->kind == NODE_MAP || node_is_null(n) || item == NULL)
		return -EINVAL;
	do {
		if (item->kind != NODE_SCALAR || strlen(item->text) + 2 > VALUE_MAX - len)
			return -EINVAL;
		for (const char *s = item->text; *s != '\0'; s++)
			if (!isprint((unsigned char)*s) && *s != '\n' && *s != '\t')
				return -EINVAL;
		len += (size_t)sprintf(text + len, "%s%s", len > 0 ? "," : "", item->text);
		item = n->kind == NODE_LIST ? item->next : NULL;
	} while (item != NULL);
	*ret = strdup(text);
	return *ret != NULL ? 0 : -ENOMEM;
}

static int load_value(const struct loader *l, const struct node *n, const struct config_key *k,
		      const char *path, void *base)
{
	char shown[SHOWN_TEXT], allowed[CONFIG_ERROR_TEXT_MAX];
	OWN(drop_free) char *list = NULL;
	const char *text = n->text;
	int r;

	config_value_allowed(k, allowed, sizeof allowed);
	if (n->kind == NODE_LIST && k->type == CONFIG_RESOURCES) {
		/* Other lists than of words give an empty text, which nothing accepts. */
		if (value_text(n, &list) == -ENOMEM)
			return -ENOMEM;
		text = list ?: "";
	} else if (n->kind != NODE_SCALAR) {
		say(l, n->line, path, "%s; allowed: %s", node_kind_name(n->kind), allowed);
		return 0;
	} else if (node_is_null(n)) {
		say(l, n->line, path, "no value; allowed: %s", allowed);
		return 0;
	}
	r = config_value_set(k, text, base);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		say(l, n->line, path, "\"%s\" is %s; allowed: %s", shown_value(n, shown),
		    r == -ERANGE ? "out of range" : "not valid", allowed);
	return 0;
}

/* --- `defaults`, and an entry of `units` --- */

static const char *rule_keys(char *buf, size_t size, bool with_match)
{
	struct text t = text_over(buf, size);

	if (with_match)
		text_join(&t, MATCH);
	for (size_t i = 0; i < config_rule_key_count; i++)
		text_join(&t, config_rule_keys[i].path);
	return buf;
}

static bool pod_key(const char *key)
{
	for (size_t i = 0; config_pod_keys[i] != NULL; i++)
		if (strcmp(config_pod_keys[i], key) == 0)
			return true;
	return false;
}

static void check_range(const struct loader *l, uint32_t line, const char *path,
			const struct policy_rule *rule)
{
	static const struct config_order pairs[] = {{"min-cpu", "max-cpu"},
						    {"min-memory", "max-memory"}};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct config_key *low =
			config_key_find(config_rule_keys, config_rule_key_count, pairs[i].low);
		const struct config_key *high =
			config_key_find(config_rule_keys, config_rule_key_count, pairs[i].high);
		uint64_t max = config_value_number(high, rule);
		char low_text[CONFIG_VALUE_TEXT], high_text[CONFIG_VALUE_TEXT];

		if (max == 0 || config_value_number(low, rule) <= max)
			continue;
		say(l, line, path, "%s (%s) is above %s (%s); allowed: at most that", low->path,
		    config_value_text(low, rule, low_text, sizeof low_text), high->path,
		    config_value_text(high, rule, high_text, sizeof high_text));
	}
}

/* The keys of a rule on top of what *rule holds already. */
static int load_rule(const struct loader *l, const struct node *map, const char *path,
		     struct policy_rule *rule)
{
	bool unit = strcmp(path, "defaults") != 0;
	char key[KEY_TEXT], allowed[CONFIG_ERROR_TEXT_MAX];
	int r;

	for (const struct node *n = map->child; n != NULL; n = n->next) {
		const struct config_key *k =
			config_key_find(config_rule_keys, config_rule_key_count, n->key);

		snprintf(key, sizeof key, "%s.%s", path, n->key);
		if (unit && strcmp(n->key, MATCH) == 0)
			continue;
		if (k == NULL) {
			say(l, n->line, key, "%s; allowed: %s",
			    pod_key(n->key) ? "is for pods and means nothing for a unit"
					    : "unknown key",
			    rule_keys(allowed, sizeof allowed, unit));
			continue;
		}
		r = load_value(l, n, k, key, rule);
		if (r < 0)
			return r;
	}
	check_range(l, map->line, path, rule);
	return 0;
}

static int load_defaults(const struct loader *l, const struct node *section)
{
	char allowed[CONFIG_ERROR_TEXT_MAX];

	if (section == NULL || node_is_null(section))
		return 0;
	if (section->kind == NODE_MAP)
		return load_rule(l, section, section->key, &l->config->defaults);
	say(l, section->line, section->key, "%s; allowed: a section with %s",
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

static const struct selector unit_selector = {
	.valid = glob_valid,
	.allowed = "a name or glob that ends in .service, .scope, .slice or *, or a list of them",
};

/* One word, an item of a list, or "key: value" of a section. */
static int load_word(const struct loader *l, const struct node *n, const char *path,
		     const struct selector *s, bool pair, struct config_words *w)
{
	char text[WORD_TEXT], shown[SHOWN_TEXT];
	int len = 0;

	if (n->kind == NODE_SCALAR)
		len = snprintf(text, sizeof text, "%s%s%s", pair ? n->key : "", pair ? "=" : "",
			       n->text);
	if (n->kind != NODE_SCALAR || (size_t)len >= sizeof text || !s->valid(text)) {
		say(l, n->line, path, "\"%s\" is not valid; allowed: %s", shown_value(n, shown),
		    s->allowed);
		return 0;
	}
	w->item[w->count] = strdup(text);
	return w->item[w->count++] != NULL ? 0 : -ENOMEM;
}

static int load_words(const struct loader *l, const struct node *n, const char *path,
		      const struct selector *s, struct config_words *w)
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

static size_t section_count(const struct loader *l, const struct node *list)
{
	if (node_is_null(list))
		return 0;
	if (list->kind == NODE_LIST)
		return node_count(list->child);
	say(l, list->line, list->key, "%s; allowed: a list of sections with " MATCH,
	    node_kind_name(list->kind));
	return 0;
}

static int load_unit(const struct loader *l, const struct node *n, size_t index,
		     struct config_unit *u)
{
	char path[KEY_TEXT], key[KEY_TEXT + sizeof "." MATCH];
	const struct node *match;
	int r;

	snprintf(path, sizeof path, "units[%zu]", index);
	snprintf(key, sizeof key, "%s." MATCH, path);
	if (n->kind != NODE_MAP) {
		say(l, n->line, path, "%s; allowed: a section that begins with " MATCH,
		    node_kind_name(n->kind));
		return 0;
	}
	match = node_child(n, MATCH);
	if (match == NULL) {
		say(l, n->line, key, "missing; allowed: a name or glob, or a list of them");
	} else {
		r = load_words(l, match, key, &unit_selector, &u->match);
		if (r < 0)
			return r;
	}
	u->line = n->line;
	return load_rule(l, n, path, &u->rule);
}

static int load_units(const struct loader *l, const struct node *list, struct config *c)
{
	size_t count = section_count(l, list);
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

/* --- `pods` --- */

static bool is_namespace(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= NAMESPACE_MAX && strspn(s, LOWER DIGITS "-*?[]!") == len;
}

static bool is_label(const char *s)
{
	size_t key = strspn(s, LOWER UPPER DIGITS "-_./");
	size_t value;

	if (key == 0 || key > LABEL_KEY_MAX || s[key] != '=')
		return false;
	value = strspn(s + key + 1, LOWER UPPER DIGITS "-_.");
	return value <= LABEL_VALUE_MAX && s[key + 1 + value] == '\0';
}

static bool is_kind(const char *s)
{
	size_t len = strlen(s);

	return len <= KIND_MAX && isupper((unsigned char)s[0]) &&
	       strspn(s, LOWER UPPER DIGITS) == len;
}

/* The keys of `match`. */
static const struct selector selectors[] = {
	{"namespace", offsetof(struct config_pod_rule, namespaces), is_namespace,
	 "a namespace or glob, or a list of them", false},
	{"labels", offsetof(struct config_pod_rule, labels), is_label,
	 "key=value, a list of them, or a section with key: value", true},
	{"owner", offsetof(struct config_pod_rule, owners), is_kind,
	 "a kind as Deployment, StatefulSet, DaemonSet, CronJob, or a list of them", false},
};

static int load_match(const struct loader *l, const struct node *match, const char *path,
		      struct config_pod_rule *p)
{
	int r = 0;

	if (match->kind != NODE_MAP || match->child == NULL) {
		say(l, match->line, path, "%s; allowed: " POD_SELECTORS,
		    match->kind == NODE_MAP ? "empty" : node_kind_name(match->kind));
		return 0;
	}
	for (const struct node *n = match->child; n != NULL && r == 0; n = n->next) {
		char key[2 * KEY_TEXT];
		size_t i = 0;

		snprintf(key, sizeof key, "%s.%s", path, n->key);
		while (i < ARRAY_SIZE(selectors) && strcmp(selectors[i].key, n->key) != 0)
			i++;
		if (i == ARRAY_SIZE(selectors))
			say(l, n->line, key, "unknown key; allowed: " POD_SELECTORS);
		else
			r = load_words(l, n, key, &selectors[i],
				       (struct config_words *)((char *)p + selectors[i].offset));
	}
	return r;
}

static int load_key(const struct loader *l, const struct node *n, const char *path,
		    struct config_pod_rule *p)
{
	struct config_pod_key *k = &p->keys[p->key_count];
	char key[2 * KEY_TEXT], shown[SHOWN_TEXT];
	int r;

	snprintf(key, sizeof key, "%s.%s", path, n->key);
	if (strspn(n->key, LOWER "-") != strlen(n->key)) {
		say(l, n->line, key, "unknown key; allowed: " MATCH ", or an annotation");
		return 0;
	}
	r = value_text(n, &k->value);
	if (r == -EINVAL)
		say(l, n->line, key,
		    "\"%s\" is not valid; allowed: the value of the annotation "
		    "vscaled.dev/%s",
		    shown_value(n, shown), n->key);
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	k->line = n->line;
	k->key = strdup(n->key);
	p->key_count++;
	return k->key != NULL ? 0 : -ENOMEM;
}

static int load_pod_rule(const struct loader *l, const struct node *n, size_t index,
			 struct config_pod_rule *p)
{
	char path[KEY_TEXT], key[KEY_TEXT + sizeof "." MATCH];
	bool match = false;
	int r = 0;

	snprintf(path, sizeof path, "pods[%zu]", index);
	snprintf(key, sizeof key, "%s." MATCH, path);
	p->line = n->line;
	p->file = strdup(l->file);
	if (p->file == NULL)
		return -ENOMEM;
	if (n->kind != NODE_MAP) {
		say(l, n->line, path, "%s; allowed: a section that begins with " MATCH,
		    node_kind_name(n->kind));
		return 0;
	}
	p->keys = calloc(node_count(n->child) + 1, sizeof *p->keys);
	if (p->keys == NULL)
		return -ENOMEM;
	for (const struct node *one = n->child; one != NULL && r == 0; one = one->next) {
		bool selects = strcmp(one->key, MATCH) == 0;

		match |= selects;
		r = selects ? load_match(l, one, key, p) : load_key(l, one, path, p);
	}
	if (!match)
		say(l, n->line, key, "missing; allowed: " POD_SELECTORS);
	return r;
}

static int load_pods(const struct loader *l, const struct node *list, struct config *c)
{
	size_t count = section_count(l, list);
	int r = 0;

	c->pods = count > 0 ? calloc(count, sizeof *c->pods) : NULL;
	if (c->pods == NULL)
		return count > 0 ? -ENOMEM : 0;
	for (const struct node *n = list->child; n != NULL && r == 0; n = n->next) {
		size_t index = c->pod_rule_count++;

		r = load_pod_rule(l, n, index, &c->pods[index]);
	}
	return r;
}

/* --- the file --- */

/* The keys of a section, the words after "allowed:"; "": there is no such section. */
static const char *section_keys(const char *section, char *buf, size_t size)
{
	size_t prefix = strlen(section);
	struct text t = text_over(buf, size);

	for (size_t i = 0; i < config_key_count; i++) {
		const char *path = config_keys[i].path;

		if (strncmp(path, section, prefix) == 0 && path[prefix] == '.')
			text_join(&t, path + prefix + 1);
	}
	return buf;
}

static const char *sections(char *buf, size_t size)
{
	struct text t = text_over(buf, size);

	text_join(&t, "apiVersion, kind");
	for (size_t i = 0; i < config_key_count; i++) {
		const char *path = config_keys[i].path;
		size_t length = strcspn(path, ".");

		if (i > 0 && strncmp(path, config_keys[i - 1].path, length + 1) == 0)
			continue;
		text_join(&t, "");
		text_add(&t, path, length);
	}
	text_join(&t, SECTION_DEFAULTS ", " SECTION_UNITS ", " SECTION_PODS);
	return buf;
}

static int load_section(struct loader *l, const struct node *section, const char *allowed)
{
	char path[KEY_TEXT];

	if (node_is_null(section))
		return 0;
	if (section->kind != NODE_MAP) {
		say(l, section->line, section->key, "%s; allowed: a section with %s",
		    node_kind_name(section->kind), allowed);
		return 0;
	}
	for (const struct node *n = section->child; n != NULL; n = n->next) {
		const struct config_key *k;
		int r;

		snprintf(path, sizeof path, "%s.%s", section->key, n->key);
		k = config_key_find(config_keys, config_key_count, path);
		if (k == NULL) {
			say(l, n->line, path, "unknown key; allowed: %s", allowed);
			continue;
		}
		r = load_value(l, n, k, path, l->config);
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
	const struct node *n = node_child(root, key);

	if (n == NULL)
		say(l, root->line, key, "missing; allowed: %s", want);
	else if (n->kind != NODE_SCALAR || strcmp(n->text, want) != 0)
		say(l, n->line, key, "\"%s\" is not known; allowed: %s",
		    shown_value(n, (char[SHOWN_TEXT]){0}), want);
}

static int load_root(struct loader *l, const struct node *root)
{
	char allowed[CONFIG_ERROR_TEXT_MAX];
	int r;

	check_constant(l, root, "apiVersion", CONFIG_API_VERSION);
	check_constant(l, root, "kind", CONFIG_KIND);
	/* Before the units, wherever the section is: they inherit from it. */
	r = load_defaults(l, node_child(root, SECTION_DEFAULTS));
	for (const struct node *n = root->child; n != NULL && r == 0; n = n->next) {
		if (strcmp(n->key, SECTION_UNITS) == 0)
			r = load_units(l, n, l->config);
		else if (strcmp(n->key, SECTION_PODS) == 0)
			r = load_pods(l, n, l->config);
		else if (section_keys(n->key, allowed, sizeof allowed)[0] != '\0')
			r = load_section(l, n, allowed);
		else if (strcmp(n->key, SECTION_DEFAULTS) != 0 &&
			 strcmp(n->key, "apiVersion") != 0 && strcmp(n->key, "kind") != 0)
			say(l, n->line, n->key, "unknown key; allowed: %s",
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
		say(l, MAX(l->line[low - config_keys], l->line[high - config_keys]), low->path,
		    "%s is above %s (%s); allowed: at most that",
		    config_value_text(low, l->config, low_text, sizeof low_text), high->path,
		    config_value_text(high, l->config, high_text, sizeof high_text));
	}
}

int config_load_text(const char *name, const char *text, size_t len, struct config *ret,
		     struct config_errors *errs)
{
	OWN(config_free) struct config c = {0};
	OWN(drop_node) struct node *root = NULL;
	struct loader l = {.file = name, .errs = errs, .config = &c};
	int r = config_default(&c);

	if (r == 0)
		r = node_parse(name, text, len, errs, &root);
	if (r < 0)
		return r;
	if (root == NULL || root->kind != NODE_MAP) {
		say(&l, 0, "", "no keys; allowed: a file that begins with apiVersion");
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

/* --- what matches --- */

static bool words_match(const struct config_words *globs, const char *name)
{
	for (size_t i = 0; i < globs->count; i++)
		/* Escapes in unit names are part of the name. */
		if (fnmatch(globs->item[i], name, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

const struct policy_rule *config_rule_for(const struct config *c, const char *unit)
{
	for (size_t i = 0; i < c->unit_count; i++)
		if (words_match(&c->units[i].match, unit))
			return &c->units[i].rule;
	return NULL;
}

static bool has_label(const char *labels, const char *wanted)
{
	size_t len = strlen(wanted);

	while (labels != NULL && *labels != '\0') {
		size_t n = strcspn(labels, ",");

		if (n == len && memcmp(labels, wanted, len) == 0)
			return true;
		labels += n + (labels[n] == ',');
	}
	return false;
}

static bool matches_labels(const struct config_words *w, const char *labels)
{
	for (size_t i = 0; i < w->count; i++)
		if (!has_label(labels, w->item[i]))
			return false;
	return true;
}

const struct config_pod_rule *config_pod_rule_for(const struct config *c,
						  const struct config_pod *pod)
{
	for (size_t i = 0; i < c->pod_rule_count; i++) {
		const struct config_pod_rule *p = &c->pods[i];

		if ((p->namespaces.count == 0 || words_match(&p->namespaces, pod->namespace)) &&
		    (p->owners.count == 0 ||
		     (pod->owner != NULL && words_match(&p->owners, pod->owner))) &&
		    matches_labels(&p->labels, pod->labels))
			return p;
	}
	return NULL;
}

/* --- the environment of a file --- */

/* systemd gives a list when a unit asks for several folders. */
static int fill_first(char **field, const char *list, const char *fallback)
{
	if (list == NULL || list[0] != '/')
		list = fallback;
	if (*field == NULL)
		*field = strndup(list, strcspn(list, ":"));
	return *field != NULL ? 0 : -ENOMEM;
}

int config_set_paths(struct config *c, const char *state_dir, const char *runtime_dir)
{
	int r = fill_first(&c->paths.state_dir, state_dir, STATE_DIR);

	if (r == 0)
		r = fill_first(&c->paths.runtime_dir, runtime_dir, RUNTIME_DIR);
	if (r == 0)
		r = fill_first(&c->paths.cgroup_root, NULL, CGROUP_ROOT);
	if (r == 0 && c->paths.socket == NULL &&
	    asprintf(&c->paths.socket, "%s/" SOCKET, c->paths.runtime_dir) < 0) {
		c->paths.socket = NULL;
		r = -ENOMEM;
	}
	if (r == 0 && strlen(c->paths.socket) > SOCKET_PATH_MAX)
		r = -ENAMETOOLONG;
	return r;
}

/* The whole file, one byte more than allowed at most. */
static int read_file(const char *path, char **ret, size_t *ret_len)
{
	OWN(drop_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	*ret = malloc(CONFIG_TEXT_MAX + 1);
	return *ret != NULL ? read_whole(fd, *ret, CONFIG_TEXT_MAX + 1, ret_len) : -ENOMEM;
}

int config_load_file(const char *path, struct config *ret, struct config_errors *errs)
{
	OWN(drop_free) char *text = NULL;
	struct config c;
	size_t len = 0;
	int r = read_file(path, &text, &len);

	if (r < 0) {
		config_error(errs, &(struct config_place){path, 0, ""}, "cannot be read: %s",
			     strerror(-r));
		return r;
	}
	r = config_load_text(path, text, len, &c, errs);
	if (r < 0)
		return r;
	r = config_set_paths(&c, getenv("STATE_DIRECTORY"), getenv("RUNTIME_DIRECTORY"));
	if (r == -ENAMETOOLONG)
		config_error(errs, &(struct config_place){path, 0, "paths.runtimeDirectory"},
			     "too long for a socket in it; allowed: set paths.socket");
	if (r < 0) {
		config_free(&c);
		return r;
	}
	*ret = c;
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

bool config_cluster_wanted(const struct config_kubernetes *k)
{
	if (k->enabled != CONFIG_AUTO)
		return k->enabled == CONFIG_TRUE;
	return k->kubeconfig != NULL || getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

/* --- the dump --- */

/* The rows of one section, from the i-th on; moves i behind them. */
static cJSON *section_json(const struct config *c, size_t *i)
{
	const char *first = config_keys[*i].path;
	size_t length = strcspn(first, ".") + 1;
	struct view_json o = {.json = cJSON_CreateObject()};
	char text[PATH_MAX];

	for (; *i < config_key_count && strncmp(config_keys[*i].path, first, length) == 0; ++*i) {
		config_value_text(&config_keys[*i], c, text, sizeof text);
		/* A path that is not set has no text of its own. */
		if (text[0] != '\0')
			view_put(&o, config_keys[*i].path + length, view_text(text));
	}
	return view_end(&o);
}

static void put_rule(struct view_json *o, const struct policy_rule *rule)
{
	char text[CONFIG_VALUE_TEXT];

	for (size_t i = 0; i < config_rule_key_count; i++)
		view_put(o, config_rule_keys[i].path,
			 view_text(
				 config_value_text(&config_rule_keys[i], rule, text, sizeof text)));
}

/* Nothing for an empty list, which would not load. */
static void put_words(struct view_json *o, const char *name, const struct config_words *w)
{
	if (w->count > 0)
		view_put(o, name,
			 cJSON_CreateStringArray((const char *const *)w->item, (int)w->count));
}

static cJSON *unit_json(const struct config_unit *u)
{
	struct view_json o = {.json = cJSON_CreateObject()};

	put_words(&o, MATCH, &u->match);
	put_rule(&o, &u->rule);
	return view_end(&o);
}

static cJSON *pod_rule_json(const struct config_pod_rule *p)
{
	struct view_json o = {.json = cJSON_CreateObject()};
	struct view_json match = {.json = cJSON_CreateObject()};

	put_words(&match, "namespace", &p->namespaces);
	put_words(&match, "labels", &p->labels);
	put_words(&match, "owner", &p->owners);
	view_put(&o, MATCH, view_end(&match));
	for (size_t i = 0; i < p->key_count; i++)
		view_put(&o, p->keys[i].key, view_text(p->keys[i].value));
	return view_end(&o);
}

cJSON *config_dump_json(const struct config *c)
{
	struct view_json root = {.json = cJSON_CreateObject()};
	struct view_json defaults = {.json = cJSON_CreateObject()};
	struct view_json units = {.json = cJSON_CreateArray()};
	struct view_json pods = {.json = cJSON_CreateArray()};
	char section[CONFIG_VALUE_TEXT];

	view_put(&root, "apiVersion", view_text(CONFIG_API_VERSION));
	view_put(&root, "kind", view_text(CONFIG_KIND));
	for (size_t i = 0; i < config_key_count;) {
		const char *path = config_keys[i].path;

		snprintf(section, sizeof section, "%.*s", (int)strcspn(path, "."), path);
		view_put(&root, section, section_json(c, &i));
	}
	put_rule(&defaults, &c->defaults);
	view_put(&root, SECTION_DEFAULTS, view_end(&defaults));
	for (size_t i = 0; i < c->unit_count; i++)
		view_put(&units, NULL, unit_json(&c->units[i]));
	view_put(&root, SECTION_UNITS, view_end(&units));
	for (size_t i = 0; i < c->pod_rule_count; i++)
		view_put(&pods, NULL, pod_rule_json(&c->pods[i]));
	/* Left out where there are none. */
	if (c->pod_rule_count > 0)
		view_put(&root, SECTION_PODS, STEAL(pods.json));
	cJSON_Delete(pods.json);
	return view_end(&root);
}
