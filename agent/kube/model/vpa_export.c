// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/vpa_export.h"
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include "policy/base/text.h"
#include <errno.h>
#include <stdio.h>

/* VPA 1.8 writes "v3" and reads nothing else. */
#define CHECKPOINT_VERSION "v3"
/* 100 half lives of decay on a century of seconds stay below. */
#define WEIGHT_MAX 1e50

static void target_clear(struct vpa_target *t)
{
	free(t->namespace);
	free(t->vpa);
	free(t->workload);
}

void vpa_export_drop(struct vpa_export *e)
{
	for (size_t i = 0; i < e->saved_count; i++) {
		free(e->saved[i].namespace);
		free(e->saved[i].name);
		free(e->saved[i].vpa);
		free(e->saved[i].container);
		free(e->saved[i].refused);
	}
	for (size_t i = 0; i < e->target_count; i++)
		target_clear(&e->targets[i]);
	free(e->saved);
	free(e->targets);
	*e = (struct vpa_export){0};
}

/* A name that must be there. */
static char *needed_name(const struct field *n, const char *key, bool (*valid)(const char *s))
{
	char *name = field_name(n, key, valid);

	if (name == NULL)
		field_bad(n, key, "missing");
	return name;
}

/* --- checkpoints */

static double read_total(const struct field *histogram)
{
	const cJSON *j = cJSON_GetObjectItemCaseSensitive(histogram->json, "totalWeight");

	if (j == NULL || cJSON_IsNull(j))
		return 0;
	if (!cJSON_IsNumber(j) || !(j->valuedouble >= 0 && j->valuedouble <= WEIGHT_MAX)) {
		field_bad(histogram, "totalWeight", "not a number from 0 to 1e50");
		return 0;
	}
	return j->valuedouble;
}

/* The number of a bucket as VPA writes it; -1: it is none. */
static int32_t bucket_number(const char *key)
{
	uint64_t n;
	const char *end = text_number(key, &n);

	if (end == NULL || *end != '\0' || (key[0] == '0' && key[1] != '\0'))
		return -1;
	return n < HISTOGRAM_BUCKETS ? (int32_t)n : -1;
}

static void read_buckets(const struct field *histogram, struct checkpoint *ret)
{
	struct field weights = field_object(histogram, "bucketWeights");
	bool seen[HISTOGRAM_BUCKETS] = {false};
	const cJSON *j;

	cJSON_ArrayForEach (j, weights.json) {
		int32_t bucket = bucket_number(j->string);
		uint32_t weight = (uint32_t)field_int(&weights, j->string, 0, UINT32_MAX);

		if (bucket < 0)
			field_bad(&weights, NULL, "a key is no bucket from 0 to %d",
				  HISTOGRAM_BUCKETS - 1);
		else if (seen[bucket])
			field_bad(&weights, NULL, "bucket %d is there twice", bucket);
		if (field_error(&weights) < 0)
			return;
		seen[bucket] = true;
		ret->buckets[ret->count++] = (struct checkpoint_bucket){bucket, weight};
	}
}

static void read_histogram(const struct field *status, const char *key, struct checkpoint *ret)
{
	struct field histogram = field_object(status, key);
	usec_t reference = field_time(&histogram, "referenceTimestamp");
	uint64_t sum = 0;

	*ret = (struct checkpoint){.reference_usec = HISTOGRAM_YEAR_1_USEC};
	ret->total = read_total(&histogram);
	read_buckets(&histogram, ret);
	for (uint32_t i = 0; i < ret->count; i++)
		sum += ret->buckets[i].weight;
	if ((sum > 0) != (ret->total > 0))
		field_bad(&histogram, NULL, "bucketWeights and totalWeight contradict each other");
	if (sum > 0 && reference == 0)
		field_bad(&histogram, "referenceTimestamp", "missing");
	if (reference > 0)
		ret->reference_usec = (int64_t)reference;
}

static void read_status(const struct field *object, struct history_checkpoint *h)
{
	struct field status = field_object(object, "status");

	if (!field_text_is(&status, "version", CHECKPOINT_VERSION))
		field_bad(&status, "version", "not " CHECKPOINT_VERSION);
	h->first_real = field_time(&status, "firstSampleStart");
	h->last_real = field_time(&status, "lastSampleStart");
	h->samples = (uint64_t)field_int(&status, "totalSamplesCount", 0, INT64_MAX);
	read_histogram(&status, "cpuHistogram", &h->histogram[RESOURCE_CPU]);
	read_histogram(&status, "memoryHistogram", &h->histogram[RESOURCE_MEMORY]);
	if (h->samples == 0)
		field_bad(&status, "totalSamplesCount", "0 or missing: no sample of CPU yet");
	if (h->last_real == 0)
		field_bad(&status, "lastSampleStart", "missing");
	/* Older VPAs did not always write it: then a sample stands for a minute, as in VPA. */
	if (h->first_real == 0)
		h->first_real = h->last_real - MIN(h->samples * USEC_PER_MIN, h->last_real);
	if (h->last_real < h->first_real)
		field_bad(&status, "lastSampleStart", "before firstSampleStart");
}

/* What is wrong with one checkpoint is kept with it. */
static int read_saved(const struct field *object, struct vpa_export *e)
{
	struct vpa_saved *grown = reallocarray(e->saved, e->saved_count + 1, sizeof *grown), *s;
	struct field meta = field_object(object, "metadata"), spec = field_object(object, "spec");

	if (grown == NULL)
		return -ENOMEM;
	e->saved = grown;
	s = &grown[e->saved_count++];
	*s = (struct vpa_saved){0};
	s->namespace = needed_name(&meta, "namespace", kube_is_label);
	s->name = needed_name(&meta, "name", kube_is_subdomain);
	s->vpa = needed_name(&spec, "vpaObjectName", kube_is_subdomain);
	s->container = needed_name(&spec, "containerName", kube_is_label);
	read_status(object, &s->history);
	if (field_error(object) != -EBADMSG)
		return field_error(object);
	s->refused = strdup(object->err->text);
	*object->err = (struct kube_decode_error){.text = ""};
	return s->refused != NULL ? 0 : -ENOMEM;
}

/* --- autoscalers */

static int read_target(const struct field *object, struct vpa_export *e)
{
	struct vpa_target *grown = reallocarray(e->targets, e->target_count + 1, sizeof *grown), *t;
	struct field meta = field_object(object, "metadata"), spec = field_object(object, "spec");
	struct field target = field_object(&spec, "targetRef");
	OWN(drop_free) char *kind = needed_name(&target, "kind", kube_is_kind);
	OWN(drop_free) char *name = needed_name(&target, "name", kube_is_subdomain);

	if (grown == NULL)
		return -ENOMEM;
	e->targets = grown;
	t = &grown[e->target_count];
	*t = (struct vpa_target){
		.namespace = needed_name(&meta, "namespace", kube_is_label),
		.vpa = needed_name(&meta, "name", kube_is_subdomain),
	};
	if (field_error(object) == 0 && asprintf(&t->workload, "%s/%s", kind, name) < 0) {
		t->workload = NULL;
		target_clear(t);
		return -ENOMEM;
	}
	if (field_error(object) == 0) {
		t->owns_pods = kube_owns_pods(kind);
		e->target_count++;
		return 0;
	}
	target_clear(t);
	if (field_error(object) != -EBADMSG)
		return field_error(object);
	*object->err = (struct kube_decode_error){.text = ""};
	return 0;
}

/* --- list */

static int read_object(const struct field *object, struct vpa_export *e)
{
	if (field_text_is(object, "kind", "VerticalPodAutoscalerCheckpoint"))
		return read_saved(object, e);
	if (field_text_is(object, "kind", "VerticalPodAutoscaler"))
		return read_target(object, e);
	return field_error(object);
}

static int read_text(const struct span *text, struct vpa_export *e, struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	int r = decode_object(text->s, text->len, &json, err);
	struct field root = field_root(json, err);

	return r < 0 ? r : read_object(&root, e);
}

/* The member "items" of an object; false: it has none. */
static bool find_items(const struct span *object, struct span *ret)
{
	struct span key;
	const char *at = NULL;

	while (scan_next(object, &at, &key, ret))
		if (span_is(&key, "items"))
			return true;
	return false;
}

int vpa_export_decode(const char *text, size_t len, struct vpa_export *ret,
		      struct kube_decode_error *err)
{
	OWN(vpa_export_drop) struct vpa_export e = {0};
	struct span document, items, key, value;
	const char *at = NULL;
	struct scan_error fault;
	int r = 0;

	*err = (struct kube_decode_error){.text = ""};
	if (scan_document(text, len, &document, &fault) < 0)
		return field_bad_scan(err, &fault);
	if (document.s[0] != '{' || !find_items(&document, &items))
		r = read_text(&document, &e, err);
	else if (items.s[0] != '[')
		r = field_bad_scan(
			err, &(struct scan_error){"items is not a list", (size_t)(items.s - text)});
	else /* One tree at a time: a large list has more values than a parser may build. */
		while (r == 0 && scan_next(&items, &at, &key, &value))
			r = read_text(&value, &e, err);
	if (r < 0)
		return r;
	*ret = e;
	e = (struct vpa_export){0};
	return 0;
}

const struct vpa_target *vpa_export_target(const struct vpa_export *e,
					   const struct vpa_saved *saved)
{
	for (size_t i = 0; saved->refused == NULL && i < e->target_count; i++)
		if (strcmp(e->targets[i].namespace, saved->namespace) == 0 &&
		    strcmp(e->targets[i].vpa, saved->vpa) == 0)
			return &e->targets[i];
	return NULL;
}
