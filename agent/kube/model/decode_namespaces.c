// SPDX-License-Identifier: Apache-2.0
/* Annotations of namespaces, from a list that is decoded one item at a time. */
#include "agent/kube/model/decode.h"
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include <errno.h>
#include <string.h>

static void namespace_free(struct kube_namespace *n)
{
	kube_annotations_free(n->annotations, n->annotation_count);
	free(n->name);
	*n = (struct kube_namespace){0};
}

void kube_namespaces_drop(struct kube_namespaces *n)
{
	for (size_t i = 0; i < n->count; i++)
		namespace_free(&n->items[i]);
	free(n->items);
	*n = (struct kube_namespaces){0};
}

static int read_namespace(const struct field *item, struct kube_namespace *n)
{
	struct field meta = field_object(item, "metadata");
	struct field annotations = field_object(&meta, "annotations");
	int r;

	n->name = field_name(&meta, "name", kube_is_label);
	if (n->name == NULL)
		return field_bad(&meta, "name", "missing");
	r = decode_annotations(&annotations, &n->annotations, &n->annotation_count);
	return r < 0 ? r : field_error(item);
}

static int add_namespace(const struct field *item, void *arg)
{
	struct kube_namespaces *all = arg;
	struct kube_namespace n = {0};
	struct kube_namespace *grown;
	int r = read_namespace(item, &n);

	if (r == 0 && n.annotation_count > 0) {
		grown = reallocarray(all->items, all->count + 1, sizeof *grown);
		r = grown != NULL ? 0 : -ENOMEM;
		if (grown != NULL) {
			all->items = grown;
			all->items[all->count++] = n;
			return 0;
		}
	}
	namespace_free(&n);
	return r;
}

int kube_decode_namespaces(const char *text, size_t len, struct kube_namespaces *ret,
			   struct kube_decode_error *err)
{
	OWN(kube_namespaces_drop) struct kube_namespaces all = {0};
	int r = decode_list(text, len, "\"NamespaceList\"", add_namespace, &all, err);

	if (r < 0)
		return r;
	*ret = all;
	all = (struct kube_namespaces){0};
	return 0;
}

const struct kube_namespace *kube_namespaces_find(const struct kube_namespaces *n, const char *name)
{
	for (size_t i = 0; n != NULL && i < n->count; i++)
		if (strcmp(n->items[i].name, name) == 0)
			return &n->items[i];
	return NULL;
}

static bool same(const struct kube_namespace *a, const struct kube_namespace *b)
{
	if (strcmp(a->name, b->name) != 0 || a->annotation_count != b->annotation_count)
		return false;
	for (size_t i = 0; i < a->annotation_count; i++)
		if (strcmp(a->annotations[i].key, b->annotations[i].key) != 0 ||
		    strcmp(a->annotations[i].value, b->annotations[i].value) != 0)
			return false;
	return true;
}

bool kube_namespaces_equal(const struct kube_namespaces *a, const struct kube_namespaces *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!same(&a->items[i], &b->items[i]))
			return false;
	return true;
}
