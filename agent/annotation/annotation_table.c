// SPDX-License-Identifier: Apache-2.0
/* The keys, and how the value of each is read. */
#include "agent/annotation/annotation_impl.h"
#include "agent/config/config_table.h"
#include "agent/kube/model/names.h"
#include "policy/laws/boost.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t"
/* The longest part of a key that is compared with a misspelt one. */
#define KEY_LENGTH_MAX 32u

static const char *const controlled_names[CONTROLLED_COUNT] = {
	[CONTROLLED_LIMITS] = "LimitsOnly",
	[CONTROLLED_REQUESTS_AND_LIMITS] = "RequestsAndLimits",
	[CONTROLLED_REQUESTS] = "RequestsOnly",
};

int annotation_controlled(const char *text, enum controlled_values *ret)
{
	for (int i = 0; i < CONTROLLED_COUNT; i++)
		if (strcasecmp(controlled_names[i], text) == 0) {
			*ret = (enum controlled_values)i;
			return 0;
		}
	return -EINVAL;
}

static int take_mode(const char *value, struct pod_settings *w, struct annotation_error *)
{
	w->has_mode = true;
	w->in_place_or_recreate = strcasecmp(value, "InPlaceOrRecreate") == 0;
	if (!w->in_place_or_recreate)
		return mode_parse(value, &w->mode);
	w->mode = MODE_AUTO;
	return 0;
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

static int take_resources(const char *value, struct pod_settings *w, struct annotation_error *)
{
	char word[16];
	uint32_t mask = 0, bit;

	if (strcasecmp(value, "both") == 0) {
		w->own.resources = RESOURCES_BOTH;
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
	w->own.resources = mask;
	return 0;
}

static int take_controlled(const char *value, struct pod_settings *w, struct annotation_error *)
{
	w->own.has_controlled = true;
	return annotation_controlled(value, &w->own.controlled);
}

const struct config_key *annotation_bound_key(enum resource r, bool max)
{
	static const char *const keys[RESOURCE_COUNT][2] = {{"min-cpu", "max-cpu"},
							    {"min-memory", "max-memory"}};

	return config_key_find(config_rule_keys, config_rule_key_count, keys[r][max]);
}

/* By the rules of the configuration's key of the same name. */
static int take_bound(const char *value, enum resource r, bool max, struct pod_settings *w)
{
	struct policy_rule rule = {.mode = MODE_OFF};
	const struct config_key *k = annotation_bound_key(r, max);
	int error = config_value_set(k, value, &rule);

	if (error < 0)
		return error;
	if (max) {
		w->own.bound[r].max = config_value_number(k, &rule);
		w->own.has_max |= 1u << r;
	} else {
		w->own.bound[r].min = config_value_number(k, &rule);
		w->own.has_min |= 1u << r;
	}
	return 0;
}

static int take_min_cpu(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_bound(value, RESOURCE_CPU, false, w);
}

static int take_max_cpu(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_bound(value, RESOURCE_CPU, true, w);
}

static int take_min_memory(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_bound(value, RESOURCE_MEMORY, false, w);
}

static int take_max_memory(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_bound(value, RESOURCE_MEMORY, true, w);
}

static int take_containers(const char *value, struct pod_settings *w, struct annotation_error *)
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

static int take_bool(const char *value, struct setting_bool *ret)
{
	ret->set = true;
	ret->on = strcasecmp(value, "true") == 0;
	return ret->on || strcasecmp(value, "false") == 0 ? 0 : -EINVAL;
}

static int take_scale_down(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_bool(value, &w->own.scale_down);
}

static int take_allow_restart(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_bool(value, &w->own.allow_restart);
}

static int take_autoscaled(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_bool(value, &w->own.autoscaled);
}

static int take_boost(const char *value, struct pod_settings *w, struct annotation_error *)
{
	w->has_boost = true;
	return boost_parse(value, &w->boost);
}

static int take_goal(const char *value, struct pod_settings *w, struct annotation_error *)
{
	w->has_goal = true;
	return goal_parse(value, &w->goal);
}

/* A percentage, by the rules of the configuration's key of the same name. */
static int take_share(const char *value, const char *key, bool *ret_has, uint32_t *ret)
{
	const struct config_key *k = config_key_find(config_rule_keys, config_rule_key_count, key);
	struct policy_rule rule = {.mode = MODE_OFF};
	int error = config_value_set(k, value, &rule);

	if (error < 0)
		return error;
	*ret_has = true;
	*ret = (uint32_t)config_value_number(k, &rule);
	return 0;
}

static int take_cpu_percentile(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_share(value, "cpu-percentile", &w->has_cpu_percentile,
			  &w->cpu_percentile_permille);
}

static int take_memory_margin(const char *value, struct pod_settings *w, struct annotation_error *)
{
	return take_share(value, "memory-margin", &w->has_memory_margin,
			  &w->memory_margin_permille);
}

/* "25%". */
static int take_rollout(const char *value, struct pod_settings *w, struct annotation_error *)
{
	size_t digits = strspn(value, "0123456789");

	if (digits == 0 || digits > 3 || strcmp(value + digits, "%") != 0)
		return -EINVAL;
	w->has_rollout = true;
	w->rollout_percent = (uint32_t)strtoul(value, NULL, 10);
	return w->rollout_percent <= ROLLOUT_ALL_PERCENT ? 0 : -ERANGE;
}

#define AMOUNT(what, low, high) what " from " low " to " high ", or none"

/* clang-format off */
const struct annotation_key annotation_keys[] = {
	{"mode", "Off, Initial, Auto or InPlaceOrRecreate, in any case", "absent: not managed",
	 "`Off` computes and shows, and writes nothing. `Initial` sizes a container once when "
	 "it starts, limits and requests, and moves nothing afterwards. `Auto` keeps sizing "
	 "it and never restarts it. `InPlaceOrRecreate` also evicts a pod that cannot be sized in place.", take_mode},
	{"resources", "cpu, memory, or both as cpu,memory", "cpu,memory",
	 "What is sized; the other one is left alone.", take_resources},
	{"controlled-values", "LimitsOnly, RequestsAndLimits or RequestsOnly", "LimitsOnly",
	 "What is changed of it. `RequestsOnly` acts through the API server alone.", take_controlled},
	{"min-cpu", AMOUNT("an amount of CPU", "10m", "100k"), "the configuration's",
	 "No container's CPU limit falls below this.", take_min_cpu},
	{"max-cpu", AMOUNT("an amount of CPU", "10m", "100k"),
	 "the configuration's, else the CPUs of the node",
	 "No container's CPU limit rises above this.", take_max_cpu},
	{"min-memory", AMOUNT("an amount of memory", "1Mi", "1Pi"), "the configuration's",
	 "No container's memory limit falls below this.", take_min_memory},
	{"max-memory", AMOUNT("an amount of memory", "1Mi", "1Pi"),
	 "the configuration's, else 4 times the original",
	 "No container's memory limit rises above this.", take_max_memory},
	{"containers", "names separated by commas; -name leaves one out, * names all", "all",
	 "Which containers are sized. With exclusions alone: all the others.", take_containers},
	{"policy", "a VerticalPodAutoscaler's resourcePolicy as JSON", "none",
	 "Bounds per container, see below. The keys above win over it.", annotation_take_policy},
	{"scale-down", "true or false", "true", "`false`: limits only rise.", take_scale_down},
	{"allow-restart", "true or false", "false",
	 "`true`: where `resizePolicy` says `RestartContainer` for memory, a higher limit may go into the spec, at most once"
	 " an hour; the kubelet restarts the container for it.", take_allow_restart},
	{"autoscaled", "true or false", "true",
	 "`false`: no HorizontalPodAutoscaler on an object above the pod's owner, such as an operator's custom resource, is the"
	 " pod's, so that its requests may move. One on the owner itself counts all the same.", take_autoscaled},
	{"startup-boost", "a factor from 1x to 100x or an amount of CPU as +500m, a space,"
	 " and a duration: 2x 30s", "none",
	 "More CPU from a container's start until it has been ready for the time: the limit times"
	 " the factor, or plus the amount. See below.", take_boost},
	{"goal", "savings, balanced or latency", "the configuration's, else balanced",
	 "How much throttling a CPU limit may cause for being small: 2 %, 0.2 % or 0.01 % of the "
	 "scheduling periods (docs/tuning.md).",
	 take_goal},
	{"cpu-percentile", "a percentage from 50% to 100%, or none",
	 "the configuration's, else history.targetPercentile and the goal's",
	 "Percentile of CPU use that the CPU request follows, and of the demand of all time that the "
	 "CPU limit stays above.",
	 take_cpu_percentile},
	{"memory-margin", "a percentage from 0.1% to 1000%, or none",
	 "the configuration's, else history.margin",
	 "Added to the memory that history asks for, of request and limit. The limit also stays "
	 "above use by memory.margin.",
	 take_memory_margin},
	{"rollout", "a share from 0% to 100%", "100%",
	 "The mode holds for this share of a workload's pods, and the others are Off. See below.",
	 take_rollout},
	{"status", "written by vscaled", "none",
	 "What vscaled did, and the original values. The originals are read back if the node's"
	 " records are lost.", NULL},
};
/* clang-format on */
const size_t annotation_key_count = ARRAY_SIZE(annotation_keys);

const struct annotation_key *annotation_find(const char *key)
{
	for (size_t i = 0; i < annotation_key_count; i++)
		if (strcmp(annotation_keys[i].key, key) == 0)
			return &annotation_keys[i];
	return NULL;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
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

			diagonal = row[j + 1];
			row[j + 1] = smallest(change, row[j] + 1, row[j + 1] + 1);
		}
	}
	return row[n];
}

bool annotation_means_mode(const char *key)
{
	return distance(key, "mode") <= 2;
}

const char *annotation_nearest(const char *key)
{
	const char *best = annotation_keys[0].key;

	for (size_t i = 1; i < annotation_key_count; i++)
		if (distance(key, annotation_keys[i].key) < distance(key, best))
			best = annotation_keys[i].key;
	return best;
}
