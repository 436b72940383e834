// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/peek.h"
#include "agent/base/json.h"
#include "agent/kube/model/decode_impl.h"
#include "agent/kube/model/names.h"
#include "policy/base/text.h"
#include <stdio.h>
#include <string.h>

/* What is left of the text, from a value on. */
static struct span rest_at(const struct span *whole, const char *at)
{
	return (struct span){at, (size_t)(whole->s + whole->len - at)};
}

/* A string without an escape; another value, or a longer one, leaves ret as it is. */
static void copy_string(const struct span *value, char *ret, size_t size)
{
	if (value->len < 2 || value->s[0] != '"' || value->len - 2 >= size ||
	    memchr(value->s, '\\', value->len) != NULL)
		return;
	memcpy(ret, value->s + 1, value->len - 2);
	ret[value->len - 2] = '\0';
}

static void read_meta(const struct span *meta, struct kube_peek *ret)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
		bool (*valid)(const char *s);
	} rows[] = {
		{"uid", ret->uid, sizeof ret->uid, kube_is_uid},
		{"namespace", ret->namespace, sizeof ret->namespace, kube_is_label},
		{"name", ret->name, sizeof ret->name, kube_is_subdomain},
		{"resourceVersion", ret->resource_version, sizeof ret->resource_version,
		 kube_is_version},
	};
	struct span key, value;
	const char *at = NULL;

	while (scan_next(meta, &at, &key, &value))
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			/* Of two the first counts. */
			if (span_is(&key, rows[i].key) && rows[i].text[0] == '\0')
				copy_string(&value, rows[i].text, rows[i].size);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].valid(rows[i].text))
			rows[i].text[0] = '\0';
}

static void read_object(const struct span *object, struct kube_peek *ret)
{
	struct span key, value;
	const char *at = NULL;

	while (scan_key(object, &at, &key)) {
		if (span_is(&key, "metadata")) {
			value = rest_at(object, at);
			read_meta(&value, ret);
			return;
		}
		if (!scan_value(object, &at, &value))
			return;
	}
}

void kube_peek_pod(const char *text, size_t len, struct kube_peek *ret)
{
	struct span object = {text, len};

	*ret = (struct kube_peek){.event = WATCH_UNKNOWN};
	read_object(&object, ret);
}

void kube_peek_watch(const char *text, size_t len, struct kube_peek *ret)
{
	struct span line = {text, len}, key, value;
	const char *at = NULL;
	char type[32] = "";

	*ret = (struct kube_peek){.event = WATCH_UNKNOWN};
	while (scan_key(&line, &at, &key)) {
		if (span_is(&key, "object")) {
			value = rest_at(&line, at);
			read_object(&value, ret);
			break;
		}
		if (!scan_value(&line, &at, &value))
			break;
		if (span_is(&key, "type") && type[0] == '\0')
			copy_string(&value, type, sizeof type);
	}
	ret->event = decode_event_type(type, strlen(type));
}

bool kube_skipped_changed(struct kube_skipped_memory *m, const struct kube_peek *p,
			  const char *reason)
{
	/* An offset in a reason may differ each time: of a known pod the uid alone counts. */
	uint64_t h = text_hash(TEXT_HASH_FIRST, p->uid[0] != '\0' ? p->uid : reason);

	h += h == 0;
	for (size_t i = 0; i < KUBE_SKIPPED_REPORTED; i++)
		if (m->reported[i] == h)
			return false;
	m->reported[m->next++ % KUBE_SKIPPED_REPORTED] = h;
	return true;
}

void kube_skipped_text(const struct kube_peek *p, const char *reason, char *ret, size_t size)
{
	if (p->name[0] == '\0')
		snprintf(ret, size, "%s", reason);
	else
		snprintf(ret, size, "%s%s%s: %s", p->namespace, p->namespace[0] != '\0' ? "/" : "",
			 p->name, reason);
}
