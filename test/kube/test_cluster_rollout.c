// SPDX-License-Identifier: Apache-2.0
/* vscaled.dev/rollout on a namespace: half of a workload's pods are sized, and harm to them
 * stops it. web-0 and web-4 are of the half, by the hash. */
#include "test/kube/test_cluster.h"

#define NAMESPACE "/api/v1/namespaces/default"
#define OWNED                                                                                      \
	"{\"metadata\":{\"labels\":{\"app\":\"web\"},\"ownerReferences\":[{\"apiVersion\":"        \
	"\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":"                           \
	"\"0b54b34c-6f5e-4a1c-9d07-3d8f1a2b3c4d\",\"controller\":true}]}}"
#define CANARY                                                                                     \
	"{\"metadata\":{\"annotations\":{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/"             \
	"containers\":\"app\",\"vscaled.dev/max-cpu\":\"700m\",\"vscaled.dev/rollout\":\"50%\"}}}"
#define RIGHTS                                                                                     \
	"{\"rules\":[{\"apiGroups\":[\"\",\"events.k8s.io\"],\"resources\":[\"pods\","             \
	"\"namespaces\",\"limitranges\"],\"verbs\":[\"get\",\"list\",\"watch\",\"patch\"]},"       \
	"{\"apiGroups\":[\"\",\"events.k8s.io\"],\"resources\":[\"pods/resize\",\"events\"],"      \
	"\"verbs\":[\"create\",\"patch\"]}]}"

static void begin_half(void)
{
	static const char *const names[] = {"web-0", "web-1", "web-2", "web-4"};

	crig_kubernetes = ", namespaceAnnotations: true";
	crig_open(&c, NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[96];

		snprintf(path, sizeof path, NAMESPACE "/pods/%s", names[i]);
		crig_pod(&c, DRIVER_CGROUPFS, names[i], NULL);
		cJSON_Delete(crig_ask(&c, "PATCH", path, OWNED));
	}
	cJSON_Delete(crig_ask(&c, "PATCH", NAMESPACE, CANARY));
	cJSON_Delete(crig_ask(&c, "PATCH",
			      "/apis/rbac.authorization.k8s.io/v1/clusterroles/vscaled", RIGHTS));
	crig_start(&c);
}

static uint64_t cpu_of(size_t pod)
{
	return rig_cpu_milli(&c.rig, app_of(&c.rig.pod[pod]));
}

static bool half_is_sized(struct crig *)
{
	return cpu_of(0) > 600 && cpu_of(3) > 600;
}

static bool none_is_sized(struct crig *)
{
	return cpu_of(0) == 200 && cpu_of(3) == 200;
}

static void others_stay(void)
{
	CHECK_EQ(cpu_of(1), 200);
	CHECK_EQ(cpu_of(2), 200);
}

static bool shows(const char *path, const char *text)
{
	OWN(drop_free) char *page = NULL;

	return crig_control(&c, path, &page) == 200 && strstr(page, text) != NULL;
}

static bool metric_says(const char *line)
{
	OWN(drop_free) char *page = NULL;

	return crig_http(&c, "/metrics", &page) == 200 && strstr(page, line) != NULL;
}

static void share(const char *text)
{
	char body[128];

	snprintf(body, sizeof body, "{\"metadata\":{\"annotations\":{\"vscaled.dev/rollout\":%s}}}",
		 text);
	cJSON_Delete(crig_ask(&c, "PATCH", NAMESPACE, body));
}

/* An OOM kill of each that is sized. */
static void kill_sized(void)
{
	app_of(&c.rig.pod[0])->oom_kills++;
	app_of(&c.rig.pod[3])->oom_kills++;
}

TEST(half)
{
	begin_half();
	CHECK(crig_until(&c, 360, burn_699, half_is_sized));
	others_stay();
	/* The rest is recommended for. */
	CHECK(shows("/v1/units/default%2Fweb-1%2Fapp", "\"mode\":\"Off\""));
	CHECK(shows("/v1/units/default%2Fweb-1%2Fapp", "this one is not sized"));
	CHECK(shows("/v1/units/default%2Fweb-0%2Fapp", "this one is sized"));
	CHECK(shows("/v1/report",
		    "\"rollout\":\"unsized\",\"rollout_percent\":50,\"counted_usec\":"));
	CHECK(metric_says("vscaled_rollouts_stopped 0\n"));
	/* Others are killed as well: that is not for being sized. */
	app_of(&c.rig.pod[1])->oom_kills += 2;
	app_of(&c.rig.pod[2])->oom_kills += 2;
	rig_run(&c.rig, 10, burn_699);
	kill_sized();
	rig_run(&c.rig, 30, burn_699);
	CHECK_EQ(c.rig.events[EVENT_ROLLOUT_STOPPED], 0);
	CHECK(shows("/v1/report", "\"oom_kills\":2,\"undos\":0"));
	CHECK(shows("/v1/report", "\"oom_kills\":1,\"undos\":0"));
	CHECK(half_is_sized(&c));
	share("\"100%\"");
	CHECK(UNTIL(700, burn_699, half_is_sized(&c) && cpu_of(1) > 600 && cpu_of(2) > 600));
}

TEST(hurt)
{
	const struct pods *pods;

	begin_half();
	CHECK(crig_until(&c, 360, burn_699, half_is_sized));
	rig_run(&c.rig, 5, burn_699);
	kill_sized();
	CHECK(crig_until(&c, 240, burn_50, none_is_sized));
	CHECK_EQ(c.rig.events[EVENT_ROLLOUT_STOPPED], 1);
	CHECK_EQ(crig_lines(&c, EVENT_ROLLOUT_STOPPED, "default/web, 50 %"), 1);
	CHECK_EQ(crig_lines(&c, EVENT_ROLLOUT_STOPPED, "2 OOM kills"), 1);
	CHECK(UNTIL(240, burn_50, crig_events(&c, "RolloutStopped") == 1));
	CHECK(metric_says("vscaled_rollouts_stopped 1\n"));
	CHECK(shows("/v1/units/default%2Fweb-0%2Fapp", "stopped on this node"));
	CHECK(shows("/v1/report", "\"rollout\":\"stopped\""));
	/* And it stays so, until the annotation changes. */
	rig_run(&c.rig, 120, burn_699);
	CHECK(none_is_sized(&c));
	others_stay();
	CHECK_EQ(c.rig.events[EVENT_ROLLOUT_STOPPED], 1);
	CHECK_EQ(crig_events(&c, "RolloutStopped"), 1);
	/* After a restart, too. */
	rig_restart(&c.rig);
	pods = &c.rig.daemon->pods;
	CHECK_STR(pods->rollouts[0].workload, "default/StatefulSet/web");
	CHECK(crig_until(&c, 240, burn_699, is_listed));
	rig_run(&c.rig, 60, burn_699);
	CHECK(none_is_sized(&c));
	CHECK(metric_says("vscaled_rollouts_stopped 1\n"));
	CHECK(shows("/v1/units/default%2Fweb-0%2Fapp", "OOM-killed more often"));
	share("\"51%\"");
	CHECK(crig_until(&c, 700, burn_699, half_is_sized));
	CHECK(metric_says("vscaled_rollouts_stopped 0\n"));
}
