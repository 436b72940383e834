// SPDX-License-Identifier: Apache-2.0
/*
 * Every recorded answer to a resize or an annotation, classified; and a recorded kubelet's resize,
 * followed. The folder is $VSCALED_KUBE_RECORDED, else ../shared/kube-recorded; without it only the
 * answers in this file are checked.
 */
#include "agent/kube/report/reporter_answer.h"
#include "test/kube/reporter_rig.h"
#include <cjson/cJSON.h>

#define CPU  RESOURCES_CPU
#define MEM  RESOURCES_MEMORY
#define BOTH RESOURCES_BOTH
#define OK_  REPORT_ANSWER_OK
#define REF  REPORT_ANSWER_REFUSED
#define UNS  REPORT_ANSWER_UNSUPPORTED
#define ANY  99u

/* What differs from the status' own meaning; name "": of all of that status. First match wins. */
static const struct {
	const char *name;
	unsigned status;
	enum report_answer_kind kind;
	uint32_t resources; /* ANY: not checked */
} want[] = {
	{"011-", 422, UNS, 0},
	{"023-", 422, REPORT_ANSWER_NO_DECREASE, ANY},
	{"061-", 422, REPORT_ANSWER_NO_DECREASE, ANY},
	{"071-", 422, REPORT_ANSWER_NO_DECREASE, ANY},
	{"075-", 422, REPORT_ANSWER_NO_DECREASE, ANY},
	{"0a0-", 422, REPORT_ANSWER_NO_DECREASE, ANY},
	{"083-", 422, REF, MEM}, /* "cannot be added" */
	{"025-", 422, REF, CPU},
	{"028-", 422, REF, 0},
	{"029-", 422, REF, 0},
	{"036-", 403, REF, CPU},
	{"037-", 422, UNS, ANY},
	{"049-", 422, UNS, ANY},
	{"043-", 422, REPORT_ANSWER_GONE, ANY},
	{"069-", 422, REPORT_ANSWER_GONE, ANY},
	{"330-", 422, REPORT_ANSWER_GONE, ANY},
	{"085-", 403, UNS, ANY},
	{"091-", 403, UNS, ANY},
	{"094-", 403, UNS, ANY},
	{"0a3-", 403, REF, CPU},
	{"0a6-", 403, REF, CPU},
	{"0aa-", 422, UNS, ANY},
	{"0ac-", 422, UNS, ANY},
	{"153-", 403, REPORT_ANSWER_FORBIDDEN, ANY},
	{"159-", 403, REPORT_ANSWER_FORBIDDEN, ANY},
	{"160-", 403, REPORT_ANSWER_FORBIDDEN, ANY},
	{"", 200, OK_, 0},
	{"", 400, UNS, ANY},
	{"", 403, REF, ANY},
	{"", 404, REPORT_ANSWER_GONE, ANY},
	{"", 409, REPORT_ANSWER_CONFLICT, ANY},
	{"", 413, UNS, ANY},
	{"", 415, UNS, ANY},
	{"", 422, REF, ANY},
	{"", 429, REPORT_ANSWER_SLOW_DOWN, ANY},
	{"", 500, REPORT_ANSWER_FAILED, ANY},
	{"", 504, REPORT_ANSWER_FAILED, ANY},
};

static void check_answer(const char *name, unsigned status, const char *body, usec_t retry_after)
{
	struct kube_answer a = {
		.status = status,
		.detail = "",
		.body = body,
		.len = strlen(body),
		.retry_after_usec = retry_after,
	};
	struct kube_status s;
	struct report_answer got = reporter_classify(&a, &s);
	size_t i = 0;

	while (i < ARRAY_SIZE(want) &&
	       (want[i].status != status || strncmp(name, want[i].name, strlen(want[i].name)) != 0))
		i++;
	if (i == ARRAY_SIZE(want) || got.kind != want[i].kind)
		fprintf(stderr, "%s: %u %.200s\n", name, status, body);
	CHECK(i < ARRAY_SIZE(want));
	if (i == ARRAY_SIZE(want))
		return;
	CHECK_EQ(got.kind, want[i].kind);
	if (want[i].resources != ANY)
		CHECK_EQ(got.resources, want[i].resources);
	CHECK(!got.no_path);
}

#define STATUS(code, message)                                                                      \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"message\":\"" message    \
	"\"}"
#define WITH_CAUSE(message, reason, field)                                                         \
	"{\"kind\":\"Status\",\"reason\":\"Invalid\",\"code\":422,\"message\":\"" message          \
	"\",\"details\":{\"causes\":[{\"reason\":\"" reason "\",\"message\":\"Forbidden: " message \
	"\",\"field\":\"" field "\"}]}}"

/* The most important ones, always here. */
TEST(kept)
{
	check_answer("0a3-", 403,
		     STATUS(403,
			    "pods \\\"memory-hog\\\" is forbidden: exceeded quota: q, requested: "
			    "requests.cpu=400m, used: requests.cpu=1900m, limited: requests.cpu=2"),
		     0);
	check_answer(
		"0a6-", 403,
		STATUS(403,
		       "pods \\\"b\\\" is forbidden: maximum cpu usage per Container is 1, but "
		       "limit is 1500m"),
		0);
	check_answer(
		"153-", 403,
		STATUS(403,
		       "pods \\\"b\\\" is forbidden: User \\\"u\\\" cannot patch resource "
		       "\\\"pods/resize\\\" in API group \\\"\\\" in the namespace \\\"lab\\\""),
		0);
	check_answer("023-", 422,
		     WITH_CAUSE("memory limits cannot be decreased unless resizePolicy is "
				"RestartContainer",
				"FieldValueForbidden",
				"spec.containers[0].resources.limits[memory]"),
		     0);
	check_answer("069-", 422,
		     WITH_CAUSE("field is immutable", "FieldValueInvalid", "metadata.uid"), 0);
	check_answer("044-", 404, STATUS(404, "pods \\\"nope\\\" not found"), 0);
	check_answer("230-", 429, "Too many requests, please try again later.\n", S);
	check_answer("x", 500, "<html>upstream</html>", 0);
}

/* Which refusals are about what is requested, so that no limit is the cause. */
TEST(requests)
{
#define QUOTA(counted)                                                                             \
	STATUS(403, "pods \\\"limits.x\\\" is forbidden: exceeded quota: q, " counted)
	static const struct {
		const char *body;
		bool requests;
	} rows[] = {
		{QUOTA("requested: requests.cpu=400m, used: requests.cpu=1900m, "
		       "limited: requests.cpu=2"),
		 true},
		{QUOTA("requested: cpu=400m, used: cpu=1900m, limited: cpu=2"), true},
		{QUOTA("requested: limits.cpu=400m, used: limits.cpu=1, limited: limits.cpu=1"),
		 false},
		{QUOTA("requested: limits.cpu=400m,requests.cpu=1, used: limits.cpu=1,"
		       "requests.cpu=1, limited: limits.cpu=1,requests.cpu=1"),
		 false},
		{STATUS(403, "pods \\\"b\\\" is forbidden: maximum cpu usage per Container is 1"),
		 false},
		{"{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"node "
		 "didn't have enough allocatable resources: cpu, requested: 20000, allocatable: "
		 "3800\",\"details\":{\"causes\":[{\"reason\":\"NodeCapacity\"}]}}",
		 true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_answer a = {.status = 403,
					.detail = "",
					.body = rows[i].body,
					.len = strlen(rows[i].body)};
		struct kube_status s;
		struct report_answer got = reporter_classify(&a, &s);

		CHECK_EQ(got.kind, REPORT_ANSWER_REFUSED);
		CHECK_EQ(got.requests, rows[i].requests);
	}
}

/* Texts that tenants choose look like the server's own. */
TEST(texts_of_others)
{
#define WEBHOOK(code, text)                                                                        \
	STATUS(code, "admission webhook \\\"x.example.com\\\" denied the request: " text)
#define POLICY(code)                                                                               \
	STATUS(code,                                                                               \
	       "pods \\\"b\\\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' "      \
	       "denied request: too large")
	static const struct {
		unsigned status;
		const char *body;
	} rows[] = {
		{403, STATUS(403, "pods \\\"features-0\\\" is forbidden: exceeded quota: features, "
				  "requested: limits.memory=64Mi, used: limits.memory=1Gi, "
				  "limited: limits.memory=1Gi")},
		{403, WEBHOOK(403, "users cannot patch resources of production pods")},
		{403, WEBHOOK(403, "pods \\\"b\\\" is forbidden: User \\\"u\\\" cannot patch "
				   "resource \\\"pods/resize\\\"")},
		{400, WEBHOOK(400, "memory: too large")},
		{404, WEBHOOK(404, "no such team")},
		{409, WEBHOOK(409, "frozen")},
		{429, WEBHOOK(429, "not twice an hour")},
		{503, WEBHOOK(503, "closed")},
		{403,
		 STATUS(403,
			"pods \\\"b\\\" is forbidden: ValidatingAdmissionPolicy 'p' with binding "
			"'p' denied request: User \\\"u\\\" cannot patch resource")},
		/* Details as a webhook writes them. */
		{404, "{\"kind\":\"Status\",\"code\":404,\"message\":\"admission webhook \\\"x\\\" "
		      "denied the request: no such team\",\"details\":{\"retryAfterSeconds\":-1}}"},
		{401, POLICY(401)},
		{413, POLICY(413)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_answer a = {.status = rows[i].status,
					.detail = "",
					.body = rows[i].body,
					.len = strlen(rows[i].body)};
		struct kube_status s;

		CHECK_EQ(reporter_classify(&a, &s).kind, REPORT_ANSWER_REFUSED);
		CHECK(!reporter_classify(&a, &s).no_path);
	}
}

TEST(no_answer)
{
	struct kube_answer a = {.error = -1, .detail = "refused", .body = ""};
	struct kube_status s;

	CHECK_EQ(reporter_classify(&a, &s).kind, REPORT_ANSWER_FAILED);
	a.status = 401;
	CHECK_EQ(reporter_classify(&a, &s).kind, REPORT_ANSWER_FAILED);
	a.status = 404;
	a.body = "404 page not found";
	a.len = strlen(a.body);
	CHECK(reporter_classify(&a, &s).no_path);
	a.status = 413;
	CHECK_EQ(reporter_classify(&a, &s).kind, REPORT_ANSWER_UNSUPPORTED);
}

static void drop_json(cJSON **j)
{
	cJSON_Delete(*j);
}

static const char *text_of(const cJSON *o, const char *key)
{
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));

	return s ? s : "";
}

/* Of interest: writes to a pod, and what any client may meet. */
static bool is_ours(const cJSON *e)
{
	const char *path = text_of(e, "path"), *name = text_of(e, "name");

	if (strncmp(name, "230-", 4) == 0)
		return true;
	return strcmp(text_of(e, "method"), "PATCH") == 0 && strstr(path, "/pods/") != NULL &&
	       strstr(path, "/status") == NULL;
}

static unsigned one_line(const char *line)
{
	OWN(drop_json) cJSON *e = cJSON_Parse(line);
	const cJSON *body = cJSON_GetObjectItemCaseSensitive(e, "body");
	const cJSON *headers = cJSON_GetObjectItemCaseSensitive(e, "headers");
	OWN(drop_free) char *text = body ? cJSON_PrintUnformatted(body) : NULL;
	double status = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(e, "status"));

	CHECK(e != NULL);
	if (e == NULL || !is_ours(e))
		return 0;
	check_answer(text_of(e, "name"), (unsigned)status, text ? text : text_of(e, "text"),
		     strtoull(text_of(headers, "Retry-After"), NULL, 10) * S);
	return 1;
}

static FILE *open_recorded(const char *file)
{
	const char *folder = getenv("VSCALED_KUBE_RECORDED");
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/kube-recorded", file);
	return fopen(path, "re");
}

static void test_recorded(const char *file, unsigned least)
{
	FILE *f = open_recorded(file);
	char *line = NULL;
	size_t size = 0;
	unsigned count = 0;

	if (f == NULL) {
		fprintf(stderr, "no recorded exchanges (%s): this part is left out\n", file);
		return;
	}
	while (getline(&line, &size, f) > 0)
		count += one_line(line);
	fprintf(stderr, "%s: %u answers\n", file, count);
	CHECK(count >= least);
	free(line);
	fclose(f);
}

/* --- the recorded kubelet */

struct walk {
	struct kube_pod *pod;
	struct reporter_view view;
	struct report_state *state;
	struct report_node node;
	usec_t now;
};

/* The resizes were made with kubectl: here they are vscaled's. */
static void be_ours(cJSON *object)
{
	cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata"), *entry;

	cJSON_ArrayForEach (entry, cJSON_GetObjectItemCaseSensitive(meta, "managedFields")) {
		cJSON *manager = cJSON_GetObjectItemCaseSensitive(entry, "manager");

		if (strcmp(manager->valuestring, "kubectl-patch") == 0)
			strcpy(manager->valuestring, "vscaled");
	}
}

static void see(struct walk *w, const char *line)
{
	OWN(drop_json) cJSON *e = cJSON_Parse(line);
	cJSON *object = cJSON_GetObjectItemCaseSensitive(e, "object");
	OWN(drop_free) char *text = NULL;
	struct kube_decode_error err;

	be_ours(object);
	text = cJSON_PrintUnformatted(object);
	kube_pod_free(w->pod);
	w->pod = NULL;
	CHECK_EQ(kube_decode_pod(text, strlen(text), &w->pod, &err), 0);
	reporter_fill(w->pod, &w->view);
	w->view.facts.active = w->view.facts.offered = true;
	w->now += S;
	if (w->state == NULL)
		w->state = report_state_new(w->view.facts.container_count);
}

static uint32_t observe(struct walk *w, const char *line)
{
	see(w, line);
	return report_observed(&report_tuning_default, w->state, &w->view.facts, w->now);
}

/* Asks for what the next recorded object says, and is answered with it. */
static void resize(struct walk *w, const struct report_item *item, const char *line)
{
	struct report_patch patch = {.item = {*item}, .count = 1};
	struct report_answer ok = {.kind = REPORT_ANSWER_OK};

	report_sent(w->state, &w->view.facts, &patch, w->now);
	see(w, line);
	CHECK_OK(report_answered(&report_tuning_default, &w->node, w->state, &w->view.facts, &ok,
				 w->now));
	CHECK(report_expects(w->state));
}

static void follow(struct walk *w, char lines[9][16384])
{
	static const struct report_item cpu = {.limits = CPU, .limit = {700, 0}};
	static const struct report_item low = {
		.limits = MEM, .requests = MEM, .limit = {0, 64 * KIB}, .request = {0, 16 * KIB}};
	struct report_decision d;

	observe(w, lines[0]);
	CHECK(!report_pending(w->state));
	resize(w, &cpu, lines[1]);
	CHECK_EQ(observe(w, lines[2]), REPORT_CHANGE_VERIFY);
	CHECK_EQ(observe(w, lines[3]), REPORT_CHANGE_VERIFY | REPORT_CHANGE_RATIFIED);
	resize(w, &low, lines[4]);
	CHECK_EQ(observe(w, lines[5]), REPORT_CHANGE_VERIFY);
	CHECK(observe(w, lines[6]) & REPORT_CHANGE_REFUSED);
	/* And so what the recorded client did is what is decided. */
	for (size_t i = 0; i < 2; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			w->view.containers[i].resource[r].managed = true;
	w->now += 60 * S;
	report_decide(&report_tuning_default, &w->node, w->state, &w->view.facts, w->now, &d);
	CHECK(d.send);
	CHECK_EQ(d.patch.item[0].limit[RESOURCE_MEMORY], 192 * MIB);
	CHECK_EQ(d.patch.item[0].request[RESOURCE_MEMORY], 80 * MIB);
	CHECK_EQ(d.patch.count, 1); /* the other one stays, and is not named */
	resize(w, &d.patch.item[0], lines[7]);
	CHECK(observe(w, lines[8]) & REPORT_CHANGE_RATIFIED);
	CHECK(!report_pending(w->state));
}

TEST(kubelet)
{
	FILE *f = open_recorded("kubelet-resize-1.36.jsonl");
	static char lines[9][16384];
	struct walk w = {.now = 1000 * S};
	size_t n = 0;

	if (f == NULL)
		return;
	while (n < 9 && fgets(lines[n], sizeof lines[n], f) != NULL)
		n++;
	CHECK_EQ(n, 9);
	if (n == 9)
		follow(&w, lines);
	kube_pod_free(w.pod);
	free(w.state);
	fclose(f);
}

/* Texts of the kubelet's conditions. */
TEST(resources_named)
{
	static const struct {
		const char *text;
		uint32_t named;
	} rows[] = {
		{"Node didn't have enough capacity: cpu, requested: 9000, capacity: 2000",
		 RESOURCES_CPU},
		{"Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"",
		 RESOURCES_CPU},
		{"cannot decrease memory limits: attempting to set container \"cpu-hog\" memory "
		 "limit (65536) below current usage (806912)",
		 RESOURCES_MEMORY},
		{"Node didn't have enough capacity: cpu, memory", RESOURCES_BOTH},
		{"In-place resize of containers with swap is not supported.", 0},
		{"", 0},
	};

	/* Names of quotas and policies are others' words. */
	static const char *const limits[] = {
		"pods \"b\" is forbidden: exceeded quota: mem-cpu-demo, requested: "
		"limits.memory=1Gi, used: limits.memory=1Gi, limited: limits.memory=1Gi",
		"pods \"b\" is forbidden: ValidatingAdmissionPolicy 'cpu-and-memory' with binding "
		"'cpu' denied request: at most 1Gi of memory",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(reporter_resources_named(rows[i].text), rows[i].named);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		CHECK_EQ(reporter_refusal_of(limits[i]).resources, RESOURCES_MEMORY);
}

TEST(with_parameters)
{
	test_recorded("api-1.36.jsonl", 60);
	test_recorded("api-1.33.jsonl", 60);
	test_recorded("guard-1.36.jsonl", 5);
	test_recorded("guard-1.33.jsonl", 5);
}
