/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the annotation parser share; for annotation*.c alone. */
#pragma once

#include "agent/annotation/annotation.h"

#define LIST_NAMES_MAX     64
#define POLICY_ENTRIES_MAX 64

struct setting_bool {
	bool set;
	bool on;
};

/* What one source sets for a container; what it does not set stays zero. */
struct settings {
	uint32_t resources; /* RESOURCES_* */
	struct range bound[RESOURCE_COUNT];
	uint32_t has_min; /* RESOURCES_*: bound.min is set, 0: no minimum */
	uint32_t has_max;
	struct setting_bool scale_down, allow_restart, autoscaled;
	bool has_controlled;
	enum controlled_values controlled;
	bool off;
};

/* One of policy's containerPolicies; "*": all others. */
struct container_policy {
	char name[64];
	struct settings settings;
};

/* One name in `containers`. */
struct list_name {
	char name[64];
	bool exclude;
};

/* Everything that one source sets: a pod's annotations, or a rule of the configuration. */
struct pod_settings {
	bool has_mode;
	enum mode mode;
	bool in_place_or_recreate;
	bool has_boost;
	struct boost_rule boost;
	bool has_goal;
	enum goal goal;
	bool has_cpu_percentile;
	uint32_t cpu_percentile_permille; /* 0: none */
	bool has_memory_margin;
	uint32_t memory_margin_permille; /* 0: none */
	bool has_rollout;
	uint32_t rollout_percent;
	struct settings own; /* the explicit keys */
	size_t name_count;
	struct list_name name[LIST_NAMES_MAX];
	size_t policy_count;
	struct container_policy policy[POLICY_ENTRIES_MAX];
};

/* annotation_settings.c */
/* Fills err, unless it says something already; -EINVAL. */
int annotation_bad(struct annotation_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What one source sets for a container: the explicit keys, then `policy`. */
struct settings settings_of(const struct pod_settings *w, const char *container);
/* *upper, and what *lower sets besides. Where their bounds contradict each other, the lower one
 * becomes the upper one's. */
struct settings settings_below(const struct settings *upper, const struct settings *lower);
/* A minimum above its maximum, in any container's settings. */
int settings_check(const struct pod_settings *w, struct annotation_error *err);
/* Does the source say whether the container is managed, by `containers` or `policy`? Then *ret. */
bool settings_name(const struct pod_settings *w, const char *container, bool *ret);
/* annotation.c */
int annotation_take(const struct kube_annotation *a, struct pod_settings *w,
		    struct annotation_error *err);
/* annotation_table.c */
const struct annotation_key *annotation_find(const char *key);
/* The key that a misspelt one was probably meant to be. */
const char *annotation_nearest(const char *key);
/* Is it the mode's key, or one letter or two from it? */
bool annotation_means_mode(const char *key);
int annotation_controlled(const char *text, enum controlled_values *ret);
/* Smallest and largest amount of a bound, as the configuration has them. */
const struct config_key *annotation_bound_key(enum resource r, bool max);
/* annotation_policy.c */
int annotation_take_policy(const char *value, struct pod_settings *w, struct annotation_error *err);
