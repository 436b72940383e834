// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/doctor.h"
#include "agent/config/config.h"
#include "agent/ctl/json.h"
#include "agent/ctl/render.h"
#include <stdarg.h>
#include <string.h>

const char *const finding_names[FINDING_COUNT] = {
	[FINDING_OK] = "ok",
	[FINDING_MISSING] = "missing",
	[FINDING_WARN] = "warning",
	[FINDING_SKIPPED] = "skipped",
};

/* clang-format off */
const struct doctor_check doctor_checks[DOCTOR_CHECK_COUNT] = {
	{"cgroup-v2",     check_cgroup_version, "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line; Debian 11 and later do so by default"},
	{"controllers",   check_controllers,    "remove cgroup_disable= and cgroup_no_v1= from the kernel's command line, or use a kernel with CONFIG_MEMCG and CONFIG_CFS_BANDWIDTH"},
	{"enabled",       check_enabled,        "systemctl set-property system.slice CPUAccounting=yes MemoryAccounting=yes, and give the units a limit: systemd enables a controller where a unit uses it"},
	{"kernel",        check_files,          "use kernel 5.19 or later: without memory.reclaim decreases are slower, without memory.peak short peaks are missed"},
	{"psi",           check_psi,            "boot with psi=1 on the kernel's command line: without PSI vscaled detects a harmful decrease later"},
	{"inotify",       check_inotify,        "run sysctl fs.inotify.max_user_instances=8192, and put it in a file in /etc/sysctl.d: without an instance vscaled detects external writes late"},
	{"bpf",           check_bpf,            "use kernel 6.1 or later, built with CONFIG_DEBUG_INFO_BTF: until then vscaled reads the files of each cgroup, with more CPU time and the same result"},
	{"privilege",     check_privilege,      "run as root, and mount the cgroup tree read-write (in a unit: not ProtectControlGroups=yes)"},
	{"systemd",       check_systemd,        "vscaled manages systemd units: run it on a host whose PID 1 is systemd 252 or later, or mount its /run/systemd into the container"},
	{"systemd-bus",   check_bus,            "make /run/systemd/private (as root) or the system bus reachable: without it a daemon-reload overwrites every limit"},
	{"journal",       check_journal,        "start systemd-journald, or mount the folder /run/systemd/journal; until then events go to standard error"},
	{"state",         check_state,          "make the folder writable for root, and free space on its file system: without saved originals nothing is managed"},
	{"configuration", check_config,         "write a configuration (man vscaled.yaml), and run vscalectl config check"},
	{"other-writers", check_writers,        "do not let that program manage units that vscaled's configuration names: vscaled stops managing a limit that another program keeps writing"},
	{"drop-ins",      check_dropins,        "run systemctl revert UNIT, or write the limit into the unit file: a persistent drop-in can overwrite the limit at the next daemon-reload"},
	{"cgroup-driver", check_cgroup_driver,  "mount the host's /sys/fs/cgroup into the container, and name the kubelet's --cgroup-root as kubernetes.cgroupPrefix in the configuration"},
	{"kube-account",  check_kube_account,   "give the pod a service account with its token mounted, or name a kubeconfig as kubernetes.kubeconfig in the configuration"},
	{"kube-api",      check_kube_api,       "check network policies, proxies, and whether the token or certificate has expired; until then known containers are sized, and new ones are not"},
	{"kube-rights",   check_kube_rights,    "apply the roles of agent/deploy: without pods no pod is found, without pods/resize no limit is sent, without events no Event is recorded"},
	{"kube-resize",   check_kube_resize,    "use Kubernetes 1.33 or later: until then limits change in the cgroups only, and the pod shows them in an annotation"},
	{"kube-node",     check_kube_node,      "compare the name with kubectl get nodes, and set kubernetes.nodeName in the configuration or NODE_NAME in the environment"},
	{"daemon",        check_daemon,         "systemctl enable --now vscaled"},
};
/* clang-format on */

bool doctor_path(const struct doctor *d, const char *path, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s%s", d->ctl->root, path);

	return n >= 0 && (size_t)n < size;
}

enum finding doctor_say(char *text, enum finding f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, DOCTOR_TEXT_MAX, format, args);
	va_end(args);
	return f;
}

enum finding doctor_skip(char *text, const char *why)
{
	return doctor_say(text, FINDING_SKIPPED, "not checked: %s", why);
}

bool doctor_has_tree(const struct doctor *d)
{
	return d->host_error == 0 && d->host.mode == CG_MODE_UNIFIED;
}

static bool needs_remedy(enum finding f)
{
	return f == FINDING_MISSING || f == FINDING_WARN;
}

static enum paint paint_finding(enum finding f)
{
	return f == FINDING_OK        ? PAINT_GOOD
	       : f == FINDING_MISSING ? PAINT_BAD
	       : f == FINDING_WARN    ? PAINT_WARN
				      : PAINT_NONE;
}

static void print_finding(const struct ctl *c, const struct doctor_check *check, enum finding f,
			  const char *text)
{
	enum paint p = paint_finding(f);

	fprintf(c->out, "%s%-8s%s %-14s %s\n", paint_on(c, p), finding_names[f], paint_off(c, p),
		check->name, text);
	if (needs_remedy(f))
		fprintf(c->out, "%-8s %-14s -> %s\n", "", "", check->remedy);
}

static void add_finding(cJSON *list, const struct doctor_check *check, enum finding f,
			const char *text)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "check", check->name);
	cJSON_AddStringToObject(object, "finding", finding_names[f]);
	cJSON_AddStringToObject(object, "text", text);
	if (needs_remedy(f))
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
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct config config = {0};
	char said[DOCTOR_TEXT_MAX];
	bool pods_only, off;

	if (!errors || (config_load_file(d->ctl->config, &config, errors) < 0 &&
			config_default(&config) < 0)) {
		free(errors);
		return;
	}
	free(errors);
	doctor_cluster_open(&config.kubernetes, &d->cluster);
	if (config.kubernetes.cgroup_prefix)
		d->cgroup_prefix = strdup(config.kubernetes.cgroup_prefix);
	d->node = config_node_name(&config.kubernetes);
	d->namespaces = config.kubernetes.namespace_annotations;
	pods_only = d->cluster.wanted && config.unit_count == 0;
	off = pods_only && config.kubernetes.highest_mode == MODE_OFF;
	d->observes = off && doctor_has_tree(d) && !d->host.writable;
	d->systemd_optional = off || (pods_only && check_cgroup_driver(d, said) == FINDING_OK &&
				      strstr(said, "cgroupfs driver") != NULL);
	config_free(&config);
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
		enum finding f = doctor_checks[i].run(d, text);

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
	doctor_cluster_close(&d->cluster);
	free(d->cgroup_prefix);
	d->cgroup_prefix = NULL;
	free(d->node);
	d->node = NULL;
	return counts[FINDING_MISSING] > 0 ? CTL_ERROR : CTL_OK;
}

int ctl_doctor(const struct ctl *c)
{
	struct doctor d = {.ctl = c};

	return doctor_run(&d);
}
