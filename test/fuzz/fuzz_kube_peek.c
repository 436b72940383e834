// SPDX-License-Identifier: Apache-2.0
/*
 * What is said of an object of which only the beginning may be there. What decodes as a whole must
 * have the same names; whatever comes, names are safe in paths, and a longer beginning never takes
 * a name back.
 */
#include "agent/kube/model/names.h"
#include "agent/kube/model/peek.h"
#include "test/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

static int same(const char *peeked, const char *decoded)
{
	return strcmp(peeked, decoded) == 0;
}

static void check(const struct kube_peek *p)
{
	require(p->uid[0] == '\0' || kube_is_uid(p->uid), "uid");
	require(p->namespace[0] == '\0' || kube_is_label(p->namespace), "namespace");
	require(p->name[0] == '\0' || kube_is_subdomain(p->name), "name");
}

static void check_part(const char *text, size_t part, const struct kube_peek *whole)
{
	struct kube_peek p;

	kube_peek_watch(text, part, &p);
	check(&p);
	require(p.uid[0] == '\0' || same(p.uid, whole->uid), "another uid");
	require(p.name[0] == '\0' || same(p.name, whole->name), "another name");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_watch_line l = {.event = WATCH_UNKNOWN};
	struct kube_decode_error err = {.text = ""};
	const char *text = (const char *)data;
	struct kube_peek p;

	kube_peek_pod(text, size, &p);
	check(&p);
	kube_peek_watch(text, size, &p);
	check(&p);
	for (size_t part = 0; part < size; part += 1 + size / 32)
		check_part(text, part, &p);
	if (kube_decode_watch(text, size, &l, &err) < 0)
		return 0;
	/* Keys that are written with escapes are other keys to it. */
	if (l.pod != NULL && memchr(text, '\\', size) == NULL) {
		require(p.uid[0] == '\0' || same(p.uid, l.pod->uid), "not the decoder's uid");
		require(p.event == WATCH_UNKNOWN || p.event == l.event, "not the decoder's event");
	}
	kube_pod_free(l.pod);
	return 0;
}
