// SPDX-License-Identifier: Apache-2.0
/* Pods: one, a line of a watch, a list. */
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const qos_names[QOS_COUNT] = {"Guaranteed", "Burstable", "BestEffort"};

/* status.resize of the alpha, before there were conditions (1.32). */
static const struct {
	const char *text;
	enum resize_pending pending;
	enum resize_progress progress;
} alpha_resizes[] = {
	{"Deferred", RESIZE_DEFERRED, RESIZE_IDLE},
	{"Infeasible", RESIZE_INFEASIBLE, RESIZE_IDLE},
	{"InProgress", RESIZE_NOT_PENDING, RESIZE_IN_PROGRESS},
};

static void read_spec(const struct field *spec, struct kube_pod *p)
{
	struct field os = field_object(spec, "os"), resources = field_object(spec, "resources");
	struct field limits = field_object(&resources, "limits");
	struct field requests = field_object(&resources, "requests");
	struct field overhead = field_object(spec, "overhead");

	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		p->level_limit[i] = field_quantity(&limits, resource_names[i], i);
		p->level_request[i] = field_quantity(&requests, resource_names[i], i);
		p->overhead[i] = field_quantity(&overhead, resource_names[i], i);
	}
	p->node = field_name(spec, "nodeName", kube_is_subdomain);
	p->priority = (int32_t)field_int(spec, "priority", INT32_MIN, INT32_MAX);
	p->windows = field_text_is(&os, "name", "windows");
	p->runtime_class = cJSON_HasObjectItem(spec->json, "runtimeClassName");
	p->once = field_text_is(spec, "restartPolicy", "Never");
	p->pod_resources = cJSON_GetArraySize(limits.json) + cJSON_GetArraySize(requests.json) > 0;
}

static void keep_message(const struct field *condition, struct kube_pod *p)
{
	free(STEAL(p->resize_message));
	p->resize_message = field_copy(condition, "message");
}

/* One condition that holds. */
static void take_condition(const struct field *n, const char *type, struct kube_pod *p)
{
	const char *reason = field_text(n, "reason");

	if (reason == NULL)
		reason = "";
	if (strcmp(type, "Ready") == 0) {
		p->ready = true;
	} else if (strcmp(type, "ContainersReady") == 0) {
		p->containers_ready_real = field_time(n, "lastTransitionTime");
	} else if (strcmp(type, "PodResizePending") == 0) {
		/* An unknown reason is treated as Deferred. */
		p->pending =
			strcmp(reason, "Infeasible") == 0 ? RESIZE_INFEASIBLE : RESIZE_DEFERRED;
		p->pending_real = field_time(n, "lastTransitionTime");
		keep_message(n, p);
	} else if (strcmp(type, "PodResizeInProgress") == 0) {
		p->progress = strcmp(reason, "Error") == 0 ? RESIZE_ERROR : RESIZE_IN_PROGRESS;
		if (p->resize_message == NULL)
			keep_message(n, p);
	}
}

static void read_conditions(const struct field *status, struct kube_pod *p)
{
	struct field list = field_array(status, "conditions"), item = {0};

	while (field_next(&list, &item)) {
		const char *type = field_text(&item, "type");

		if (field_text_is(&item, "status", "True") && type != NULL)
			take_condition(&item, type, p);
	}
}

static void read_alpha_resize(const struct field *status, struct kube_pod *p)
{
	const char *text = field_text(status, "resize");

	if (text == NULL || p->pending != RESIZE_NOT_PENDING || p->progress != RESIZE_IDLE)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(alpha_resizes); i++)
		if (strcmp(alpha_resizes[i].text, text) == 0) {
			p->pending = alpha_resizes[i].pending;
			p->progress = alpha_resizes[i].progress;
		}
}

static void read_qos(const struct field *status, struct kube_pod *p)
{
	const char *name = field_text(status, "qosClass");

	p->qos = decode_qos(p);
	if (name == NULL || name[0] == '\0')
		return;
	for (enum qos_class i = 0; i < QOS_COUNT; i++)
		if (strcmp(qos_names[i], name) == 0) {
			p->qos = i;
			return;
		}
	field_bad(status, "qosClass", "not one of Guaranteed, Burstable, BestEffort");
}

static int read_status(const struct field *status, struct kube_pod *p)
{
	struct field allocated = field_object(status, "allocatedResources");
	struct field claims = field_array(status, "nodeAllocatableResourceClaimStatuses");

	p->claims = cJSON_GetArraySize(claims.json) > 0;
	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		p->level_allocated[i] = field_quantity(&allocated, resource_names[i], i);
	p->observed_generation =
		(uint64_t)field_int(status, "observedGeneration", 0, (1LL << 53) - 1);
	p->phase = field_copy(status, "phase");
	read_qos(status, p);
	read_conditions(status, p);
	read_alpha_resize(status, p);
	if (p->phase == NULL)
		p->phase = strdup("Unknown");
	return p->phase != NULL ? field_error(status) : -ENOMEM;
}

int decode_pod(const struct field *pod, struct kube_pod *p)
{
	struct field spec = field_object(pod, "spec"), status = field_object(pod, "status");
	bool partial = field_text_is(pod, "kind", "PartialObjectMetadata");
	int r;

	/* Items of a list of whole pods carry none. */
	if (field_text(pod, "kind") != NULL && !partial && !field_text_is(pod, "kind", "Pod"))
		return field_bad(pod, "kind", "not a Pod");
	r = decode_metadata(pod, p);
	if (r < 0 || partial)
		return r;
	read_spec(&spec, p);
	r = decode_containers(&spec, &status, p);
	if (r == 0)
		r = decode_owners(pod, p);
	return r == 0 ? read_status(&status, p) : r;
}

int decode_object(const char *text, size_t len, cJSON **ret, struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct field root;
	int r = field_parse(text, len, &json, err);

	if (r < 0)
		return r;
	root = field_root(json, err);
	if (!cJSON_IsObject(json))
		return field_bad(&root, NULL, "not an object");
	*ret = STEAL(json);
	return 0;
}

static int decode_root(const cJSON *json, struct kube_pod **ret, struct kube_decode_error *err)
{
	OWN(drop_kube_pod) struct kube_pod *p = calloc(1, sizeof *p);
	struct field root = field_root(json, err);
	int r;

	if (p == NULL)
		return -ENOMEM;
	r = decode_pod(&root, p);
	if (r < 0)
		return r;
	*ret = STEAL(p);
	return 0;
}

int kube_decode_pod(const char *text, size_t len, struct kube_pod **ret,
		    struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	int r = decode_object(text, len, &json, err);

	return r < 0 ? r : decode_root(json, ret, err);
}

int kube_decode_described(const char *text, size_t len, struct kube_pod **ret,
			  struct kube_decode_error *err)
{
	static const char *const made_up[][2] = {
		{"name", "new"}, {"namespace", "default"}, {"uid", "0"}, {"resourceVersion", "0"}};
	OWN(drop_json) cJSON *json = NULL;
	int r = decode_object(text, len, &json, err);
	cJSON *meta;

	if (r < 0)
		return r;
	meta = cJSON_GetObjectItemCaseSensitive(json, "metadata");
	if (meta == NULL)
		meta = cJSON_AddObjectToObject(json, "metadata");
	for (size_t i = 0; i < ARRAY_SIZE(made_up); i++)
		if (cJSON_IsObject(meta) &&
		    cJSON_GetObjectItemCaseSensitive(meta, made_up[i][0]) == NULL &&
		    cJSON_AddStringToObject(meta, made_up[i][0], made_up[i][1]) == NULL)
			return -ENOMEM;
	return decode_root(json, ret, err);
}

/* resourceVersion in the text of an object's metadata. */
static int read_version(const struct span *text, char *ret, size_t size,
			struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct field root, meta;
	const char *version;
	int r = decode_object(text->s, text->len, &json, err);

	if (r < 0)
		return r;
	root = field_root(NULL, err);
	meta = (struct field){.json = json, .up = &root, .key = "metadata", .err = err};
	version = field_text(&meta, "resourceVersion");
	if (version == NULL || version[0] == '\0' || strlen(version) >= size)
		return field_bad(&meta, "resourceVersion", "missing or too long");
	snprintf(ret, size, "%s", version);
	return 0;
}

static const struct {
	const char *type;
	enum watch_event event;
} watch_events[] = {
	{"ADDED", WATCH_ADDED},       {"MODIFIED", WATCH_MODIFIED}, {"DELETED", WATCH_DELETED},
	{"BOOKMARK", WATCH_BOOKMARK}, {"ERROR", WATCH_ERROR},
};

enum watch_event decode_event_type(const char *type, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(watch_events); i++)
		if (len == strlen(watch_events[i].type) &&
		    memcmp(type, watch_events[i].type, len) == 0)
			return watch_events[i].event;
	return WATCH_UNKNOWN;
}

/* The first member of each of these keys in an object; the others stay empty. */
static int find_members(const char *text, size_t len, const char *const *keys, struct span *ret,
			size_t count, struct kube_decode_error *err)
{
	struct span whole, key, value;
	struct scan_error fault;
	const char *at = NULL;
	int r = scan_document(text, len, &whole, &fault);

	*err = (struct kube_decode_error){.text = ""};
	if (r < 0)
		return field_bad_scan(err, &fault);
	if (whole.s[0] != '{')
		return field_bad_scan(err, &(struct scan_error){"not an object", 0});
	while (scan_next(&whole, &at, &key, &value)) {
		/* Keys are compared as they are written. */
		if (memchr(key.s, '\\', key.len) != NULL)
			return field_bad_scan(err, &(struct scan_error){"an escape in a key",
									(size_t)(key.s - text)});
		for (size_t i = 0; i < count; i++)
			if (ret[i].s == NULL && span_is(&key, keys[i]))
				ret[i] = value;
	}
	for (size_t i = 0; i < count; i++)
		if (ret[i].s == NULL) {
			snprintf(err->text, sizeof err->text, "%s: missing", keys[i]);
			return -EBADMSG;
		}
	return 0;
}

static int read_bookmark(const struct span *object, char *ret, size_t size,
			 struct kube_decode_error *err)
{
	static const char *const keys[] = {"metadata"};
	struct span meta = {NULL, 0};
	int r = find_members(object->s, object->len, keys, &meta, 1, err);

	return r < 0 ? r : read_version(&meta, ret, size, err);
}

int kube_decode_watch(const char *line, size_t len, struct kube_watch_line *ret,
		      struct kube_decode_error *err)
{
	static const char *const keys[] = {"type", "object"};
	struct span part[ARRAY_SIZE(keys)] = {{NULL, 0}};
	struct kube_watch_line l = {.event = WATCH_UNKNOWN};
	int r = find_members(line, len, keys, part, ARRAY_SIZE(keys), err);

	if (r < 0)
		return r;
	assert(part[0].s != NULL && part[1].s != NULL);
	/* The value is a string or something else, as it is written. */
	if (part[0].len >= 2)
		l.event = decode_event_type(part[0].s + 1, part[0].len - 2);
	if (l.event == WATCH_ERROR) {
		kube_decode_status(part[1].s, part[1].len, &l.status);
	} else if (l.event == WATCH_BOOKMARK) {
		r = read_bookmark(&part[1], l.resource_version, sizeof l.resource_version, err);
	} else if (l.event != WATCH_UNKNOWN) {
		r = kube_decode_pod(part[1].s, part[1].len, &l.pod, err);
		if (r == 0)
			snprintf(l.resource_version, sizeof l.resource_version, "%s",
				 l.pod->resource_version);
	}
	if (r == 0)
		*ret = l;
	return r;
}

static int check_list(const char *text, const struct span *kind, const struct span *items,
		      const char *want, struct kube_decode_error *err)
{
	if (!span_is(kind, want) && !span_is(kind, "\"PartialObjectMetadataList\""))
		return field_bad_scan(err, &(struct scan_error){"not a list of this kind",
								(size_t)(kind->s - text)});
	if (items->s[0] != '[' && !span_is(items, "null"))
		return field_bad_scan(err, &(struct scan_error){"items is not a list",
								(size_t)(items->s - text)});
	return 0;
}

static int decode_item(const struct span *text, const struct field *list, size_t index,
		       decode_item_fn *each, void *arg)
{
	OWN(drop_json) cJSON *json = NULL;
	int r = decode_object(text->s, text->len, &json, list->err);
	struct field item = {.json = json, .up = list, .index = index, .err = list->err};

	if (r == 0)
		r = each(&item, arg);
	return r == 0 ? list->err->error : r;
}

int decode_list(const char *text, size_t len, const char *kind, decode_item_fn *each, void *arg,
		struct kube_decode_error *err)
{
	static const char *const keys[] = {"kind", "items"};
	struct span part[ARRAY_SIZE(keys)] = {{NULL, 0}}, key, value;
	const struct field root = field_root(NULL, err);
	const struct field list = {.up = &root, .key = "items", .err = err};
	const char *at = NULL;
	int r = find_members(text, len, keys, part, ARRAY_SIZE(keys), err);

	if (r < 0)
		return r;
	assert(part[0].s != NULL && part[1].s != NULL);
	r = check_list(text, &part[0], &part[1], kind, err);
	for (size_t i = 0; r == 0 && part[1].s[0] == '[' && scan_next(&part[1], &at, &key, &value);
	     i++)
		r = decode_item(&value, &list, i, each, arg);
	return r;
}

/* The first message of a list's bad items stays. */
static int decode_items(const struct span *items, kube_pod_fn *each, void *arg, size_t *bad,
			struct kube_decode_error *err)
{
	struct span key, value;
	const char *at = NULL;
	size_t index = 0;

	for (; scan_next(items, &at, &key, &value); index++) {
		struct kube_decode_error why;
		struct kube_pod *pod;
		int r = kube_decode_pod(value.s, value.len, &pod, &why);

		if (r == -EBADMSG && (*bad)++ == 0)
			snprintf(err->text, sizeof err->text, "items[%zu]: %.170s", index,
				 why.text);
		if (r == -EBADMSG)
			continue;
		if (r == 0)
			r = each(arg, pod);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Seven parameters: text, receiver, three results. NOLINTNEXTLINE(readability-function-size) */
int kube_decode_pods(const char *text, size_t len, kube_pod_fn *each, void *arg, char *ret_version,
		     size_t size, size_t *ret_bad, struct kube_decode_error *err)
{
	static const char *const keys[] = {"kind", "metadata", "items"};
	struct span part[ARRAY_SIZE(keys)] = {{NULL, 0}};
	char version[128];
	size_t bad = 0;
	int r = find_members(text, len, keys, part, ARRAY_SIZE(keys), err);

	if (r < 0)
		return r;
	assert(part[0].s != NULL && part[1].s != NULL && part[2].s != NULL);
	r = check_list(text, &part[0], &part[2], "\"PodList\"", err);
	if (r == 0)
		r = read_version(&part[1], version, MIN(sizeof version, size), err);
	if (r == 0)
		r = decode_items(&part[2], each, arg, &bad, err);
	if (r < 0)
		return r;
	strcpy(ret_version, version);
	*ret_bad = bad;
	return 0;
}

/* Base64 in its form for addresses. */
#define TOKEN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="

int kube_decode_continue(const char *text, size_t len, char *ret, size_t size,
			 struct kube_decode_error *err)
{
	static const char *const keys[] = {"metadata"};
	OWN(drop_json) cJSON *json = NULL;
	struct span meta = {NULL, 0};
	struct field f, root;
	const char *token;
	int r = find_members(text, len, keys, &meta, 1, err);

	if (r == 0)
		r = decode_object(meta.s, meta.len, &json, err);
	if (r < 0)
		return r;
	root = field_root(NULL, err);
	f = (struct field){.json = json, .up = &root, .key = "metadata", .err = err};
	token = field_text(&f, "continue");
	if (token != NULL && (strlen(token) >= size || token[strspn(token, TOKEN)] != '\0'))
		return field_bad(&f, "continue", "not base64, or too long");
	if (field_error(&f) == 0)
		snprintf(ret, size, "%s", token != NULL ? token : "");
	return field_error(&f);
}
