// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/model/names.h"
#include "cgroup/kubepods.h"
#include <ctype.h>
#include <string.h>

#define LABEL_MAX     63u
#define SUBDOMAIN_MAX 253u
#define VERSION_MAX   127u

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* A label, or a part of a subdomain. */
static bool is_part(const char *s, size_t len)
{
	return len > 0 && s[0] != '-' && s[len - 1] != '-' && strspn(s, LOWER DIGITS "-") >= len;
}

bool kube_is_label(const char *s)
{
	return strlen(s) <= LABEL_MAX && is_part(s, strlen(s));
}

/* The parts of a subdomain may be longer than 63 together, never empty. */
bool kube_is_subdomain(const char *s)
{
	size_t len = strlen(s), n;

	for (n = strcspn(s, "."); is_part(s, n) && s[n] != '\0'; n = strcspn(s, "."))
		s += n + 1;
	return len <= SUBDOMAIN_MAX && is_part(s, n);
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

bool kube_is_version(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)s[i]))
			return false;
	return n > 0 && n <= VERSION_MAX;
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
