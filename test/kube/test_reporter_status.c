// SPDX-License-Identifier: Apache-2.0
/* The status annotation beside other writers, and after a refusal. */
#include "agent/base/file.h"
#include "agent/kube/report/reporter_answer.h"
#include "test/kube/reporter_rig.h"
#include <errno.h>

#define CPU RESOURCE_CPU
#define REFUSED                                                                                    \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"       \
	"\"message\":\"pods \\\"u0\\\" is forbidden: exceeded quota: q\"}"
#define RBAC                                                                                       \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"       \
	"\"message\":\"pods \\\"u0\\\" is forbidden: User \\\"x\\\" cannot patch resource "        \
	"\\\"pods/resize\\\" in API group\"}"

/* A status that stands already is not written again by a new agent. */
TEST_RIG(status_is_known)
{
	rig_run(g, S);
	CHECK_EQ(g->pods[0].statuses, 1);
	rig_forget(g, 0);
	g->pods[0].report = reporter_add(g->reporter, (struct pod *)&g->pods[0], g->pods[0].uid);
	reporter_changed(g->pods[0].report);
	rig_run(g, 3600 * S);
	CHECK_EQ(g->pods[0].statuses, 1);
}

/* What waits for the daemon goes with its pod. */
TEST_RIG(outcomes_go_with_their_pod)
{
	struct report_outcome o;

	CHECK(reporter_step(g->reporter, g->now, g->now));
	rig_forget(g, 0);
	CHECK(!reporter_next(g->reporter, &o));
	CHECK(!reporter_step(g->reporter, g->now, g->now));
}

/* No request begins before its values are on record. */
TEST_RIG(values_are_recorded_before_they_are_sent)
{
	struct report_outcome o;
	unsigned before, sent = 0;

	rig_run(g, S);
	rig_set_held(g, 0, CPU, 900);
	g->now += 61 * S;
	before = g->requests;
	while (reporter_step(g->reporter, g->now, g->now))
		while (reporter_next(g->reporter, &o)) {
			free(o.text);
			if (!(o.changes & REPORTER_SENDING))
				continue;
			sent++;
			CHECK_EQ(o.patch->item[0].limit[CPU], 900);
			CHECK_EQ(g->requests, before);
			reporter_send(g->pods[0].report);
			CHECK_EQ(g->requests, before + 1);
		}
	CHECK_EQ(sent, 1);
}

/* Another writer removes the annotation, which holds the originals, or changes it. */
TEST_RIG(status_is_removed)
{
	rig_run(g, S);
	for (unsigned i = 0; i < 2; i++) {
		free(g->pods[0].status);
		g->pods[0].status = i == 0 ? NULL : strdup("{}");
		rig_show(g, 0);
		reporter_changed(g->pods[0].report);
		rig_run(g, 700 * S);
		CHECK_EQ(g->pods[0].statuses, 2 + i);
		CHECK(g->pods[0].status != NULL && strstr(g->pods[0].status, "original") != NULL);
	}
}

/* A pod is no longer managed while the right to resize is missing for a while: its originals, which
 * the annotation holds, go back once it is there again. */
TEST_RIG(restore_waits_for_the_right)
{
	struct rig_pod *p = &g->pods[0];

	rig_run(g, S);
	rig_set_held(g, 0, CPU, 900);
	rig_run(g, 70 * S);
	CHECK_EQ(p->spec.limit[CPU], 900);
	rig_fail(g, "resize", 1, 403, RBAC);
	p->restoring = true;
	p->mode = NULL;
	reporter_hurry(g->pods[0].report);
	rig_run(g, 60 * S);
	CHECK_EQ(p->spec.limit[CPU], 900);
	CHECK(p->status != NULL);
	CHECK(reporter_unsent(g->pods[0].report));
	rig_run(g, 600 * S);
	CHECK_EQ(p->spec.limit[CPU], 500);
	CHECK(p->status == NULL);
	CHECK(!reporter_unsent(g->pods[0].report));
}

/* The server refuses to remove the annotation: tried again at the interval, and not waited for. */
TEST_RIG(removal_is_refused)
{
	rig_run(g, S);
	rig_fail(g, "status", 1000, 403, REFUSED);
	g->pods[0].mode = NULL;
	reporter_hurry(g->pods[0].report);
	rig_run(g, 3600 * S);
	CHECK(rig_counted(g, "status", 403) >= 1 && rig_counted(g, "status", 403) <= 7);
	CHECK(!reporter_unsent(g->pods[0].report));
}

/* Two rights are missing: both are reported, each until it is granted. */
TEST_RIG(two_rights_are_missing)
{
	rig_fail(g, "status", 1, 403, RBAC);
	rig_run(g, 30 * S);
	CHECK_EQ(g->troubles, 1);
	rig_set_held(g, 0, CPU, 900);
	rig_fail(g, "resize", 1, 403, RBAC);
	rig_run(g, 70 * S);
	CHECK_EQ(g->troubles, 2);
	CHECK_EQ(g->troubles_over, 0);
	rig_run(g, 1300 * S);
	CHECK_EQ(g->pods[0].statuses > 0, true);
	CHECK(g->troubles_over > 0);
}

/* The load has gone, and with it what would have been sent: the refusal ends all the same. */
TEST_RIG(refusal_ends)
{
	struct rig_pod *p = &g->pods[0];

	rig_run(g, S);
	rig_fail(g, "resize", 1, 403, REFUSED);
	rig_set_held(g, 0, CPU, 900);
	rig_run(g, 65 * S);
	rig_set_held(g, 0, CPU, 500);
	rig_run(g, 3000 * S);
	CHECK(strstr(p->status, "\"refused\"") != NULL);
	rig_run(g, 1300 * S);
	CHECK_EQ(p->resizes, 0);
	CHECK(strstr(p->status, "\"refused\"") == NULL);
}

/* A refusal while a status patch is under way is in the next one, which does not wait. */
TEST_RIG(refusal_beside_a_patch)
{
	struct rig_pod *p = &g->pods[0];

	rig_run(g, S);
	rig_set_held(g, 0, CPU, 900);
	rig_run(g, 120 * S);
	CHECK_EQ(p->resizes, 1);
	p->mode = "Initial";
	g->latency = 5 * S;
	reporter_hurry(p->report);
	rig_run(g, 2 * S);
	CHECK(strstr(p->status, "Initial") != NULL && strstr(p->status, "\"refused\"") == NULL);
	p->condition = "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":"
		       "\"Infeasible\",\"message\":\"no room\"}";
	rig_show(g, 0);
	rig_run(g, 30 * S);
	CHECK(strstr(p->status, "\"refused\"") != NULL);
}

#define CONTAINERS 3

/* Each with a limit and a recommendation for both resources. */
static void fill_pod(struct reporter_view *v, const struct kube_pod *pod)
{
	*v = (struct reporter_view){.pod = pod, .mode = "Auto", .changed_real = S};
	v->facts.container_count = CONTAINERS;
	for (size_t i = 0; i < CONTAINERS; i++) {
		v->published[i] = (struct kube_published){
			.request = {100, 64 * MIB},
			.limit = {900, 300 * MIB},
			.own = {.resource = {{640, 850, 1700, 880},
					     {201 * MIB, 230 * MIB, 470 * MIB, 260 * MIB}},
				.confidence_permille = {486, 486}},
			.samples = 42000,
			.reason = "throttled",
		};
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			v->target[i][r] = v->published[i].own.resource[r].target;
			v->containers[i].resource[r] = (struct report_resource){
				.managed = true,
				.held = v->published[i].limit[r],
				.spec_limit = v->published[i].limit[r],
				.original_limit = v->published[i].limit[r],
			};
		}
	}
}

/* All containers of a pod with three have what their kin start from, within 1 KiB; and the text
 * stands while the values do, with what was left out as well. */
TEST(status_is_short)
{
	struct kube_container containers[CONTAINERS] = {
		{.name = (char *)"app"},
		{.name = (char *)"istio-proxy"},
		{.name = (char *)"log-shipper"},
	};
	struct kube_pod pod = {.containers = containers, .container_count = CONTAINERS};
	OWN(drop_free) struct reporter_view *v = calloc(1, sizeof *v);
	OWN(drop_free) char *text = NULL, *again = NULL;

	fill_pod(v, &pod);
	text = reporter_status_text(v, 12, NULL);
	CHECK(strlen(text) <= REPORTER_STATUS_MAX);
	for (size_t i = 0; i < CONTAINERS; i++) {
		uint64_t shown[RESOURCE_COUNT];
		struct kube_published got;

		CHECK_EQ(kube_published_read(text, containers[i].name, &got, shown), 0);
		CHECK_EQ(got.own.resource[CPU].target, 850);
		CHECK_EQ(got.own.resource[RESOURCE_MEMORY].peak, 260 * MIB);
		CHECK_EQ(got.own.confidence_permille[CPU], 486);
		v->published[i].own.resource[CPU].lower += 10;
	}
	reporter_status_keep(text, v);
	again = reporter_status_text(v, 12, NULL);
	CHECK_STR(again, text);
	for (size_t i = 0; i < CONTAINERS; i++)
		v->published[i].own.resource[CPU].peak *= 2;
	reporter_status_keep(text, v);
	free(again);
	again = reporter_status_text(v, 12, NULL);
	CHECK(strcmp(again, text) != 0);
}

/* The annotation says which resource was refused, however long the pod's name is. */
TEST(refusal_names_the_resource)
{
	struct kube_pod pod = {.container_count = 0};
	OWN(drop_free) struct reporter_view *v = calloc(1, sizeof *v);

	v->pod = &pod;
	v->mode = "Auto";
	for (int digits = 1; digits <= 253; digits += 84) {
		OWN(drop_free) char *text = NULL, *refused = NULL;
		char message[512];

		snprintf(message, sizeof message,
			 "pods \"%0*d\" is forbidden: exceeded quota: q, requested: "
			 "requests.cpu=900m, used: requests.cpu=1, limited: requests.cpu=1",
			 digits, 0);
		text = reporter_status_text(v, 0, message);
		refused = kube_refusal_read(text);
		CHECK_EQ(reporter_refusal_of(refused).resources, RESOURCES_CPU);
		CHECK(reporter_refusal_of(refused).requests);
	}
}
