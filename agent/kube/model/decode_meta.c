// SPDX-License-Identifier: Apache-2.0
/* metadata of a Pod. */
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_HASH "kubernetes.io/config.hash"
#define MIRROR      "kubernetes.io/config.mirror"

#define EXACT_INT ((1LL << 53) - 1)
/* The API allows 256 KiB of annotations. */
#define ANNOTATIONS_MAX 32u
/* Of a value that is no list. */
#define VALUE_MAX 256
/* Further ones are not read. */
#define LABELS_MAX 64u
/* kubelet: hex of an MD5. */
#define HASH_LENGTH 32u
/* CronJob names its jobs NAME-<minutes since 1970>, eight digits since 1989. */
#define JOB_DIGITS_MIN 8u

static int read_names(const struct field *meta, struct kube_pod *p)
{
	const struct {
		const char *key;
		bool (*valid)(const char *s);
		char **ret;
	} rows[] = {
		{"uid", kube_is_uid, &p->uid},
		{"namespace", kube_is_label, &p->namespace},
		{"name", kube_is_subdomain, &p->name},
		{"resourceVersion", kube_is_version, &p->resource_version},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		*rows[i].ret = field_name(meta, rows[i].key, rows[i].valid);
		if (*rows[i].ret == NULL)
			return field_bad(meta, rows[i].key, "missing");
	}
	return 0;
}

/* No value is valid that is longer; the API allows 256 KiB. */
static int longest(const char *key)
{
	static const char *const lists[] = {"policy", "containers"};

	if (strcmp(key, "status") == 0)
		return KUBE_STATUS_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (strcmp(key, lists[i]) == 0)
			return KUBE_ANNOTATION_MAX;
	return VALUE_MAX;
}

static int copy_annotation(const char *key, const char *value, struct kube_annotation *ret)
{
	int max = longest(key);

	ret->key = strdup(key);
	/* What is cut must not become valid by that. */
	if (strlen(value) <= (size_t)max)
		ret->value = strdup(value);
	else if (asprintf(&ret->value, "%.*s...", max, value) < 0)
		ret->value = NULL;
	return ret->key != NULL && ret->value != NULL ? 0 : -ENOMEM;
}

int decode_annotations(const struct field *annotations, struct kube_annotation **list,
		       size_t *count)
{
	const size_t domain = strlen(ANNOTATION_DOMAIN);
	struct kube_annotation *grown;
	const cJSON *j;
	int r = 0;

	cJSON_ArrayForEach (j, annotations->json) {
		const char *key = j->string + domain;

		if (strncmp(j->string, ANNOTATION_DOMAIN, domain) != 0 ||
		    kube_annotation_find(*list, *count, key) != NULL)
			continue;
		/* Of so many some are unknown, which is a mistake: nothing else is needed, but
		 * whether the pod is managed, and what vscaled wrote. */
		if (*count >= ANNOTATIONS_MAX && strcmp(key, "mode") != 0 &&
		    strcmp(key, "status") != 0)
			continue;
		if (!cJSON_IsString(j))
			return field_bad(annotations, NULL,
					 "one of " ANNOTATION_DOMAIN " is not a text");
		/* There are few of them, and every pod is kept. */
		grown = reallocarray(*list, *count + 1, sizeof *grown);
		if (grown == NULL)
			return -ENOMEM;
		*list = grown;
		r = copy_annotation(key, j->valuestring, &grown[(*count)++]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Set by the Vertical Pod Autoscaler's admission controller and updater (1.8). */
static bool is_marked_by_vpa(const struct field *annotations)
{
	static const char *const marks[] = {"vpaObservedContainers", "vpaUpdates",
					    "vpaInPlaceUpdated"};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (field_has(annotations, marks[i]))
			return true;
	return false;
}

/* The kubelet names a static pod's cgroup by the hash of its manifest. Any user may set these
 * annotations: they are used only where they agree and have the form of a hash, which no other
 * pod's uid has; a pod with others is read all the same, since its requests count. */
static int read_static(const struct field *annotations, struct kube_pod *p)
{
	const char *hash = field_text(annotations, CONFIG_HASH);
	const char *mirror = field_text(annotations, MIRROR);

	p->mirror = mirror != NULL;
	if (hash == NULL || mirror == NULL || strcmp(hash, mirror) != 0 ||
	    strlen(hash) != HASH_LENGTH || strspn(hash, "0123456789abcdef") != HASH_LENGTH)
		hash = p->uid;
	p->cgroup_uid = strdup(hash);
	return p->cgroup_uid != NULL ? 0 : -ENOMEM;
}

/* "web-7d9c" without "-7d9c". */
static size_t without_hash(const char *name, const char *hash)
{
	size_t len = strlen(name), n = hash != NULL ? strlen(hash) : 0;

	if (n > 0 && len > n + 1 && name[len - n - 1] == '-' && strcmp(name + len - n, hash) == 0)
		return len - n - 1;
	return len;
}

/* "report-29390400" without the minutes. */
static size_t without_minutes(const char *name)
{
	size_t len = strlen(name), n = len;

	while (n > 0 && isdigit((unsigned char)name[n - 1]))
		n--;
	return len - n >= JOB_DIGITS_MIN && n > 1 && name[n - 1] == '-' ? n - 1 : len;
}

/* The controllers whose ReplicaSets end in the hash of the pod template. */
static const struct {
	const char *label;
	const char *kind;
} hashes[] = {
	{"pod-template-hash", "Deployment"},
	{"rollouts-pod-template-hash", "Rollout"}, /* Argo Rollouts */
};

/* Cuts the hash from a ReplicaSet's name; its controller's kind, or NULL: there is none. */
static const char *cut_hash(const char *name, const struct field *labels, size_t *len)
{
	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++) {
		size_t n = without_hash(name, field_text(labels, hashes[i].label));

		if (n == *len)
			continue;
		*len = n;
		return hashes[i].kind;
	}
	return NULL;
}

static int name_workload(const char *kind, const char *name, const struct field *labels,
			 struct kube_pod *p)
{
	const char *above;
	size_t len;

	/* A mirror pod's owner is its node. */
	if (kind == NULL || name == NULL || strcmp(kind, "Node") == 0 || !kube_is_subdomain(name))
		return 0;
	len = strlen(name);
	if (strcmp(kind, "ReplicaSet") == 0) {
		above = cut_hash(name, labels, &len);
		kind = above != NULL ? above : kind;
	} else if (strcmp(kind, "Job") == 0 && without_minutes(name) < len) {
		len = without_minutes(name);
		kind = "CronJob";
	}
	p->workload = strndup(name, len);
	p->owner = strdup(kind);
	p->owned = true;
	return p->workload != NULL && p->owner != NULL ? 0 : -ENOMEM;
}

/* The controller's name, as far as it is known from the pod alone. */
static int read_workload(const struct field *meta, struct kube_pod *p)
{
	struct field labels = field_object(meta, "labels"), owner = {0};
	struct field owners = field_array(meta, "ownerReferences");

	while (p->workload == NULL && field_next(&owners, &owner)) {
		bool controller = field_bool(&owner, "controller");
		const char *kind = field_text(&owner, "kind"), *name = field_text(&owner, "name");
		int r = controller ? name_workload(kind, name, &labels, p) : 0;

		if (r < 0)
			return r;
	}
	if (p->workload == NULL)
		p->workload = strdup(p->name);
	return p->workload != NULL ? field_error(meta) : -ENOMEM;
}

static bool is_label_text(const char *s, const char *also)
{
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr(also, *s) == NULL)
			return false;
	return true;
}

/* As one text. What is not in the form of a label is left out: it would not be that text. */
static int read_labels(const struct field *labels, struct kube_pod *p)
{
	OWN(drop_free) char *text = NULL;
	size_t size = 0, count = 0;
	FILE *f = open_memstream(&text, &size);
	const cJSON *j;
	bool bad;

	if (f == NULL)
		return -ENOMEM;
	cJSON_ArrayForEach (j, labels->json)
		if (cJSON_IsString(j) && is_label_text(j->string, "-_./") &&
		    is_label_text(j->valuestring, "-_.") && count < LABELS_MAX)
			fprintf(f, "%s%s=%s", count++ > 0 ? "," : "", j->string, j->valuestring);
	bad = ferror(f);
	if (fclose(f) != 0 || bad)
		return -ENOMEM;
	if (count == 0)
		return 0;
	/* The stream's buffer is larger. */
	p->labels = strdup(text);
	return p->labels != NULL ? 0 : -ENOMEM;
}

/* Is an entry of the subresource "resize" ours, and the newest one? An entry goes when others have
 * changed all of its fields. */
static int read_manager(const struct field *meta, struct kube_pod *p)
{
	struct field fields = field_array(meta, "managedFields"), entry = {0};
	usec_t newest = 0;

	while (field_next(&fields, &entry)) {
		bool ours = field_text_is(&entry, "manager", "vscaled");
		usec_t at = field_time(&entry, "time");

		if (!field_text_is(&entry, "subresource", "resize"))
			continue;
		p->resize_ours |= ours;
		if (at >= newest)
			p->resize_newest_ours = ours;
		newest = MAX(newest, at);
	}
	return field_error(meta);
}

int decode_metadata(const struct field *pod, struct kube_pod *p)
{
	struct field meta = field_object(pod, "metadata");
	struct field annotations = field_object(&meta, "annotations");
	struct field labels = field_object(&meta, "labels");
	int r = read_names(&meta, p);

	if (r < 0)
		return r;
	p->generation = (uint64_t)field_int(&meta, "generation", 0, EXACT_INT);
	p->deleting = field_has(&meta, "deletionTimestamp");
	p->created_real = field_time(&meta, "creationTimestamp");
	p->vpa = is_marked_by_vpa(&annotations);
	r = decode_annotations(&annotations, &p->annotations, &p->annotation_count);
	if (r == 0)
		r = read_static(&annotations, p);
	if (r == 0)
		r = read_workload(&meta, p);
	if (r == 0)
		r = read_labels(&labels, p);
	return r == 0 ? read_manager(&meta, p) : r;
}

static void add_leaves(const struct field *fields, struct kube_pod *p, bool ours)
{
	for (size_t i = 0; i < p->container_count; i++) {
		struct kube_container *c = &p->containers[i];
		uint8_t leaves = (uint8_t)field_int(fields, c->name, 0, UINT8_MAX);

		*(ours ? &c->ours : &c->others) |= leaves;
	}
}

int decode_owners(const struct field *pod, struct kube_pod *p)
{
	struct field meta = field_object(pod, "metadata");
	struct field entries = field_array(&meta, "managedFields"), entry = {0};

	while (field_next(&entries, &entry)) {
		struct field fields = field_object(&entry, "fieldsV1");
		bool ours = field_text_is(&entry, "manager", "vscaled") &&
			    field_text_is(&entry, "operation", "Update") &&
			    field_text_is(&entry, "subresource", "resize");

		/* The oldest of many entries are merged into one: whose they were is not known. */
		if (!field_text_is(&entry, "manager", "ancient-changes"))
			add_leaves(&fields, p, ours);
	}
	return field_error(pod);
}
