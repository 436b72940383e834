// SPDX-License-Identifier: Apache-2.0
/* The rules for pods in the configuration: what they select, and their keys as text. */
#include "agent/config/config_rule.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MATCH "match"

#define NAMESPACE_MAX   63u
#define LABEL_KEY_MAX   317u /* a domain of 253, "/", a name of 63 */
#define LABEL_VALUE_MAX 63u
#define KIND_MAX        63u
/* The longest value that is read: the annotation `policy`. */
#define VALUE_MAX 16384u

#define LOWER   "abcdefghijklmnopqrstuvwxyz"
#define UPPER   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"
#define ALLOWED "a section with one or more of namespace, labels, owner"

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
static const struct config_selector selectors[] = {
	{"namespace", offsetof(struct config_pod_rule, namespaces), is_namespace,
	 "a namespace or glob, or a list of them", false},
	{"labels", offsetof(struct config_pod_rule, labels), is_label,
	 "key=value, a list of them, or a section with key: value", true},
	{"owner", offsetof(struct config_pod_rule, owners), is_kind,
	 "a kind as Deployment, StatefulSet, DaemonSet, CronJob, or a list of them", false},
};

static int load_match(const struct config_load *l, const struct node *match, const char *path,
		      struct config_pod_rule *p)
{
	int r = 0;

	if (match->kind != NODE_MAP || match->child == NULL) {
		config_say(l, match->line, path, "%s; allowed: " ALLOWED,
			   match->kind == NODE_MAP ? "empty" : node_kind_name(match->kind));
		return 0;
	}
	for (const struct node *n = match->child; n != NULL && r == 0; n = n->next) {
		char key[2 * CONFIG_KEY_TEXT];
		size_t i = 0;

		snprintf(key, sizeof key, "%s.%s", path, n->key);
		while (i < ARRAY_SIZE(selectors) && strcmp(selectors[i].key, n->key) != 0)
			i++;
		if (i == ARRAY_SIZE(selectors))
			config_say(l, n->line, key, "unknown key; allowed: " ALLOWED);
		else
			r = config_load_words(
				l, n, key, &selectors[i],
				(struct config_words *)((char *)p + selectors[i].offset));
	}
	return r;
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

static int load_key(const struct config_load *l, const struct node *n, const char *path,
		    struct config_pod_rule *p)
{
	struct config_pod_key *k = &p->keys[p->key_count];
	char key[2 * CONFIG_KEY_TEXT], shown[CONFIG_SHOWN_TEXT];
	int r;

	snprintf(key, sizeof key, "%s.%s", path, n->key);
	if (strspn(n->key, LOWER "-") != strlen(n->key)) {
		config_say(l, n->line, key, "unknown key; allowed: " MATCH ", or an annotation");
		return 0;
	}
	r = value_text(n, &k->value);
	if (r == -EINVAL)
		config_say(l, n->line, key,
			   "\"%s\" is not valid; allowed: the value of the annotation "
			   "vscaled.dev/%s",
			   config_shown(n, shown), n->key);
	if (r < 0)
		return r == -EINVAL ? 0 : r;
	k->line = n->line;
	k->key = strdup(n->key);
	p->key_count++;
	return k->key != NULL ? 0 : -ENOMEM;
}

static int load_rule(const struct config_load *l, const struct node *n, size_t index,
		     struct config_pod_rule *p)
{
	char path[CONFIG_KEY_TEXT], key[CONFIG_KEY_TEXT + sizeof "." MATCH];
	bool match = false;
	int r = 0;

	snprintf(path, sizeof path, "pods[%zu]", index);
	snprintf(key, sizeof key, "%s." MATCH, path);
	p->line = n->line;
	p->file = strdup(l->file);
	if (p->file == NULL)
		return -ENOMEM;
	if (n->kind != NODE_MAP) {
		config_say(l, n->line, path, "%s; allowed: a section that begins with " MATCH,
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
		config_say(l, n->line, key, "missing; allowed: " ALLOWED);
	return r;
}

int config_load_pods(const struct config_load *l, const struct node *list, struct config *c)
{
	size_t count = config_sections(l, list);
	int r = 0;

	c->pods = count > 0 ? calloc(count, sizeof *c->pods) : NULL;
	if (c->pods == NULL)
		return count > 0 ? -ENOMEM : 0;
	for (const struct node *n = list->child; n != NULL && r == 0; n = n->next) {
		size_t index = c->pod_rule_count++;

		r = load_rule(l, n, index, &c->pods[index]);
	}
	return r;
}

void config_pods_free(struct config *c)
{
	for (size_t i = 0; i < c->pod_rule_count; i++) {
		struct config_pod_rule *p = &c->pods[i];

		config_words_free(&p->namespaces);
		config_words_free(&p->labels);
		config_words_free(&p->owners);
		for (size_t k = 0; k < p->key_count; k++) {
			free(p->keys[k].key);
			free(p->keys[k].value);
		}
		free(p->keys);
		free(p->file);
	}
	free(c->pods);
	c->pods = NULL;
	c->pod_rule_count = 0;
}

static bool matches_owner(const struct config_words *w, const char *owner)
{
	for (size_t i = 0; i < w->count; i++)
		if (owner != NULL && strcmp(w->item[i], owner) == 0)
			return true;
	return w->count == 0;
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

		if ((p->namespaces.count == 0 ||
		     config_words_match(&p->namespaces, pod->namespace)) &&
		    matches_owner(&p->owners, pod->owner) &&
		    matches_labels(&p->labels, pod->labels))
			return p;
	}
	return NULL;
}
