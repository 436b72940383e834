// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/decode_impl.h"
#include <stdio.h>

static void copy(const struct field *n, const char *key, char *ret, size_t size)
{
	const char *text = field_text(n, key);

	if (text != NULL && (size_t)snprintf(ret, size, "%s", text) >= size)
		field_bad(n, key, "longer than %zu bytes", size - 1);
}

int kube_decode_lease(const char *text, size_t len, struct kube_lease *ret,
		      struct kube_decode_error *err)
{
	OWN(drop_json) cJSON *json = NULL;
	struct kube_lease lease = {.holder = ""};
	struct field root, meta, spec;
	int r = decode_kind(text, len, "Lease", &json, &root, err);

	if (r < 0)
		return r;
	meta = field_object(&root, "metadata");
	spec = field_object(&root, "spec");
	copy(&meta, "resourceVersion", lease.version, sizeof lease.version);
	copy(&spec, "holderIdentity", lease.holder, sizeof lease.holder);
	lease.renewed_real = field_time(&spec, "renewTime");
	if (err->error == 0 && lease.version[0] == '\0')
		field_bad(&meta, "resourceVersion", "missing");
	if (err->error == 0)
		*ret = lease;
	return err->error;
}
