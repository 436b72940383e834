// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/lack.h"
#include "policy/base/arithmetic.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The text behind `word`, or NULL. */
static const char *after(const char *at, const char *word)
{
	size_t len = strlen(word);

	return at != NULL && strncmp(at, word, len) == 0 ? at + len : NULL;
}

static const char *read_number(const char *at, uint64_t *ret)
{
	char *end;

	if (at == NULL || *at < '0' || *at > '9')
		return NULL;
	errno = 0;
	*ret = strtoull(at, &end, 10);
	return errno == 0 && *ret < LIMIT_MAX ? end : NULL;
}

bool kube_parse_lack(const char *message, enum resource *ret, uint64_t *ret_amount)
{
	static const char *const names[RESOURCE_COUNT] = {
		[RESOURCE_CPU] = "cpu, ", [RESOURCE_MEMORY] = "memory, "};
	const char *at = message != NULL ? strstr(message, "enough resource: ") : NULL;
	uint64_t requested, used, capacity, needed;

	at = after(at, "enough resource: ");
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const char *rest = after(at, names[r]);

		rest = read_number(after(rest, "requested: "), &requested);
		rest = read_number(after(rest, ", used: "), &used);
		rest = read_number(after(rest, ", capacity: "), &capacity);
		if (rest == NULL)
			continue;
		needed = add_sat(requested, used);
		if (needed <= capacity)
			return false;
		*ret = r;
		*ret_amount = needed - capacity;
		return true;
	}
	return false;
}
