// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/originals.h"
#include "agent/kube/model/field.h"
#include "agent/kube/model/names.h"
#include <errno.h>
#include <string.h>

static const char *const resource_keys[RESOURCE_COUNT] = {"cpu", "memory"};

/* Written as text, without an exception. */
static uint64_t originals_amount(const struct field *n, const char *key, enum resource r)
{
	if (field_text_is(n, key, "max"))
		field_bad(n, key, "no limit");
	return field_text(n, key) != NULL ? field_quantity(n, key, r) : 0;
}

static void read_resource(const struct field *container, enum resource r, struct kube_originals *o)
{
	struct field f = field_object(container, resource_keys[r]);
	uint64_t limit;

	if (f.json == NULL)
		return;
	o->limit[r] = originals_amount(&f, "original", r);
	o->request[r] = originals_amount(&f, "originalRequest", r);
	limit = originals_amount(&f, "limit", r);
	originals_amount(&f, "target", r);
	/* Without a limit there is only the original request. */
	if (o->limit[r] == 0 && limit == 0 && o->request[r] != 0 && !field_has(&f, "original"))
		return;
	if (o->limit[r] == 0 || o->limit[r] >= LIMIT_MAX || limit == 0)
		field_bad(&f, "original", "missing or not positive");
}

static int read_containers(const struct field *list, const char *container,
			   struct kube_originals *ret)
{
	bool found = false;
	const cJSON *j;

	cJSON_ArrayForEach (j, list->json) {
		struct kube_originals o = {{0}, {0}};
		const struct field f = {.json = j, .up = list, .key = j->string, .err = list->err};

		if (!cJSON_IsObject(j) || !kube_is_label(j->string))
			return field_bad(list, NULL, "not containers");
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			read_resource(&f, r, &o);
		if (field_error(list) < 0)
			return field_error(list);
		if (strcmp(j->string, container) != 0)
			continue;
		/* Of two entries it is not known which one vscaled wrote. */
		if (found)
			return field_bad(list, NULL, "a container twice");
		found = true;
		*ret = o;
	}
	return found ? 0 : -ENOENT;
}

int kube_originals_read(const char *text, const char *container, struct kube_originals *ret)
{
	OWN(drop_json) cJSON *json = NULL;
	struct kube_decode_error err;
	struct kube_originals o = {{0}, {0}};
	struct field root, list;
	size_t len = strnlen(text, KUBE_STATUS_MAX + 1);
	int r;

	if (len > KUBE_STATUS_MAX)
		return -EBADMSG;
	r = field_parse(text, len, &json, &err);
	if (r < 0)
		return r;
	root = field_root(json, &err);
	if (!cJSON_IsObject(json))
		return -EBADMSG;
	list = field_object(&root, "containers");
	r = err.error;
	if (r == 0)
		r = list.json != NULL ? read_containers(&list, container, &o) : -ENOENT;
	if (r == 0)
		*ret = o;
	return r;
}

static bool originals_fits(const struct kube_originals *o, const struct kube_container *c,
			   enum resource r)
{
	uint64_t request = o->request[r] != 0 ? o->request[r] : c->spec.request[r];

	return o->limit[r] != 0 && o->limit[r] <= c->spec.limit[r] && request <= o->limit[r];
}

bool kube_originals_fit(const struct kube_originals *o, const struct kube_container *c,
			uint32_t resources)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if ((resources & (1u << r)) && c->spec.limit[r] != LIMIT_MAX &&
		    !originals_fits(o, c, r))
			return false;
	return true;
}
