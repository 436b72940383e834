// SPDX-License-Identifier: Apache-2.0
/* Pods as the operator sees them: what is listed and why, commands, and history that the pods of a
 * workload share. */
#include "agent/kube/model/decode.h"
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"
#include <errno.h>
#include <string.h>

/* --- what is listed --- */

struct listing {
	unsigned count, unmanaged;
	char reason[RIG_CONTAINERS_MAX][128];
};

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
}

static void take(struct listing *l, const cJSON *u)
{
	const char *why = text_of(u, "state_reason");

	CHECK_STR(text_of(u, "kind"), unit_kind_names[UNIT_KIND_CONTAINER]);
	CHECK(text_of(u, "container") != NULL);
	l->count++;
	if (strcmp(text_of(u, "state"), unit_state_names[UNIT_UNMANAGED]) != 0)
		return;
	CHECK(why != NULL);
	snprintf(l->reason[l->unmanaged++], sizeof l->reason[0], "%s", why ? why : "");
}

static struct listing list(struct rig *r)
{
	struct listing l = {0};
	cJSON *units = NULL;
	const cJSON *u;

	CHECK_EQ(r->loop->serve.api.ops->list(&r->loop->serve, &units), 0);
	cJSON_ArrayForEach (u, units)
		take(&l, u);
	cJSON_Delete(units);
	return l;
}

static int explain(struct rig *r, const char *name, struct listing *l)
{
	cJSON *u = NULL;
	int result = r->loop->serve.api.ops->explain(&r->loop->serve, name, &u);

	if (u != NULL)
		take(l, u);
	cJSON_Delete(u);
	return result;
}

static void test_left_out_and_reported(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");
	struct listing l;
	bool *flags[] = {&p->mirror, &p->windows, &p->claims, &p->vpa};
	const char *const words[] = {"static", "Windows", "ResourceClaims",
				     "VerticalPodAutoscaler"};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		*flags[i] = true;
		rig_pod_put(&r, p);
		rig_run(&r, 3, pods_burn_800);
		l = list(&r);
		CHECK_EQ(l.count, 2);
		CHECK_EQ(l.unmanaged, 2);
		CHECK(strstr(l.reason[0], words[i]) != NULL);
		CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
		*flags[i] = false;
		pods_gone(&r.daemon->pods, p->uid);
	}
	rig_container_add(&r, p, "setup", 100, 16 * MIB)->kind = CONTAINER_INIT;
	rig_container_add(&r, p, "debug", LIMIT_MAX, LIMIT_MAX)->kind = CONTAINER_EPHEMERAL;
	p->containers = "-log";
	rig_pod_put(&r, p);
	rig_run(&r, 1, pods_burn_20);
	l = list(&r);
	CHECK_EQ(l.count, 4);
	CHECK_EQ(l.unmanaged, 3);
	CHECK_EQ(explain(&r, "default/web-0/setup", &l), 0);
	CHECK_EQ(explain(&r, "default/web-0/none", &l), -ENOENT);
	/* What has ended for good is in no list. */
	p->deleting = true;
	rig_pod_put(&r, p);
	rig_container_stop(&r, &p->container[0]);
	rig_run(&r, 1, NULL);
	l = list(&r);
	CHECK_EQ(l.count, 3);
	rig_close(&r);
}

/* They count on the node, though a report has no room for so many: pod_excluded(). */
static void test_many_containers(void)
{
	struct kube_decode_error err;
	char text[4096];
	struct kube_pod *p = NULL;
	size_t n =
		(size_t)sprintf(text, "%s",
				"{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\","
				"\"resourceVersion\":\"1\"},\"spec\":{\"containers\":[");

	for (int i = 0; i < 65; i++)
		n += (size_t)sprintf(text + n, "%s{\"name\":\"c%d\"}", i > 0 ? "," : "", i);
	n += (size_t)sprintf(text + n, "]}}");
	CHECK_EQ(kube_decode_pod(text, n, &p, &err), 0);
	CHECK(p != NULL && p->container_count == 65);
	CHECK_EQ(pod_excluded(&(struct host){0}, p, true), STATE_CONTAINERS);
	p->containers[64].kind = CONTAINER_EPHEMERAL;
	CHECK_EQ(pod_excluded(&(struct host){0}, p, true), STATE_SIZING);
	kube_pod_free(p);
}

static void test_own_cpus(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");
	char path[RIG_PATH_MAX];

	p->qos = QOS_GUARANTEED;
	p->container[0].spec.limit[RESOURCE_CPU] = 2000;
	rig_pod_realise(&r, p);
	fake_put(&r.tree, "kubepods/burstable/cpuset.cpus.effective", "0-7\n");
	snprintf(path, sizeof path, "%s/cpuset.cpus.effective", p->container[0].unit->cgroup);
	fake_put(&r.tree, path, "2-3\n");
	rig_pod_put(&r, p);
	rig_run(&r, 5, pods_burn_20);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_UNMANAGED);
	CHECK(strstr(managed_reason_text(pods_of(&r, "default/web-0/app")), "CPUs of its own") !=
	      NULL);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/log")), UNIT_MANAGED);
	rig_close(&r);
}

/* --- the operator --- */

static void on_result(void *arg, const struct restore_result *result)
{
	CHECK_EQ(result->outcome, RESTORE_RESTORED);
	CHECK(strncmp(result->unit, "default/web-0", 13) == 0);
	(*(unsigned *)arg)++;
}

/* The keys that the documentation of the API is compared with. */
static void check_status(cJSON *status)
{
	static char text[128 * KIB];
	FILE *f = fopen("test/agent/control_fixture.json", "re");
	cJSON *all = f != NULL && fread(text, 1, sizeof text - 1, f) > 0 ? cJSON_Parse(text) : NULL;
	const cJSON *want = cJSON_GetObjectItem(all, "status"), *item;

	CHECK_EQ(cJSON_GetArraySize(status), cJSON_GetArraySize(want));
	cJSON_ArrayForEach (item, want)
		CHECK(cJSON_HasObjectItem(status, item->string));
	CHECK_STR(text_of(status, "operation"), "standalone");
	cJSON_Delete(all);
	cJSON_Delete(status);
	fclose(f);
}

static void test_commands(enum cgroup_driver driver)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, driver, "");
	const struct control_ops *ops;
	unsigned results = 0;

	rig_pod_put(&r, p);
	ops = r.loop->serve.api.ops;
	check_status(ops->status(&r.loop->serve));
	CHECK_EQ(ops->pause(&r.loop->serve, "default/web-0/app"), 1);
	CHECK_EQ(ops->pause(&r.loop->serve, "default/web-0/none"), -ENOENT);
	rig_run(&r, 5, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(ops->resume(&r.loop->serve, "default/web-0/app"), 1);
	rig_run(&r, 10, pods_burn_800);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= 800);
	CHECK_EQ(ops->restore(&r.loop->serve, "default/web-0", false, on_result, &results), 0);
	CHECK_EQ(results, 3);
	pods_check_originals(&r, p);
	rig_run(&r, 10, pods_burn_800);
	pods_check_originals(&r, p);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_RESTORED);
	CHECK(ops->resume(&r.loop->serve, "default/web-0/app") >= 1);
	rig_run(&r, 15, pods_burn_800);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= 800);
	/* One container alone: the pod makes no room for what it had. */
	CHECK_EQ(ops->restore(&r.loop->serve, "default/web-0/app", false, on_result, &results), 0);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->control.kernel.cpu_quota_usec, 20000);
	rig_run(&r, 3, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 500);
	CHECK(!r.below);
	rig_close(&r);
}

/* The cgroups and records of a pod whose end was not seen are still there, and its successor of
 * that name is handed back: what that one uses holds its memory up, whatever became of the first.
 */
static void test_successor(void)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, ""), *q;

	pods_raise_app(&r, p);
	q = rig_pod_add(&r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(&r, q, "app", 200, 64 * MIB);
	rig_container_add(&r, q, "log", 300, 32 * MIB);
	q->mode = "Auto";
	rig_pod_list(&r, q);
	rig_run(&r, 15, pods_burn_800);
	for (unsigned i = 0; i < 10; i++) {
		rig_grow(&r, q->container[0].unit, 10 * MIB);
		rig_run(&r, 1, pods_burn_20);
	}
	q->mode = NULL;
	rig_pod_run(&r, q, 70, pods_burn_20);
	CHECK(rig_bytes(&r, q->container[0].unit, "memory.max") >= 100 * MIB);
	q->container[0].unit->anon_bytes = MIB;
	rig_run(&r, 130, pods_burn_20);
	pods_check_originals(&r, q);
}

/* Two pods of one workload: the second starts from the first one's history, without double
 * counting. */
static void test_history_of_a_workload(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, ""), *q;
	uint64_t samples;

	p->workload = "web";
	rig_pod_put(&r, p);
	rig_run(&r, 60, pods_burn_800);
	samples = pods_of(&r, "default/web-0/app")->control.history.samples;
	q = rig_pod_add(&r, DRIVER_CGROUPFS, "web-1");
	q->workload = "web";
	q->mode = "Auto";
	rig_container_add(&r, q, "app", 200, 64 * MIB);
	rig_pod_put(&r, q);
	CHECK_EQ(pods_of(&r, "default/web-1/app")->control.history.samples, samples);
	rig_run(&r, 20, pods_burn_800);
	samples = pods_of(&r, "default/web-0/app")->control.history.samples;
	rig_stop(&r);
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_put(&r, q);
	CHECK(pods_of(&r, "default/web-1/app")->control.history.samples >= samples - 1);
	CHECK(pods_of(&r, "default/web-1/app")->control.history.samples <= samples + 1);
	rig_close(&r);
}

static void burn_little(struct rig *r)
{
	rig_burn(r, r->pod[0].container[0].unit, 50);
}

/* A process of the container is OOM-killed below the container's own limit. pod_was_full: the pod's
 * limit was reached. */
static uint64_t memory_after_a_kill(bool pod_was_full)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");
	struct rig_unit *app = p->container[0].unit;
	uint64_t max;

	rig_pod_put(&r, p);
	app->anon_bytes = 30 * MIB;
	rig_reflex(&r, 30, burn_little);
	CHECK_EQ(rig_bytes(&r, app, "memory.max"), 64 * MIB);
	p->level->oom_events += pod_was_full;
	app->oom_kills++;
	rig_reflex(&r, 20, burn_little);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->sweep.oom_kills, 1);
	max = rig_bytes(&r, app, "memory.max");
	rig_close(&r);
	return max;
}

/* A cgroup tree that cannot be written is the reason of each container. */
static void test_read_only_tree(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");
	const struct managed *m;

	rig_pod_put(&r, p);
	rig_reflex(&r, 30, burn_little);
	m = pods_of(&r, "default/web-0/app");
	CHECK_EQ(managed_reason(m), STATE_SIZING);
	r.daemon->host.cg.writable = false;
	CHECK_EQ(managed_reason(m), STATE_CGROUP_READ_ONLY);
	rig_run(&r, 40, pods_burn_20);
	CHECK_EQ(r.events[EVENT_UNIT_WAITING], 2); /* app and side */
	rig_close(&r);
}

static void test_kill_in_a_full_pod(void)
{
	CHECK_EQ(memory_after_a_kill(false), 64 * MIB);
	CHECK(memory_after_a_kill(true) > 64 * MIB);
}

#define DESCRIBED(workload)                                                                        \
	"{\"metadata\":{\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"" workload       \
	"\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{"    \
	"\"limits\":{\"cpu\":\"1\"}}}]}}"

static cJSON *recommend(const struct rig *r, const char *text, char why[static 192])
{
	return r->loop->serve.api.ops->recommend(&r->loop->serve, text, strlen(text), why, 192);
}

static const cJSON *first_of(const cJSON *answer)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(answer, "containers"), 0);
}

static const char *source_of(const cJSON *answer)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(first_of(answer), "source"));
}

/* For a pod that is only described: from running pods of its workload, then from their history. */
static void test_recommendation(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");
	const cJSON *cpu;
	cJSON *answer;
	char why[192];

	p->workload = "web";
	p->owner = "StatefulSet";
	rig_pod_put(&r, p);
	rig_run(&r, 300, pods_burn_800);
	answer = recommend(&r, DESCRIBED("web"), why);
	CHECK_STR(source_of(answer), "running");
	cpu = cJSON_GetObjectItemCaseSensitive(first_of(answer), "cpu");
	CHECK(cJSON_GetObjectItemCaseSensitive(cpu, "request")->valuedouble >= 500);
	CHECK(cJSON_GetObjectItemCaseSensitive(cpu, "limit")->valuedouble >= 500);
	/* It has no memory limit, and gets none. */
	CHECK(!cJSON_HasObjectItem(cJSON_GetObjectItemCaseSensitive(first_of(answer), "memory"),
				   "limit"));
	cJSON_Delete(answer);
	pods_gone(&r.daemon->pods, p->uid);
	answer = recommend(&r, DESCRIBED("web"), why);
	CHECK_STR(source_of(answer), "history");
	cJSON_Delete(answer);
	answer = recommend(&r, DESCRIBED("api"), why);
	CHECK_STR(source_of(answer), "none");
	CHECK(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(first_of(answer), "cpu")));
	cJSON_Delete(answer);
	CHECK(recommend(&r, "{\"spec\":7}", why) == NULL);
	CHECK(strstr(why, "spec") != NULL);
	CHECK(recommend(&r, "{\"metadata\":7}", why) == NULL && why[0] != '\0');
	rig_close(&r);
}

int main(void)
{
	for (enum cgroup_driver driver = 0; driver < DRIVER_COUNT; driver++)
		test_commands(driver);
	test_left_out_and_reported();
	test_many_containers();
	test_own_cpus();
	test_successor();
	test_history_of_a_workload();
	test_kill_in_a_full_pod();
	test_read_only_tree();
	test_recommendation();
	return check_result();
}
