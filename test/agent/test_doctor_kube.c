// SPDX-License-Identifier: Apache-2.0
/* doctor in a cluster: the account, the API server, the rights, pods/resize, the driver. */
#include "agent/ctl/doctor.h"
#include "test/check.h"
#include "test/fake.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define POD_UID "0a1b2c3d"

#define RESOURCES(more)                                                                            \
	"{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":["                    \
	"{\"name\":\"pods\",\"namespaced\":true,\"kind\":\"Pod\",\"verbs\":[\"list\"]}" more "]}"
#define RESIZE                                                                                     \
	",{\"name\":\"pods/resize\",\"namespaced\":true,\"kind\":\"Pod\","                         \
	"\"verbs\":[\"get\",\"patch\",\"update\"]}"

/* What the server answers. */
struct script {
	const char *status; /* of /api/v1 */
	const char *resources;
	const char *denied; /* a part of the question that is denied; NULL: none */
};

static struct fake tree, host;
static char config[100], state[100];
static char *text;
/* Of the last examination. */
static cJSON *examined;
static unsigned port;

static void answer(int fd, const char *status, const char *body)
{
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
			 status, strlen(body));

	send(fd, head, (size_t)n, MSG_NOSIGNAL);
	send(fd, body, strlen(body), MSG_NOSIGNAL);
}

/* Head and body of a request; the body ends with the length that the head names. */
static void read_request(int fd, char *buf, size_t size)
{
	size_t len = 0, want = 0;

	while (len + 1 < size) {
		ssize_t n = read(fd, buf + len, size - 1 - len);
		const char *end, *length;

		if (n <= 0)
			break;
		len += (size_t)n;
		buf[len] = '\0';
		end = strstr(buf, "\r\n\r\n");
		length = strcasestr(buf, "content-length: ");
		want = length ? strtoul(length + 16, NULL, 10) : 0;
		if (end && strlen(end + 4) >= want)
			break;
	}
	buf[len] = '\0';
}

#define PODS_OF_NODE "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&resourceVersion=0 "
static const char pods_of_node[] =
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},"
	"\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"lab\",\"uid\":\"" POD_UID "\","
	"\"resourceVersion\":\"5\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}]}";

static void serve(int listening, const struct script *s)
{
	char request[8192], review[160];

	for (;;) {
		int fd = accept(listening, NULL, NULL);

		read_request(fd, request, sizeof(request));
		if (strncmp(request, "GET /api/v1 ", 12) == 0) {
			answer(fd, s->status, s->resources);
		} else if (strncmp(request, PODS_OF_NODE, strlen(PODS_OF_NODE)) == 0) {
			answer(fd, "200 OK", pods_of_node);
		} else {
			bool allowed = !s->denied || !strstr(request, s->denied);

			snprintf(review, sizeof(review),
				 "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":"
				 "\"authorization.k8s.io/v1\",\"status\":{\"allowed\":%s}}",
				 allowed ? "true" : "false");
			answer(fd, "201 Created", review);
		}
		close(fd);
	}
}

static pid_t server_start(const struct script *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 8) == 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
	port = ntohs(a.sin_port);
	pid = fork();
	if (pid == 0)
		serve(fd, s);
	close(fd);
	return pid;
}

static void server_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const char *more_path;        /* one more file of the host */
static bool read_only;               /* the cgroup tree */
static const char *more_config = ""; /* one more line of the configuration */

/* Root may write to any file, but not without this capability. */
static void set_override(bool allowed)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	CHECK_EQ(syscall(SYS_capget, &head, data), 0);
	data[0].effective &= ~(1u << CAP_DAC_OVERRIDE);
	if (allowed)
		data[0].effective |= data[0].permitted & (1u << CAP_DAC_OVERRIDE);
	CHECK_EQ(syscall(SYS_capset, &head, data), 0);
}

static void make_read_only(const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", tree.path, name);
	CHECK_EQ(chmod(path, 0444), 0);
}

/* A node whose kubelet uses that driver, and a configuration that names a kubeconfig. */
static void node_open(bool systemd)
{
	static const struct fake_file cgroups[] = {{"cpu.pressure", ""}};
	static const struct fake_file files[] = {{"proc/1/comm", "x\n"},
						 {"proc/77/comm", "kubelet\n"},
						 {"proc/pressure/memory", "some avg10=0.00\n"},
						 {"sys/kernel/btf/vmlinux", "x"},
						 {"state", NULL}};
	char yaml[512];

	fake_open(&tree, cgroups, ARRAY_SIZE(cgroups));
	fake_put(&tree, systemd ? "kubepods.slice/kubepods-burstable.slice" : "kubepods/burstable",
		 NULL);
	if (read_only)
		make_read_only("cgroup.subtree_control");
	fake_open(&host, files, ARRAY_SIZE(files));
	snprintf(yaml, sizeof(yaml),
		 "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
		 "clusters:\n- name: a\n  cluster:\n    server: http://127.0.0.1:%u\n"
		 "users:\n- name: a\n  user:\n    token: secret\n"
		 "contexts:\n- name: a\n  context:\n    cluster: a\n    user: a\n",
		 port);
	fake_put(&host, "kubeconfig", yaml);
	snprintf(yaml, sizeof(yaml),
		 "apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"
		 "kubernetes:\n  kubeconfig: %s/kubeconfig\n%s",
		 host.path, more_config);
	fake_put(&host, "vscaled.yaml", yaml);
	if (more_path != NULL)
		fake_put(&host, more_path, "");
	snprintf(config, sizeof(config), "%s/vscaled.yaml", host.path);
	snprintf(state, sizeof(state), "%s/state", host.path);
}

static void node_close(void)
{
	fake_close(&tree);
	fake_close(&host);
}

static void examine(void)
{
	struct ctl c;
	struct doctor d = {.ctl = &c};
	size_t size;

	ctl_default(&c, ctl_commands);
	c.root = host.path;
	c.cgroup_root = tree.path;
	c.trust_cgroup_root = true;
	c.state_directory = state;
	c.config = config;
	c.socket = "/nonexistent";
	c.output = OUTPUT_JSON;
	free(text);
	c.out = open_memstream(&text, &size);
	doctor_run(&d);
	fclose(c.out);
	cJSON_Delete(examined);
	examined = cJSON_Parse(text);
}

static void check_finding(const char *name, const char *finding, const char *words)
{
	const cJSON *entry, *found = NULL;

	cJSON_ArrayForEach (entry, cJSON_GetObjectItem(examined, "checks"))
		if (strcmp(cJSON_GetObjectItem(entry, "check")->valuestring, name) == 0)
			found = entry;
	CHECK(found != NULL);
	if (!found)
		return;
	CHECK_STR(cJSON_GetObjectItem(found, "finding")->valuestring, finding);
	if (!strstr(cJSON_GetObjectItem(found, "text")->valuestring, words))
		fprintf(stderr, "%s: %s\n", name, cJSON_GetObjectItem(found, "text")->valuestring);
	CHECK(strstr(cJSON_GetObjectItem(found, "text")->valuestring, words) != NULL);
}

/* One run against a server that answers so. */
static void examine_with(const struct script *s, bool systemd)
{
	pid_t pid = server_start(s);

	node_open(systemd);
	examine();
	node_close();
	server_stop(pid);
}

TEST(well)
{
	const struct script good = {"200 OK", RESOURCES(RESIZE), NULL};

	examine_with(&good, true);
	check_finding("kube-account", "ok", "http://127.0.0.1:");
	check_finding("kube-api", "ok", "answers");
	check_finding("kube-rights", "ok", "granted");
	check_finding("kube-resize", "ok", "pods/resize");
	check_finding("cgroup-driver", "ok", "systemd driver: /kubepods.slice");
	check_finding("other-writers", "ok", "");
	check_finding("configuration", "ok", "");
	/* The systemd driver needs systemd, which this host has not. */
	check_finding("systemd", "missing", "not PID 1");
	CHECK(!strstr(text, "secret"));
	examine_with(&good, false);
	check_finding("cgroup-driver", "ok", "cgroupfs driver: /kubepods");
	check_finding("systemd", "skipped", "not needed");
	check_finding("systemd-bus", "skipped", "");
}

/* What an agent's pod sees of systemd: its socket, or nothing where it is not to write. */
TEST(systemd_of_a_pod)
{
	const struct script good = {"200 OK", RESOURCES(RESIZE), NULL};

	more_path = "run/systemd/private";
	examine_with(&good, true);
	check_finding("systemd", "ok", "");
	more_path = NULL;
	more_config = "  highestMode: \"Off\"\n";
	examine_with(&good, true);
	check_finding("systemd", "skipped", "not needed");
	more_config = "";
}

/* The install that only recommends: a read-only cgroup tree and no right to resize are as they
 * should be with highestMode Off alone. */
TEST(observes)
{
	static const char *const denied[] = {"\"resize\"", "nodes", "horizontalpodautoscalers"};

	read_only = true;
	set_override(false);
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
		const struct script s = {"200 OK", RESOURCES(RESIZE), denied[i]};

		more_config = "  highestMode: \"Off\"\n";
		examine_with(&s, true);
		check_finding("privilege", "skipped", "no limit is written");
		check_finding("kube-rights", "ok", "resize and evict are not needed");
		CHECK(cJSON_IsTrue(cJSON_GetObjectItem(examined, "usable")));
		more_config = "";
		examine_with(&s, true);
		check_finding("privilege", "missing", "may not write");
		check_finding("kube-rights", "warning", "may not ");
	}
	set_override(true);
	read_only = false;
}

#define BURSTABLE  "kubepods.slice/kubepods-burstable.slice/"
#define SLICE(uid) BURSTABLE "kubepods-burstable-pod" uid ".slice"

/* Pods of the name that is watched, and pods that run here. */
TEST(node_name)
{
	static const struct {
		const char *folder, *finding, *words;
	} cases[] = {
		{BURSTABLE, "ok", "node node-1 has 1 pods, of which 0 run here"},
		{SLICE(POD_UID), "ok", "node node-1 has 1 pods, of which 1 run here"},
		{SLICE("7b1e"), "missing", "none of the 1 pods of node node-1"},
	};
	const struct script good = {"200 OK", RESOURCES(RESIZE), NULL};

	more_config = "  nodeName: node-1\n";
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t pid = server_start(&good);

		node_open(true);
		fake_put(&tree, cases[i].folder, NULL);
		examine();
		check_finding("kube-node", cases[i].finding, cases[i].words);
		node_close();
		server_stop(pid);
	}
	more_config = "";
}

TEST(rights)
{
	static const struct {
		const char *denied;
		const char *finding;
		const char *words;
		const char *config;
	} cases[] = {
		{"\"watch\"", "missing", "may not watch pods", ""},
		{"\"resize\"", "warning", "may not patch pods/resize", ""},
		{"events.k8s.io", "warning", "may not create events, patch events", ""},
		{"limitranges", "warning", "may not list limitranges", ""},
		{"nodes", "warning", "may not get nodes; without get nodes no request is raised",
		 ""},
		{"horizontalpodautoscalers", "warning", "may not list horizontalpodautoscalers",
		 ""},
		{"namespaces\"", "ok", "granted", ""},
		{"namespaces\"", "warning", "may not list namespaces",
		 "  namespaceAnnotations: true\n"},
		{"eviction", "ok", "pods are not evicted", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct script s = {"200 OK", RESOURCES(RESIZE), cases[i].denied};

		more_config = cases[i].config;
		examine_with(&s, true);
		check_finding("kube-rights", cases[i].finding, cases[i].words);
	}
	more_config = "";
}

TEST(server)
{
	static const struct script old = {"200 OK", RESOURCES(""), NULL};
	static const struct script refused = {
		"401 Unauthorized",
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
		"\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}",
		NULL};
	static const struct script page = {"200 OK", "<html>", NULL};

	examine_with(&old, true);
	check_finding("kube-resize", "warning", "no pods/resize");
	examine_with(&refused, true);
	check_finding("kube-api", "missing", "says 401: Unauthorized");
	check_finding("kube-rights", "skipped", "not connected to an API server");
	check_finding("kube-resize", "skipped", "not connected to an API server");
	examine_with(&page, true);
	check_finding("kube-api", "missing", "not from an API server");
	/* The connection is refused. */
	server_stop(server_start(&old));
	node_open(true);
	examine();
	check_finding("kube-api", "missing", "http://127.0.0.1:");
	/* No kubeconfig, and no folder of pods. */
	fake_remove(&host, "kubeconfig");
	fake_remove(&tree, "kubepods.slice");
	examine();
	check_finding("kube-account", "missing", "kubeconfig");
	check_finding("kube-api", "skipped", "");
	check_finding("cgroup-driver", "missing", "not below");
	/* As in kind: the agent finds it, too. */
	fake_put(&tree, "kubelet/kubepods/burstable/pod1", NULL);
	examine();
	check_finding("cgroup-driver", "ok", "cgroupfs driver: /kubelet/kubepods");
	node_close();
}

/* In a pod without a service account. */
TEST(account)
{
	struct doctor_place place = {"10.0.0.1", "443", "/nonexistent"};

	node_open(true);
	fake_put(&host, "vscaled.yaml",
		 "apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n");
	doctor_place = &place;
	examine();
	check_finding("kube-account", "missing", "/nonexistent");
	place = (struct doctor_place){0};
	examine();
	check_finding("kube-account", "skipped", "no cluster");
	check_finding("cgroup-driver", "skipped", "no cluster");
	doctor_place = NULL;
	node_close();
}

int main(void)
{
	static const struct doctor_place nowhere = {0};

	doctor_place = &nowhere;
	check_run();
	cJSON_Delete(examined);
	free(text);
	return check_result();
}
