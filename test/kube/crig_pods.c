// SPDX-License-Identifier: Apache-2.0
/* Pods on the server and in the tree, the kubelet between them, and what the server holds. */
#include "test/check.h"
#include "test/kube/cluster_rig.h"
#include "test/kube/fast_clock.h"
#include <stdarg.h>
#include <time.h>

static const char containers[] =
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/app:1\","
	"\"resources\":{\"limits\":{\"cpu\":\"200m\",\"memory\":\"64Mi\"},"
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}},{\"name\":\"log\","
	"\"image\":\"example.com/log:1\",\"resources\":{\"limits\":{\"cpu\":\"300m\","
	"\"memory\":\"32Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}}]";

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		exit(EXIT_FAILURE);
	va_end(args);
	return text;
}

/* POST of the owned body; the answer's worth was checked. */
static void send_json(struct crig *c, const char *method, const char *path, char *body)
{
	cJSON_Delete(crig_ask(c, method, path, body));
	free(body);
}

static cJSON *read_pod(struct crig *c, const struct rig_pod *p)
{
	OWN(drop_free) char *path = text_of("/api/v1/namespaces/default/pods/%s", p->name);

	return crig_ask(c, "GET", path, NULL);
}

struct kube_pod *crig_read(struct crig *c, const struct rig_pod *p)
{
	cJSON *json = read_pod(c, p);
	OWN(drop_free) char *text = cJSON_PrintUnformatted(json);
	struct kube_decode_error err;
	struct kube_pod *pod;

	cJSON_Delete(json);
	if (kube_decode_pod(text, strlen(text), &pod, &err) < 0) {
		fprintf(stderr, "%s: %s\n", p->name, err.text);
		exit(EXIT_FAILURE);
	}
	return pod;
}

/* --- the kubelet --- */

/* As the API server writes a time; 0: one long ago. */
static const char *stamp(usec_t real, char buf[static 32])
{
	time_t seconds = (time_t)(real / USEC_PER_SEC);
	struct tm tm;

	if (real == 0)
		return "2026-01-01T00:00:00Z";
	gmtime_r(&seconds, &tm);
	strftime(buf, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return buf;
}

static cJSON *container_status(const struct rig_container *k, const cJSON *spec)
{
	const cJSON *resources = cJSON_GetObjectItemCaseSensitive(spec, "resources");
	cJSON *s = cJSON_CreateObject(), *state = cJSON_AddObjectToObject(s, "state");
	cJSON *running = cJSON_AddObjectToObject(state, "running");
	char id[96], at[32];

	snprintf(id, sizeof id, "containerd://%s", k->id);
	cJSON_AddStringToObject(s, "name", k->name);
	cJSON_AddStringToObject(running, "startedAt", stamp(k->started_real, at));
	cJSON_AddBoolToObject(s, "ready", !k->unready);
	cJSON_AddNumberToObject(s, "restartCount", k->restarts);
	cJSON_AddStringToObject(s, "image", "example.com/app:1");
	cJSON_AddStringToObject(s, "imageID", "sha256:0");
	cJSON_AddStringToObject(s, "containerID", id);
	cJSON_AddItemToObject(s, "resources", cJSON_Duplicate(resources, true));
	if (cJSON_HasObjectItem(resources, "requests"))
		cJSON_AddItemToObject(
			s, "allocatedResources",
			cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(resources, "requests"),
					true));
	return s;
}

/* What the runtime has on record stays when nothing is carried out. */
static cJSON *statuses(const struct rig_pod *p, const cJSON *pod, bool carried_out)
{
	const cJSON *spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(spec, "containers");
	const cJSON *status = cJSON_GetObjectItemCaseSensitive(pod, "status");
	cJSON *all = cJSON_CreateArray();

	if (!carried_out) {
		cJSON_Delete(all);
		return cJSON_Duplicate(
			cJSON_GetObjectItemCaseSensitive(status, "containerStatuses"), true);
	}
	for (size_t i = 0; i < p->count; i++)
		cJSON_AddItemToArray(
			all, container_status(&p->container[i], cJSON_GetArrayItem(list, (int)i)));
	return all;
}

static bool is_ready(const struct rig_pod *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->container[i].unready)
			return false;
	return true;
}

static void report_status(struct crig *c, const struct rig_pod *p, const char *conditions)
{
	const char *ready = is_ready(p) ? "True" : "False";
	char at[32];
	cJSON *pod = read_pod(c, p);
	const cJSON *meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
	int generation = cJSON_GetObjectItemCaseSensitive(meta, "generation") != NULL
				 ? cJSON_GetObjectItemCaseSensitive(meta, "generation")->valueint
				 : 0;
	cJSON *list = statuses(p, pod, conditions == NULL);
	OWN(drop_free) char *containers_text = cJSON_PrintUnformatted(list);
	OWN(drop_free)
	char *path = text_of("/api/v1/namespaces/default/pods/%s/status", p->name);

	cJSON_Delete(list);
	cJSON_Delete(pod);
	send_json(c, "PATCH", path,
		  text_of("{\"status\":{\"phase\":\"Running\",\"observedGeneration\":%d,"
			  "\"containerStatuses\":%s,\"conditions\":["
			  "{\"type\":\"Ready\",\"status\":\"%s\",\"lastTransitionTime\":\"%s\"},"
			  "{\"type\":\"ContainersReady\",\"status\":\"%s\","
			  "\"lastTransitionTime\":\"%s\"}%s%s]}}",
			  generation, containers_text, ready, stamp(p->ready_real, at), ready,
			  stamp(p->ready_real, at), conditions != NULL ? "," : "",
			  conditions != NULL ? conditions : ""));
}

void crig_kubelet(struct crig *c, struct rig_pod *p, const char *conditions)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(c, p);

	for (size_t i = 0; i < p->count; i++)
		p->container[i].spec = kube_pod_container(pod, p->container[i].name)->spec;
	memcpy(p->budget, pod->level_limit, sizeof p->budget);
	if (conditions == NULL)
		rig_pod_realise(&c->rig, p);
	report_status(c, p, conditions);
}

/* --- pods --- */

static void add_container(struct rig *r, struct rig_pod *p, const char *name, uint64_t milli,
			  uint64_t bytes, uint64_t use)
{
	struct rig_unit *u = rig_container_add(r, p, name, milli, bytes)->unit;

	u->anon_bytes = use;
	rig_unit_start(r, u); /* the counters say so from the start: it does not grow */
}

static struct rig_pod *pod_make(struct crig *c, enum cgroup_driver driver, const char *name)
{
	struct rig_pod *p = &c->rig.pod[c->rig.pod_count++];
	cJSON *pod;
	const cJSON *meta, *status;

	*p = (struct rig_pod){.driver = driver, .name = name, .qos_class = "burstable"};
	pod = read_pod(c, p);
	meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
	status = cJSON_GetObjectItemCaseSensitive(pod, "status");
	if (strcmp(cJSON_GetObjectItemCaseSensitive(status, "qosClass")->valuestring,
		   "Guaranteed") == 0)
		p->qos_class = "";
	snprintf(p->uid, sizeof p->uid, "%s",
		 cJSON_GetObjectItemCaseSensitive(meta, "uid")->valuestring);
	cJSON_Delete(pod);
	rig_pod_make(&c->rig, p);
	add_container(&c->rig, p, "app", 200, 64 * MIB, 20 * MIB);
	add_container(&c->rig, p, "log", 300, 32 * MIB, 10 * MIB);
	return p;
}

struct rig_pod *crig_pod_with(struct crig *c, enum cgroup_driver driver, const char *name,
			      const char *annotations, const char *spec)
{
	struct rig_pod *p;

	send_json(c, "POST", "/debug/pods",
		  text_of("{\"prefix\":\"%s\",\"annotations\":%s,\"spec\":{%s%s%s}}", name,
			  annotations != NULL ? annotations : "{}", containers,
			  spec != NULL ? "," : "", spec != NULL ? spec : ""));
	p = pod_make(c, driver, name);
	crig_kubelet(c, p, NULL);
	return p;
}

struct rig_pod *crig_pod(struct crig *c, enum cgroup_driver driver, const char *name,
			 const char *annotations)
{
	return crig_pod_with(c, driver, name, annotations, NULL);
}

void crig_annotate(struct crig *c, const struct rig_pod *p, const char *key, const char *value)
{
	OWN(drop_free) char *path = text_of("/api/v1/namespaces/default/pods/%s", p->name);
	const char *quote = value != NULL ? "\"" : "";

	send_json(c, "PATCH", path,
		  text_of("{\"metadata\":{\"annotations\":{\"vscaled.dev/%s\":%s%s%s}}}", key,
			  quote, value != NULL ? value : "null", quote));
}

void crig_user_resizes(struct crig *c, const struct rig_pod *p, const char *cpu, const char *memory)
{
	OWN(drop_free)
	char *path = text_of("/api/v1/namespaces/default/pods/%s/resize?fieldManager=kubectl-patch",
			     p->name);
	OWN(drop_free) char *c_text = cpu ? text_of("\"cpu\":\"%s\"", cpu) : strdup("");
	OWN(drop_free) char *m_text = memory ? text_of("\"memory\":\"%s\"", memory) : strdup("");

	send_json(c, "PATCH", path,
		  text_of("{\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{"
			  "\"limits\":{%s%s%s}}}]}}",
			  c_text, cpu && memory ? "," : "", m_text));
}

/* --- what the server holds --- */

uint64_t crig_spec(struct crig *c, const struct rig_pod *p, const char *container, enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(c, p);

	return kube_pod_container(pod, container)->spec.limit[r];
}

bool crig_has_status(struct crig *c, const struct rig_pod *p)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(c, p);

	return kube_pod_annotation(pod, "status") != NULL;
}

unsigned crig_events(struct crig *c, const char *reason)
{
	cJSON *list = crig_ask(c, "GET", "/apis/events.k8s.io/v1/events", NULL);
	const cJSON *e;
	unsigned n = 0;

	cJSON_ArrayForEach (e, cJSON_GetObjectItemCaseSensitive(list, "items")) {
		const char *text =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "reason"));

		n += text != NULL && strcmp(text, reason) == 0;
	}
	cJSON_Delete(list);
	return n;
}

void crig_debug(struct crig *c, const char *door, const char *body)
{
	OWN(drop_free) char *path = text_of("/debug/%s", door);

	cJSON_Delete(crig_ask(c, body != NULL ? "POST" : "GET", path, body));
}

void crig_fault(struct crig *c, const char *kind, const char *more)
{
	OWN(drop_free)
	char *body = text_of("{\"kind\":\"%s\"%s%s}", kind, more != NULL ? "," : "",
			     more != NULL ? more : "");

	crig_debug(c, "faults", body);
}

void crig_heal(struct crig *c)
{
	cJSON_Delete(crig_ask(c, "DELETE", "/debug/faults", NULL));
}

static unsigned count_log(struct crig *c, const char *text, int status)
{
	cJSON *log = crig_ask(c, "GET", "/debug/log", NULL);
	const cJSON *row;
	unsigned n = 0;
	char line[2048];
	int got;

	cJSON_ArrayForEach (row, log) {
		const char *agent =
			cJSON_GetObjectItemCaseSensitive(row, "user_agent")->valuestring;

		snprintf(line, sizeof line, "%s %s",
			 cJSON_GetObjectItemCaseSensitive(row, "method")->valuestring,
			 cJSON_GetObjectItemCaseSensitive(row, "path")->valuestring);
		if (strncmp(agent, "vscaled/", 8) != 0 || strstr(line, text) == NULL)
			continue;
		got = cJSON_GetObjectItemCaseSensitive(row, "status")->valueint;
		n += got == status || (status == 0 && got != 409);
	}
	cJSON_Delete(log);
	return n;
}

unsigned crig_requests(struct crig *c, const char *text, int status)
{
	return count_log(c, text, status);
}

void crig_forget_log(struct crig *c)
{
	cJSON_Delete(crig_ask(c, "DELETE", "/debug/log", NULL));
	c->began_at = fast_clock_now();
}

double crig_per_minute(struct crig *c)
{
	usec_t span = fast_clock_now() - c->began_at;

	return (double)count_log(c, "", 0) * (double)USEC_PER_MIN / (double)span;
}
