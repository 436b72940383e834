// SPDX-License-Identifier: Apache-2.0
/*
 * What real servers answered must be understood: every Pod, list, watch event, Status and review in
 * the folder VSCALED_KUBE_RECORDED (default ../shared/kube-recorded), and a table of what some of
 * them say. Without the folder nothing of this can be tried.
 */
#include "agent/kube/model/field.h"
#include "pod_text.h"
#include "test/check.h"
#include <dirent.h>
#include <unistd.h>

#define FOLDER_DEFAULT "../shared/kube-recorded"

static const struct {
	const char *file; /* beginning of its name */
	const char *name; /* of the exchange; of kubelet-resize: "line N" */
	int event;        /* of a watch; -1: the body */
	const char *says;
} expectations[] = {
	{"api-1.36", "007-pod-burstable", -1, "qos=Burstable phase=Pending"},
	{"api-1.36", "007-pod-burstable", -1,
	 "spec.cpu=200/500 spec.memory=134217728/268435456 restart=0 id=- stopped"},
	{"api-1.36", "112-watch-rv0", 0, "name=be "},
	{"api-1.36", "112-watch-rv0", 0, "qos=BestEffort"},
	{"api-1.36", "112-watch-rv0", 0, "spec.cpu=0/max spec.memory=0/max"},
	{"api-1.36", "128-annot", -1, "code=422 reason=Invalid"},
	{"api-1.36", "128-annot", -1, "cause FieldValueTooLong field=metadata.annotations"},
	{"api-1.36", "104-list", -1, "code=400 reason=BadRequest"},
	{"api-1.36", "0a3-quota", -1,
	 "code=403 reason=Forbidden retry=0s message=pods \"burst\" is"},
	{"api-1.36", "036-", -1, "cause NodeCapacity"},
	{"api-1.36", "105-", -1, "code=504 reason=Timeout retry=1s"},
	{"api-1.36", "105-", -1, "cause ResourceVersionTooLarge"},
	{"api-1.36", "205-", 0, "code=410 reason=Expired"},
	{"api-1.36", "230-", -1, "code=0 reason= retry=0s message=Too many requests"},
	{"api-1.36", "069-", -1, "field=metadata.uid"},
	{"api-1.36", "042-", -1, "code=409 reason=Conflict"},
	{"api-1.36", "044-", -1, "code=404 reason=NotFound"},
	{"api-1.36", "153-", -1, "code=403 reason=Forbidden"},
	{"api-1.36", "150-", -1, "code=401 reason=Unauthorized"},
	{"api-1.36", "070-", -1, "code=500"},
	{"api-1.33", "023-", -1, "code=422 reason=Invalid"},
	{"api-1.33", "023-", -1, "field=spec.containers[0].resources.limits[memory]"},
	{"guard-1.36", "352-", -1, "cause DisruptionBudget"},
	{"guard-1.36", "347-", -1, "can have at most 1024 characters"},
	{"kubelet", "line 1", 0,
	 "container main app spec.cpu=300/600 spec.memory=83886080/201326592"},
	{"kubelet", "line 1", 0, "manager=- "},
	{"kubelet", "line 1", 0, "generation=8 observed=8 qos=Burstable phase=Running"},
	{"kubelet", "line 3", 0, "progress=in-progress"},
	{"kubelet", "line 4", 0, "progress=idle"},
	{"kubelet", "line 7", 0, "progress=error"},
	{"kubelet", "line 7", 0, "message=cannot decrease memory limits"},
	{"kubelet", "line 9", 0, "progress=idle"},
};
static bool met[ARRAY_SIZE(expectations)];
static unsigned pods, statuses, lines, lists, others;

static void expect(const char *file, const char *name, int event, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(expectations); i++) {
		if (strncmp(file, expectations[i].file, strlen(expectations[i].file)) != 0 ||
		    strncmp(name, expectations[i].name, strlen(expectations[i].name)) != 0 ||
		    event != expectations[i].event || met[i])
			continue;
		met[i] = strstr(text, expectations[i].says) != NULL;
		if (!met[i])
			fprintf(stderr, "%s %s: no \"%s\" in\n%s\n", file, name,
				expectations[i].says, text);
	}
}

static void see_pod(const struct kube_pod *p, const char *file, const char *name, int event)
{
	OWN(drop_free) char *text = pod_text(p);

	expect(file, name, event, text);
	pods++;
}

static void see_status(const struct kube_status *s, const char *file, const char *name, int event)
{
	OWN(drop_free) char *text = status_text(s);

	expect(file, name, event, text);
	statuses++;
}

static void complain(const char *file, const char *name, const struct kube_decode_error *err)
{
	fprintf(stderr, "%s %s: %s\n", file, name, err->text);
}

static void take_line(const char *text, const char *file, const char *name, int event)
{
	struct kube_decode_error err = {.text = ""};
	struct kube_watch_line l = {.event = WATCH_UNKNOWN};
	int r = kube_decode_watch(text, strlen(text), &l, &err);

	CHECK_EQ(r, 0);
	if (r < 0)
		complain(file, name, &err);
	CHECK(r < 0 || l.event != WATCH_UNKNOWN);
	CHECK(r < 0 || l.event == WATCH_ERROR || l.resource_version[0] != '\0');
	CHECK(r < 0 || (l.pod != NULL) == (l.event <= WATCH_DELETED));
	if (l.pod != NULL)
		see_pod(l.pod, file, name, event);
	if (l.event == WATCH_ERROR)
		see_status(&l.status, file, name, event);
	kube_pod_free(l.pod);
	lines++;
}

static int count_pod(void *arg, struct kube_pod *pod)
{
	++*(size_t *)arg;
	kube_pod_free(pod);
	return 0;
}

static void take_list(const cJSON *body, const char *text, const char *file, const char *name)
{
	const cJSON *items = cJSON_GetObjectItemCaseSensitive(body, "items");
	struct kube_decode_error err = {.text = ""};
	size_t count = 0, bad = 0;
	char version[128] = "";
	int r = kube_decode_pods(text, strlen(text), count_pod, &count, version, sizeof version,
				 &bad, &err);

	CHECK_EQ(r, 0);
	CHECK_EQ(bad, 0);
	if (r < 0 || bad > 0)
		complain(file, name, &err);
	CHECK_EQ(count, cJSON_GetArraySize(items));
	CHECK(version[0] != '\0');
	lists++;
}

static void take_pod(const char *text, const char *file, const char *name)
{
	struct kube_decode_error err = {.text = ""};
	struct kube_pod *p = NULL;
	int r = kube_decode_pod(text, strlen(text), &p, &err);

	CHECK_EQ(r, 0);
	if (r < 0)
		complain(file, name, &err);
	else
		see_pod(p, file, name, -1);
	kube_pod_free(p);
}

static void take_status(const cJSON *body, const char *text, const char *file, const char *name)
{
	const cJSON *reason = cJSON_GetObjectItemCaseSensitive(body, "reason");
	const cJSON *code = cJSON_GetObjectItemCaseSensitive(body, "code");
	struct kube_status s;

	kube_decode_status(text, strlen(text), &s);
	if (code != NULL)
		CHECK_EQ(s.code, code->valueint);
	if (reason != NULL)
		CHECK_STR(s.reason, reason->valuestring);
	see_status(&s, file, name, -1);
}

static void take_other(const char *kind, const char *text)
{
	struct kube_decode_error err;
	bool yes = false;

	if (strcmp(kind, "SelfSubjectAccessReview") == 0)
		CHECK_EQ(kube_decode_access(text, strlen(text), &yes, &err), 0);
	else if (strcmp(kind, "APIResourceList") == 0)
		CHECK_EQ(kube_decode_resize_offered(text, strlen(text), &yes, &err), 0);
	else
		return;
	if (strcmp(kind, "APIResourceList") == 0 && strstr(text, "pods/resize") != NULL)
		CHECK(yes);
	others++;
}

static void take_body(const cJSON *body, const char *file, const char *name)
{
	OWN(drop_free) char *text = cJSON_PrintUnformatted(body);
	const cJSON *kind = cJSON_GetObjectItemCaseSensitive(body, "kind");

	if (!cJSON_IsString(kind))
		return;
	if (strcmp(kind->valuestring, "Pod") == 0)
		take_pod(text, file, name);
	else if (strcmp(kind->valuestring, "PodList") == 0)
		take_list(body, text, file, name);
	else if (strcmp(kind->valuestring, "Status") == 0)
		take_status(body, text, file, name);
	else
		take_other(kind->valuestring, text);
}

/* The events of a watch on something else than pods are not ours to read. */
static bool of_pods(const cJSON *exchange)
{
	const cJSON *path = cJSON_GetObjectItemCaseSensitive(exchange, "path");

	return cJSON_IsString(path) && strstr(path->valuestring, "/pods") != NULL;
}

static void take_exchange(const cJSON *exchange, const char *file)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(exchange, "name");
	const cJSON *body = cJSON_GetObjectItemCaseSensitive(exchange, "body");
	const cJSON *text = cJSON_GetObjectItemCaseSensitive(exchange, "text");
	const cJSON *event;
	struct kube_status s;
	int n = 0;

	if (!cJSON_IsString(name))
		return;
	if (cJSON_IsObject(body))
		take_body(body, file, name->valuestring);
	if (cJSON_IsString(text)) {
		kube_decode_status(text->valuestring, strlen(text->valuestring), &s);
		see_status(&s, file, name->valuestring, -1);
	}
	if (!of_pods(exchange))
		return;
	cJSON_ArrayForEach (event, cJSON_GetObjectItemCaseSensitive(exchange, "events")) {
		OWN(drop_free) char *line = cJSON_PrintUnformatted(event);

		take_line(line, file, name->valuestring, n++);
	}
}

static void take_file(const char *folder, const char *file)
{
	OWN(drop_free) char *line = NULL;
	char path[512], name[32];
	size_t size = 0;
	unsigned number = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	f = fopen(path, "re");
	CHECK(f != NULL);
	while (f != NULL && getline(&line, &size, f) > 0) {
		OWN(drop_json) cJSON *json = cJSON_Parse(line);

		snprintf(name, sizeof name, "line %u", ++number);
		CHECK(json != NULL);
		if (cJSON_GetObjectItemCaseSensitive(json, "object") != NULL)
			take_line(line, file, name, 0);
		else
			take_exchange(json, file);
	}
	if (f != NULL)
		fclose(f);
}

int main(void)
{
	const char *named = getenv("VSCALED_KUBE_RECORDED");
	const char *folder = named != NULL ? named : FOLDER_DEFAULT;
	DIR *d = opendir(folder);
	struct dirent *e;

	/* The default folder is no part of the source: without it the test is left out;
	 * test_kube_decode has rows of its own. */
	if (d == NULL && named != NULL)
		return check_skip("VSCALED_KUBE_RECORDED is no folder");
	if (d == NULL) {
		fprintf(stderr, "left out: no recorded exchanges in %s\n", folder);
		return EXIT_SUCCESS;
	}
	while ((e = readdir(d)) != NULL)
		if (strlen(e->d_name) > 6 &&
		    strcmp(e->d_name + strlen(e->d_name) - 6, ".jsonl") == 0)
			take_file(folder, e->d_name);
	closedir(d);
	for (size_t i = 0; i < ARRAY_SIZE(expectations); i++) {
		if (!met[i])
			fprintf(stderr, "not seen: %s %s: %s\n", expectations[i].file,
				expectations[i].name, expectations[i].says);
		CHECK(met[i]);
	}
	fprintf(stderr, "%u pods, %u statuses, %u watch lines, %u lists, %u others\n", pods,
		statuses, lines, lists, others);
	CHECK(pods > 100 && statuses > 100 && lines > 20 && lists > 3 && others > 10);
	return check_result();
}
