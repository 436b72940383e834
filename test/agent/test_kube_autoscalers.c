// SPDX-License-Identifier: Apache-2.0
/* Which requests HorizontalPodAutoscalers depend on. */
#include "agent/kube/model/autoscalers.h"
#include "agent/kube/model/decode.h"
#include "test/check.h"
#include <errno.h>
#include <string.h>

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

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(kube_autoscalers_drop) struct kube_autoscalers got = {0};
		struct kube_decode_error err;
		int r = kube_decode_autoscalers(rows[i].text, strlen(rows[i].text), &got, &err);

		if (r != rows[i].result)
			fprintf(stderr, "%s\n", rows[i].text);
		CHECK_EQ(r, rows[i].result);
		CHECK_EQ(kube_autoscalers_of(&got, "Deployment", "web"), rows[i].resources);
		CHECK_EQ(kube_autoscalers_of(&got, "Deployment", "we"), 0);
		CHECK_EQ(kube_autoscalers_of(&got, "StatefulSet", "web"), 0);
	}
	return check_result();
}
