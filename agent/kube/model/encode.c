// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/encode.h"
#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/kube/model/decode.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Longest texts of an Event in bytes (k8s.io/kubernetes pkg/apis/core/validation/events.go). */
#define NOTE_MAX     1024u
#define REASON_MAX   128u
#define ACTION_MAX   128u
#define INSTANCE_MAX 128u
#define CONTROLLER   "vscaled.dev/vscaled"

/* Text of a finished document; NULL when any part of it could not be made. */
static char *print(const cJSON *json, bool whole)
{
	return whole ? cJSON_PrintUnformatted(json) : NULL;
}

static bool add_text(cJSON *object, const char *key, const char *text)
{
	return cJSON_AddStringToObject(object, key, text) != NULL;
}

static bool add_cut(cJSON *object, const char *key, const char *text, size_t max)
{
	char cut[NOTE_MAX + 1];
	size_t n = escape_fit(text, max);

	memcpy(cut, text, n);
	cut[n] = '\0';
	return add_text(object, key, cut);
}

/* RFC 3339 with microseconds, as metav1.MicroTime. */
static bool add_time(cJSON *object, const char *key, usec_t at)
{
	char text[TIME_TEXT_SIZE];

	return add_text(object, key, time_text(at, 6, text));
}

/* "600m"; "192Mi", or plain bytes where there are no whole Mi. */
static bool add_amount(cJSON *object, enum resource r, uint64_t amount)
{
	char text[32];

	if (r == RESOURCE_CPU)
		snprintf(text, sizeof text, "%llum", (unsigned long long)amount);
	else if (amount % MIB == 0)
		snprintf(text, sizeof text, "%lluMi", (unsigned long long)(amount / MIB));
	else
		snprintf(text, sizeof text, "%llu", (unsigned long long)amount);
	return add_text(object, resource_names[r], text);
}

/* {"limits": {...}}, left out when there is nothing in it. "No limit" cannot be asked for. */
static bool add_amounts(cJSON *resources, const char *key, uint32_t which, const uint64_t *amounts)
{
	cJSON *object;

	for (int r = 0; r < RESOURCE_COUNT; r++)
		if (amounts[r] == LIMIT_MAX)
			which &= ~(1u << r);
	if (which == 0)
		return true;
	object = cJSON_AddObjectToObject(resources, key);
	for (int r = 0; object != NULL && r < RESOURCE_COUNT; r++)
		if ((which & (1u << r)) != 0 && !add_amount(object, (enum resource)r, amounts[r]))
			return false;
	return object != NULL;
}

static bool add_resources(cJSON *object, const struct report_item *it)
{
	cJSON *resources = cJSON_AddObjectToObject(object, "resources");

	return resources != NULL && add_amounts(resources, "limits", it->limits, it->limit) &&
	       add_amounts(resources, "requests", it->requests, it->request);
}

static bool add_container(cJSON *spec, const struct kube_container *c, const struct report_item *it)
{
	/* Ephemeral containers are never sized. */
	const char *key = c->kind == CONTAINER_APP ? "containers" : "initContainers";
	cJSON *list = cJSON_GetObjectItemCaseSensitive(spec, key);
	cJSON *item;

	if (list == NULL)
		list = cJSON_AddArrayToObject(spec, key);
	item = cJSON_CreateObject();
	if (!cJSON_AddItemToArray(list, item)) {
		cJSON_Delete(item);
		return false;
	}
	return add_text(item, "name", c->name) && add_resources(item, it);
}

static bool add_uid(cJSON *root, const struct kube_pod *pod, cJSON **ret_meta)
{
	*ret_meta = cJSON_AddObjectToObject(root, "metadata");
	return *ret_meta != NULL && add_text(*ret_meta, "uid", pod->uid);
}

char *kube_encode_resize(const struct kube_pod *pod, const struct report_patch *patch, bool exact)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	cJSON *meta, *spec;
	bool ok = add_uid(root, pod, &meta);

	if (exact)
		ok = ok && add_text(meta, "resourceVersion", pod->resource_version);
	spec = cJSON_AddObjectToObject(root, "spec");
	ok = ok && spec != NULL;
	for (size_t i = 0; ok && i < patch->count; i++) {
		const struct report_item *it = &patch->item[i];

		if ((it->limits | it->requests) != 0)
			ok = add_container(spec, &pod->containers[it->container], it);
	}
	if (patch->level.limits != 0)
		ok = ok && add_resources(spec, &patch->level);
	return print(root, ok);
}

char *kube_encode_annotation(const struct kube_pod *pod, const char *status)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	static const char name[] = ANNOTATION_DOMAIN "status";
	cJSON *meta, *annotations;
	bool ok = add_uid(root, pod, &meta);

	annotations = ok ? cJSON_AddObjectToObject(meta, "annotations") : NULL;
	ok = annotations != NULL;
	if (ok && status == NULL)
		ok = cJSON_AddNullToObject(annotations, name) != NULL;
	else if (ok)
		ok = add_text(annotations, name, status);
	return print(root, ok);
}

static bool add_regarding(cJSON *root, const struct kube_pod *pod)
{
	cJSON *o = cJSON_AddObjectToObject(root, "regarding");

	return o != NULL && add_text(o, "kind", "Pod") && add_text(o, "apiVersion", "v1") &&
	       add_text(o, "namespace", pod->namespace) && add_text(o, "name", pod->name) &&
	       add_text(o, "uid", pod->uid) &&
	       add_text(o, "resourceVersion", pod->resource_version);
}

char *kube_encode_event(const struct kube_event *e)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	cJSON *meta = cJSON_AddObjectToObject(root, "metadata");
	bool ok = meta != NULL && add_text(meta, "namespace", e->namespace) &&
		  add_text(meta, "name", e->name) &&
		  add_text(root, "apiVersion", "events.k8s.io/v1") &&
		  add_text(root, "kind", "Event") && add_time(root, "eventTime", e->at_real) &&
		  add_text(root, "type", e->type) &&
		  add_cut(root, "reason", e->reason, REASON_MAX) &&
		  add_cut(root, "action", e->action, ACTION_MAX) &&
		  add_cut(root, "note", e->note, NOTE_MAX) &&
		  add_text(root, "reportingController", CONTROLLER) &&
		  add_cut(root, "reportingInstance", e->instance, INSTANCE_MAX) &&
		  add_regarding(root, e->regarding);

	return print(root, ok);
}

char *kube_encode_event_series(uint32_t count, usec_t last_real)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	cJSON *series = cJSON_AddObjectToObject(root, "series");
	bool ok = series != NULL && cJSON_AddNumberToObject(series, "count", count) != NULL &&
		  add_time(series, "lastObservedTime", last_real);

	return print(root, ok);
}

char *kube_encode_eviction(const struct kube_pod *pod)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	cJSON *meta = cJSON_AddObjectToObject(root, "metadata");
	cJSON *options = cJSON_AddObjectToObject(root, "deleteOptions");
	cJSON *only = options != NULL ? cJSON_AddObjectToObject(options, "preconditions") : NULL;
	bool ok = meta != NULL && only != NULL && add_text(root, "apiVersion", "policy/v1") &&
		  add_text(root, "kind", "Eviction") && add_text(meta, "name", pod->name) &&
		  add_text(meta, "namespace", pod->namespace) && add_text(only, "uid", pod->uid);

	return print(root, ok);
}

char *kube_encode_lease(const char *name, const char *workload, const struct kube_lease *l,
			uint32_t duration_sec)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	cJSON *meta = cJSON_AddObjectToObject(root, "metadata");
	cJSON *marks = meta != NULL ? cJSON_AddObjectToObject(meta, "annotations") : NULL;
	cJSON *spec = cJSON_AddObjectToObject(root, "spec");
	bool ok = marks != NULL && spec != NULL &&
		  add_text(root, "apiVersion", "coordination.k8s.io/v1") &&
		  add_text(root, "kind", "Lease") && add_text(meta, "name", name) &&
		  add_text(marks, "vscaled.dev/workload", workload) &&
		  add_text(spec, "holderIdentity", l->holder) &&
		  add_time(spec, "renewTime", l->renewed_real) &&
		  cJSON_AddNumberToObject(spec, "leaseDurationSeconds", duration_sec) != NULL;

	if (ok && l->version[0] != '\0')
		ok = add_text(meta, "resourceVersion", l->version);
	return print(root, ok);
}

char *kube_encode_access(const char *verb, const char *group, const char *resource,
			 const char *subresource)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	cJSON *spec = cJSON_AddObjectToObject(root, "spec");
	cJSON *asked = spec != NULL ? cJSON_AddObjectToObject(spec, "resourceAttributes") : NULL;
	bool ok = asked != NULL && add_text(root, "apiVersion", "authorization.k8s.io/v1") &&
		  add_text(root, "kind", "SelfSubjectAccessReview") &&
		  add_text(asked, "verb", verb) && add_text(asked, "group", group) &&
		  add_text(asked, "resource", resource) &&
		  (subresource == NULL || add_text(asked, "subresource", subresource));

	return print(root, ok);
}

/* RFC 3986: what is not unreserved is percent-encoded. */
int kube_encode_segment(const char *text, char *buf, size_t size)
{
	size_t n = 0;

	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		bool plain = c < 0x80 && (isalnum(c) || strchr("-._~", c) != NULL);

		if (n + (plain ? 1 : 3) >= size)
			return -ENAMETOOLONG;
		if (plain)
			buf[n++] = (char)c;
		else
			n += (size_t)sprintf(buf + n, "%%%02X", c);
	}
	if (n >= size)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return 0;
}
