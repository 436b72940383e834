// SPDX-License-Identifier: Apache-2.0
/* The annotations of namespaces, from a list of the API server. */
#include "agent/kube/model/decode.h"
#include "test/check.h"
#include <errno.h>

#define LIST(items)     "{\"kind\":\"NamespaceList\",\"metadata\":{},\"items\":[" items "]}"
#define NS(name, notes) "{\"metadata\":{\"name\":\"" name "\",\"annotations\":{" notes "}}}"
#define AUTO            "\"vscaled.dev/mode\":\"Auto\""

static const struct {
	const char *text;
	int result;
	const char *want; /* "name key=value ...;" each */
} rows[] = {
	{LIST(""), 0, ""},
	{"{\"items\":null,\"kind\":\"PartialObjectMetadataList\"}", 0, ""},
	{LIST(NS("shop", AUTO)), 0, "shop mode=Auto;"},
	{LIST(NS("a", "\"x\":\"y\"") "," NS("shop", "\"x/y\":\"z\"," AUTO) ",{\"metadata\":{"
									   "\"name\":\"b\"}}"),
	 0, "shop mode=Auto;"},
	{LIST(NS("a", AUTO ",\"vscaled.dev/max-cpu\":\"2\"") "," NS("b", AUTO)), 0,
	 "a mode=Auto max-cpu=2;b mode=Auto;"},
	{LIST(NS("../x", AUTO)), -EBADMSG, ""},
	{LIST(NS("a", "\"vscaled.dev/mode\":7")), -EBADMSG, ""},
	{LIST("{\"metadata\":{}}"), -EBADMSG, ""},
	{LIST("{}"), -EBADMSG, ""},
	{LIST("7"), -EBADMSG, ""},
	{"{\"kind\":\"NamespaceList\"}", -EBADMSG, ""},
	{"{\"kind\":\"NamespaceList\",\"items\":{}}", -EBADMSG, ""},
	{"{\"kind\":\"PodList\",\"items\":[]}", -EBADMSG, ""},
	{"[]", -EBADMSG, ""},
	{"{\"kind\":\"NamespaceList\",\"items\":[", -EBADMSG, ""},
	{"", -EBADMSG, ""},
};

static void say(const struct kube_namespaces *n, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n->count; i++) {
		len += (size_t)snprintf(text + len, size - len, "%s", n->items[i].name);
		for (size_t k = 0; k < n->items[i].annotation_count; k++)
			len += (size_t)snprintf(text + len, size - len, " %s=%s",
						n->items[i].annotations[k].key,
						n->items[i].annotations[k].value);
		len += (size_t)snprintf(text + len, size - len, ";");
	}
}

int main(void)
{
	struct kube_namespaces last = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(kube_namespaces_drop) struct kube_namespaces got = {0}, again = {0};
		struct kube_decode_error err;
		char text[256];
		int r = kube_decode_namespaces(rows[i].text, strlen(rows[i].text), &got, &err);

		CHECK_EQ(r, rows[i].result);
		CHECK((r == 0) == (err.text[0] == '\0'));
		say(&got, text, sizeof text);
		CHECK_STR(text, rows[i].want);
		if (r < 0)
			continue;
		CHECK_OK(kube_decode_namespaces(rows[i].text, strlen(rows[i].text), &again, &err));
		CHECK(kube_namespaces_equal(&got, &again));
		CHECK_EQ(kube_namespaces_equal(&got, &last),
			 got.count == 0 || strcmp(rows[i].want, rows[i - 1].want) == 0);
		CHECK_EQ(kube_namespaces_find(&got, "shop") != NULL,
			 strstr(rows[i].want, "shop") != NULL);
		kube_namespaces_drop(&last);
		last = again;
		again = (struct kube_namespaces){0};
	}
	kube_namespaces_drop(&last);
	return check_result();
}
