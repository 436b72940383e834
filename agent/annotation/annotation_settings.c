// SPDX-License-Identifier: Apache-2.0
/* What one source of settings says of a container, and how two sources are put together. */
#include "agent/annotation/annotation_impl.h"
#include "agent/config/config_table.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int annotation_bad(struct annotation_error *err, const char *format, ...)
{
	va_list args;

	if (err->text[0] != '\0')
		return -EINVAL;
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return -EINVAL;
}

/* fit: where the bounds contradict each other, the lower one becomes the upper one's. */
static void bounds_below(struct settings *w, const struct settings *lower, int r, bool fit)
{
	uint32_t bit = 1u << r;
	bool has_min = (w->has_min & bit) != 0, has_max = (w->has_max & bit) != 0;
	struct range *to = &w->bound[r];
	const struct range *from = &lower->bound[r];

	if (!has_min && (lower->has_min & bit) != 0)
		to->min = fit && has_max && to->max != 0 ? MIN(from->min, to->max) : from->min;
	if (!has_max && (lower->has_max & bit) != 0)
		to->max = fit && has_min && from->max != 0 ? MAX(from->max, to->min) : from->max;
	w->has_min |= lower->has_min & bit;
	w->has_max |= lower->has_max & bit;
}

static struct setting_bool bool_below(struct setting_bool upper, struct setting_bool lower)
{
	return upper.set ? upper : lower;
}

static struct settings below(const struct settings *upper, const struct settings *lower, bool fit)
{
	struct settings w = *upper;

	if (w.resources == 0)
		w.resources = lower->resources;
	if (!w.has_controlled) {
		w.has_controlled = lower->has_controlled;
		w.controlled = lower->controlled;
	}
	w.scale_down = bool_below(w.scale_down, lower->scale_down);
	w.allow_restart = bool_below(w.allow_restart, lower->allow_restart);
	w.autoscaled = bool_below(w.autoscaled, lower->autoscaled);
	for (int r = 0; r < RESOURCE_COUNT; r++)
		bounds_below(&w, lower, r, fit);
	return w;
}

struct settings settings_below(const struct settings *upper, const struct settings *lower)
{
	return below(upper, lower, true);
}

/* First what the explicit keys set, then what the entry of `policy` sets (NULL: there is none). */
static struct settings merged(const struct settings *own, const struct settings *policy)
{
	struct settings w = policy != NULL ? below(own, policy, false) : *own;

	w.off = policy != NULL ? policy->off : own->off;
	return w;
}

static const struct settings *policy_of(const struct pod_settings *w, const char *container)
{
	const struct settings *others = NULL;

	for (size_t i = 0; i < w->policy_count; i++) {
		if (strcmp(w->policy[i].name, container) == 0)
			return &w->policy[i].settings;
		if (strcmp(w->policy[i].name, "*") == 0)
			others = &w->policy[i].settings;
	}
	return others;
}

static int check_bounds(const struct settings *w, const char *container,
			struct annotation_error *err)
{
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		const struct config_key *low = annotation_bound_key((enum resource)r, false);
		const struct config_key *high = annotation_bound_key((enum resource)r, true);
		struct policy_rule rule = {.cpu_milli = w->bound[RESOURCE_CPU],
					   .mem_bytes = w->bound[RESOURCE_MEMORY]};
		char low_text[CONFIG_VALUE_TEXT], high_text[CONFIG_VALUE_TEXT];

		if (w->bound[r].max == 0 || w->bound[r].min <= w->bound[r].max)
			continue;
		return annotation_bad(
			err,
			ANNOTATION_DOMAIN "%s (%s) is above %s (%s) of container %s; "
					  "allowed: at most that",
			low->path, config_value_text(low, &rule, low_text, sizeof low_text),
			high->path, config_value_text(high, &rule, high_text, sizeof high_text),
			container);
	}
	return 0;
}

/* Every container that is named in an annotation, and the others. */
int settings_check(const struct pod_settings *w, struct annotation_error *err)
{
	int r = check_bounds(&w->own, "*", err);

	for (size_t i = 0; r == 0 && i < w->policy_count; i++) {
		struct settings one = merged(&w->own, &w->policy[i].settings);

		r = check_bounds(&one, w->policy[i].name, err);
	}
	return r;
}

struct settings settings_of(const struct pod_settings *w, const char *container)
{
	return merged(&w->own, policy_of(w, container));
}

bool settings_name(const struct pod_settings *w, const char *container, bool *ret)
{
	const struct settings *policy = policy_of(w, container);
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
