// SPDX-License-Identifier: Apache-2.0
/* Pods that a rule of the configuration names: no annotation, no restart of the daemon. */
#include "test/kube/test_cluster.h"

#define PATH "/api/v1/namespaces/default/pods/web-0"
#define OWNED                                                                                      \
	"{\"metadata\":{\"labels\":{\"app\":\"web\",\"pod-template-hash\":\"aaa\"},"               \
	"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"       \
	"\"web-aaa\",\"uid\":\"0b54b34c-6f5e-4a1c-9d07-3d8f1a2b3c4d\",\"controller\":true}]}}"
#define RULE(owner)                                                                                \
	"pods:\n- match: {namespace: \"def*\", labels: {app: web}, owner: " owner "}\n"            \
	"  mode: Auto\n  containers: app\n  max-cpu: 700m\n"

static struct rig_pod *begin_owned(const char *extra)
{
	struct rig_pod *p;

	crig_kubernetes = ""; /* the right to list namespaces is not there */
	crig_open(&c, NULL, extra);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", NULL);
	cJSON_Delete(crig_ask(&c, "PATCH", PATH, OWNED));
	crig_start(&c);
	CHECK(crig_until(&c, 80, burn_699, is_listed));
	return p;
}

static bool is_original(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 200 &&
	       crig_spec(x, &x->rig.pod[0], "app", RESOURCE_CPU) == 200;
}

static bool is_forgotten(struct crig *x)
{
	return is_original(x) && x->rig.daemon->pods.count == 0;
}

static bool is_warned(struct crig *x)
{
	return crig_events(x, "InvalidAnnotation") == 1;
}

static bool says_why(struct crig *x)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(x, &x->rig.pod[0]);
	const char *text = kube_pod_annotation(pod, "status");

	return text != NULL && strstr(text, "\"invalid\":\"vscaled.dev/max-cpu: \\\"much") != NULL;
}

/* A pod that no rule had selected is managed once a rule names it, and handed back without it. */
TEST(reload)
{
	struct rig_pod *p = begin_owned(NULL);

	rig_run(&c.rig, 5, burn_699);
	CHECK_EQ(c.rig.daemon->pods.count, 0);
	crig_reload(&c, RULE("StatefulSet"));
	rig_run(&c.rig, 5, burn_699);
	CHECK_EQ(c.rig.daemon->pods.count, 0);
	crig_reload(&c, RULE("Deployment"));
	CHECK(crig_until(&c, 120, burn_699, has_700));
	ratify(p);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->container[1].unit), 300);
	CHECK(control_has("/v1/units/default%2Fweb-0%2Fapp",
			  "\"key\":\"max-cpu\",\"value\":\"700m\",\"source\":\"pods[0], /tmp/"));
	crig_reload(&c, NULL);
	CHECK(crig_until(&c, 240, burn_50, is_original));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 240, burn_50, is_forgotten));
}

/* The pod's own word wins, and the rule holds again without it. */
TEST(pod_wins)
{
	struct rig_pod *p = begin_owned(RULE("Deployment"));
	unsigned resizes;

	CHECK(crig_until(&c, 120, burn_699, has_700));
	ratify(p);
	crig_annotate(&c, p, "mode", "Off");
	CHECK(crig_until(&c, 240, burn_50, is_original));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 20, burn_699);
	CHECK(is_original(&c));
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 240, burn_699, has_700));
	/* A mistake freezes it, in the spec too; Off ends that. */
	ratify(p);
	crig_annotate(&c, p, "max-cpu", "much");
	CHECK(crig_until(&c, 240, burn_50, is_warned));
	resizes = crig_requests(&c, "/resize", 0);
	rig_run(&c.rig, 900, burn_50);
	CHECK(has_700(&c));
	CHECK_EQ(crig_requests(&c, "/resize", 0), resizes);
	CHECK_EQ(crig_events(&c, "InvalidAnnotation"), 1);
	CHECK(crig_until(&c, 900, burn_50, says_why));
	crig_annotate(&c, p, "mode", "Off");
	CHECK(crig_until(&c, 240, burn_50, is_original));
}

/* --- annotations of the namespace */

#define NAMESPACE "/api/v1/namespaces/default"
#define BY_NAMESPACE                                                                               \
	"{\"metadata\":{\"annotations\":{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/"             \
	"containers\":"                                                                            \
	"\"app\",\"vscaled.dev/max-cpu\":\"700m\"}}}"
#define RIGHT(resources, verbs)                                                                    \
	"{\"apiGroups\":[\"\",\"events.k8s.io\"],\"resources\":[" resources "],\"verbs\":[" verbs  \
	"]}"

static void annotate_namespace(const char *key, const char *value)
{
	char body[256];

	snprintf(body, sizeof body, "{\"metadata\":{\"annotations\":{\"vscaled.dev/%s\":%s%s%s}}}",
		 key, value != NULL ? "\"" : "", value != NULL ? value : "null",
		 value != NULL ? "\"" : "");
	cJSON_Delete(crig_ask(&c, "PATCH", NAMESPACE, body));
}

static void grant_namespaces(void)
{
	cJSON_Delete(crig_ask(
		&c, "PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/vscaled",
		"{\"rules\":[" RIGHT(
			"\"pods\",\"namespaces\",\"limitranges\"",
			"\"get\",\"list\",\"watch\",\"patch\"") "," RIGHT("\"pods/resize\",\"events"
									  "\"",
									  "\"create\","
									  "\"patch\"") "]}"));
}

static struct rig_pod *begin_namespace(bool allowed)
{
	struct rig_pod *p;

	crig_kubernetes = ", namespaceAnnotations: true";
	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", NULL);
	cJSON_Delete(crig_ask(&c, "PATCH", NAMESPACE, BY_NAMESPACE));
	if (allowed)
		grant_namespaces();
	crig_start(&c);
	return p;
}

static void burn_1000(struct rig *r)
{
	burn_all(r, 1000);
}

static void burn_1200(struct rig *r)
{
	burn_all(r, 1200);
}

static bool is_at_900(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 900;
}

/* They come, change, are wrong and go while the daemon runs. */
TEST(namespace)
{
	struct rig_pod *p = begin_namespace(true);

	CHECK(crig_until(&c, 240, burn_699, has_700));
	ratify(p);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->container[1].unit), 300);
	CHECK(control_has("/v1/units/default%2Fweb-0%2Fapp",
			  "\"key\":\"max-cpu\",\"value\":\"700m\",\"source\":\"namespace "
			  "default\""));
	annotate_namespace("max-cpu", "900m");
	CHECK(crig_until(&c, 700, burn_1000, is_at_900));
	annotate_namespace("max-cpu", "much");
	CHECK(crig_until(&c, 700, burn_699, is_warned));
	rig_run(&c.rig, 60, burn_1200);
	CHECK(is_at_900(&c));
	annotate_namespace("max-cpu", "2");
	CHECK(UNTIL(700, burn_1200, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) > 900));
	CHECK_EQ(crig_lines(&c, EVENT_ANNOTATION_INVALID, "namespace default: vscaled.dev/max-cpu"),
		 1);
	annotate_namespace("mode", NULL);
	CHECK(crig_until(&c, 700, burn_50, is_original));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 240, burn_50, is_forgotten));
}

static bool waits_for_namespaces(const struct crig *r)
{
	const struct pods *pods = &r->rig.daemon->pods;

	return pods->count == 1 && pods->items[0]->why == STATE_NAMESPACES_UNREAD &&
	       pods->items[0]->members[0].managed == NULL;
}

/* After a restart pods have no mode until the list is there: nothing is handed back. */
TEST(namespace_restart)
{
	begin_namespace(true);
	CHECK(crig_until(&c, 240, burn_699, has_700));
	rig_stop(&c.rig);
	crig_fault(&c, "503", "\"match\":\"/namespaces[?]\",\"count\":1");
	CHECK_EQ(rig_start(&c.rig), 0);
	CHECK(crig_until(&c, 80, burn_699, is_listed));
	rig_run(&c.rig, 20, burn_699);
	CHECK(has_700(&c));
	CHECK(waits_for_namespaces(&c));
	rig_run(&c.rig, 90, burn_699);
	CHECK(has_700(&c));
	CHECK_EQ(c.rig.daemon->pods.count, 1);
}

/* A namespace that opts out of a rule: also while its annotations cannot be read after a start. */
TEST(namespace_opts_out)
{
	struct rig_pod *p;

	crig_open(&c, NULL, "# namespaces\n" RULE("Deployment"));
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", NULL);
	cJSON_Delete(crig_ask(&c, "PATCH", PATH, OWNED));
	annotate_namespace("mode", "Off");
	grant_namespaces();
	crig_fault(&c, "503", "\"match\":\"/namespaces\\\\?\",\"count\":1");
	crig_start(&c);
	CHECK(crig_until(&c, 80, burn_699, is_listed));
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(c.rig.daemon->pods.count, 1);
}

/* The list fails for minutes: what has a mode of its own is sized without it. */
TEST(namespace_late)
{
	crig_open(&c, NULL, "# namespaces\n" RULE("Deployment"));
	crig_pod(&c, DRIVER_CGROUPFS, "web-0", NULL);
	cJSON_Delete(crig_ask(&c, "PATCH", PATH, OWNED));
	grant_namespaces();
	crig_fault(&c, "503", "\"match\":\"/namespaces\\\\?\",\"count\":-1");
	crig_start(&c);
	rig_run(&c.rig, 60, burn_699);
	CHECK(waits_for_namespaces(&c));
	CHECK(crig_until(&c, 200, burn_699, has_700));
}

/* Without the right: said once, and pods with annotations are sized. */
TEST(namespace_denied)
{
	struct rig_pod *p = begin_namespace(false);

	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	crig_annotate(&c, p, "mode", "Auto");
	crig_annotate(&c, p, "max-cpu", "700m");
	CHECK(crig_until(&c, 240, burn_699, has_700));
	CHECK_EQ(c.rig.events[EVENT_NAMESPACES_DENIED], 0);
	rig_run(&c.rig, 400, burn_699);
	CHECK_EQ(c.rig.events[EVENT_NAMESPACES_DENIED], 1);
	CHECK(crig_requests(&c, "/api/v1/namespaces?", 403) <= 7);
}
