// SPDX-License-Identifier: Apache-2.0
/* Which requests HorizontalPodAutoscalers depend on. */
#include "agent/base/file.h"
#include "agent/kube/model/decode.h"
#include "test/check.h"
#include <errno.h>

#define LIST(items) "{\"kind\":\"HorizontalPodAutoscalerList\",\"items\":[" items "]}"
#define HPA(metrics)                                                                               \
	"{\"spec\":{\"scaleTargetRef\":{\"kind\":\"Deployment\",\"name\":\"web\"}" metrics "}}"
#define METRICS(items) ",\"metrics\":[" items "]"
#define ON(source, name, type)                                                                     \
	"{\"type\":\"x\",\"" source "\":{\"name\":\"" name "\",\"container\":\"app\",\"target\":{" \
	"\"type\":\"" type "\",\"averageUtilization\":50}}}"

static const struct {
	const char *text;
	int result;
	uint32_t resources;
} rows[] = {
	{LIST(""), 0, 0},
	{"{\"kind\":\"HorizontalPodAutoscalerList\",\"items\":null}", 0, 0},
	/* The API server's default: CPU. */
	{LIST(HPA("")), 0, RESOURCES_CPU},
	{LIST(HPA(METRICS(""))), 0, RESOURCES_CPU},
	{LIST(HPA(METRICS(ON("resource", "cpu", "Utilization")))), 0, RESOURCES_CPU},
	{LIST(HPA(METRICS(ON("resource", "memory", "Utilization")))), 0, RESOURCES_MEMORY},
	{LIST(HPA(METRICS(ON("containerResource", "cpu", "Utilization")))), 0, RESOURCES_CPU},
	{LIST(HPA(METRICS(ON("resource", "cpu", "AverageValue")))), 0, 0},
	{LIST(HPA(METRICS(ON("external", "cpu", "Utilization")))), 0, 0},
	{LIST(HPA(METRICS(ON("resource", "ephemeral-storage", "Utilization")))), 0, 0},
	{LIST(HPA(METRICS(ON("resource", "cpu", "AverageValue") "," ON("resource", "memory",
								       "Utilization")))),
	 0, RESOURCES_MEMORY},
	{LIST(HPA("") "," HPA(METRICS(ON("resource", "memory", "Utilization")))), 0,
	 RESOURCES_BOTH},
	{LIST("{\"spec\":{\"scaleTargetRef\":{\"name\":\"api\"}}}"), 0, 0},
	{LIST("{}"), -EBADMSG, 0},
	/* The API server accepts such names, but no workload has one. */
	{LIST("{\"spec\":{\"scaleTargetRef\":{\"name\":\"../x\"}}}"), 0, 0},
	{LIST("{\"spec\":{\"scaleTargetRef\":{\"name\":\"Web_1\"}}}," HPA("")), 0, RESOURCES_CPU},
	{LIST(HPA(",\"metrics\":{}")), -EBADMSG, 0},
	{LIST(HPA(METRICS("7"))), -EBADMSG, 0},
	{LIST(HPA(METRICS("{\"resource\":{\"name\":\"cpu\",\"target\":7}}"))), -EBADMSG, 0},
	{LIST("7"), -EBADMSG, 0},
	{"{\"kind\":\"PodList\",\"items\":[]}", -EBADMSG, 0},
	{"[]", -EBADMSG, 0},
	{"", -EBADMSG, 0},
};

/* Of one pod: its owner, and which HorizontalPodAutoscaler its CPU request stays for. */
#define HINT "; if it is not: vscaled.dev/autoscaled: false"
#define TO(name, kind, target)                                                                     \
	"{\"metadata\":{\"name\":\"" name                                                          \
	"\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"example."                              \
	"com/v1\",\"kind\":\"" kind "\",\"name\":\"" target "\"}}}"

static const struct {
	const char *text;
	const char *kind, *workload;
	bool alone;      /* what cannot be traced is not its */
	const char *why; /* NULL: it moves */
} owners[] = {
	/* An operator's: its custom resource stands above a Deployment of another name. */
	{LIST(TO("h", "OpenTelemetryCollector", "otel")), "Deployment", "otel-collector", false,
	 "HorizontalPodAutoscaler h scales OpenTelemetryCollector/otel, which may be above this "
	 "pod" HINT},
	{LIST(TO("h", "OpenTelemetryCollector", "otel")), "Deployment", "otel", false,
	 "HorizontalPodAutoscaler h scales OpenTelemetryCollector/otel, which may be above this "
	 "pod" HINT},
	{LIST(TO("h", "OpenTelemetryCollector", "otel")), "Deployment", "otel", true, NULL},
	{LIST(TO("h", "DeploymentConfig", "web")), "ReplicationController", "web-3", false,
	 "HorizontalPodAutoscaler h scales DeploymentConfig/web, which may be above this pod" HINT},
	{LIST(TO("h", "OpenTelemetryCollector", "otel")), "Pod", "naked", false,
	 "HorizontalPodAutoscaler h scales OpenTelemetryCollector/otel, which may be above this "
	 "pod" HINT},
	/* Its own one is known, and that one's metrics count. */
	{LIST(TO("h", "Collector", "otel") "," TO("web", "Deployment", "web")), "Deployment", "web",
	 true, "HorizontalPodAutoscaler web scales by its utilisation"},
	{LIST(TO("h", "Collector", "otel") ",{\"metadata\":{\"name\":\"m\"},\"spec\":{\"scaleTarget"
					   "Ref\":{\"kind\":\"Deployment\",\"name\":"
					   "\"web\"},\"metrics\":[" ON("resource", "memory",
								       "Utilization") "]}}"),
	 "Deployment", "web", false, NULL},
	/* Others of kinds that own pods: those are theirs. */
	{LIST(TO("h", "Deployment", "web")), "Deployment", "api", false, NULL},
	{LIST(TO("h", "StatefulSet", "web")), "Deployment", "web", false, NULL},
	{LIST(TO("h", "Rollout", "web")), "Deployment", "web", false, NULL},
	{LIST(TO("h", "PodSet", "b")), "PodSet", "a", false, NULL},
	{LIST(TO("h", "PodSet", "a")), "PodSet", "a", true,
	 "HorizontalPodAutoscaler h scales by its utilisation"},
	/* PodSet/known has pods here. */
	{LIST(TO("h", "PodSet", "known")), "Deployment", "web", false, NULL},
	{LIST(TO("h", "PodSet", "other")), "Deployment", "web", false,
	 "HorizontalPodAutoscaler h scales PodSet/other, which may be above this pod" HINT},
};

TEST(owners)
{
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		OWN(kube_autoscalers_drop) struct kube_autoscalers got = {0};
		struct kube_decode_error err;
		const char *why;

		CHECK_OK(kube_decode_autoscalers(AUTOSCALER_HORIZONTAL, owners[i].text,
						 strlen(owners[i].text), &got, &err));
		kube_autoscalers_owner(&got, "PodSet", "known");
		why = kube_autoscaler_of(&got, owners[i].kind, owners[i].workload, !owners[i].alone,
					 RESOURCE_CPU);
		CHECK_STR(why != NULL ? why : "moves",
			  owners[i].why != NULL ? owners[i].why : "moves");
	}
}

#define VPA(kind, more)                                                                            \
	"{\"metadata\":{\"name\":\"v\"},\"spec\":{\"targetRef\":{\"kind\":\"" kind                 \
	"\",\"name\":\"web\"}" more "}}"
#define VPAS(items)     "{\"kind\":\"VerticalPodAutoscalerList\",\"items\":[" items "]}"
#define UPDATE(mode)    ",\"updatePolicy\":{\"updateMode\":\"" mode "\"}"
#define POLICIES(items) ",\"resourcePolicy\":{\"containerPolicies\":[" items "]}"
#define MAY_BE_ABOVE                                                                               \
	"VerticalPodAutoscaler v sizes Prometheus/web, which may be above this pod" HINT

/* Of pods of Deployment/web; resources: RESOURCES_* that it sizes. */
static const struct {
	const char *text;
	bool alone; /* what cannot be traced is not its */
	uint32_t resources;
	const char *why;
} verticals[] = {
	{VPAS(VPA("Deployment", "")), true, RESOURCES_BOTH, "VerticalPodAutoscaler v sizes it"},
	{VPAS(VPA("Deployment", UPDATE("InPlaceOrRecreate"))), true, RESOURCES_BOTH,
	 "VerticalPodAutoscaler v sizes it"},
	{VPAS(VPA("Deployment", UPDATE("Off"))), true, 0, NULL},
	{VPAS(VPA("Deployment", UPDATE("Initial"))), true, 0, NULL},
	{VPAS(VPA("StatefulSet", "")), false, 0, NULL},
	{VPAS(VPA("Prometheus", "")), false, RESOURCES_BOTH, MAY_BE_ABOVE},
	{VPAS(VPA("Prometheus", "")), true, 0, NULL},
	{VPAS(VPA("Prometheus", UPDATE("Off"))), false, 0, NULL},
	/* Containers without a policy are sized. */
	{VPAS(VPA("Prometheus", POLICIES("{\"containerName\":\"app\",\"mode\":\"Off\"}"))), false,
	 RESOURCES_BOTH, MAY_BE_ABOVE},
	{VPAS(VPA("Prometheus", POLICIES("{\"containerName\":\"*\",\"mode\":\"Off\"}"))), false, 0,
	 NULL},
	{VPAS(VPA("Prometheus",
		  POLICIES("{\"containerName\":\"*\",\"controlledResources\":[\"memory\"]}"))),
	 false, RESOURCES_MEMORY, MAY_BE_ABOVE},
	{VPAS(VPA("Prometheus",
		  POLICIES("{\"containerName\":\"*\",\"mode\":\"Off\"},{\"containerName\":\"app\","
			   "\"controlledResources\":[\"cpu\"]}"))),
	 false, RESOURCES_CPU, MAY_BE_ABOVE},
	/* Of before targetRef; and what names no workload. */
	{VPAS("{\"spec\":{}}," VPA("prometheus/x", "")), false, 0, NULL},
};

TEST(verticals)
{
	for (size_t i = 0; i < ARRAY_SIZE(verticals); i++) {
		OWN(kube_autoscalers_drop) struct kube_autoscalers got = {0};
		struct kube_decode_error err;

		CHECK_OK(kube_decode_autoscalers(AUTOSCALER_VERTICAL, verticals[i].text,
						 strlen(verticals[i].text), &got, &err));
		for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
			const char *why = kube_autoscaler_of(&got, "Deployment", "web",
							     !verticals[i].alone, r);

			CHECK_STR(why != NULL ? why : "moves",
				  verticals[i].resources & (1u << r) ? verticals[i].why : "moves");
		}
	}
}

/* More values than a parser may build at once. */
TEST(long_list)
{
	OWN(kube_autoscalers_drop) struct kube_autoscalers got = {0};
	OWN(drop_free) char *text = NULL;
	struct kube_decode_error err;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fputs("{\"kind\":\"HorizontalPodAutoscalerList\",\"items\":[", f);
	for (int i = 0; i < 9000; i++)
		fprintf(f, "%s" HPA(METRICS(ON("resource", "cpu", "Utilization"))),
			i > 0 ? "," : "");
	fputs("]}", f);
	fclose(f);
	CHECK_EQ(kube_decode_autoscalers(AUTOSCALER_HORIZONTAL, text, len, &got, &err), 0);
	CHECK_EQ(got.count, 9000);
}

/* RESOURCES_* that stay. */
static uint32_t stays(const struct kube_autoscalers *a, const char *kind, const char *workload)
{
	return (kube_autoscaler_of(a, kind, workload, true, RESOURCE_CPU) ? RESOURCES_CPU : 0) |
	       (kube_autoscaler_of(a, kind, workload, true, RESOURCE_MEMORY) ? RESOURCES_MEMORY
									     : 0);
}

int main(void)
{
	check_run();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(kube_autoscalers_drop) struct kube_autoscalers got = {0};
		struct kube_decode_error err;
		int r = kube_decode_autoscalers(AUTOSCALER_HORIZONTAL, rows[i].text,
						strlen(rows[i].text), &got, &err);

		if (r != rows[i].result)
			fprintf(stderr, "%s\n", rows[i].text);
		CHECK_EQ(r, rows[i].result);
		CHECK_EQ(stays(&got, "Deployment", "web"), rows[i].resources);
		CHECK_EQ(stays(&got, "Deployment", "we"), 0);
		CHECK_EQ(stays(&got, "StatefulSet", "web"), 0);
	}
	return check_result();
}
