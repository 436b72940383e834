// SPDX-License-Identifier: Apache-2.0
/* The annotations of a pod to the rule of one container. */
#include "agent/annotation/annotation_impl.h"
#include "agent/base/escape.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int annotation_take(const struct kube_annotation *a, struct pod_settings *w,
		    struct annotation_error *err)
{
	const struct annotation_key *k = annotation_find(a->key);
	char buf[ESCAPE_SIZE];
	int r;

	if (k == NULL)
		return annotation_bad(err,
				      ANNOTATION_DOMAIN
				      "%s is unknown; did you mean " ANNOTATION_DOMAIN "%s?",
				      escape_value(a->key, buf), annotation_nearest(a->key));
	if (k->take == NULL)
		return 0;
	r = k->take(a->value, w, err);
	if (r == 0 || r == -ENOMEM || err->text[0] != '\0')
		return r;
	return annotation_bad(err, ANNOTATION_DOMAIN "%s: \"%s\" is %s; allowed: %s", k->key,
			      escape_value(a->value, buf),
			      r == -ERANGE ? "out of range" : "not valid", k->values);
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

/* From strong to weak: the pod's annotations, its namespace's, the rule of the configuration. */
#define LAYERS_MAX 3
struct layers {
	struct pod_settings *item[LAYERS_MAX];
	size_t count;
};

static void drop_layers(struct layers *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->item[i]);
}

static struct pod_settings *layer_add(struct layers *l)
{
	struct pod_settings *w = calloc(1, sizeof *w);

	if (w != NULL)
		l->item[l->count++] = w;
	return w;
}

static struct settings layers_settings(const struct layers *l, const char *container)
{
	struct settings w = settings_of(l->item[0], container);

	for (size_t i = 1; i < l->count; i++) {
		struct settings lower = settings_of(l->item[i], container);

		w = settings_below(&w, &lower);
	}
	return w;
}

static bool layers_name(const struct layers *l, const char *container)
{
	bool named = true;

	for (size_t i = 0; i < l->count; i++)
		if (settings_name(l->item[i], container, &named))
			break;
	return named;
}

/* What is set for the pod as a whole. */
static struct pod_settings layers_pod(const struct layers *l)
{
	struct pod_settings ret = {.mode = MODE_OFF};

	for (size_t i = 0; i < l->count; i++) {
		const struct pod_settings *w = l->item[i];

		if (!ret.has_mode && w->has_mode) {
			ret.has_mode = true;
			ret.mode = w->mode;
			ret.in_place_or_recreate = w->in_place_or_recreate;
		}
		if (!ret.has_boost && w->has_boost) {
			ret.has_boost = true;
			ret.boost = w->boost;
		}
		if (!ret.has_goal && w->has_goal) {
			ret.has_goal = true;
			ret.goal = w->goal;
		}
		if (!ret.has_cpu_percentile && w->has_cpu_percentile) {
			ret.has_cpu_percentile = true;
			ret.cpu_percentile_permille = w->cpu_percentile_permille;
		}
		if (!ret.has_memory_margin && w->has_memory_margin) {
			ret.has_memory_margin = true;
			ret.memory_margin_permille = w->memory_margin_permille;
		}
		if (!ret.has_rollout && w->has_rollout) {
			ret.has_rollout = true;
			ret.rollout_percent = w->rollout_percent;
		}
	}
	return ret;
}

static void annotation_fill(const struct config *c, const struct layers *l, const char *container,
			    struct container_rule *ret)
{
	const struct pod_settings p = layers_pod(l);
	const struct settings w = layers_settings(l, container);
	struct {
		struct range *range;
		const struct range *admin;
	} rows[RESOURCE_COUNT] = {
		[RESOURCE_CPU] = {&ret->rule.cpu_milli, &c->kubernetes.cpu_milli},
		[RESOURCE_MEMORY] = {&ret->rule.mem_bytes, &c->kubernetes.mem_bytes},
	};

	*ret = (struct container_rule){
		.rule = c->defaults,
		.named = layers_name(l, container),
		.controlled = w.has_controlled ? w.controlled : CONTROLLED_LIMITS,
		.allow_restart = w.allow_restart.on,
		.not_autoscaled = w.autoscaled.set && !w.autoscaled.on,
		.in_place_or_recreate = p.in_place_or_recreate,
		.rollout_percent = p.rollout_percent,
	};
	ret->rule.mode = MIN(p.mode, c->kubernetes.highest_mode);
	ret->has_rollout = ret->rule.mode != MODE_OFF && p.has_rollout &&
			   p.rollout_percent < ROLLOUT_ALL_PERCENT;
	ret->rule.boost = p.boost;
	if (p.has_goal)
		ret->rule.goal = p.goal;
	if (p.has_cpu_percentile)
		ret->rule.cpu_percentile_permille = p.cpu_percentile_permille;
	if (p.has_memory_margin)
		ret->rule.mem_margin_permille = p.memory_margin_permille;
	/* Only units have a priority; a pod has its QoS class. */
	ret->rule.priority = 0;
	if (w.resources != 0)
		ret->rule.resources = w.resources;
	if (w.scale_down.set)
		ret->rule.scale_down = w.scale_down.on;
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		struct range asked = asked_range(&w, r, rows[r].range);

		*rows[r].range = bound_by_admin(&asked, rows[r].admin);
	}
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

static bool namespace_has(const struct kube_namespace *n, const char *key)
{
	for (size_t i = 0; n != NULL && i < n->annotation_count; i++)
		if (strcmp(n->annotations[i].key, key) == 0)
			return true;
	return false;
}

static bool has_mode(const struct kube_annotation *list, size_t count, bool misspelt)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].key, "mode") == 0 ||
		    (misspelt && annotation_means_mode(list[i].key)))
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
	return in->config->kubernetes.observe == OBSERVE_ALL && !annotation_opted_in(in);
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
		r = annotation_take(&list[i], w, own ? &ignored : first);
		if (r == -ENOMEM)
			return r;
		if (r == 0)
			continue;
		*w = *before;
		if (!w->has_mode && annotation_means_mode(list[i].key)) {
			w->has_mode = true;
			w->mode = MODE_AUTO;
		}
	}
	if (settings_check(w, first) < 0) {
		w->own.has_min = w->own.has_max = 0;
		memset(w->own.bound, 0, sizeof w->own.bound);
		w->policy_count = 0;
	}
	return 0;
}

/* A list that names containers, and none of the pod's. */
static bool names_none(const struct kube_pod *pod, const struct pod_settings *w)
{
	size_t names = 0;

	for (size_t i = 0; i < w->name_count; i++) {
		const struct list_name *n = &w->name[i];

		names += !n->exclude;
		if (!n->exclude && (strcmp(n->name, "*") == 0 || kube_pod_container(pod, n->name)))
			return false;
	}
	return names > 0 && pod->container_count > 0;
}

static int take_pod(const struct kube_pod *pod, struct pod_settings *w,
		    struct annotation_error *first)
{
	int r = take_list(pod->annotations, pod->annotation_count, NULL, w, first);

	if (r == 0 && names_none(pod, w)) {
		w->name_count = 0;
		annotation_bad(first,
			       ANNOTATION_DOMAIN "containers names no container of the pod; "
						 "the first of it is %.63s",
			       pod->containers[0].name);
	}
	return r;
}

static int take_namespace(const struct kube_namespace *n, const struct kube_pod *pod,
			  struct pod_settings *w, struct annotation_error *first)
{
	struct annotation_error err = {""};
	int r = take_list(n->annotations, n->annotation_count, pod, w, &err);

	if (err.text[0] != '\0')
		annotation_bad(first, "namespace %.63s: %.180s", n->name, err.text);
	return r;
}

static int take_rule(const struct config_pod_rule *rule, struct pod_settings *w)
{
	struct annotation_error checked = {""}; /* when the configuration was loaded */
	int r = 0;

	for (size_t i = 0; r == 0 && i < rule->key_count; i++) {
		const struct kube_annotation a = {rule->keys[i].key, rule->keys[i].value};

		r = annotation_take(&a, w, &checked);
	}
	return r;
}

/* From strong to weak. */
static int add_layers(const struct annotation_input *in, struct layers *l,
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

int annotation_rule(const struct annotation_input *in, const char *container,
		    struct container_rule *ret, struct annotation_error *err)
{
	OWN(drop_layers) struct layers l = {.count = 0};

	*err = (struct annotation_error){""};
	*ret = (struct container_rule){.rule = {.mode = MODE_OFF}};
	if (!annotation_opted_in(in) && !annotation_observed(in))
		return -ENOENT;
	if (add_layers(in, &l, err) < 0)
		return -ENOMEM;
	annotation_fill(in->config, &l, container, ret);
	if (err->text[0] == '\0')
		return 0;
	ret->frozen_mode = ret->rule.mode;
	ret->rule.mode = MODE_OFF;
	return -EINVAL;
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
		    !namespace_has(ns, rule->keys[i].key))
			ret[n++] = (struct annotation_source){rule->keys[i].key,
							      rule->keys[i].value, NULL, rule};
	return n;
}
