// SPDX-License-Identifier: Apache-2.0
/* The annotations of a pod to the rule of one container. Each source (the pod's annotations, its
 * namespace's, a rule of the configuration, the configuration's defaults) is read by one table of
 * keys into a struct container_rule with a mask of what it sets; the sources are merged by that
 * table, from strong to weak. */
#include "agent/annotation/annotation.h"
#include "agent/base/escape.h"
#include "agent/config/config_table.h"
#include "agent/kube/model/field.h"
#include "agent/kube/model/names.h"
#include "policy/laws/boost.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LIST_NAMES_MAX     64
#define POLICY_ENTRIES_MAX 64
#define BLANKS             " \t"
/* The longest part of a key that is compared with a misspelt one. */
#define KEY_LENGTH_MAX 32u

/* The first rows of annotation_keys; a bit of struct settings is a row. */
enum {
	KEY_MODE,
	KEY_RESOURCES,
	KEY_CONTROLLED,
	KEY_MIN_CPU,
	KEY_MAX_CPU,
	KEY_MIN_MEMORY,
	KEY_MAX_MEMORY,
};
#define KEYS_OF_BOUNDS                                                                             \
	(1u << KEY_MIN_CPU | 1u << KEY_MAX_CPU | 1u << KEY_MIN_MEMORY | 1u << KEY_MAX_MEMORY)

/* What one source sets for a container. */
struct settings {
	uint32_t set; /* 1 << row: the others are zero */
	struct container_rule to;
};

/* One of policy's containerPolicies; "*": all others. */
struct container_policy {
	char name[64];
	bool off;
	struct settings settings;
};

/* One name in `containers`. */
struct list_name {
	char name[64];
	bool exclude;
};

/* Everything that one source sets. */
struct pod_settings {
	struct settings own; /* the explicit keys */
	size_t name_count;
	struct list_name name[LIST_NAMES_MAX];
	size_t policy_count;
	struct container_policy policy[POLICY_ENTRIES_MAX];
};

/* Fills err, unless it says something already; -EINVAL. */
static int __attribute__((format(printf, 2, 3))) bad(struct annotation_error *err,
						     const char *format, ...)
{
	va_list args;

	if (err->text[0] != '\0')
		return -EINVAL;
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return -EINVAL;
}

/* --- values --- */

static unsigned row_of_bound(int r, bool max)
{
	return KEY_MIN_CPU + 2u * (unsigned)r + max;
}

/* The configuration's key of the same name. */
static const struct config_key *config_key_of(const struct annotation_key *k)
{
	return config_key_find(config_rule_keys, config_rule_key_count, k->key);
}

/* By the rules of that. */
static int take_as_config(const struct annotation_key *k, const char *value, struct pod_settings *w,
			  struct annotation_error *)
{
	return config_value_set(config_key_of(k), value, &w->own.to.rule);
}

static int take_mode(const struct annotation_key *k, const char *value, struct pod_settings *w,
		     struct annotation_error *err)
{
	bool recreate = strcasecmp(value, "InPlaceOrRecreate") == 0;

	w->own.to.in_place_or_recreate = recreate;
	return take_as_config(k, recreate ? "Auto" : value, w, err);
}

/* The next word between commas, without the blanks around it; false: an empty or too long one. */
static bool next_word(const char **at, char *buf, size_t size)
{
	const char *s = *at + strspn(*at, BLANKS);
	size_t n = strcspn(s, ",");

	*at = s[n] == ',' ? s + n + 1 : NULL;
	while (n > 0 && strchr(BLANKS, s[n - 1]) != NULL)
		n--;
	if (n == 0 || n >= size)
		return false;
	memcpy(buf, s, n);
	buf[n] = '\0';
	return true;
}

static int take_resources(const struct annotation_key *, const char *value, struct pod_settings *w,
			  struct annotation_error *)
{
	char word[16];
	uint32_t mask = 0, bit;

	if (strcasecmp(value, "both") == 0) {
		w->own.to.rule.resources = RESOURCES_BOTH;
		return 0;
	}
	while (value != NULL) {
		if (!next_word(&value, word, sizeof word))
			return -EINVAL;
		bit = strcasecmp(word, "cpu") == 0      ? RESOURCES_CPU
		      : strcasecmp(word, "memory") == 0 ? RESOURCES_MEMORY
							: 0;
		if (bit == 0 || (mask & bit) != 0)
			return -EINVAL;
		mask |= bit;
	}
	w->own.to.rule.resources = mask;
	return 0;
}

const char *const controlled_names[CONTROLLED_COUNT] = {
	[CONTROLLED_LIMITS] = "LimitsOnly",
	[CONTROLLED_REQUESTS_AND_LIMITS] = "RequestsAndLimits",
	[CONTROLLED_REQUESTS] = "RequestsOnly",
};

static int parse_controlled(const char *text, enum controlled_values *ret)
{
	for (int i = 0; i < CONTROLLED_COUNT; i++)
		if (strcasecmp(controlled_names[i], text) == 0) {
			*ret = (enum controlled_values)i;
			return 0;
		}
	return -EINVAL;
}

static int take_controlled(const struct annotation_key *, const char *value, struct pod_settings *w,
			   struct annotation_error *)
{
	return parse_controlled(value, &w->own.to.controlled);
}

static int take_containers(const struct annotation_key *, const char *value, struct pod_settings *w,
			   struct annotation_error *)
{
	char word[1 + sizeof w->name[0].name];

	while (value != NULL) {
		struct list_name *n = &w->name[w->name_count];
		bool exclude;

		if (w->name_count == LIST_NAMES_MAX || !next_word(&value, word, sizeof word))
			return -EINVAL;
		exclude = word[0] == '-';
		if (!kube_is_label(word + exclude) && strcmp(word, "*") != 0)
			return -EINVAL;
		n->exclude = exclude;
		strcpy(n->name, word + exclude);
		w->name_count++;
	}
	return 0;
}

static int take_bool(const struct annotation_key *k, const char *value, struct pod_settings *w,
		     struct annotation_error *)
{
	bool on = strcasecmp(value, "true") == 0;

	*(bool *)((char *)&w->own.to + k->offset) = on;
	return on || strcasecmp(value, "false") == 0 ? 0 : -EINVAL;
}

static int take_autoscaled(const struct annotation_key *k, const char *value,
			   struct pod_settings *w, struct annotation_error *err)
{
	int r = take_bool(k, value, w, err);

	w->own.to.not_autoscaled = !w->own.to.not_autoscaled;
	return r;
}

static int take_boost(const struct annotation_key *, const char *value, struct pod_settings *w,
		      struct annotation_error *)
{
	return boost_parse(value, &w->own.to.rule.boost);
}

/* "25%". */
static int take_rollout(const struct annotation_key *, const char *value, struct pod_settings *w,
			struct annotation_error *)
{
	size_t digits = strspn(value, "0123456789");

	if (digits == 0 || digits > 3 || strcmp(value + digits, "%") != 0)
		return -EINVAL;
	w->own.to.rollout_percent = (uint32_t)strtoul(value, NULL, 10);
	return w->own.to.rollout_percent <= ROLLOUT_ALL_PERCENT ? 0 : -ERANGE;
}

/* Read where the pod's containers are known (pod_rule.c). */
static int take_pod_budget(const struct annotation_key *, const char *value, struct pod_settings *,
			   struct annotation_error *)
{
	return strcasecmp(value, "Resize") == 0 ? 0 : -EINVAL;
}

/* --- `policy`: the resourcePolicy of a VerticalPodAutoscaler, strictly --- */

static const char *const resource_keys[RESOURCE_COUNT + 1] = {"cpu", "memory", NULL};

/* An unknown field is an error: its meaning is not known. */
static int only_keys(const struct field *n, const char *const *keys)
{
	const cJSON *j;

	cJSON_ArrayForEach (j, n->json) {
		char buf[ESCAPE_SIZE];
		size_t i = 0;

		while (keys[i] != NULL && strcmp(keys[i], j->string) != 0)
			i++;
		if (keys[i] == NULL)
			return field_bad(n, NULL, "\"%s\" is unknown or not supported",
					 escape_value(j->string, buf));
		if (cJSON_GetObjectItemCaseSensitive(n->json, j->string) != j)
			return field_bad(n, j->string, "given twice");
	}
	return 0;
}

/* VPA accepts any amount; one below the smallest amount of the key counts as the smallest. */
static int take_amount(const struct field *n, int r, bool max, struct settings *w)
{
	unsigned row = row_of_bound(r, max);
	const struct config_key *k = config_key_of(&annotation_keys[row]);
	uint64_t asked = field_quantity(n, resource_keys[r], r), amount;
	char high[CONFIG_VALUE_TEXT];

	if (field_error(n) < 0 || asked == 0)
		return field_error(n);
	amount = MIN(MAX(asked, k->min), k->max);
	memcpy((char *)&w->to.rule + k->offset, &amount, sizeof amount);
	w->set |= 1u << row;
	if (asked <= k->max)
		return 0;
	return field_bad(n, resource_keys[r], "too large; allowed: at most %s",
			 config_value_text(k, &w->to.rule, high, sizeof high));
}

static int take_amounts(const struct field *policy, bool max, struct settings *w)
{
	struct field amounts = field_object(policy, max ? "maxAllowed" : "minAllowed");
	int r = only_keys(&amounts, resource_keys);

	for (int i = 0; r == 0 && i < RESOURCE_COUNT; i++)
		r = take_amount(&amounts, i, max, w);
	return r;
}

static int take_listed(const struct field *policy, struct container_policy *p)
{
	struct field list = field_array(policy, "controlledResources"), item = {0};
	uint32_t *mask = &p->settings.to.rule.resources;
	const char *s;

	while (field_next_text(&list, &item, &s)) {
		if (strcmp(s, "cpu") == 0)
			*mask |= RESOURCES_CPU;
		else if (strcmp(s, "memory") == 0)
			*mask |= RESOURCES_MEMORY;
		else
			return field_bad(&item, NULL, "neither cpu nor memory");
	}
	/* An empty list: VPA recommends nothing. */
	if (list.json != NULL && *mask == 0)
		p->off = true;
	if (*mask != 0)
		p->settings.set |= 1u << KEY_RESOURCES;
	return field_error(policy);
}

static int take_words(const struct field *policy, struct container_policy *p)
{
	const char *mode = field_text(policy, "mode");
	const char *controlled = field_text(policy, "controlledValues");

	p->off = mode != NULL && strcasecmp(mode, "Off") == 0;
	if (mode != NULL && !p->off && strcasecmp(mode, "Auto") != 0)
		return field_bad(policy, "mode", "allowed: Auto, Off");
	if (controlled == NULL)
		return 0;
	p->settings.set |= 1u << KEY_CONTROLLED;
	if (parse_controlled(controlled, &p->settings.to.controlled) < 0)
		return field_bad(policy, "controlledValues",
				 "allowed: RequestsAndLimits, RequestsOnly, LimitsOnly");
	return 0;
}

static int take_name(const struct field *policy, struct pod_settings *w,
		     struct container_policy *ret)
{
	const char *name = field_text(policy, "containerName");

	if (name == NULL || (strcmp(name, "*") != 0 && !kube_is_label(name)))
		return field_bad(policy, "containerName", "allowed: a container's name, or *");
	for (size_t i = 0; i < w->policy_count; i++)
		if (strcmp(w->policy[i].name, name) == 0)
			return field_bad(policy, "containerName", "\"%s\" twice", name);
	strcpy(ret->name, name);
	return 0;
}

static int take_entry(const struct field *n, struct pod_settings *w)
{
	static const char *const keys[] = {
		"containerName",    "mode", "minAllowed", "maxAllowed", "controlledResources",
		"controlledValues", NULL};
	struct container_policy *p = &w->policy[w->policy_count];
	int r;

	if (w->policy_count == POLICY_ENTRIES_MAX)
		return field_bad(n, NULL, "more than %d", POLICY_ENTRIES_MAX);
	r = only_keys(n, keys);
	if (r == 0)
		r = take_name(n, w, p);
	if (r == 0)
		r = take_words(n, p);
	if (r == 0)
		r = take_listed(n, p);
	if (r == 0)
		r = take_amounts(n, false, &p->settings);
	if (r == 0)
		r = take_amounts(n, true, &p->settings);
	if (r == 0)
		w->policy_count++;
	return r;
}

static int take_entries(const char *value, struct pod_settings *w, struct kube_decode_error *why)
{
	static const char *const keys[] = {"containerPolicies", NULL};
	OWN(drop_json) cJSON *json = NULL;
	struct field root, list, item = {0};
	int r = field_parse(value, strlen(value), &json, why);

	if (r < 0)
		return r;
	root = field_root(json, why);
	if (!cJSON_IsObject(json))
		return field_bad(&root, NULL, "not an object");
	r = only_keys(&root, keys);
	list = field_array(&root, keys[0]);
	while (r == 0 && field_next(&list, &item))
		r = take_entry(&item, w);
	return r == 0 ? why->error : r;
}

static int take_policy(const struct annotation_key *, const char *value, struct pod_settings *w,
		       struct annotation_error *err)
{
	struct kube_decode_error why;
	int r;

	if (strlen(value) > KUBE_ANNOTATION_MAX)
		return bad(err, ANNOTATION_DOMAIN "policy: longer than the %d bytes that are read",
			   KUBE_ANNOTATION_MAX);
	r = take_entries(value, w, &why);
	return r == -EBADMSG ? bad(err, ANNOTATION_DOMAIN "policy: %s", why.text) : r;
}

/* --- the keys --- */

#define AMOUNT(what, low, high) what " from " low " to " high ", or none"

/* clang-format off */
#define AT(member)                                                                                 \
	offsetof(struct container_rule, member), sizeof(((struct container_rule *)0)->member)

const struct annotation_key annotation_keys[] = {
	[KEY_MODE] = {"mode", "Off, Initial, Auto or InPlaceOrRecreate, in any case",
	 "absent: not managed",
	 "`Off` computes and shows, and writes nothing. `Initial` sizes limits and requests once, when a container"
	 " starts. `Auto` keeps sizing and never restarts. `InPlaceOrRecreate` also evicts a pod that cannot be sized in place.",
	 AT(rule.mode), take_mode},
	[KEY_RESOURCES] = {"resources", "cpu, memory, or both as cpu,memory", "cpu,memory",
	 "What is sized; the other one is left alone.", AT(rule.resources), take_resources},
	[KEY_CONTROLLED] = {"controlled-values", "LimitsOnly, RequestsAndLimits or RequestsOnly",
	 "LimitsOnly",
	 "What is changed of it. `RequestsOnly` acts through the API server alone.",
	 AT(controlled), take_controlled},
	[KEY_MIN_CPU] = {"min-cpu", AMOUNT("an amount of CPU", "10m", "100k"), "the configuration's",
	 "No container's CPU limit falls below this.", AT(rule.cpu_milli.min), take_as_config},
	[KEY_MAX_CPU] = {"max-cpu", AMOUNT("an amount of CPU", "10m", "100k"),
	 "the configuration's, else the CPUs of the node",
	 "No container's CPU limit rises above this.", AT(rule.cpu_milli.max), take_as_config},
	[KEY_MIN_MEMORY] = {"min-memory", AMOUNT("an amount of memory", "1Mi", "1Pi"),
	 "the configuration's",
	 "No container's memory limit falls below this.", AT(rule.mem_bytes.min), take_as_config},
	[KEY_MAX_MEMORY] = {"max-memory", AMOUNT("an amount of memory", "1Mi", "1Pi"),
	 "the configuration's, else 4 times the original",
	 "No container's memory limit rises above this.", AT(rule.mem_bytes.max), take_as_config},
	{"containers", "names separated by commas; -name leaves one out, * names all", "all",
	 "Which containers are sized, whatever `policy` says: `app`, `-istio-proxy` (all others), `*,-log`.", 0, 0, take_containers},
	{"policy", "a VerticalPodAutoscaler's resourcePolicy as JSON", "none",
	 "Bounds per container, see below. The keys above win over it.", 0, 0, take_policy},
	{"scale-down", "true or false", "true", "`false`: limits only rise.",
	 AT(rule.scale_down), take_bool},
	{"allow-restart", "true or false", "false",
	 "`true`: where `resizePolicy` says `RestartContainer` for memory, a higher limit may go into the spec. See below.",
	 AT(allow_restart), take_bool},
	{"autoscaled", "true or false", "true",
	 "`false`: an autoscaler on an object above the pod's owner, such as an operator's custom resource, is not the"
	 " pod's. One on the owner itself counts all the same.",
	 AT(not_autoscaled), take_autoscaled},
	{"startup-boost", "a factor from 1x to 100x or an amount of CPU as +500m, a space,"
	 " and a duration: 2x 30s", "none",
	 "More CPU from a container's start until it has been ready for the time: the limit times"
	 " the factor, or plus the amount. See below.", AT(rule.boost), take_boost},
	{"goal", "savings, balanced or latency", "the configuration's, else balanced",
	 "How much throttling a CPU limit may cause for being small: 2 %, 0.2 % or 0.01 % of the "
	 "scheduling periods (docs/tuning.md).", AT(rule.goal), take_as_config},
	{"cpu-percentile", "a percentage from 50% to 100%, or none",
	 "the configuration's, else history.targetPercentile and the goal's",
	 "Percentile of CPU use that the CPU request follows, and of the demand of all time that the "
	 "CPU limit stays above.", AT(rule.cpu_percentile_permille), take_as_config},
	{"memory-margin", "a percentage from 0.1% to 1000%, or none",
	 "the configuration's, else history.margin",
	 "Added to the memory that history asks for, of request and limit. The limit also stays "
	 "above use by memory.margin.", AT(rule.mem_margin_permille), take_as_config},
	{"rollout", "a share from 0% to 100%", "100%",
	 "The mode holds for this share of a workload's pods, and the others are Off. See below.",
	 AT(rollout_percent), take_rollout},
	{"pod-budget", "Resize", "absent: they stay",
	 "On the pod itself: the limits in its `spec.resources` follow those of its containers. See below.",
	 0, 0, take_pod_budget},
	{"status", "written by vscaled", "none",
	 "What vscaled did, and the original values. The originals are read back if the node's"
	 " records are lost.", 0, 0, NULL},
};
/* clang-format on */
const size_t annotation_key_count = ARRAY_SIZE(annotation_keys);

static const struct annotation_key *find(const char *key)
{
	for (size_t i = 0; i < annotation_key_count; i++)
		if (strcmp(annotation_keys[i].key, key) == 0)
			return &annotation_keys[i];
	return NULL;
}

/* Levenshtein's, with case counting as nothing. */
static size_t distance(const char *a, const char *b)
{
	size_t row[KEY_LENGTH_MAX + 1], n = strnlen(b, KEY_LENGTH_MAX);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; i < KEY_LENGTH_MAX && a[i] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t change = diagonal + (strncasecmp(a + i, b + j, 1) != 0);
			size_t least = row[j] < row[j + 1] ? row[j] : row[j + 1];

			diagonal = row[j + 1];
			row[j + 1] = change <= least ? change : least + 1;
		}
	}
	return row[n];
}

/* Is it the mode's key, or one letter or two from it? */
static bool means_mode(const char *key)
{
	return distance(key, "mode") <= 2;
}

/* The key that a misspelt one was probably meant to be. */
static const char *nearest(const char *key)
{
	const char *best = annotation_keys[0].key;

	for (size_t i = 1; i < annotation_key_count; i++)
		if (distance(key, annotation_keys[i].key) < distance(key, best))
			best = annotation_keys[i].key;
	return best;
}

static int take(const struct kube_annotation *a, struct pod_settings *w,
		struct annotation_error *err)
{
	const struct annotation_key *k = find(a->key);
	char buf[ESCAPE_SIZE];
	int r;

	if (k == NULL)
		return bad(err,
			   ANNOTATION_DOMAIN "%s is unknown; did you mean " ANNOTATION_DOMAIN "%s?",
			   escape_value(a->key, buf), nearest(a->key));
	if (k->take == NULL)
		return 0;
	r = k->take(k, a->value, w, err);
	if (r == 0)
		w->own.set |= 1u << (k - annotation_keys);
	if (r == 0 || r == -ENOMEM || err->text[0] != '\0')
		return r;
	return bad(err, ANNOTATION_DOMAIN "%s: \"%s\" is %s; allowed: %s", k->key,
		   escape_value(a->value, buf), r == -ERANGE ? "out of range" : "not valid",
		   k->values);
}

/* --- one source for one container --- */

static struct range *range_of(struct settings *w, int r)
{
	return r == RESOURCE_CPU ? &w->to.rule.cpu_milli : &w->to.rule.mem_bytes;
}

/* *upper, and what *lower sets besides. fit: where their bounds contradict each other, the lower
 * one becomes the upper one's. */
static struct settings below(const struct settings *upper, const struct settings *lower, bool fit)
{
	struct settings w = *upper;

	for (size_t i = 0; i < annotation_key_count; i++) {
		const struct annotation_key *k = &annotation_keys[i];

		if (lower->set & ~upper->set & 1u << i)
			memcpy((char *)&w.to + k->offset, (const char *)&lower->to + k->offset,
			       k->size);
	}
	if (!(upper->set & 1u << KEY_MODE))
		w.to.in_place_or_recreate = lower->to.in_place_or_recreate;
	w.set |= lower->set;
	for (int r = 0; fit && r < RESOURCE_COUNT; r++) {
		struct range *range = range_of(&w, r);

		if (range->max == 0 || range->min <= range->max)
			continue;
		if (upper->set & 1u << row_of_bound(r, false))
			range->max = range->min;
		else
			range->min = range->max;
	}
	return w;
}

static const struct container_policy *policy_of(const struct pod_settings *w, const char *container)
{
	const struct container_policy *others = NULL;

	for (size_t i = 0; i < w->policy_count; i++) {
		if (strcmp(w->policy[i].name, container) == 0)
			return &w->policy[i];
		if (strcmp(w->policy[i].name, "*") == 0)
			others = &w->policy[i];
	}
	return others;
}

static int check_bounds(struct settings *w, const char *container, struct annotation_error *err)
{
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		const struct annotation_key *low = &annotation_keys[row_of_bound(r, false)];
		const struct annotation_key *high = &annotation_keys[row_of_bound(r, true)];
		const struct range *range = range_of(w, r);
		char low_text[CONFIG_VALUE_TEXT], high_text[CONFIG_VALUE_TEXT];

		if (range->max == 0 || range->min <= range->max)
			continue;
		return bad(err,
			   ANNOTATION_DOMAIN "%s (%s) is above %s (%s) of container %s; "
					     "allowed: at most that",
			   low->key,
			   config_value_text(config_key_of(low), &w->to.rule, low_text,
					     sizeof low_text),
			   high->key,
			   config_value_text(config_key_of(high), &w->to.rule, high_text,
					     sizeof high_text),
			   container);
	}
	return 0;
}

/* A minimum above its maximum: for every container that an annotation names, and the others. */
static int check(struct pod_settings *w, struct annotation_error *err)
{
	int r = check_bounds(&w->own, "*", err);

	for (size_t i = 0; r == 0 && i < w->policy_count; i++) {
		struct settings one = below(&w->own, &w->policy[i].settings, false);

		r = check_bounds(&one, w->policy[i].name, err);
	}
	return r;
}

/* The explicit keys, then `policy`. */
static struct settings settings_of(const struct pod_settings *w, const char *container)
{
	const struct container_policy *p = policy_of(w, container);

	return p != NULL ? below(&w->own, &p->settings, false) : w->own;
}

/* Does the source say whether the container is managed, by `containers` or `policy`? Then *ret. */
static bool says_named(const struct pod_settings *w, const char *container, bool *ret)
{
	const struct container_policy *policy = policy_of(w, container);
	bool all = false, exclusions_alone = true;

	if (w->name_count == 0 && policy == NULL)
		return false;
	for (size_t i = 0; i < w->name_count; i++) {
		if (strcmp(w->name[i].name, container) == 0) {
			*ret = !w->name[i].exclude;
			return true;
		}
		all = all || strcmp(w->name[i].name, "*") == 0;
		exclusions_alone = exclusions_alone && w->name[i].exclude;
	}
	*ret = all || (exclusions_alone && (policy == NULL || !policy->off));
	return true;
}

/* --- all sources --- */

static uint64_t within(uint64_t amount, const struct range *admin)
{
	amount = MAX(amount, admin->min);
	return admin->max > 0 ? MIN(amount, admin->max) : amount;
}

static struct range bound_by_admin(const struct range *asked, const struct range *admin)
{
	return (struct range){
		.min = within(asked->min, admin),
		.max = asked->max > 0 ? within(asked->max, admin) : admin->max,
	};
}

/* From strong to weak: the pod's annotations, its namespace's, the rule of the configuration. */
#define LAYERS_MAX 3
struct annotation_settings {
	const struct config *config; /* the defaults below them, and the bounds above all */
	bool wrong;                  /* there is a mistake */
	struct pod_settings *item[LAYERS_MAX];
	size_t count;
};

void annotation_drop(struct annotation_settings **s)
{
	for (size_t i = 0; *s != NULL && i < (*s)->count; i++)
		free((*s)->item[i]);
	free(*s);
}

static struct pod_settings *layer_add(struct annotation_settings *s)
{
	struct pod_settings *w = calloc(1, sizeof *w);

	if (w != NULL)
		s->item[s->count++] = w;
	return w;
}

static bool is_named(const struct annotation_settings *s, const char *container)
{
	bool named = true;

	for (size_t i = 0; i < s->count; i++)
		if (says_named(s->item[i], container, &named))
			break;
	return named;
}

void annotation_apply(const struct annotation_settings *s, const char *container,
		      struct container_rule *ret)
{
	const struct config *c = s->config;
	struct settings w = {.set = 0}, last;

	for (size_t i = 0; i < s->count; i++) {
		last = settings_of(s->item[i], container);
		w = below(&w, &last, true);
	}
	last = (struct settings){
		.set = UINT32_MAX,
		.to = {.rule = c->defaults, .rollout_percent = ROLLOUT_ALL_PERCENT},
	};
	last.to.rule.mode = MODE_OFF;
	/* Only units have a priority; a pod has its QoS class. */
	last.to.rule.priority = 0;
	w = below(&w, &last, true);
	*ret = w.to;
	ret->named = is_named(s, container);
	ret->rule.mode = MIN(ret->rule.mode, c->kubernetes.highest_mode);
	ret->has_rollout = ret->rule.mode != MODE_OFF && ret->rollout_percent < ROLLOUT_ALL_PERCENT;
	ret->rule.cpu_milli = bound_by_admin(&ret->rule.cpu_milli, &c->kubernetes.cpu_milli);
	ret->rule.mem_bytes = bound_by_admin(&ret->rule.mem_bytes, &c->kubernetes.mem_bytes);
	if (!s->wrong)
		return;
	ret->frozen_mode = ret->rule.mode;
	ret->rule.mode = MODE_OFF;
}

static const struct config_pod_rule *rule_for(const struct annotation_input *in)
{
	const struct kube_pod *pod = in->pod;
	const struct config_pod by = {
		.namespace = pod->namespace, .labels = pod->labels, .owner = pod->owner};

	return in->config->pod_rule_count > 0 ? config_pod_rule_for(in->config, &by) : NULL;
}

static bool rule_has(const struct config_pod_rule *rule, const char *key)
{
	for (size_t i = 0; rule != NULL && i < rule->key_count; i++)
		if (strcmp(rule->keys[i].key, key) == 0)
			return true;
	return false;
}

static bool has_mode(const struct kube_annotation *list, size_t count, bool misspelt)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].key, "mode") == 0 || (misspelt && means_mode(list[i].key)))
			return true;
	return false;
}

bool annotation_opted_in(const struct annotation_input *in)
{
	const struct kube_namespace *n = in->namespace;

	return has_mode(in->pod->annotations, in->pod->annotation_count, in->sized) ||
	       (n != NULL && has_mode(n->annotations, n->annotation_count, in->sized)) ||
	       rule_has(rule_for(in), "mode");
}

bool annotation_observed(const struct annotation_input *in)
{
	return (in->config->kubernetes.observe == OBSERVE_ALL || in->recovers) &&
	       !annotation_opted_in(in);
}

/* What is wrong is left out, and so are bounds that contradict each other; it is no mistake where
 * the pod has the key itself. A mode that cannot be read is not Off. */
static int take_list(const struct kube_annotation *list, size_t count, const struct kube_pod *over,
		     struct pod_settings *w, struct annotation_error *first)
{
	OWN(drop_free) struct pod_settings *before = malloc(sizeof *before);
	struct annotation_error ignored = {""};

	if (before == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		bool own = over != NULL && kube_pod_annotation(over, list[i].key) != NULL;
		int r;

		*before = *w;
		r = take(&list[i], w, own ? &ignored : first);
		if (r == -ENOMEM)
			return r;
		if (r == 0)
			continue;
		*w = *before;
		if (!(w->own.set & 1u << KEY_MODE) && means_mode(list[i].key)) {
			w->own.set |= 1u << KEY_MODE;
			w->own.to.rule.mode = MODE_AUTO;
		}
	}
	if (check(w, first) < 0) {
		w->own.set &= ~KEYS_OF_BOUNDS;
		w->own.to.rule.cpu_milli = w->own.to.rule.mem_bytes = (struct range){0};
		w->policy_count = 0;
	}
	return 0;
}

static int check_name(const struct kube_pod *pod, const char *key, const char *name,
		      struct annotation_error *err)
{
	if (strcmp(name, "*") == 0 || pod->container_count == 0 ||
	    kube_pod_container(pod, name) != NULL)
		return 0;
	return bad(err,
		   ANNOTATION_DOMAIN "%s: %.63s is no container of the pod; "
				     "the first of it is %.63s",
		   key, name, pod->containers[0].name);
}

/* What a pod itself names are containers of it. A list with another name is left out. */
static void check_names(const struct kube_pod *pod, struct pod_settings *w,
			struct annotation_error *first)
{
	int list = 0, policy = 0;

	for (size_t i = 0; list == 0 && i < w->name_count; i++)
		if (!w->name[i].exclude)
			list = check_name(pod, "containers", w->name[i].name, first);
	for (size_t i = 0; policy == 0 && i < w->policy_count; i++)
		policy = check_name(pod, "policy", w->policy[i].name, first);
	if (list < 0)
		w->name_count = 0;
	if (policy < 0)
		w->policy_count = 0;
}

static int take_pod(const struct kube_pod *pod, struct pod_settings *w,
		    struct annotation_error *first)
{
	int r = take_list(pod->annotations, pod->annotation_count, NULL, w, first);

	if (r == 0)
		check_names(pod, w, first);
	return r;
}

static int take_namespace(const struct kube_namespace *n, const struct kube_pod *pod,
			  struct pod_settings *w, struct annotation_error *first)
{
	struct annotation_error err = {""};
	int r = take_list(n->annotations, n->annotation_count, pod, w, &err);

	if (err.text[0] != '\0')
		bad(first, "namespace %.63s: %.180s", n->name, err.text);
	return r;
}

static int take_rule(const struct config_pod_rule *rule, struct pod_settings *w)
{
	struct annotation_error checked = {""}; /* when the configuration was loaded */
	int r = 0;

	for (size_t i = 0; r == 0 && i < rule->key_count; i++) {
		const struct kube_annotation a = {rule->keys[i].key, rule->keys[i].value};

		r = take(&a, w, &checked);
	}
	return r;
}

/* From strong to weak. */
static int add_layers(const struct annotation_input *in, struct annotation_settings *l,
		      struct annotation_error *first)
{
	const struct config_pod_rule *rule = rule_for(in);
	struct pod_settings *w = layer_add(l);

	if (w == NULL || take_pod(in->pod, w, first) < 0)
		return -ENOMEM;
	if (in->namespace != NULL) {
		w = layer_add(l);
		if (w == NULL || take_namespace(in->namespace, in->pod, w, first) < 0)
			return -ENOMEM;
	}
	if (rule != NULL) {
		w = layer_add(l);
		if (w == NULL || take_rule(rule, w) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

int annotation_read(const struct annotation_input *in, struct annotation_settings **ret,
		    struct annotation_error *err)
{
	OWN(annotation_drop) struct annotation_settings *s = calloc(1, sizeof *s);

	*err = (struct annotation_error){""};
	if (!annotation_opted_in(in) && !annotation_observed(in))
		return -ENOENT;
	if (s == NULL || add_layers(in, s, err) < 0)
		return -ENOMEM;
	s->config = in->config;
	s->wrong = err->text[0] != '\0';
	*ret = STEAL(s);
	return (*ret)->wrong ? -EINVAL : 0;
}

size_t annotation_sources(const struct annotation_input *in, struct annotation_source *ret,
			  size_t max)
{
	const struct config_pod_rule *rule = rule_for(in);
	const struct kube_pod *pod = in->pod;
	const struct kube_namespace *ns = in->namespace;
	size_t n = 0;

	for (size_t i = 0; i < pod->annotation_count && n < max; i++)
		if (strcmp(pod->annotations[i].key, "status") != 0) /* that one is ours */
			ret[n++] = (struct annotation_source){
				pod->annotations[i].key, pod->annotations[i].value, NULL, NULL};
	for (size_t i = 0; ns != NULL && i < ns->annotation_count && n < max; i++)
		if (kube_pod_annotation(pod, ns->annotations[i].key) == NULL)
			ret[n++] = (struct annotation_source){ns->annotations[i].key,
							      ns->annotations[i].value, ns, NULL};
	for (size_t i = 0; rule != NULL && i < rule->key_count && n < max; i++)
		if (kube_pod_annotation(pod, rule->keys[i].key) == NULL &&
		    (ns == NULL || kube_annotation_find(ns->annotations, ns->annotation_count,
							rule->keys[i].key) == NULL))
			ret[n++] = (struct annotation_source){rule->keys[i].key,
							      rule->keys[i].value, NULL, rule};
	return n;
}

/* --- the rules for pods in a configuration, checked as annotations are --- */

/* "vscaled.dev/mode: what is wrong" without what the place says already. */
static const char *without_key(const char *text, const char *key)
{
	char prefix[64];
	int n = snprintf(prefix, sizeof prefix, ANNOTATION_DOMAIN "%.32s: ", key);

	return strncmp(text, prefix, (size_t)n) == 0 ? text + n : text;
}

/* The keys one by one, each into the same settings. */
static int check_rule(const struct config_pod_rule *rule, size_t index, const char *file,
		      struct config_errors *errs)
{
	OWN(drop_free) struct pod_settings *w = calloc(1, sizeof *w);
	struct annotation_error err = {""};
	char path[64];
	int r = 0;

	if (w == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < rule->key_count; i++) {
		const struct config_pod_key *k = &rule->keys[i];
		const struct kube_annotation a = {k->key, k->value};
		const struct annotation_key *known = find(k->key);

		err.text[0] = '\0';
		r = take(&a, w, &err);
		if (r == -ENOMEM)
			return r;
		snprintf(path, sizeof path, "pods[%zu].%.32s", index, k->key);
		if (r < 0)
			config_error(errs, &(struct config_place){file, k->line, path}, "%s",
				     without_key(err.text, k->key));
		else if (known->take == NULL || known->take == take_pod_budget)
			config_error(errs, &(struct config_place){file, k->line, path},
				     "%s; allowed: remove it",
				     known->take == NULL ? "is written by vscaled"
							 : "counts on a pod itself alone");
	}
	snprintf(path, sizeof path, "pods[%zu]", index);
	err.text[0] = '\0';
	r = check(w, &err);
	if (r < 0)
		config_error(errs, &(struct config_place){file, rule->line, path}, "%s", err.text);
	return 0;
}

int annotation_check_config(const struct config *config, const char *file,
			    struct config_errors *errs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < config->pod_rule_count; i++)
		r = check_rule(&config->pods[i], i, file, errs);
	return r < 0 ? r : errs->count > 0 ? -EBADMSG : 0;
}

int annotation_load_config(const char *path, struct config *ret, struct config_errors *errs)
{
	struct config fresh;
	int r = config_load_file(path, &fresh, errs);

	if (r < 0)
		return r;
	r = annotation_check_config(&fresh, path, errs);
	if (r < 0)
		config_free(&fresh);
	else
		*ret = fresh;
	return r;
}
