// SPDX-License-Identifier: Apache-2.0
/* Every allocation fails once: no memory is said as that, nothing is half done, nothing leaks. */
#include "agent/kube/model/decode.h"
#include "agent/kube/model/encode.h"
#include "test/agent/annotation_rule.h"
#include "test/check.h"
#include <cjson/cJSON.h>
#include <errno.h>

#define POD                                                                                        \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\","        \
	"\"resourceVersion\":\"1\",\"annotations\":{\"vscaled.dev/mode\":\"Auto\"},"               \
	"\"managedFields\":[{\"manager\":\"m\",\"subresource\":\"resize\"}]},"                     \
	"\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"x\"}]},"                         \
	"\"status\":{\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\","          \
	"\"message\":\"m\"}],\"containerStatuses\":[{\"name\":\"x\",\"containerID\":\"r://i\"}]}}"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static long left = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

static int one_pod(void)
{
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	struct kube_decode_error err;

	return kube_decode_pod(POD, strlen(POD), &p, &err);
}

static int one_line(void)
{
	static const char line[] = "{\"type\":\"ADDED\",\"object\":" POD "}";
	struct kube_watch_line l = {.pod = NULL};
	struct kube_decode_error err;
	int r = kube_decode_watch(line, strlen(line), &l, &err);

	kube_pod_free(l.pod);
	return r;
}

static int drop(void *, struct kube_pod *pod)
{
	kube_pod_free(pod);
	return 0;
}

/* No pod counts as bad because there was no memory for it. */
static int one_list(void)
{
	static const char list[] = "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},"
				   "\"items\":[" POD "," POD "]}";
	struct kube_decode_error err;
	char version[16];
	size_t bad = 0;
	int r = kube_decode_pods(list, strlen(list), drop, NULL, version, sizeof version, &bad,
				 &err);

	CHECK_EQ(bad, 0);
	return r;
}

static int one_rule(void)
{
	static struct kube_annotation list[] = {
		{(char *)"mode", (char *)"Auto"},
		{(char *)"policy", (char *)"{\"containerPolicies\":[{\"containerName\":\"*\"}]}"}};
	static const struct config config;
	const struct kube_pod pod = {.annotations = list, .annotation_count = ARRAY_SIZE(list)};
	struct annotation_error err;
	struct container_rule rule;

	return annotation_rule(&(struct annotation_input){&config, &pod, NULL, false, false}, "app",
			       &rule, &err);
}

/* An encoder's text is whole or not there. */
static int text_result(char *text, const char *end)
{
	size_t n = text != NULL ? strlen(text) : 0;

	if (text == NULL)
		return -ENOMEM;
	CHECK(n > strlen(end) && strcmp(text + n - strlen(end), end) == 0);
	cJSON_free(text);
	return 0;
}

static struct kube_container container = {.name = (char *)"x", .kind = CONTAINER_APP};
static const struct kube_pod pod = {.uid = (char *)"c",
				    .namespace = (char *)"b",
				    .name = (char *)"a",
				    .resource_version = (char *)"1",
				    .containers = &container,
				    .container_count = 1};

static int one_resize(void)
{
	const struct report_patch patch = {
		.count = 1,
		.item = {{.limits = 3, .requests = 3, .limit = {10, MIB}, .request = {10, MIB}}}};

	return text_result(kube_encode_resize(&pod, &patch, true),
			   "\"requests\":{\"cpu\":\"10m\",\"memory\":\"1Mi\"}}}]}}");
}

static int one_annotation(void)
{
	return text_result(kube_encode_annotation(&pod, "v"), ":\"v\"}}}");
}

static int one_event(void)
{
	const struct kube_event e = {.namespace = "b",
				     .name = "e",
				     .type = "Normal",
				     .reason = "r",
				     .action = "a",
				     .note = "n",
				     .instance = "i",
				     .regarding = &pod};

	return text_result(kube_encode_event(&e), "\"resourceVersion\":\"1\"}}");
}

static int one_series(void)
{
	return text_result(kube_encode_event_series(2, 0), "\"1970-01-01T00:00:00.000000Z\"}}");
}

static int one_access(void)
{
	return text_result(kube_encode_access("get", "", "pods", "resize"),
			   "\"SelfSubjectAccessReview\"}");
}

int main(void)
{
	static int (*const attempts[])(void) = {one_pod,   one_line,   one_list,
						one_rule,  one_resize, one_annotation,
						one_event, one_series, one_access};
	cJSON_Hooks hooks = {__wrap_malloc, free};

	cJSON_InitHooks(&hooks);
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		long n = 0;
		int r;

		CHECK_EQ(attempts[i](), 0);
		for (r = -ENOMEM; r == -ENOMEM && n < 10000; n++) {
			left = n;
			r = attempts[i]();
			CHECK(r == 0 || r == -ENOMEM);
		}
		left = -1;
		CHECK(n > 5 && r == 0);
	}
	return check_result();
}
