// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/report/reporter_answer.h"
#include <string.h>
#include <strings.h>

/* First row that matches. Texts are of kube-apiserver 1.33 to 1.36; NULL matches everything. */
static const struct {
	unsigned status, status_max;
	const char *field;   /* the end of a cause's field */
	const char *message; /* in the cause's message, or in the Status' own */
	enum report_answer_kind kind;
} rows[] = {
	{200, 299, NULL, NULL, REPORT_ANSWER_OK},
	{401, 401, NULL, NULL, REPORT_ANSWER_FAILED},
	{403, 403, NULL, "cannot patch resource", REPORT_ANSWER_FORBIDDEN},
	{403, 403, NULL, "features", REPORT_ANSWER_UNSUPPORTED}, /* declared by the node */
	{403, 403, NULL, NULL, REPORT_ANSWER_REFUSED},
	{404, 404, NULL, NULL, REPORT_ANSWER_GONE},
	{408, 408, NULL, NULL, REPORT_ANSWER_FAILED},
	{409, 409, NULL, NULL, REPORT_ANSWER_CONFLICT},
	{410, 410, NULL, NULL, REPORT_ANSWER_GONE},
	{422, 422, "metadata.uid", NULL, REPORT_ANSWER_GONE}, /* another pod of this name */
	{422, 422, "limits[memory]", "cannot be decreased", REPORT_ANSWER_NO_DECREASE},
	{422, 422, NULL, "without support for resize", REPORT_ANSWER_UNSUPPORTED},
	{422, 422, "[]", NULL, REPORT_ANSWER_UNSUPPORTED}, /* static and Windows pods */
	{422, 422, "patch", NULL, REPORT_ANSWER_UNSUPPORTED},
	{422, 422, NULL, NULL, REPORT_ANSWER_REFUSED},
	{429, 429, NULL, NULL, REPORT_ANSWER_SLOW_DOWN},
	{400, 499, NULL, NULL, REPORT_ANSWER_UNSUPPORTED},
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool matches(const char *field, const char *message, const struct kube_status *s)
{
	bool named = field == NULL && message == NULL;

	if (field == NULL && message != NULL)
		named = strstr(s->message, message) != NULL;
	for (uint32_t i = 0; i < s->cause_count && !named; i++)
		named = (field == NULL || ends_with(s->cause[i].field, field)) &&
			(message == NULL || strstr(s->cause[i].message, message) != NULL);
	return named;
}

/* The text without the pod's own name, which may contain anything. */
static const char *reason_of(const char *message)
{
	static const char *const starts[] = {" is forbidden: ", " is invalid: "};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		const char *at = strstr(message, starts[i]);

		if (at != NULL)
			return at + strlen(starts[i]);
	}
	return message;
}

uint32_t reporter_resources_named(const char *text)
{
	bool quoted = false;
	uint32_t found = 0;

	for (; *text != '\0'; text++) {
		quoted ^= *text == '"';
		for (size_t r = 0; r < RESOURCE_COUNT && !quoted; r++)
			if (strncasecmp(text, resource_names[r], strlen(resource_names[r])) == 0)
				found |= 1u << r;
	}
	return found;
}

/* RESOURCES_* that the causes or the text name; 0: none of them. */
static uint32_t resources_of(const struct kube_status *s)
{
	uint32_t found = reporter_resources_named(reason_of(s->message));

	for (uint32_t i = 0; i < s->cause_count; i++)
		found |= reporter_resources_named(s->cause[i].field);
	return found;
}

/* Is what is requested the cause, and no limit? The node's capacity counts requests; a quota says
 * what it counts: "exceeded quota: q, requested: requests.cpu=900m, used: ..., limited: ...". */
static bool is_about_requests(const struct kube_status *s)
{
	const char *quota = strstr(reason_of(s->message), "exceeded quota: ");
	const char *counted = quota != NULL ? strstr(quota, ", requested: ") : NULL;

	for (uint32_t i = 0; i < s->cause_count; i++)
		if (strcmp(s->cause[i].reason, "NodeCapacity") == 0)
			return true;
	return counted != NULL && strstr(counted, "limits.") == NULL;
}

struct report_answer reporter_classify(const struct kube_answer *a, struct kube_status *ret_status,
				       bool *ret_missing)
{
	struct report_answer answer = {.kind = REPORT_ANSWER_FAILED,
				       .retry_after_usec = a->retry_after_usec};

	memset(ret_status, 0, sizeof *ret_status);
	*ret_missing = false;
	if (a->status / 100 != 2 && a->status != 0)
		kube_decode_status(a->body, a->len, ret_status);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (a->status >= rows[i].status && a->status <= rows[i].status_max &&
		    matches(rows[i].field, rows[i].message, ret_status)) {
			answer.kind = rows[i].kind;
			break;
		}
	if (answer.retry_after_usec == 0)
		answer.retry_after_usec = ret_status->retry_after_usec;
	if (answer.kind == REPORT_ANSWER_REFUSED) {
		answer.resources = resources_of(ret_status);
		answer.requests = is_about_requests(ret_status);
	}
	/* "pods "web-0" not found" is the pod; any other 404 is the path. */
	if (a->status == 404)
		*ret_missing = strncmp(ret_status->message, "pods \"", 6) != 0;
	return answer;
}
