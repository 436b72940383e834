// SPDX-License-Identifier: Apache-2.0
/* The annotation vscaled.dev/status, and the facts of a pod object for a report. */
#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/kube/report/reporter.h"
#include "agent/kube/report/reporter_answer.h"
#include "policy/base/base.h"
#include <cjson/cJSON.h>
#include <string.h>

/* A refusal's text is cut to this: all annotations of a pod share 256 KiB. */
#define REFUSAL_MAX 200
/* A recommendation that has moved by less is not written again. */
#define STATUS_APART_PERMILLE 100

static bool has_request_changed(const struct report_resource *x)
{
	return x->original_request != 0 && x->spec_request != x->original_request;
}

/* {"original":"500m","limit":"900m","target":"850m"}, without a limit {"originalRequest":"100m"};
 * requests only where vscaled changed them. */
static bool add_resource(cJSON *container, const struct reporter_view *v, size_t i, enum resource r)
{
	const struct report_resource *x = &v->containers[i].resource[r];
	cJSON *o = cJSON_AddObjectToObject(container, resource_names[r]);
	bool ok = o != NULL;

	if (ok && x->spec_limit != LIMIT_MAX)
		ok = kube_add_amount(o, "original", r, x->original_limit) &&
		     kube_add_amount(o, "limit", r, x->held);
	if (ok && has_request_changed(x))
		ok = kube_add_amount(o, "originalRequest", r, x->original_request);
	if (ok && v->target[i][r] != 0)
		ok = kube_add_amount(o, "target", r, v->target[i][r]);
	return ok;
}

static bool add_containers(cJSON *root, const struct reporter_view *v)
{
	cJSON *list = cJSON_AddObjectToObject(root, "containers");
	bool ok = list != NULL;

	for (size_t i = 0; ok && i < v->facts.container_count; i++) {
		const struct report_resource *x = v->containers[i].resource;
		cJSON *c = NULL;

		for (enum resource r = 0; ok && r < RESOURCE_COUNT; r++) {
			if (!x[r].managed ||
			    (x[r].spec_limit == LIMIT_MAX && !has_request_changed(&x[r])))
				continue;
			if (c == NULL)
				c = cJSON_AddObjectToObject(list, v->pod->containers[i].name);
			ok = c != NULL && add_resource(c, v, i, r);
		}
	}
	return ok;
}

/* {"cpu":"1","memory":"128Mi"}: the pod's own limits before vscaled. */
static bool add_level(cJSON *root, const struct reporter_view *v)
{
	cJSON *o = v->level != 0 ? cJSON_AddObjectToObject(root, "podLevel") : NULL;
	bool ok = v->level == 0 || o != NULL;

	for (enum resource r = 0; ok && r < RESOURCE_COUNT; r++)
		if (v->level & (1u << r))
			ok = kube_add_amount(o, resource_names[r], r, v->facts.level.original[r]);
	return ok;
}

/* Cut until it is short enough; the other members hold the originals and stay. */
static char *print_short(cJSON *root)
{
	char *text = cJSON_PrintUnformatted(root);

	while (text != NULL && strlen(text) > REPORTER_STATUS_MAX && kube_published_cut(root)) {
		cJSON_free(text);
		text = cJSON_PrintUnformatted(root);
	}
	return text;
}

char *reporter_status_text(const struct reporter_view *v, uint64_t ratified, const char *refusal)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	char cut[REFUSAL_MAX + 1], at[TIME_TEXT_SIZE];
	bool ok = root != NULL && cJSON_AddStringToObject(root, "mode", v->mode) != NULL;

	ok = ok && add_containers(root, v) && add_level(root, v);
	if (ok && v->changed_real != 0)
		ok = cJSON_AddStringToObject(root, "changed", time_text(v->changed_real, 0, at)) !=
		     NULL;
	if (ok && ratified != 0)
		ok = cJSON_AddNumberToObject(root, "ratifiedGeneration", (double)ratified) != NULL;
	if (ok && v->invalid != NULL)
		ok = cJSON_AddStringToObject(root, "invalid", v->invalid) != NULL;
	if (ok && refusal != NULL) {
		/* A long name must not leave out what was refused: a later agent reads it here. */
		if (strlen(refusal) > REFUSAL_MAX)
			refusal = reporter_reason(refusal);
		escape_copy(refusal, cut, sizeof cut);
		ok = cJSON_AddStringToObject(root, "refused", cut) != NULL;
	}
	for (size_t i = 0; ok && i < v->facts.container_count; i++)
		ok = kube_published_add(root, v->pod->containers[i].name, &v->published[i]);
	return ok ? print_short(root) : NULL;
}

/* --- small changes --- */

static bool is_near(uint64_t before, uint64_t now)
{
	uint64_t off = MAX(before, now) - MIN(before, now);

	return off <= scale_permille(before, STATUS_APART_PERMILLE);
}

/* An upper bound without its factor 1 + 1 / confidence: that falls all the time at first. */
static uint64_t narrow_upper(const struct recommendation *r, enum resource i)
{
	uint64_t permille = MAX(r->confidence_permille[i], 1u);

	return mul_div(r->resource[i].upper, permille, permille + 1000);
}

static bool bounds_are_near(const struct recommendation *before, const struct recommendation *now,
			    enum resource r)
{
	return is_near(before->resource[r].lower, now->resource[r].lower) &&
	       (is_near(before->resource[r].upper, now->resource[r].upper) ||
		is_near(narrow_upper(before, r), narrow_upper(now, r)));
}

static bool ranges_are_near(const struct kube_published *before, const struct recommendation *now,
			    enum resource r)
{
	const struct range_of *a = &before->own.resource[r], *b = &now->resource[r];

	return is_near(a->target, b->target) && is_near(a->peak, b->peak) &&
	       (before->bare || bounds_are_near(&before->own, now, r));
}

static bool is_surer(const struct recommendation *before, const struct recommendation *now)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint32_t from = MIN(before->confidence_permille[r], 1000u);
		uint32_t to = MIN(now->confidence_permille[r], 1000u);

		if (to > from && (to >= 2 * from || to == 1000))
			return true;
	}
	return false;
}

static void keep_container(const char *former, const char *name, struct kube_published *p,
			   uint64_t target[static RESOURCE_COUNT])
{
	struct kube_published before;
	uint64_t shown[RESOURCE_COUNT];

	if (p->samples == 0 || kube_published_read(former, name, &before, shown) < 0 ||
	    is_surer(&before.own, &p->own))
		return;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (!ranges_are_near(&before, &p->own, r) ||
		    (shown[r] != 0 && !is_near(shown[r], target[r])))
			return;
	p->own = before.own;
	p->bare = before.bare;
	p->samples = before.samples;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		target[r] = shown[r] != 0 ? shown[r] : target[r];
}

void reporter_status_keep(const char *former, struct reporter_view *v)
{
	for (size_t i = 0; i < v->facts.container_count; i++)
		keep_container(former, v->pod->containers[i].name, &v->published[i], v->target[i]);
}

static bool is_sized(const struct kube_container *c)
{
	return c->kind == CONTAINER_APP || c->kind == CONTAINER_SIDECAR;
}

static void fill_resource(const struct kube_container *c, size_t r, struct report_resource *x)
{
	bool sized = is_sized(c);

	*x = (struct report_resource){
		.restart = (c->restart_on_resize & (1u << r)) != 0,
		.spec_limit = sized ? c->spec.limit[r] : LIMIT_MAX,
		.spec_request = sized ? c->spec.request[r] : 0,
		.reported = sized && c->has_status && c->status.limit[r] != LIMIT_MAX
				    ? c->status.limit[r]
				    : 0,
		.reported_request = sized && c->has_status ? c->status.request[r] : 0,
	};
	x->limit_owner = kube_owner(c, KUBE_LEAF_LIMIT(r));
	x->request_owner = kube_owner(c, KUBE_LEAF_REQUEST(r));
	x->original_limit = x->held = x->spec_limit;
	x->original_request = x->spec_request;
}

/* The runtime's record against the spec. CPU requests come back from shares, a millicore off. */
static bool is_echoed(const struct kube_container *c)
{
	const struct kube_resources *a = &c->spec, *b = &c->status;

	if (!is_sized(c) || !c->running || !c->has_status)
		return true;
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t off = r == RESOURCE_CPU ? 1 : 0;

		if (MAX(a->limit[r], b->limit[r]) - MIN(a->limit[r], b->limit[r]) > off ||
		    MAX(a->request[r], b->request[r]) - MIN(a->request[r], b->request[r]) > off)
			return false;
	}
	return true;
}

void reporter_fill(const struct kube_pod *pod, struct reporter_view *view)
{
	/* That of a pending resize comes before that of an error. */
	const char *message = pod->resize_message != NULL ? pod->resize_message : "";
	size_t n = pod->container_count;

	/* Ephemeral containers come and go at the end: the others keep their places. */
	while (n > 0 && pod->containers[n - 1].kind == CONTAINER_EPHEMERAL)
		n--;
	view->pod = pod;
	view->facts.generation = pod->generation;
	view->facts.observed_generation = pod->observed_generation;
	view->facts.pending_deferred = pod->pending == RESIZE_DEFERRED;
	view->facts.pending_infeasible = pod->pending == RESIZE_INFEASIBLE;
	view->facts.no_room = strstr(message, "t have enough ") != NULL;
	view->facts.in_progress = pod->progress != RESIZE_IDLE;
	view->facts.progress_error = pod->progress == RESIZE_ERROR;
	view->facts.condition_resources = reporter_resources_named(message);
	view->facts.guaranteed = kube_pod_class_of_containers(pod, QOS_GUARANTEED);
	view->facts.ours = pod->resize_newest_ours;
	view->facts.level = (struct report_level){.guaranteed = pod->qos == QOS_GUARANTEED};
	memcpy(view->facts.level.spec.limit, pod->level_limit, sizeof pod->level_limit);
	memcpy(view->facts.level.spec.request, pod->level_request, sizeof pod->level_request);
	memcpy(view->facts.level.original, pod->level_limit, sizeof pod->level_limit);
	view->facts.echoed = true;
	view->facts.containers = view->containers;
	/* More than a report has room for: nothing is reported of the pod. */
	view->facts.container_count = n;
	for (size_t i = 0; i < MIN(n, (size_t)REPORT_CONTAINERS_MAX); i++) {
		const struct kube_container *c = &pod->containers[i];

		view->containers[i] = (struct report_container){
			.equal = !is_sized(c) &&
				 memcmp(c->spec.limit, c->spec.request, sizeof c->spec.limit) == 0};
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			fill_resource(c, r, &view->containers[i].resource[r]);
		view->facts.echoed &= is_echoed(c);
	}
}
