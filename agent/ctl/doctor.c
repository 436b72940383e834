// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/doctor.h"
#include "agent/annotation/annotation.h"
#include "agent/base/file.h"
#include "agent/base/listen.h"
#include "agent/ctl/client.h"
#include "agent/ctl/render.h"
#include "agent/kube/model/encode.h"
#include "cgroup/kubepods.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>

#define PATH_SIZE 512
#define NEEDED    (CG_CPU | CG_MEMORY)
/* Room for the originals and the history of a full node. */
#define STATE_BYTES_MIN (32 * MIB)
#define TIMEOUT_USEC    (10 * USEC_PER_SEC)
#define REVIEW_PATH     "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

const struct doctor_place *doctor_place;

/* Fills the text of a check; returns f. */
__attribute__((format(printf, 3, 4))) static enum finding say(char *text, enum finding f,
							      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, DOCTOR_TEXT_MAX, format, args);
	va_end(args);
	return f;
}

/* ctl->root + path; cut off where it does not fit, and then nothing is found there. */
static const char *host_path(const struct doctor *d, const char *path, char ret[static PATH_SIZE])
{
	snprintf(ret, PATH_SIZE, "%s%s", d->ctl->root, path);
	return ret;
}

static bool has_tree(const struct doctor *d)
{
	return d->host_error == 0 && d->host.mode == CG_MODE_UNIFIED;
}

static int open_tree(const struct doctor *d)
{
	return open(d->host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* --- the kernel */

/* "cpu and memory", "cpu", "memory". */
static const char *names_of(uint32_t controllers)
{
	if ((controllers & NEEDED) == NEEDED)
		return "cpu and memory";
	return controllers & CG_CPU ? "cpu" : "memory";
}

static enum finding check_cgroup_version(const struct doctor *d, char *text)
{
	static const char *const words[CG_MODE_COUNT] = {
		[CG_MODE_NONE] = "no cgroup file system is mounted",
		[CG_MODE_V1] = "only cgroup v1 is mounted",
		[CG_MODE_HYBRID] = "hybrid: cgroup v2 is mounted, but cpu or memory belong to v1",
		[CG_MODE_UNIFIED] = "cgroup v2 at",
	};

	if (d->host_error < 0)
		return say(text, FINDING_MISSING, "the cgroup tree cannot be read: %s",
			   strerror(-d->host_error));
	if (d->host.mode != CG_MODE_UNIFIED)
		return say(text, FINDING_MISSING, "%s", words[d->host.mode]);
	return say(text, FINDING_OK, "%s %s", words[CG_MODE_UNIFIED], d->host.mount);
}

static enum finding check_controllers(const struct doctor *d, char *text)
{
	uint32_t missing = NEEDED & ~d->host.available;

	if (missing)
		return say(text, FINDING_MISSING, "the kernel does not offer the %s controller",
			   names_of(missing));
	return say(text, FINDING_OK, "the kernel offers cpu and memory");
}

static void note_gap(void *ctx, const char *folder, uint32_t missing)
{
	char *text = ctx;

	/* Reports the first gap on the path: it is the one to fix. */
	if (text[0] == '\0')
		snprintf(text, DOCTOR_TEXT_MAX, "%s %s not enabled below %s", names_of(missing),
			 (missing & NEEDED) == NEEDED ? "are" : "is", folder);
}

static enum finding check_enabled(const struct doctor *d, char *text)
{
	OWN(drop_fd) int root = open_tree(d);

	if ((NEEDED & ~d->host.enabled) != 0) {
		note_gap(text, "/", NEEDED & ~d->host.enabled);
		return FINDING_MISSING;
	}
	/* A slice enables the cpu controller when a unit in it needs it. */
	if (root >= 0 && cg_gaps(root, "system.slice/x.service", NEEDED, note_gap, text) > 0)
		return FINDING_WARN;
	return say(text, FINDING_OK, "cpu and memory are enabled down to the services");
}

static enum finding check_files(const struct doctor *d, char *text)
{
	OWN(drop_fd) int root = open_tree(d), dir = -1;
	const char *release = d->host.kernel;
	char lacks[256];

	if (d->host.kernel_old)
		return say(text, FINDING_WARN,
			   "kernel %s is older than %s, the oldest that is tested", release,
			   CG_KERNEL_OLDEST);
	dir = openat(root, "system.slice", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || faccessat(dir, "memory.max", F_OK, 0) < 0)
		return say(text, FINDING_SKIPPED, "not checked: system.slice has no memory files");
	cg_lacks(dir, lacks, sizeof lacks);
	if (lacks[0] != '\0')
		return say(text, FINDING_WARN, "kernel %s has no %s", release, lacks);
	return say(text, FINDING_OK, "kernel %s has memory.reclaim and memory.peak", release);
}

static enum finding check_psi(const struct doctor *d, char *text)
{
	char path[PATH_SIZE], line[64];
	OWN(drop_fd)
	int fd = open(host_path(d, "/proc/pressure/memory", path), O_RDONLY | O_CLOEXEC);

	/* Built in but switched off, the file is there and cannot be read. */
	if (fd < 0 || read(fd, line, sizeof line) <= 0)
		return say(text, FINDING_WARN, "pressure stall information is off");
	return say(text, FINDING_OK, "pressure stall information is on");
}

/* Containers use the same user's instances: on a full node a restarted agent gets none. */
static enum finding check_inotify(const struct doctor *, char *text)
{
	/* vscaled needs as many. */
	OWN(drop_fd) int first = inotify_init1(IN_CLOEXEC);
	OWN(drop_fd) int second = inotify_init1(IN_CLOEXEC);

	(void)first;
	if (second < 0)
		return say(text, FINDING_WARN, "too few inotify instances are left (%s)",
			   strerror(errno));
	return say(text, FINDING_OK, "inotify instances are left for this user");
}

/* Only the agent knows whether it may load programs: see `vscalectl status`. */
static enum finding check_bpf(const struct doctor *d, char *text)
{
	static const char types[] = "/sys/kernel/btf/vmlinux";
	char path[PATH_SIZE];

	if (access(host_path(d, types, path), R_OK) < 0)
		return say(text, FINDING_WARN, "the kernel has no type information, BTF (%s: %s)",
			   types, strerror(errno));
	return say(text, FINDING_OK, "the kernel has type information (BTF)");
}

static enum finding check_privilege(const struct doctor *d, char *text)
{
	if (d->observes)
		return say(text, FINDING_SKIPPED,
			   "the cgroup tree is read-only, as it may be: "
			   "kubernetes.highestMode is Off, no limit is written");
	if (!d->host.writable)
		return say(text, FINDING_MISSING, "user %u may not write to %s",
			   (unsigned)geteuid(), d->host.mount);
	return say(text, FINDING_OK, "user %u may write limits", (unsigned)geteuid());
}

/* --- systemd, the file systems and other programs of the host */

static bool exists(const struct doctor *d, const char *path)
{
	char full[PATH_SIZE];

	return access(host_path(d, path, full), F_OK) == 0;
}

/* Checks what sd_booted() checks; in a pod only PID 1's private socket is mounted. */
static bool has_systemd(const struct doctor *d)
{
	return exists(d, "/run/systemd/system") ||
	       (d->cluster.wanted && exists(d, "/run/systemd/private"));
}

static enum finding check_systemd(const struct doctor *d, char *text)
{
	if (!has_systemd(d))
		return say(text, d->systemd_optional ? FINDING_SKIPPED : FINDING_MISSING,
			   "systemd is not PID 1 here%s",
			   d->systemd_optional ? ", and is not needed" : "");
	return say(text, FINDING_OK, "systemd is PID 1");
}

static enum finding check_bus(const struct doctor *d, char *text)
{
	static const char *const sockets[] = {"/run/systemd/private",
					      "/run/dbus/system_bus_socket"};
	char path[PATH_SIZE];
	int error = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(sockets) && error < 0; i++) {
		error = client_probe(host_path(d, sockets[i], path));
		if (error == 0)
			snprintf(text, DOCTOR_TEXT_MAX, "%s answers", sockets[i]);
	}
	if (error < 0)
		snprintf(text, DOCTOR_TEXT_MAX, "systemd cannot be reached: %s", strerror(-error));
	if (error < 0 && d->systemd_optional)
		return FINDING_SKIPPED;
	return error < 0 ? FINDING_MISSING : FINDING_OK;
}

static enum finding check_journal(const struct doctor *d, char *text)
{
	char path[PATH_SIZE];
	/* Sending without a socket there succeeds. */
	int r = listen_probe(host_path(d, "/run/systemd/journal/socket", path), SOCK_DGRAM);

	if (r < 0)
		return say(text, FINDING_WARN, "the journal is not available: %s", strerror(-r));
	return say(text, FINDING_OK, "the journal is available");
}

static enum finding check_state(const struct doctor *d, char *text)
{
	const char *wanted = d->ctl->state_directory;
	char path[PATH_SIZE], *slash;
	struct statvfs fs;

	snprintf(path, sizeof path, "%s", wanted);
	/* The part that exists: the folder itself, or that in which it will be made. */
	while (path[0] && path[1] && access(path, F_OK) < 0 && (slash = strrchr(path, '/')) != NULL)
		slash[slash == path ? 1 : 0] = '\0';
	if (access(path, W_OK | X_OK) < 0)
		return say(text, FINDING_MISSING, "%.150s cannot be written: %s", wanted,
			   strerror(errno));
	if (statvfs(path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < STATE_BYTES_MIN)
		return say(text, FINDING_MISSING, "the file system of %.150s is full", wanted);
	return say(text, FINDING_OK, "%.150s %s", wanted,
		   strcmp(path, wanted) == 0 ? "can be written" : "can be created");
}

static enum finding check_config(const struct doctor *d, char *text)
{
	const char *path = d->ctl->config;
	OWN(drop_free) struct config_errors *errors = ctl_alloc(sizeof(*errors));
	OWN(config_free) struct config config = {0};
	int r = annotation_load_config(path, &config, errors);

	if (r < 0)
		return say(text, FINDING_WARN, "%s",
			   errors->count > 0 ? errors->text[0] : strerror(-r));
	if (config.unit_count == 0 && !d->cluster.wanted)
		return say(text, FINDING_WARN, "%.150s is valid, but names no units", path);
	return say(text, FINDING_OK, "%.150s is valid and names units in %zu rules", path,
		   config.unit_count);
}

/* Programs that write limits of cgroups themselves. */
static bool is_writer(const struct doctor *d, const char *name)
{
	static const char *const names[] = {"kubelet",     "koordlet", "katalyst-agent",
					    "crane-agent", "oomd",     "senpai"};

	/* In a cluster it is expected, and its writes are known. */
	for (size_t i = d->cluster.wanted ? 1 : 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void read_name(const struct doctor *d, const char *pid, char *ret, size_t size)
{
	char path[PATH_SIZE], part[300];
	FILE *f;

	ret[0] = '\0';
	snprintf(part, sizeof(part), "/proc/%s/comm", pid);
	f = fopen(host_path(d, part, path), "re");
	if (!f)
		return;
	if (!fgets(ret, (int)size, f))
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	fclose(f);
}

static enum finding check_writers(const struct doctor *d, char *text)
{
	char path[PATH_SIZE], name[32];
	OWN(drop_dir) DIR *proc = opendir(host_path(d, "/proc", path));
	const struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		read_name(d, entry->d_name, name, sizeof(name));
		if (!is_writer(d, name))
			continue;
		return say(text, FINDING_WARN, "%s (pid %.20s) also writes limits", name,
			   entry->d_name);
	}
	return say(text, FINDING_OK, "no other program that sizes cgroups is running");
}

/* A folder UNIT.d with a limit that set-property without --runtime has left. */
static bool sets_limit(int parent, const char *folder)
{
	static const char *const files[] = {"50-CPUQuota.conf", "50-CPUQuotaPeriodSec.conf",
					    "50-MemoryMax.conf", "50-MemoryHigh.conf"};
	char path[400];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		if (faccessat(parent, path, F_OK, 0) == 0)
			return true;
	}
	return false;
}

static enum finding check_dropins(const struct doctor *d, char *text)
{
	char path[PATH_SIZE];
	OWN(drop_dir) DIR *folders = opendir(host_path(d, "/etc/systemd/system.control", path));
	const struct dirent *entry;

	while (folders && (entry = readdir(folders))) {
		if (!sets_limit(dirfd(folders), entry->d_name))
			continue;
		return say(text, FINDING_WARN, "a persistent limit of %.150s", entry->d_name);
	}
	return say(text, FINDING_OK, "no unit has a persistent limit of systemctl set-property");
}

static enum finding check_daemon(const struct doctor *d, char *text)
{
	int r = client_probe(d->ctl->socket);

	if (r == 0)
		return say(text, FINDING_OK, "vscaled listens at %.150s", d->ctl->socket);
	if (client_no_daemon(r))
		return say(text, FINDING_WARN,
			   "vscaled is not running: no process listens at %.120s", d->ctl->socket);
	return say(text, FINDING_WARN, "%.150s: %s", d->ctl->socket, strerror(-r));
}

/* --- the API server */

/* One request, waited for. */
struct reply {
	bool done;
	unsigned status;
	int error;
	char detail[256];
	char *body;
	size_t len;
};

static void drop_reply(struct reply *r)
{
	free(r->body);
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct reply *r = arg;

	r->done = true;
	r->status = answer->status;
	r->error = answer->error;
	snprintf(r->detail, sizeof(r->detail), "%s", answer->detail);
	r->body = strndup(answer->body, answer->len);
	r->len = r->body != NULL ? strlen(r->body) : 0;
}

static int cluster_request(const struct doctor_cluster *k, const char *method, const char *path,
			   const char *body, struct reply *ret)
{
	const struct kube_request request = {
		.method = method,
		.path = path,
		.body = body,
		.content = KUBE_JSON,
		.timeout_usec = TIMEOUT_USEC,
	};
	int r = kube_client_start(k->client, &request, NULL, on_done, ret, NULL);

	while (r >= 0 && !ret->done)
		r = sd_event_run(k->event, UINT64_MAX);
	return r < 0 ? r : ret->body != NULL ? 0 : -ENOMEM;
}

/* The same, and -errno where the server did not answer or refused. */
static int cluster_answer(const struct doctor_cluster *k, const char *method, const char *path,
			  const char *body, struct reply *ret)
{
	int e = cluster_request(k, method, path, body, ret);

	if (e < 0)
		return e;
	if (ret->status == 0)
		return ret->error < 0 ? ret->error : -EIO;
	return ret->status == 200 || ret->status == 201 ? 0 : -EPERM;
}

static void query_cluster(struct doctor_cluster *k)
{
	OWN(drop_free) struct kube_status *refused = NULL;
	OWN(drop_reply) struct reply r = {0};
	struct kube_decode_error why;
	int e = cluster_request(k, "GET", "/api/v1", NULL, &r);

	k->status = r.status;
	if (e < 0) {
		snprintf(k->detail, sizeof(k->detail), "%s", strerror(-e));
	} else if (r.status == 0) {
		snprintf(k->detail, sizeof(k->detail), "%.200s", r.detail);
	} else if (r.status != 200) {
		refused = ctl_alloc(sizeof(*refused));
		kube_decode_status(r.body, r.len, refused);
		snprintf(k->detail, sizeof(k->detail), "%.200s", refused->message);
	} else if (kube_decode_resize_offered(r.body, r.len, &k->resize_offered, &why) < 0) {
		k->status = 0;
		snprintf(k->detail, sizeof(k->detail), "the answer is not from an API server");
	}
}

/* Must be closed also after a failure. Waits for the server's answer, 10 s at most. */
static void cluster_open(const struct config_kubernetes *config, struct doctor_cluster *k)
{
	struct doctor_place here = {getenv("KUBERNETES_SERVICE_HOST"),
				    getenv("KUBERNETES_SERVICE_PORT"), KUBE_ACCOUNT_DIR};
	const struct doctor_place *place = doctor_place ? doctor_place : &here;

	k->wanted = config->enabled == CONFIG_TRUE ||
		    (config->enabled == CONFIG_AUTO && (config->kubeconfig || place->host));
	if (!k->wanted)
		return;
	k->config_error =
		config->kubeconfig
			? kube_config_load(config->kubeconfig, config->context, &k->config, &k->why)
			: kube_config_in_cluster(place->host, place->port, place->account,
						 &k->config, &k->why);
	if (k->config_error < 0)
		return;
	k->config_error = sd_event_new(&k->event);
	if (k->config_error >= 0)
		k->config_error = kube_client_new(k->event, &k->config,
						  "vscalectl/" VSCALED_VERSION, &k->client);
	if (k->config_error < 0)
		snprintf(k->why.text, sizeof(k->why.text), "%s", strerror(-k->config_error));
	else
		query_cluster(k);
}

/* Sends a SelfSubjectAccessReview. -errno: no answer. */
static int cluster_may(const struct doctor_cluster *k, const char *verb, const char *group,
		       const char *resource, const char *subresource, bool *ret)
{
	OWN(drop_free) char *body = kube_encode_access(verb, group, resource, subresource);
	OWN(drop_reply) struct reply r = {0};
	struct kube_decode_error why;
	int e = body ? cluster_answer(k, "POST", REVIEW_PATH, body, &r) : -ENOMEM;

	return e < 0 ? e : kube_decode_access(r.body, r.len, ret, &why);
}

/* Every pod of the node, as the server's cache has it. each takes the pod. -errno: no answer. */
static int cluster_pods(const struct doctor_cluster *k, const char *node, kube_pod_fn *each,
			void *arg)
{
	OWN(drop_reply) struct reply r = {0};
	char segment[3 * 253 + 1], path[1024], version[128];
	struct kube_decode_error why;
	size_t bad;
	int e = kube_encode_segment(node, segment, sizeof(segment));

	if (e < 0)
		return e;
	snprintf(path, sizeof(path),
		 "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s&resourceVersion=0", segment);
	e = cluster_answer(k, "GET", path, NULL, &r);
	if (e < 0)
		return e;
	return kube_decode_pods(r.body, r.len, each, arg, version, sizeof(version), &bad, &why);
}

/* --- the cluster, from this node */

static enum finding check_kube_account(const struct doctor *d, char *text)
{
	const struct doctor_cluster *k = &d->cluster;

	if (k->config_error < 0)
		return say(text, FINDING_MISSING, "%s", k->why.text);
	return say(text, k->config.insecure ? FINDING_WARN : FINDING_OK, "%s, by %s%s",
		   k->config.server,
		   k->config.token_file || k->config.token      ? "a token"
		   : k->config.cert_file || k->config.cert_data ? "a certificate"
								: "no credential",
		   k->config.insecure ? "; its certificate is not checked" : "");
}

static enum finding check_kube_api(const struct doctor *d, char *text)
{
	const struct doctor_cluster *k = &d->cluster;

	if (k->status == 200)
		return say(text, FINDING_OK, "%s answers", k->config.server);
	if (k->status == 0)
		return say(text, FINDING_MISSING, "%s: %s", k->config.server, k->detail);
	return say(text, FINDING_MISSING, "%s says %u: %s", k->config.server, k->status, k->detail);
}

struct right {
	const char *verb;
	const char *group;
	const char *resource;
	const char *subresource;
	bool essential;
	enum { RIGHT_ALWAYS, RIGHT_SIZING, RIGHT_NAMESPACES } where; /* it is needed */
};

/* As in the roles; without a right that is not essential a function is missing. */
static const struct right rights[] = {
	{"list", "", "pods", NULL, true, RIGHT_ALWAYS},
	{"watch", "", "pods", NULL, true, RIGHT_ALWAYS},
	{"patch", "", "pods", "resize", false, RIGHT_SIZING},
	{"patch", "", "pods", NULL, false, RIGHT_ALWAYS},
	{"create", "events.k8s.io", "events", NULL, false, RIGHT_ALWAYS},
	{"patch", "events.k8s.io", "events", NULL, false, RIGHT_ALWAYS},
	{"list", "", "limitranges", NULL, false, RIGHT_ALWAYS},
	{"get", "", "nodes", NULL, false, RIGHT_SIZING},
	{"list", "autoscaling", "horizontalpodautoscalers", NULL, false, RIGHT_SIZING},
	{"list", "autoscaling.k8s.io", "verticalpodautoscalers", NULL, false, RIGHT_SIZING},
	{"list", "", "namespaces", NULL, false, RIGHT_NAMESPACES},
};

static void add_right(char *text, const struct right *r)
{
	size_t length = strlen(text);

	snprintf(text + length, DOCTOR_TEXT_MAX - length, "%s%s %s%s%s", length ? ", " : "may not ",
		 r->verb, r->resource, r->subresource ? "/" : "",
		 r->subresource ? r->subresource : "");
}

static enum finding check_kube_rights(const struct doctor *d, char *text)
{
	enum finding f = FINDING_OK;
	bool evicts = false;

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		const struct right *r = &rights[i];
		bool allowed = false;
		int e;

		if ((r->where == RIGHT_NAMESPACES && !d->config.kubernetes.namespace_annotations) ||
		    (r->where == RIGHT_SIZING && d->observes))
			continue;
		e = cluster_may(&d->cluster, r->verb, r->group, r->resource, r->subresource,
				&allowed);
		if (e < 0)
			return say(text, FINDING_WARN, "the API server does not answer: %s",
				   strerror(-e));
		if (allowed)
			continue;
		add_right(text, r);
		if (f != FINDING_MISSING)
			f = r->essential ? FINDING_MISSING : FINDING_WARN;
	}
	if (strstr(text, "get nodes") != NULL)
		snprintf(text + strlen(text), DOCTOR_TEXT_MAX - strlen(text),
			 "; without get nodes no request is raised");
	if (f != FINDING_OK)
		return f;
	if (d->observes)
		return say(text, f,
			   "all rights to read and show are granted; those to "
			   "resize and evict are not needed");
	(void)cluster_may(&d->cluster, "create", "", "pods", "eviction", &evicts);
	return say(text, f, "all rights that vscaled needs are granted%s",
		   evicts ? ", evictions too"
			  : "; pods are not evicted without the component evict");
}

static enum finding check_kube_resize(const struct doctor *d, char *text)
{
	if (!d->cluster.resize_offered)
		return say(text, FINDING_WARN, "the API server has no pods/resize");
	return say(text, FINDING_OK, "the API server has pods/resize");
}

/* Pods of the API server, and which of them are here. */
struct census {
	int root;
	char prefix[KUBEPODS_PATH_MAX];
	unsigned listed;
	unsigned here;
};

/* As configured; where it has no pod's cgroup, where the agent would find one. */
static void find_prefix(const struct doctor *d, int root, char ret[static KUBEPODS_PATH_MAX])
{
	snprintf(ret, KUBEPODS_PATH_MAX, "%s", d->config.kubernetes.cgroup_prefix ?: "");
	if (!kubepods_any_pod(root, ret))
		kubepods_search(root, NULL, ret, KUBEPODS_PATH_MAX);
}

static int count_pod(void *arg, struct kube_pod *pod)
{
	struct census *c = arg;
	char path[KUBEPODS_PATH_MAX];

	c->listed++;
	c->here += kubepods_find_pod(c->root, c->prefix, pod->cgroup_uid, path, sizeof(path)) == 0;
	kube_pod_free(pod);
	return 0;
}

static enum finding check_kube_node(const struct doctor *d, char *text)
{
	OWN(drop_fd) int root = open_tree(d);
	struct census c = {.root = root};
	int e;

	find_prefix(d, root, c.prefix);
	e = cluster_pods(&d->cluster, d->node, count_pod, &c);
	if (e < 0)
		return say(text, FINDING_WARN, "the pods of node %s cannot be listed: %s", d->node,
			   strerror(-e));
	snprintf(text, DOCTOR_TEXT_MAX, "node %s has %u pods, of which %u run here", d->node,
		 c.listed, c.here);
	if (c.here > 0 || !kubepods_any_pod(root, c.prefix))
		return FINDING_OK;
	return say(text, FINDING_MISSING,
		   "pods run here, but none of the %u pods of node %s: the name is wrong", c.listed,
		   d->node);
}

static enum finding check_cgroup_driver(const struct doctor *d, char *text)
{
	char parents[KUBEPODS_PARENTS_MAX][KUBEPODS_PATH_MAX], prefix[KUBEPODS_PATH_MAX];
	OWN(drop_fd) int root = open_tree(d);

	if (root >= 0)
		find_prefix(d, root, prefix);
	if (root < 0 || kubepods_parents(root, prefix, parents) == 0)
		return say(text, FINDING_MISSING, "the kubelet's folder of pods is not below %s",
			   d->host.mount);
	return say(text, FINDING_OK, "the kubelet uses the %s driver: /%s",
		   strstr(parents[0], ".slice") ? "systemd" : "cgroupfs", parents[0]);
}

/* clang-format off */
const struct doctor_check doctor_checks[DOCTOR_CHECK_COUNT] = {
	{"cgroup-v2",     check_cgroup_version, 0,
	 "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line; Debian 11 and later do so by default"},
	{"controllers",   check_controllers,    NEED_TREE,
	 "remove cgroup_disable= and cgroup_no_v1= from the kernel's command line, or use a kernel with CONFIG_MEMCG and CONFIG_CFS_BANDWIDTH"},
	{"enabled",       check_enabled,        NEED_TREE,
	 "systemctl set-property system.slice CPUAccounting=yes MemoryAccounting=yes, and give the units a limit: systemd enables a controller where a unit uses it"},
	{"kernel",        check_files,          NEED_TREE,
	 "use kernel 5.19 or later (" CG_KERNEL_OLDEST " is the oldest that is tested): without memory.reclaim decreases are slower, without memory.peak short peaks are missed"},
	{"psi",           check_psi,            0,
	 "boot with psi=1 on the kernel's command line: without PSI vscaled detects a harmful decrease later"},
	{"inotify",       check_inotify,        0,
	 "run sysctl fs.inotify.max_user_instances=8192, and put it in a file in /etc/sysctl.d: without an instance vscaled detects external writes late"},
	{"bpf",           check_bpf,            0,
	 "use kernel 6.1 or later, built with CONFIG_DEBUG_INFO_BTF: until then vscaled reads the files of each cgroup, with more CPU time and the same result"},
	{"privilege",     check_privilege,      NEED_TREE,
	 "run as root, and mount the cgroup tree read-write (in a unit: not ProtectControlGroups=yes)"},
	{"systemd",       check_systemd,        0,
	 "vscaled manages systemd units: run it on a host whose PID 1 is systemd 252 or later, or mount its /run/systemd into the container"},
	{"systemd-bus",   check_bus,            NEED_SYSTEMD,
	 "make /run/systemd/private (as root) or the system bus reachable: without it a daemon-reload overwrites every limit"},
	{"journal",       check_journal,        0,
	 "start systemd-journald, or mount the folder /run/systemd/journal; until then events go to standard error"},
	{"state",         check_state,          0,
	 "make the folder writable for root, and free space on its file system: without saved originals nothing is managed"},
	{"configuration", check_config,         0,
	 "write a configuration (man vscaled.yaml), and run vscalectl config check"},
	{"other-writers", check_writers,        0,
	 "do not let that program manage units that vscaled's configuration names: vscaled stops managing a limit that another program keeps writing"},
	{"drop-ins",      check_dropins,        0,
	 "run systemctl revert UNIT, or write the limit into the unit file: a persistent drop-in can overwrite the limit at the next daemon-reload"},
	{"cgroup-driver", check_cgroup_driver,  NEED_CLUSTER | NEED_TREE,
	 "mount the host's /sys/fs/cgroup into the container, and name the kubelet's --cgroup-root as kubernetes.cgroupPrefix in the configuration"},
	{"kube-account",  check_kube_account,   NEED_CLUSTER,
	 "give the pod a service account with its token mounted, or name a kubeconfig as kubernetes.kubeconfig in the configuration"},
	{"kube-api",      check_kube_api,       NEED_CLIENT,
	 "check network policies, proxies, and whether the token or certificate has expired; until then known containers are sized, and new ones are not"},
	{"kube-rights",   check_kube_rights,    NEED_API,
	 "apply the roles of agent/deploy: without pods no pod is found, without pods/resize no limit is sent, without events no Event is recorded"},
	{"kube-resize",   check_kube_resize,    NEED_API,
	 "use Kubernetes 1.33 or later: until then limits change in the cgroups only, and the pod shows them in an annotation"},
	{"kube-node",     check_kube_node,      NEED_API | NEED_NODE | NEED_TREE,
	 "compare the name with kubectl get nodes, and set kubernetes.nodeName in the configuration or NODE_NAME in the environment"},
	{"daemon",        check_daemon,         0,
	 "systemctl enable --now vscaled"},
};
/* clang-format on */

/* Why a check that needs these is skipped; NULL: it is not. */
static const char *unmet(const struct doctor *d, unsigned needs)
{
	const struct doctor_cluster *k = &d->cluster;
	const struct {
		unsigned need;
		bool met;
		const char *without;
	} rows[] = {
		{NEED_CLUSTER, k->wanted, "no cluster is configured, and this is not a pod"},
		{NEED_CLIENT, k->client != NULL, "not connected to an API server"},
		{NEED_API, k->client && k->status == 200, "not connected to an API server"},
		{NEED_NODE, d->node != NULL, "not connected to an API server"},
		{NEED_TREE, has_tree(d), "there is no cgroup v2 tree to manage"},
		{NEED_SYSTEMD, has_systemd(d), "there is no systemd"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((needs & rows[i].need) != 0 && !rows[i].met)
			return rows[i].without;
	return NULL;
}

static enum finding run_check(const struct doctor *d, const struct doctor_check *check, char *text)
{
	const char *why = unmet(d, check->needs);

	if (why != NULL)
		return say(text, FINDING_SKIPPED, "not checked: %s", why);
	return check->run(d, text);
}

enum finding doctor_check(const struct doctor *d, const char *name, char *text)
{
	size_t i = 0;

	while (strcmp(doctor_checks[i].name, name) != 0)
		i++;
	return run_check(d, &doctor_checks[i], text);
}

static const struct {
	const char *name;
	enum paint paint;
	bool remedy; /* it is said what to do */
} findings[FINDING_COUNT] = {
	[FINDING_OK] = {"ok", PAINT_GOOD, false},
	[FINDING_MISSING] = {"missing", PAINT_BAD, true},
	[FINDING_WARN] = {"warning", PAINT_WARN, true},
	[FINDING_SKIPPED] = {"skipped", PAINT_NONE, false},
};

static void print_finding(const struct ctl *c, const struct doctor_check *check, enum finding f,
			  const char *text)
{
	enum paint p = findings[f].paint;

	fprintf(c->out, "%s%-8s%s %-14s %s\n", paint_on(c, p), findings[f].name, paint_off(c, p),
		check->name, text);
	if (findings[f].remedy)
		fprintf(c->out, "%-8s %-14s -> %s\n", "", "", check->remedy);
}

static void add_finding(cJSON *list, const struct doctor_check *check, enum finding f,
			const char *text)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "check", check->name);
	cJSON_AddStringToObject(object, "finding", findings[f].name);
	cJSON_AddStringToObject(object, "text", text);
	if (findings[f].remedy)
		cJSON_AddStringToObject(object, "remedy", check->remedy);
	cJSON_AddItemToArray(list, object);
}

static void print_sum(const struct doctor *d, const unsigned *counts)
{
	FILE *out = d->ctl->out;

	if (counts[FINDING_MISSING] > 0)
		fprintf(out, "\n%u missing: vscaled cannot work here.\n", counts[FINDING_MISSING]);
	else if (counts[FINDING_WARN] > 0)
		fprintf(out, "\nvscaled can work here, with %u warnings.\n", counts[FINDING_WARN]);
	else
		fprintf(out, "\nvscaled can work here.\n");
	if (counts[FINDING_MISSING] == 0 && d->observes)
		fprintf(out, "It computes and shows, and writes no limit "
			     "(kubernetes.highestMode: Off, read-only cgroup tree).\n");
}

/* Finds the cluster by the configuration or the defaults; then queries the API server. */
static void check_cluster(struct doctor *d)
{
	OWN(drop_free) struct config_errors *errors = ctl_alloc(sizeof(*errors));
	struct config *config = &d->config;
	char said[DOCTOR_TEXT_MAX];
	bool pods_only, off;

	if (config_load_file(d->ctl->config, config, errors) < 0 && config_default(config) < 0)
		return;
	cluster_open(&config->kubernetes, &d->cluster);
	d->node = config_node_name(&config->kubernetes);
	pods_only = d->cluster.wanted && config->unit_count == 0;
	off = pods_only && config->kubernetes.highest_mode == MODE_OFF;
	d->observes = off && has_tree(d) && !d->host.writable;
	d->systemd_optional =
		off || (pods_only && doctor_check(d, "cgroup-driver", said) == FINDING_OK &&
			strstr(said, "cgroupfs driver") != NULL);
}

int doctor_run(struct doctor *d)
{
	const struct ctl *c = d->ctl;
	unsigned counts[FINDING_COUNT] = {0};
	cJSON *answer = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(answer, "checks");
	bool raw = c->output != OUTPUT_TABLE;

	d->host_error = cg_discover(c->cgroup_root, c->trust_cgroup_root, &d->host);
	check_cluster(d);
	for (size_t i = 0; i < ARRAY_SIZE(doctor_checks); i++) {
		char text[DOCTOR_TEXT_MAX] = "";
		enum finding f = run_check(d, &doctor_checks[i], text);

		counts[f]++;
		if (raw)
			add_finding(list, &doctor_checks[i], f, text);
		else
			print_finding(c, &doctor_checks[i], f, text);
	}
	cJSON_AddBoolToObject(answer, "usable", counts[FINDING_MISSING] == 0);
	if (raw)
		json_print(c, STEAL(answer));
	else
		print_sum(d, counts);
	cJSON_Delete(answer);
	kube_client_free(d->cluster.client);
	kube_config_free(&d->cluster.config);
	sd_event_unref(d->cluster.event);
	d->cluster = (struct doctor_cluster){0};
	config_free(&d->config);
	free(d->node);
	d->node = NULL;
	return counts[FINDING_MISSING] > 0 ? CTL_ERROR : CTL_OK;
}

int ctl_doctor(const struct ctl *c)
{
	struct doctor d = {.ctl = c};

	return doctor_run(&d);
}
