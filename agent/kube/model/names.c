// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/names.h"
#include "cgroup/kubepods.h"
#include <string.h>

#define LABEL_MAX     63u
#define SUBDOMAIN_MAX 253u

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

bool kube_is_label(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= LABEL_MAX && s[0] != '-' && s[len - 1] != '-' &&
	       strspn(s, LOWER DIGITS "-") >= len;
}

/* The parts of a subdomain may be longer than 63 together, never empty. */
bool kube_is_subdomain(const char *s)
{
	size_t len = strlen(s);

	if (len == 0 || len > SUBDOMAIN_MAX)
		return false;
	for (;;) {
		size_t n = strcspn(s, ".");

		if (n == 0 || s[0] == '-' || s[n - 1] == '-' || strspn(s, LOWER DIGITS "-") < n)
			return false;
		if (s[n] == '\0')
			return true;
		s += n + 1;
	}
}

static bool word(const char *s, const char *letters, size_t size)
{
	size_t len = strlen(s);

	return len > 0 && len < size && strspn(s, letters) == len && s[0] != '-';
}

bool kube_is_uid(const char *s)
{
	return word(s, LOWER UPPER DIGITS "-", KUBEPODS_UID_MAX);
}

bool kube_is_container_id(const char *s)
{
	return word(s, LOWER UPPER DIGITS "-_", KUBEPODS_ID_MAX);
}

bool kube_is_kind(const char *s)
{
	return word(s, LOWER UPPER DIGITS, LABEL_MAX);
}

bool kube_owns_pods(const char *kind)
{
	static const char *const kinds[] = {
		"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController",
		"Job",        "CronJob",    "Rollout",     "Pod",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}
