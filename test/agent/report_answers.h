/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of GET /v1/report, as tests of vscalectl report need them. */
#pragma once

#include "agent/base/json.h"
#include "agent/ctl/report.h"
#include "test/check.h"

#define WEB(pod, cpu, memory)                                                                      \
	"{\"namespace\":\"shop\",\"workload\":\"web\",\"owner\":\"Deployment\",\"pod\":\"" pod     \
	"\",\"container\":\"app\",\"mode\":\"Off\",\"cpu\":{" cpu "},\"memory\":{" memory "},"
#define NODE(name, containers)                                                                     \
	"{\"version\":1,\"node\":\"" name "\",\"containers\":[" containers "]}\n"

static const char two_nodes[] = NODE(
	"node-2", WEB("web-b", "\"request\":500,\"use_max\":90,\"target\":100,\"upper\":200",
		      "\"request\":100,\"target\":300,\"upper\":400") "\"confidence_permille\":900,"
								      "\"oom_kills\":2}")
	NODE("node-1",
	     "{\"namespace\":\"infra\",\"workload\":\"log\",\"owner\":\"DaemonSet\",\"pod\":\"log-"
	     "1\","
	     "\"container\":\"log\",\"confidence_permille\":8000,\"cpu\":{\"request\":100,"
	     "\"target\":105,\"upper\":120},"
	     "\"memory\":{\"target\":1048577}}," WEB(
		     "web-a",
		     "\"request\":600,\"limit\":1000,\"use_max\":70,\"target\":90,\"upper\":150",
		     "\"request\":100") "\"confidence_permille\":400,\"throttled_permille\":20,"
					"\"oom_kills\":1}");

static inline cJSON *summed(const char *text, const char *namespace)
{
	OWN(drop_json) cJSON *all = cJSON_CreateArray();
	struct ctl c = {.err = stderr, .namespace = namespace};

	CHECK_EQ(report_read(&c, "test", text, all), 0);
	return report_sum(&c, all);
}
