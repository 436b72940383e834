// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/report/reporter_answer.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define POLICY "ValidatingAdmissionPolicy '"

/* First row that matches. Texts are of kube-apiserver 1.33 to 1.36; NULL matches everything. Only
 * their beginnings are compared: what follows may be a tenant's. */
static const struct {
	unsigned status, status_max;
	const char *field;   /* the end of a cause's field */
	const char *message; /* the beginning of a cause's message, or of reporter_reason() */
	enum report_answer_kind kind;
} rows[] = {
	{200, 299, NULL, NULL, REPORT_ANSWER_OK},
	{400, 599, NULL, "admission webhook \"", REPORT_ANSWER_REFUSED}, /* any status it likes */
	{401, 422, NULL, POLICY, REPORT_ANSWER_REFUSED},
	{401, 401, NULL, NULL, REPORT_ANSWER_FAILED},
	/* User "x" cannot patch resource "pods/resize" in API group "" in the namespace "y" */
	{403, 403, NULL, "User \"", REPORT_ANSWER_FORBIDDEN},
	{403, 403, NULL, "pod update requires features ", REPORT_ANSWER_UNSUPPORTED},
	{403, 403, NULL, NULL, REPORT_ANSWER_REFUSED},
	{404, 404, NULL, NULL, REPORT_ANSWER_GONE},
	{408, 408, NULL, NULL, REPORT_ANSWER_FAILED},
	{409, 409, NULL, NULL, REPORT_ANSWER_CONFLICT},
	{410, 410, NULL, NULL, REPORT_ANSWER_GONE},
	{422, 422, "metadata.uid", NULL, REPORT_ANSWER_GONE}, /* another pod of this name */
	{422, 422, "limits[memory]", "Forbidden: memory limits cannot be decreased",
	 REPORT_ANSWER_NO_DECREASE},
	{422, 422, NULL, "Forbidden: Pod running on node without support",
	 REPORT_ANSWER_UNSUPPORTED},
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

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

const char *reporter_reason(const char *message)
{
	static const char *const starts[] = {" is forbidden: ", " is invalid: "};
	const char *at = message + strcspn(message, " ");

	if (starts_with(at, " \""))
		at += 2 + strcspn(at + 2, "\"");
	at += *at == '"';
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (starts_with(at, starts[i]))
			return at + strlen(starts[i]);
	return message;
}

static bool matches(const char *field, const char *message, const struct kube_status *s)
{
	bool named = field == NULL && message == NULL;

	if (field == NULL && message != NULL)
		named = starts_with(reporter_reason(s->message), message);
	for (uint32_t i = 0; i < s->cause_count && !named; i++)
		named = (field == NULL || ends_with(s->cause[i].field, field)) &&
			(message == NULL || starts_with(s->cause[i].message, message));
	return named;
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

/* What stands behind the name of a quota or policy, which may be that of a resource; NULL: the text
 * does not begin with start. */
static const char *behind_name(const struct kube_status *s, const char *start, const char *end)
{
	const char *reason = reporter_reason(s->message);

	return starts_with(reason, start) ? strstr(reason, end) : NULL;
}

static const char *counted_by_quota(const struct kube_status *s)
{
	return behind_name(s, "exceeded quota: ", ", requested: ");
}

/* RESOURCES_* that the causes or the text name; 0: none of them. */
static uint32_t resources_of(const struct kube_status *s)
{
	const char *text = counted_by_quota(s) ?: behind_name(s, POLICY, " denied request: ");
	uint32_t found = reporter_resources_named(text ?: reporter_reason(s->message));

	for (uint32_t i = 0; i < s->cause_count; i++)
		found |= reporter_resources_named(s->cause[i].field);
	return found;
}

/* Is what is requested the cause, and no limit? The node's capacity counts requests; a quota says
 * what it counts: "exceeded quota: q, requested: requests.cpu=900m, used: ..., limited: ...". */
static bool is_about_requests(const struct kube_status *s)
{
	const char *counted = counted_by_quota(s);

	for (uint32_t i = 0; i < s->cause_count; i++)
		if (strcmp(s->cause[i].reason, "NodeCapacity") == 0)
			return true;
	return counted != NULL && strstr(counted, "limits.") == NULL;
}

struct report_answer reporter_classify(const struct kube_answer *a, struct kube_status *ret_status)
{
	struct report_answer answer = {.kind = REPORT_ANSWER_FAILED,
				       .retry_after_usec = a->retry_after_usec};

	memset(ret_status, 0, sizeof *ret_status);
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
	/* A failed webhook, or one that is slower than the request may take. A store that fails has
	 * no reason, a proxy no Status. */
	answer.server_works = answer.kind == REPORT_ANSWER_REFUSED ||
			      (a->status != 0 && a->status != 401 && a->status < 500) ||
			      strcmp(ret_status->reason, "InternalError") == 0 ||
			      strcmp(ret_status->reason, "Timeout") == 0;
	/* "pods "web-0" not found" is the pod; any other 404 is the path. */
	if (answer.kind == REPORT_ANSWER_GONE && a->status == 404)
		answer.no_path = !starts_with(ret_status->message, "pods \"");
	return answer;
}

struct report_answer reporter_refusal_of(const char *text)
{
	struct kube_status s = {0};

	snprintf(s.message, sizeof s.message, "%s", text);
	return (struct report_answer){.kind = REPORT_ANSWER_REFUSED,
				      .resources = resources_of(&s),
				      .requests = is_about_requests(&s)};
}

void holds_add(struct holds *h, uint64_t space, usec_t until, usec_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++)
		if (h->item[i].until > now && h->item[i].space != space)
			h->item[kept++] = h->item[i];
	h->count = MIN(kept, HOLDS_MAX - 1);
	h->item[h->count].space = space;
	h->item[h->count++].until = until;
}

usec_t holds_until(const struct holds *h, uint64_t space)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->item[i].space == space)
			return h->item[i].until;
	return 0;
}
