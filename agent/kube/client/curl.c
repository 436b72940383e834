// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/curl.h"
#include "policy/base/base.h"
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

struct curl_functions curl;

/* A symbol and the place for its address; the names are those of the members. */
static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define CURL_ROW(name) {"curl_" #name, offsetof(struct curl_functions, name)},
	CURL_FUNCTIONS(CURL_ROW)
#undef CURL_ROW
};

int curl_load(void)
{
	struct curl_functions loaded;
	void *library;

	if (curl.global_init != NULL)
		return 0;
	/* Never closed: OpenSSL does not survive it. */
	library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return -ELIBACC;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *symbol = dlsym(library, functions[i].name);

		if (symbol == NULL) {
			dlclose(library);
			return -ELIBACC;
		}
		memcpy((char *)&loaded + functions[i].offset, &symbol, sizeof symbol);
	}
	curl = loaded;
	return 0;
}
