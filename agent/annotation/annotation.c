// SPDX-License-Identifier: Apache-2.0
/* The annotations of a pod to the rule of one container. */
#include "agent/annotation/annotation_impl.h"
#include "agent/base/escape.h"
#include "agent/config/config_table.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static int bad(struct annotation_error *err,
						     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	return -EINVAL;
}

static int annotation_take(const struct kube_annotation *a, struct pod_settings *w,
			   struct annotation_error *err)
{
	const struct annotation_key *k = annotation_find(a->key);
	char buf[ESCAPE_SIZE];
	int r;

	if (k == NULL)
		return bad(err,
			   ANNOTATION_DOMAIN "%s is unknown; did you mean " ANNOTATION_DOMAIN "%s?",
			   escape_value(a->key, buf), annotation_nearest(a->key));
	if (k->take == NULL)
		return 0;
	r = k->take(a->value, w, err);
	if (r == 0 || r == -ENOMEM || err->text[0] != '\0')
		return r;
	return bad(err, ANNOTATION_DOMAIN "%s: \"%s\" is %s; allowed: %s", k->key,
		   escape_value(a->value, buf), r == -ERANGE ? "out of range" : "not valid",
		   k->values);
}

/* First what the explicit keys set, then what the entry of `policy` sets (NULL: there is none). */
static struct settings merged(const struct settings *own, const struct settings *policy)
{
	struct settings w = *own;

	if (policy == NULL)
		return w;
	if (w.resources == 0)
		w.resources = policy->resources;
	if (!w.has_controlled) {
		w.has_controlled = policy->has_controlled;
		w.controlled = policy->controlled;
	}
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		if ((w.has_min & (1u << r)) == 0)
			w.bound[r].min = policy->bound[r].min;
		if ((w.has_max & (1u << r)) == 0)
			w.bound[r].max = policy->bound[r].max;
	}
	w.has_min |= policy->has_min;
	w.has_max |= policy->has_max;
	w.off = policy->off;
	return w;
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
		return bad(err,
			   ANNOTATION_DOMAIN "%s (%s) is above %s (%s) of container %s; "
					     "allowed: at most that",
			   low->path, config_value_text(low, &rule, low_text, sizeof low_text),
			   high->path, config_value_text(high, &rule, high_text, sizeof high_text),
			   container);
	}
	return 0;
}

/* Every container that is named in an annotation, and the others. */
static int check_all(const struct pod_settings *w, struct annotation_error *err)
{
	int r = check_bounds(&w->own, "*", err);

	for (size_t i = 0; r == 0 && i < w->policy_count; i++) {
		struct settings one = merged(&w->own, &w->policy[i].settings);

		r = check_bounds(&one, w->policy[i].name, err);
	}
	return r;
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

/* Is the container managed? By `containers` (its name or "*"), else by the mode in `policy`. */
static bool is_named(const struct pod_settings *w, const char *container, bool policy_off)
{
	bool all = false, exclusions_alone = true;

	for (size_t i = 0; i < w->name_count; i++) {
		if (strcmp(w->name[i].name, container) == 0)
			return !w->name[i].exclude;
		all = all || strcmp(w->name[i].name, "*") == 0;
		exclusions_alone = exclusions_alone && w->name[i].exclude;
	}
	return all || (exclusions_alone && !policy_off);
}

/* The pod's own bounds, and the default where it sets none. Where the two contradict each other,
 * the default becomes the pod's own bound. */
static struct range asked_range(const struct settings *w, int r, const struct range *fallback)
{
	bool has_min = (w->has_min & (1u << r)) != 0, has_max = (w->has_max & (1u << r)) != 0;
	struct range range = {.min = has_min ? w->bound[r].min : fallback->min,
			      .max = has_max ? w->bound[r].max : fallback->max};

	if (range.max == 0 || range.min <= range.max)
		return range;
	if (has_min)
		range.max = range.min;
	else
		range.min = range.max;
	return range;
}

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

static void annotation_fill(const struct config *c, const struct pod_settings *p,
			    const char *container, struct container_rule *ret)
{
	const struct settings *policy = policy_of(p, container);
	struct settings w = merged(&p->own, policy);
	struct {
		struct range *range;
		const struct range *admin;
	} rows[RESOURCE_COUNT] = {
		[RESOURCE_CPU] = {&ret->rule.cpu_milli, &c->kubernetes.cpu_milli},
		[RESOURCE_MEMORY] = {&ret->rule.mem_bytes, &c->kubernetes.mem_bytes},
	};

	*ret = (struct container_rule){
		.rule = c->defaults,
		.named = is_named(p, container, w.off),
		.controlled = w.has_controlled ? w.controlled : CONTROLLED_LIMITS,
		.allow_restart = p->own.allow_restart,
		.in_place_or_recreate = p->in_place_or_recreate,
		.goal = p->goal,
	};
	ret->rule.mode = MIN(p->mode, c->kubernetes.highest_mode);
	ret->rule.boost = p->boost;
	/* Only units have a priority; a pod has its QoS class. */
	ret->rule.priority = 0;
	if (w.resources != 0)
		ret->rule.resources = w.resources;
	if (w.has_scale_down)
		ret->rule.scale_down = w.scale_down;
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		struct range asked = asked_range(&w, r, rows[r].range);

		*rows[r].range = bound_by_admin(&asked, rows[r].admin);
	}
}

int annotation_rule(const struct config *config, const struct kube_pod *pod, const char *container,
		    struct container_rule *ret, struct annotation_error *err)
{
	OWN(drop_free) struct pod_settings *w = NULL;
	int r = 0;

	*err = (struct annotation_error){""};
	*ret = (struct container_rule){.rule = {.mode = MODE_OFF}};
	if (kube_pod_annotation(pod, "mode") == NULL)
		return -ENOENT;
	w = calloc(1, sizeof *w);
	if (w == NULL)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < pod->annotation_count; i++)
		r = annotation_take(&pod->annotations[i], w, err);
	if (r == 0)
		r = check_all(w, err);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		*w = (struct pod_settings){.mode = MODE_OFF};
	annotation_fill(config, w, container, ret);
	return r;
}
