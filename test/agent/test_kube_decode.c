// SPDX-License-Identifier: Apache-2.0
/* The decoder: one pod with one thing changed at a time, lists, lines of a watch. */
#include "agent/kube/model/field.h"
#include "agent/kube/model/names.h"
#include "pod_text.h"
#include "test/check.h"
#include <errno.h>
#include <time.h>

#define UID  "01db0305-ede0-4ddc-b896-98a32314e7f2"
#define HASH "0123456789abcdef0123456789abcdef"

#define RUNNING           "{\"running\":{\"startedAt\":\"2026-11-20T08:03:10Z\"}}"
#define KILLED            "{\"terminated\":{\"reason\":\"OOMKilled\"}}"
#define ENDED             "{\"terminated\":{\"reason\":\"Error\"}}"
#define STATES(last, now) "\"lastState\":" last ",\"state\":" now

#define A_IS_B           "\"name\":\"A\",\"value\":\"b\""
#define ENV(name, value) "\"name\":\"" name "\",\"value\":\"" value "\""

#define LIMIT_REF "\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.memory\"}}"
#define MIB_REF                                                                                    \
	"\"valueFrom\":{\"resourceFieldRef\":{\"containerName\":\"app\",\"divisor\":\"1Mi\","      \
	"\"resource\":\"limits.memory\"}}"

/* Members that rows below replace stand between @ marks, which are not part of the text. */
static const char base[] =
	"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-7d9c4-x2x4z\","
	"\"namespace\":\"lab\",\"uid\":\"" UID "\",\"resourceVersion\":\"213\",\"generation\":3,"
	"\"labels\":{\"pod-template-hash\":\"7d9c4\"},"
	"\"annotations\":{\"vscaled.dev/mode\":\"Auto\",\"other/key\":\"x\"},"
	"\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"web-7d9c4\",\"controller\":true}]"
	",\"managedFields\":[{\"manager\":\"kubectl\",\"time\":\"2026-11-20T08:20:52Z\","
	"\"subresource\":\"resize\",\"fieldsV1\":{\"f:spec\":{\"a\":[1,2,{}]}}}]},"
	"\"spec\":{\"nodeName\":\"node-1\",\"priority\":5,\"containers\":[{\"name\":\"app\","
	"\"args\":[\"-v\"],\"env\":[{\"name\":\"A\",\"value\":\"b\"}],"
	"\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"},"
	"\"requests\":{\"cpu\":\"200m\",\"memory\":\"128Mi\"}},"
	"\"resizePolicy\":[{\"resourceName\":\"memory\",\"restartPolicy\":\"NotRequired\"}]}],"
	"\"initContainers\":[{\"name\":\"prep\"},{\"name\":\"mesh\",\"restartPolicy\":\"Always\"}]}"
	",\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\",\"observedGeneration\":3,"
	"\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
	"\"containerStatuses\":[{\"name\":\"app\",\"containerID\":\"containerd://3f4e\","
	"\"ready\":true,\"restartCount\":2," STATES(
		"{}", RUNNING) ",\"resources\":{\"limits\":{\"cpu\":\"500m\"}}}]}}";

/* Owned: text with the first occurrence of a replaced by b. */
static char *replaced(const char *text, const char *a, const char *b)
{
	const char *at = strstr(text, a);
	char *ret = malloc(strlen(text) + strlen(b) + 1);

	CHECK(at != NULL);
	if (at == NULL)
		return strcpy(ret, text);
	sprintf(ret, "%.*s%s%s", (int)(at - text), text, b, at + strlen(a));
	return ret;
}

struct row {
	const char *from;
	const char *to;
	const char *says; /* found in the pod's text, or in the refusal */
};

static const struct row good[] = {
	{"", "",
	 "uid=" UID " cgroup=" UID " namespace=lab name=web-7d9c4-x2x4z node=node-1 "
	 "workload=web version=213\n"},
	{"", "", "generation=3 observed=3 qos=Burstable phase=Running priority=5\n"},
	{"", "",
	 "flags=ready  pending=no progress=idle manager=- message=-\nDeployment owned "
	 "labels=pod-template-hash=7d9c4\nannotation mode=Auto\ncontainer prep init"},
	{"", "", "container mesh sidecar spec.cpu=0/max spec.memory=0/max"},
	{"", "",
	 "container app app spec.cpu=200/500 spec.memory=134217728/268435456 status.cpu=0/500 "
	 "status.memory=0/max restart=0 id=3f4e running ready oom=0 restarts=2 "
	 "started=1795161790000000 heap=0,0\n"},
	/* a readiness or a startup probe */
	{"\"args\":", "\"readinessProbe\":{\"httpGet\":{\"port\":80}},\"args\":",
	 " probed restart=0"},
	{"\"args\":", "\"startupProbe\":{},\"args\":", " alive=21 probed restart=0"},
	{"\"args\":", "\"readinessProbe\":null,\"args\":", "memory=0/max restart=0"},
	/* a liveness probe: from the begin of the first one that fails to the end of the last */
	{"\"args\":", "\"livenessProbe\":{},\"args\":", "memory=0/max alive=21 restart=0"},
	{"\"args\":",
	 "\"livenessProbe\":{\"periodSeconds\":2,\"failureThreshold\":5,\"timeoutSeconds\":9},"
	 "\"args\":",
	 " alive=10 restart=0"},
	{"\"args\":", "\"livenessProbe\":{\"failureThreshold\":1},\"args\":", " alive=1 restart=0"},
	{"\"args\":",
	 "\"livenessProbe\":{\"periodSeconds\":2147483647,\"failureThreshold\":2147483647},"
	 "\"args\":",
	 " alive=18446744073709 restart=0"},
	{"\"args\":", "\"livenessProbe\":{},\"startupProbe\":{\"failureThreshold\":2},\"args\":",
	 " alive=11 probed restart=0"},
	{"\"args\":", "\"livenessProbe\":{\"periodSeconds\":-1},\"args\":", NULL},
	{"\"args\":", "\"livenessProbe\":[],\"args\":", NULL},
	{"\"args\":", "\"readinessProbe\":[],\"args\":", NULL},
	/* quantities: every form, CPU rounded up to a milli; 0 is no limit */
	{"\"500m\"", "\"0.0005\"", "spec.cpu=200/1 "},
	{"\"500m\"", "2", "spec.cpu=200/2000 "},
	{"\"500m\"", "\"1e3m\"", NULL},
	/* more than can be counted is the most that can, as in Kubernetes */
	{"\"500m\"", "\"100P\"", "spec.cpu=200/9223372036854775807 "},
	{"\"256Mi\"", "\"16Ei\"", "/9223372036854775807 "},
	{"\"256Mi\"", "\"0\"", "spec.memory=134217728/max"},
	{"\"256Mi\"", "0", "spec.memory=134217728/max"},
	{"\"256Mi\"", "\"1e9\"", "/1000000000"},
	{"\"256Mi\"", "\"100500m\"", "spec.memory=134217728/101 "},
	{"\"256Mi\"", "9007199254740991", "/9007199254740991 "},
	{"\"256Mi\"", "9007199254740992", NULL},
	{"\"256Mi\"", "9007199254740993", NULL},
	{"\"256Mi\"", "\"9007199254740993\"", "/9007199254740993 "},
	{"\"256Mi\"", "\"-1\"", NULL},
	{"\"256Mi\"", "0.5", NULL},
	{"\"256Mi\"", "null", "spec.memory=134217728/max"},
	{"\"256Mi\"", "true", NULL},
	/* whole numbers */
	{"\"generation\":3", "\"generation\":9007199254740991", "generation=9007199254740991 "},
	{"\"generation\":3", "\"generation\":9007199254740993", NULL},
	{"\"generation\":3", "\"generation\":-1", NULL},
	{"\"generation\":3", "\"generation\":\"3\"", NULL},
	{"\"generation\":3", "\"generation\":1.5", NULL},
	{"\"priority\":5", "\"priority\":-2147483648", "priority=-2147483648"},
	{"\"priority\":5", "\"priority\":2147483648", NULL},
	/* of duplicate keys the first counts; names are compared with their case */
	{"\"generation\":3", "\"generation\":4,\"generation\":3", "generation=4 "},
	{"\"generation\":3", "\"Generation\":4", "generation=0 "},
	{"\"uid\":\"" UID "\"", "\"uid\":\"" UID "\",\"uid\":\"../x\"", "uid=" UID " "},
	{"\"vscaled.dev/mode\":\"Auto\"", "\"vscaled.dev/mode\":\"Off\",\"vscaled.dev/mode\":\"x\"",
	 "annotation mode=Off\ncontainer"},
	/* names that become paths */
	{UID, "a/b", NULL},
	{UID, "..", NULL},
	{UID, "a_b", NULL},
	{UID, "", NULL},
	{UID, "-a", NULL},
	{UID, "0123456789012345678901234567890123456789012345678901234567890123", NULL},
	{"\"lab\"", "\"La\"", NULL},
	{"\"lab\"", "\"a.b\"", NULL},
	{"\"web-7d9c4-x2x4z\"", "\"web/x\"", NULL},
	{"\"web-7d9c4-x2x4z\"", "\"web.x\"", "name=web.x "},
	{"\"web-7d9c4-x2x4z\"", "\"web..x\"", NULL},
	{"\"node-1\"", "\"node 1\"", NULL},
	{"\"node-1\"", "null", "node=- "},
	{"\"app\",\"args\"", "\"../app\",\"args\"", NULL},
	{"\"app\",\"args\"", "\"mesh\",\"args\"", NULL},
	{"containerd://3f4e", "containerd://../3f", NULL},
	{"containerd://3f4e", "3f4e", NULL},
	{"containerd://3f4e", "", "id=- "},
	{"\"213\"", "\"2 3\"", NULL},
	{"\"resourceVersion\":\"213\",", "", NULL},
	/* static pods: the hash only where both annotations agree on one */
	{"\"other/key\":\"x\"",
	 "\"kubernetes.io/config.hash\":\"" HASH "\",\"kubernetes.io/config.mirror\":\"" HASH "\"",
	 "cgroup=" HASH " "},
	{"\"other/key\":\"x\"", "\"kubernetes.io/config.mirror\":\"" HASH "\"",
	 "flags=ready mirror "},
	{"\"other/key\":\"x\"", "\"kubernetes.io/config.hash\":\"" HASH "\"", "cgroup=" UID " "},
	{"\"other/key\":\"x\"",
	 "\"kubernetes.io/config.hash\":\"aaaaaaaa-ede0-4ddc-b896-98a32314e7f2\","
	 "\"kubernetes.io/config.mirror\":\"aaaaaaaa-ede0-4ddc-b896-98a32314e7f2\"",
	 "cgroup=" UID " "},
	{"\"other/key\":\"x\"",
	 "\"kubernetes.io/config.hash\":\"../x\",\"kubernetes.io/config.mirror\":\"../x\"",
	 "cgroup=" UID " "},
	/* the workload */
	{"\"pod-template-hash\":\"7d9c4\"", "\"x\":\"y\"", "workload=web-7d9c4 "},
	{"\"pod-template-hash\":\"7d9c4\"", "\"pod-template-hash\":\"d9c4\"",
	 "workload=web-7d9c4 "},
	{"ReplicaSet", "StatefulSet", "workload=web-7d9c4 "},
	{"\"ReplicaSet\",\"name\":\"web-7d9c4\"", "\"Job\",\"name\":\"report-29390400\"",
	 "workload=report "},
	{"\"ReplicaSet\",\"name\":\"web-7d9c4\"", "\"Job\",\"name\":\"report-1234567\"",
	 "workload=report-1234567 "},
	{"\"ReplicaSet\",\"name\":\"web-7d9c4\"", "\"Job\",\"name\":\"29390400\"",
	 "workload=29390400 "},
	{"\"ReplicaSet\"", "\"Node\"", "workload=web-7d9c4-x2x4z "},
	{"\"controller\":true", "\"controller\":false", "workload=web-7d9c4-x2x4z "},
	{"\"web-7d9c4\",\"controller\"", "\"../x\",\"controller\"", "workload=web-7d9c4-x2x4z "},
	/* who resized last */
	{"\"managedFields\":[",
	 "\"managedFields\":[{\"manager\":\"vscaled\",\"subresource\":\"resize\","
	 "\"time\":\"2026-11-20T08:20:53Z\"},{\"manager\":\"k\",\"subresource\":\"status\","
	 "\"time\":\"2027-11-20T08:20:53Z\"},",
	 "manager=vscaled "},
	{"\"managedFields\":[",
	 "\"managedFields\":[{\"manager\":\"vscaled\",\"subresource\":\"resize\","
	 "\"time\":\"2026-11-20T08:20:51Z\"},",
	 "manager=- "},
	{"2026-11-20T08:20:52Z", "2026-11-20 08:20:52", NULL},
	/* conditions */
	{"\"type\":\"Ready\",\"status\":\"True\"", "\"type\":\"Ready\",\"status\":\"False\"",
	 "flags= "},
	{"\"type\":\"Ready\"",
	 "\"lastTransitionTime\":\"1970-01-01T00:00:07Z\",\"type\":\"ContainersReady\"",
	 "ready-since=7000000\n"},
	{"\"type\":\"Ready\"", "\"lastTransitionTime\":\"now\",\"type\":\"ContainersReady\"", NULL},
	{"\"type\":\"Ready\"",
	 "\"type\":\"PodResizePending\",\"reason\":\"Deferred\",\"message\":\"no room\"",
	 "pending=deferred progress=idle manager=- message=no room"},
	{"\"type\":\"Ready\"", "\"type\":\"PodResizePending\",\"reason\":\"Infeasible\"",
	 "pending=infeasible"},
	{"\"type\":\"Ready\"", "\"type\":\"PodResizeInProgress\"", "progress=in-progress"},
	{"\"type\":\"Ready\"", "\"type\":\"PodResizeInProgress\",\"reason\":\"Error\"",
	 "progress=error"},
	{"\"type\":\"Ready\",\"status\":\"True\"",
	 "\"type\":\"PodResizePending\",\"status\":\"False\"", "pending=no"},
	{"\"phase\":\"Running\"", "\"phase\":\"Running\",\"resize\":\"Infeasible\"",
	 "pending=infeasible"},
	/* class */
	{"\"qosClass\":\"Burstable\",", "", "qos=Burstable"},
	{"\"qosClass\":\"Burstable\"", "\"qosClass\":\"Golden\"", NULL},
	{"Burstable", "Guaranteed", "qos=Guaranteed"},
	/* the rest */
	{"\"nodeName\"", "\"os\":{\"name\":\"windows\"},\"nodeName\"", "flags=ready windows "},
	{"\"nodeName\"", "\"restartPolicy\":\"Never\",\"nodeName\"", "flags=ready once "},
	{"\"nodeName\"", "\"restartPolicy\":\"OnFailure\",\"nodeName\"", "flags=ready  pending"},
	{"\"nodeName\"", "\"resources\":{\"limits\":{\"cpu\":\"1\"}},\"nodeName\"",
	 "flags=ready pod-resources "},
	{"\"nodeName\"", "\"resources\":{},\"nodeName\"", "flags=ready  "},
	{"\"phase\"",
	 "\"nodeAllocatableResourceClaimStatuses\":[{\"resourceClaimName\":\"cpus\","
	 "\"containers\":[\"app\"],\"mapping\":[{\"name\":\"cpu\",\"quantity\":\"2\"}]}],\"phase\"",
	 "flags=ready claims "},
	{"\"phase\"", "\"nodeAllocatableResourceClaimStatuses\":[],\"phase\"", "flags=ready  "},
	{"\"generation\":3", "\"generation\":3,\"deletionTimestamp\":\"2026-11-20T08:20:52Z\"",
	 "flags=ready deleting "},
	{"NotRequired", "RestartContainer", "restart=2 "},
	/* which run was killed: restartCount is 2, so that the third one is shown */
	{STATES("{}", RUNNING), STATES(KILLED, RUNNING), " running ready oom=2 "},
	{STATES("{}", RUNNING), STATES("{}", KILLED), " stopped ready oom=3 "},
	{STATES("{}", RUNNING), STATES(KILLED, ENDED), " stopped ready oom=2 "},
	{STATES("{}", RUNNING), STATES(KILLED, "{\"waiting\":{}}"), " stopped ready oom=3 "},
	{"{\"running\":{\"startedAt\":\"2026-11-20T08:03:10Z\"}}", "{\"waiting\":{}}",
	 "stopped ready"},
	{"2026-11-20T08:03:10Z", "2026-11-20T08:03:10.25Z", "started=1795161790250000 "},
	{"2026-11-20T08:03:10Z", "2026-11-20T10:33:10.25+02:30", "started=1795161790250000 "},
	{"2026-11-20T08:03:10Z", "2026-11-20T08:03:10+02", NULL},
	{"2026-11-20T08:03:10Z", "2026-11-20T08:03:10 02:00", NULL},
	{"2026-11-20T08:03:10Z", "2026-13-20T08:03:10Z", NULL},
	{"\"name\":\"app\",\"containerID\"", "\"name\":\"gone\",\"containerID\"", "id=- stopped"},
	{"\"containers\":[", "\"containers\":null,\"x\":[", "container mesh sidecar"},
	{"\"containers\":[", "\"containers\":\"a\",\"x\":[", NULL},
	{"\"containers\":[", "\"containers\":[7,", NULL},
	{"\"kind\":\"Pod\",", "", "name=web"},
	{"\"kind\":\"Pod\",", "\"kind\":\"Node\",", NULL},
	/* heaps */
	{"\"-v\"", "\"java\",\"-Xmx512m\",\"-jar\",\"a.jar\"", "heap=536870912,0"},
	{"\"-v\"", "\"exec java -Xmx512m -Xmx1g -jar a.jar\"", "heap=1073741824,0"},
	{A_IS_B, ENV("JAVA_TOOL_OPTIONS", "-XX:MaxRAMPercentage=75"), "heap=0,750"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"_JAVA_OPTIONS\",\"value\":\"-Xmx2g\"},{\"name\":\"CATALINA_OPTS\","
	 "\"value\":\"-Xmx3g\"},{\"name\":\"JAVA_TOOL_OPTIONS\",\"value\":\"-Xmx4g\"}",
	 "heap=2147483648,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"JAVA_TOOL_OPTIONS\",\"value\":\"-Xmx4g\"},"
	 "{\"name\":\"JAVA_TOOL_OPTIONS\",\"value\":\"-Xmx5g\"}",
	 "heap=5368709120,0"},
	{"\"name\":\"A\",\"value\":\"b\"",
	 "\"name\":\"JAVA_OPTS\",\"valueFrom\":{\"configMapKeyRef\":{}}", "heap=0,0"},
	{"\"-v\"", "\"java\",\"-XX:MaxRAMFraction=2\"", "heap=0,500"},
	{"\"-v\"", "\"-XX:MaxRAMPercentage=25\",\"-XX:MaxRAMFraction=1\"", "heap=0,250"},
	{A_IS_B, ENV("ES_JAVA_OPTS", "-Xms1g -Xmx1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("LS_JAVA_OPTS", "-Xmx1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("SOLR_HEAP", "512m"), "heap=536870912,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"SOLR_HEAP\",\"value\":\"1g\"},"
	 "{\"name\":\"SOLR_JAVA_MEM\",\"value\":\"-Xms2g -Xmx2g\"}",
	 "heap=1073741824,0"},
	{A_IS_B, ENV("ZK_SERVER_HEAP", "1024"), "heap=1073741824,0"},
	{A_IS_B, ENV("JVMFLAGS", "-Xmx1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("ELASTICSEARCH_HEAP_SIZE", "1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("OPENSEARCH_HEAP_SIZE", "1024m"), "heap=1073741824,0"},
	{A_IS_B, ENV("ES_HEAP_SIZE", "1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("LS_HEAP_SIZE", "1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("ZK_HEAP_SIZE", "1G"), "heap=1073741824,0"},
	{A_IS_B, ENV("ZOO_HEAP_SIZE", "1024"), "heap=1073741824,0"},
	{A_IS_B, ENV("ZK_SERVER_JVMFLAGS", "-Xmx1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("MAX_HEAP_SIZE", "1024M"), "heap=1073741824,0"},
	{A_IS_B, ENV("JVM_EXTRA_OPTS", "-Xmx1g"), "heap=1073741824,0"},
	{A_IS_B, ENV("KAFKA_OPTS", "-Xmx1g"), "heap=1073741824,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"ES_JAVA_OPTS\",\"value\":\"-Xmx2g\"},"
	 "{\"name\":\"ELASTICSEARCH_HEAP_SIZE\",\"value\":\"1g\"}",
	 "heap=2147483648,0"},
	/* references, in the order of the list */
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"MB\",\"value\":\"512\"},{\"name\":\"OPTS\",\"value\":\"-Xmx$(MB)m\"},"
	 "{\"name\":\"JAVA_OPTS\",\"value\":\"-server $(OPTS)\"}",
	 "heap=536870912,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"JAVA_OPTS\",\"value\":\"-Xmx$(MB)m\"},{\"name\":\"MB\",\"value\":\"512\"}",
	 "heap=0,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"X\",\"value\":\"-Xmx1g\"},{\"name\":\"JAVA_OPTS\",\"value\":\"$$(X) $(Y\"}",
	 "heap=0,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"JAVA_OPTS\",\"value\":\"$(JAVA_OPTS) -Xmx1g\"}", "heap=1073741824,0"},
	/* of the limit, which is 256 MiB: a share of it */
	{"{\"name\":\"A\",\"value\":\"b\"}", "{\"name\":\"GOMEMLIMIT\"," LIMIT_REF "}",
	 "heap=0,1000"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"MB\"," MIB_REF "},{\"name\":\"JAVA_OPTS\",\"value\":\"-Xmx$(MB)m\"}",
	 "heap=0,1000"},
	/* expanded by a shell in the container */
	{"\"args\":[\"-v\"],\"env\":[",
	 "\"args\":[\"sh\",\"-c\",\"exec java -Xmx${MB}m $MB ${MB -jar a\"],\"env\":["
	 "{\"name\":\"MB\"," MIB_REF "},",
	 "heap=0,1000"},
	/* of the request, which is 128 MiB */
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"GOMEMLIMIT\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":"
	 "\"requests.memory\"}}}",
	 "heap=134217728,0 of request 134217728"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"GOMEMLIMIT\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":"
	 "\"limits.cpu\",\"divisor\":\"1m\"}}}",
	 "heap=0,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"GOMEMLIMIT\",\"valueFrom\":{\"resourceFieldRef\":{\"containerName\":"
	 "\"other\",\"resource\":\"limits.memory\"}}}",
	 "heap=0,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"GOMEMLIMIT\",\"valueFrom\":{\"configMapKeyRef\":{\"key\":\"k\"}}}",
	 "heap=0,0"},
	{"\"-v\"", "\"node\",\"--max-old-space-size\",\"256\",\"app.js\"", "heap=268435456,0"},
	{A_IS_B, ENV("NODE_OPTIONS", "--max-old-space-size=128"), "heap=134217728,0"},
	{A_IS_B, ENV("GOMEMLIMIT", "1GiB"), "heap=1073741824,0"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"DOTNET_GCHeapHardLimitPercent\",\"value\":\"0x32\"},"
	 "{\"name\":\"COMPlus_GCHeapHardLimitPercent\",\"value\":\"4B\"}",
	 "heap=0,500"},
	{"{\"name\":\"A\",\"value\":\"b\"}",
	 "{\"name\":\"DOTNET_GCHeapHardLimit\",\"value\":\"C800000\"},"
	 "{\"name\":\"JAVA_OPTS\",\"value\":\"-Xmx300m\"}",
	 "heap=314572800,0"},
	/* not JSON */
	{"\"phase\":\"Running\"", "\"phase\":\"Run\\u0000ning\"", NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"Run\nning\"", NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"Run\xff\"", NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"\\ud800\"", NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"\\udc00\\ud800\"", NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"\\ud83d\\u0041\"", NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"\\uD83D\\ude00\"", "phase=\xf0\x9f\x98\x80"},
	{"\"phase\":\"Running\"", "\"phase\":\"\\u00g0\"", NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"R\xc3\xbcn\"", "phase=R\xc3\xbcn"},
	{"\"generation\":3",
	 "\"generation\":0.000000000000000000000000000000000000000000000000000000000000000000000",
	 NULL},
	{"\"phase\":\"Running\"", "\"phase\":\"Running\",", NULL},
	{"\"generation\":3", "\"generation\":03", NULL},
};

/* A pod that consists of references takes no time of the others. */
TEST(many_references)
{
	enum { COUNT = 100000, VARIABLES = 5000 };
	OWN(drop_free) char *args = malloc(3 * COUNT + 64), *env = malloc(64 * VARIABLES + 64);
	char *a = args, *e = env;
	clock_t start;

	a += sprintf(a, "\"-v\",\"x\",\"");
	for (int i = 0; i < COUNT; i++)
		a += sprintf(a, "$(b");
	sprintf(a, ")\"");
	e += sprintf(e, "{\"name\":\"A\",\"value\":\"b\"}");
	for (int i = 0; i < VARIABLES; i++)
		e += sprintf(e, ",{\"name\":\"V%d\",\"value\":\"$(V0)\"}", i);
	{
		OWN(drop_free) char *half = replaced(base, "\"-v\"", args);
		OWN(drop_free)
		char *text = replaced(half, "{\"name\":\"A\",\"value\":\"b\"}", env);
		OWN(drop_kube_pod) struct kube_pod *p = NULL;
		struct kube_decode_error err = {.text = ""};

		start = clock();
		CHECK_EQ(kube_decode_pod(text, strlen(text), &p, &err), 0);
		CHECK(check_emulated() || clock() - start < 2 * CLOCKS_PER_SEC);
	}
}

TEST(pods)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		OWN(drop_free) char *text = replaced(base, good[i].from, good[i].to), *says = NULL;
		OWN(drop_kube_pod) struct kube_pod *p = NULL;
		struct kube_decode_error err = {.text = "untouched"};
		int r = kube_decode_pod(text, strlen(text), &p, &err);

		if (good[i].says == NULL) {
			CHECK_EQ(r, -EBADMSG);
			CHECK(p == NULL && err.text[0] != '\0' &&
			      strcmp(err.text, "untouched") != 0);
			if (r == 0)
				fprintf(stderr, "\taccepted: %s -> %s\n", good[i].from, good[i].to);
			continue;
		}
		CHECK_EQ(r, 0);
		says = r == 0 ? pod_text(p) : strdup(err.text);
		CHECK(strstr(says, good[i].says) != NULL);
		if (strstr(says, good[i].says) == NULL)
			fprintf(stderr, "\t%s -> %s: no \"%s\" in\n%s\n", good[i].from, good[i].to,
				good[i].says, says);
	}
}

/* The refusal names the place and shows what stood there, fit for a journal. */
TEST(errors)
{
	static const struct row rows[] = {
		{"\"500m\"", "\"5\\u001b[1m\"",
		 "spec.containers[0].resources.limits.cpu: \"5\\x1b[1m\" is not a quantity"},
		{"\"restartCount\":2", "\"restartCount\":\"2\"",
		 "status.containerStatuses[0].restartCount: not a whole number below 2^53"},
		{UID, "../../x", "metadata.uid: \"../../x\" is not valid"},
		{"\"uid\":\"" UID "\",", "", "metadata.uid: missing"},
		{"\"spec\":{", "\"spec\":7,\"x\":{", "spec: not an object"},
		{"\"metadata\":{", "\"metadata\":7,\"x\":{", "metadata: not an object"},
		{"\"status\":{", "\"status\":[],\"x\":{", "status: not an object"},
		{"\"state\":{", "\"state\":7,\"x\":{",
		 "status.containerStatuses[0].state: not an object"},
		{"\"limits\":{", "\"limits\":[],\"x\":{",
		 "spec.containers[0].resources.limits: not an object"},
		{"\"generation\":3", "\"generation\":tru", "byte 169: a value was expected"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(drop_free) char *text = replaced(base, rows[i].from, rows[i].to);
		OWN(drop_kube_pod) struct kube_pod *p = NULL;
		struct kube_decode_error err;

		CHECK_EQ(kube_decode_pod(text, strlen(text), &p, &err), -EBADMSG);
		CHECK_STR(err.text, rows[i].says);
	}
}

TEST(caps)
{
	size_t size = 4 << 20, n = 0;
	OWN(drop_free) char *text = malloc(size);
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	struct kube_decode_error err;

	for (int i = 0; i < 2000; i++)
		n += (size_t)sprintf(text + n, "[");
	CHECK_EQ(kube_decode_pod(text, n, &p, &err), -EBADMSG);
	CHECK(strstr(err.text, "too deep") != NULL);
	n = (size_t)sprintf(text, "{\"a\":[0");
	while (n < size - 8)
		n += (size_t)sprintf(text + n, ",0");
	n += (size_t)sprintf(text + n, "]}");
	CHECK_EQ(kube_decode_pod(text, n, &p, &err), -EBADMSG);
	CHECK(strstr(err.text, "too many values") != NULL);
}

TEST(qos)
{
	static const struct {
		struct kube_resources r[2];
		enum qos_class want;
	} rows[] = {
		{{{{LIMIT_MAX, LIMIT_MAX}, {0, 0}}, {{LIMIT_MAX, LIMIT_MAX}, {0, 0}}},
		 QOS_BEST_EFFORT},
		{{{{100, 200}, {100, 200}}, {{5, 6}, {5, 6}}}, QOS_GUARANTEED},
		{{{{100, 200}, {100, 200}}, {{LIMIT_MAX, 6}, {0, 6}}}, QOS_BURSTABLE},
		{{{{100, 200}, {100, 100}}, {{5, 6}, {5, 6}}}, QOS_BURSTABLE},
		{{{{LIMIT_MAX, LIMIT_MAX}, {1, 0}}, {{LIMIT_MAX, LIMIT_MAX}, {0, 0}}},
		 QOS_BURSTABLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(drop_free) char *text = NULL;
		OWN(drop_kube_pod) struct kube_pod *p = NULL;
		struct kube_decode_error err;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		fputs("{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\","
		      "\"resourceVersion\":\"1\"},\"spec\":{\"containers\":[",
		      f);
		for (int c = 0; c < 2; c++) {
			const struct kube_resources *r = &rows[i].r[c];

			fprintf(f, "%s{\"name\":\"c%d\",\"resources\":{\"limits\":{\"x\":\"1\"",
				c > 0 ? "," : "", c);
			if (r->limit[0] != LIMIT_MAX)
				fprintf(f, ",\"cpu\":\"%llum\"", (unsigned long long)r->limit[0]);
			if (r->limit[1] != LIMIT_MAX)
				fprintf(f, ",\"memory\":%llu", (unsigned long long)r->limit[1]);
			fprintf(f, "},\"requests\":{\"cpu\":\"%llum\",\"memory\":%llu}}}",
				(unsigned long long)r->request[0],
				(unsigned long long)r->request[1]);
		}
		fputs("]}}", f);
		fclose(f);
		CHECK_EQ(kube_decode_pod(text, size, &p, &err), 0);
		if (p != NULL)
			CHECK_EQ(p->qos, rows[i].want);
	}
}

struct seen {
	size_t count;
	size_t stop_at;
	char names[256];
};

static int note_pod(void *arg, struct kube_pod *pod)
{
	struct seen *s = arg;

	strcat(s->names, pod->name);
	strcat(s->names, " ");
	kube_pod_free(pod);
	return ++s->count == s->stop_at ? -ECANCELED : 0;
}

static int list_of(const char *format, struct seen *s, size_t *bad, struct kube_decode_error *err)
{
	OWN(drop_free) char *text = NULL;
	char version[128] = "old";
	int r;

	if (asprintf(&text, format, base, base, base) < 0)
		return -ENOMEM;
	r = kube_decode_pods(text, strlen(text), note_pod, s, version, sizeof version, bad, err);
	CHECK_STR(version, r == 0 ? "345" : "old");
	return r;
}

#define LIST(kind, items)                                                                          \
	"{\"kind\":\"" kind "\",\"metadata\":{\"resourceVersion\":\"345\"},\"items\":" items "}"

TEST(lists)
{
	static const struct {
		const char *text;
		int want;
		size_t count, bad, stop_at;
	} rows[] = {
		{LIST("PodList", "[%s,%s,%s]"), 0, 3, 0, 0},
		{LIST("PodList", "[]"), 0, 0, 0, 0},
		{LIST("PodList", "null"), 0, 0, 0, 0},
		{LIST("PodList", "[%s,{\"metadata\":{}},%s,7,%s]"), 0, 3, 2, 0},
		{LIST("PodList", " [ %s , %s ] ") " \n", 0, 2, 0, 0},
		{LIST("PodList", "[%s,%s,%s]"), -ECANCELED, 2, 0, 2},
		/* nothing is handed on before the whole text is known to be whole */
		{LIST("PodList", "[%s,%s"), -EBADMSG, 0, 0, 0},
		{LIST("PodList", "[%s,%s]") "x", -EBADMSG, 0, 0, 0},
		{LIST("Status", "[%s]"), -EBADMSG, 0, 0, 0},
		{LIST("PodList", "{}"), -EBADMSG, 0, 0, 0},
		{"{\"items\":[],\"kind\":\"PodList\"}", -EBADMSG, 0, 0, 0},
		{"{\"items\":[%s],\"metadata\":{\"resourceVersion\":\"345\"},\"kind\":\"PodList\","
		 "\"items\":7}",
		 0, 1, 0, 0},
		{"{\"it\\u0065ms\":[]," /* as if it were items */
		 "\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"345\"},\"items\":[]}",
		 -EBADMSG, 0, 0, 0},
		{"[]", -EBADMSG, 0, 0, 0},
		{"", -EBADMSG, 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen s = {.stop_at = rows[i].stop_at};
		struct kube_decode_error err;
		size_t bad = 0;

		CHECK_EQ(list_of(rows[i].text, &s, &bad, &err), rows[i].want);
		CHECK_EQ(s.count, rows[i].count);
		CHECK_EQ(bad, rows[i].bad);
		CHECK(bad == 0 || strncmp(err.text, "items[1]: metadata.uid", 22) == 0);
	}
}

TEST(watch)
{
	static const struct {
		const char *type;
		const char *object; /* NULL: the pod */
		int want;
		enum watch_event event;
		const char *version;
	} rows[] = {
		{"ADDED", NULL, 0, WATCH_ADDED, "213"},
		{"MODIFIED", NULL, 0, WATCH_MODIFIED, "213"},
		{"DELETED", NULL, 0, WATCH_DELETED, "213"},
		{"BOOKMARK",
		 "{\"metadata\":{\"resourceVersion\":\"99\"},\"spec\":{\"containers\":null}}", 0,
		 WATCH_BOOKMARK, "99"},
		{"BOOKMARK", "{\"metadata\":{}}", -EBADMSG, WATCH_UNKNOWN, ""},
		{"ERROR", "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}", 0,
		 WATCH_ERROR, ""},
		{"NEWTYPE", "{}", 0, WATCH_UNKNOWN, ""},
		{"ADDED", "{\"metadata\":{}}", -EBADMSG, WATCH_UNKNOWN, ""},
		{"ADDED", "[]", -EBADMSG, WATCH_UNKNOWN, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(drop_free) char *text = NULL;
		struct kube_watch_line l = {.event = WATCH_UNKNOWN};
		struct kube_decode_error err;

		CHECK(asprintf(&text, "{\"type\":\"%s\",\"object\":%s}", rows[i].type,
			       rows[i].object != NULL ? rows[i].object : base) > 0);
		CHECK_EQ(kube_decode_watch(text, strlen(text), &l, &err), rows[i].want);
		CHECK_EQ(l.event, rows[i].event);
		CHECK_STR(l.resource_version, rows[i].version);
		CHECK((l.pod != NULL) == (rows[i].object == NULL));
		if (rows[i].event == WATCH_ERROR)
			CHECK_EQ(l.status.code, 410);
		kube_pod_free(l.pod);
		/* half a line is no line */
		CHECK_EQ(kube_decode_watch(text, strlen(text) - 1, &l, &err), -EBADMSG);
	}
}
