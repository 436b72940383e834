// SPDX-License-Identifier: Apache-2.0
/* doctor on a made-up host: everything well, then one thing missing at a time. */
#include "agent/ctl/doctor.h"
#include "test/check.h"
#include "test/fake.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const struct fake_file cgroups[] = {
	{"cpu.pressure", ""},
	{"memory.pressure", ""},
	{"system.slice/memory.max", "max\n"},
	{"system.slice/memory.high", "max\n"},
	{"system.slice/memory.peak", "0\n"},
	{"system.slice/memory.reclaim", ""},
};

static const struct fake_file files[] = {
	{"proc/pressure/memory", "some avg10=0.00\n"},
	{"sys/kernel/btf/vmlinux", "x"},
	{"proc/1/comm", "systemd\n"},
	{"proc/77/comm", "bash\n"},
	{"run/systemd/system", NULL},
	{"run/systemd/journal", NULL},
	{"etc/systemd/system.control/a.service.d/50-CPUWeight.conf", "[Service]\n"},
	{"state", NULL},
	{"vscaled.yaml", "apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"
			 "units:\n  - match: web.service\n"},
};

static struct fake tree, host;
static int bus_fd, journal_fd, daemon_fd;
static char state[100], config[100], sock[100];
static char *text;

static void path_in_host(const char *name, char *ret)
{
	snprintf(ret, 100, "%s/%s", host.path, name);
}

static int bind_at(const char *name, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	path_in_host(name, address.sun_path);
	CHECK_EQ(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (type == SOCK_STREAM)
		CHECK_EQ(listen(fd, 4), 0);
	return fd;
}

static void host_open(void)
{
	fake_open(&tree, cgroups, ARRAY_SIZE(cgroups));
	fake_open(&host, files, ARRAY_SIZE(files));
	path_in_host("state", state);
	path_in_host("vscaled.yaml", config);
	path_in_host("daemon.sock", sock);
	bus_fd = bind_at("run/systemd/private", SOCK_STREAM);
	journal_fd = bind_at("run/systemd/journal/socket", SOCK_DGRAM);
	daemon_fd = bind_at("daemon.sock", SOCK_STREAM);
}

static void host_close(void)
{
	close(bus_fd);
	close(journal_fd);
	close(daemon_fd);
	fake_close(&host);
	fake_close(&tree);
}

/* Runs all checks; the answer as JSON is the caller's. */
static cJSON *examine(bool trust, int want_exit)
{
	struct ctl c;
	struct doctor d = {.ctl = &c};
	size_t size;

	ctl_default(&c, ctl_commands);
	c.root = host.path;
	c.cgroup_root = tree.path;
	c.trust_cgroup_root = trust;
	c.state_directory = state;
	c.config = config;
	c.socket = sock;
	c.output = OUTPUT_JSON;
	free(text);
	c.out = open_memstream(&text, &size);
	CHECK_EQ(doctor_run(&d), want_exit);
	fclose(c.out);
	return cJSON_Parse(text);
}

static const cJSON *entry_of(const cJSON *answer, const char *name)
{
	const cJSON *entry;

	cJSON_ArrayForEach (entry, cJSON_GetObjectItem(answer, "checks")) {
		if (strcmp(cJSON_GetObjectItem(entry, "check")->valuestring, name) == 0)
			return entry;
	}
	return NULL;
}

/* test_doctor_kube has a cluster; here there is none. */
static bool of_cluster(const cJSON *entry)
{
	const char *name = cJSON_GetObjectItem(entry, "check")->valuestring;

	return strncmp(name, "kube-", 5) == 0 || strcmp(name, "cgroup-driver") == 0;
}

/* Every check says ok but the named one, which says the finding with these words in it. */
static void check_only(const char *name, const char *finding, const char *words)
{
	cJSON *answer = examine(true, strcmp(finding, "missing") == 0 ? CTL_ERROR : CTL_OK);

	for (size_t i = 0; i < DOCTOR_CHECK_COUNT; i++) {
		const cJSON *entry = entry_of(answer, doctor_checks[i].name);
		const char *got = cJSON_GetObjectItem(entry, "finding")->valuestring;
		const char *said = cJSON_GetObjectItem(entry, "text")->valuestring;
		bool here = name && strcmp(name, doctor_checks[i].name) == 0;

		if (!here && strcmp(got, "skipped") == 0 && (name || of_cluster(entry)))
			continue;
		CHECK_STR(got, here ? finding : "ok");
		CHECK(said[0] != '\0');
		CHECK(cJSON_HasObjectItem(entry, "remedy") == here);
		if (here && !strstr(said, words))
			fprintf(stderr, "%s: %s\n", name, said);
		CHECK(!here || strstr(said, words));
	}
	cJSON_Delete(answer);
}

struct damage {
	const char *check;
	const char *finding;
	const char *words;
	const struct fake *(*where)(void);
	const char *path;
	const char *content; /* NULL: remove it */
};

static const struct fake *in_tree(void)
{
	return &tree;
}

static const struct fake *in_host(void)
{
	return &host;
}

/* clang-format off */
static const struct damage damages[] = {
	{"controllers",   "missing", "memory controller",      in_tree, "cgroup.controllers",     "cpu io\n"},
	{"enabled",       "missing", "cpu is not enabled below /", in_tree, "cgroup.subtree_control", "memory\n"},
	{"enabled",       "warning", "below /system.slice",    in_tree, "system.slice/cgroup.subtree_control", "memory pids\n"},
	{"kernel",        "warning", "memory.reclaim",         in_tree, "system.slice/memory.reclaim", NULL},
	{"psi",           "warning", "off",                    in_host, "proc/pressure/memory",   NULL},
	{"psi",           "warning", "off",                    in_host, "proc/pressure/memory",   ""},
	{"bpf",           "warning", "has no type information", in_host, "sys/kernel/btf/vmlinux", NULL},
	{"systemd",       "missing", "not PID 1",              in_host, "run/systemd/system",     NULL},
	{"systemd-bus",   "missing", "cannot be reached",      in_host, "run/systemd/private",    NULL},
	{"journal",       "warning", "is not available",        in_host, "run/systemd/journal/socket", NULL},
	{"configuration", "warning", "cannot be read",         in_host, "vscaled.yaml",           NULL},
	{"configuration", "warning", "vscaled.yaml:1:",        in_host, "vscaled.yaml",           "nonsense: 1\n"},
	{"configuration", "warning", "names no units",         in_host, "vscaled.yaml",           "apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"},
	{"other-writers", "warning", "kubelet (pid 77)",       in_host, "proc/77/comm",           "kubelet\n"},
	{"drop-ins",      "warning", "a.service.d",            in_host, "etc/systemd/system.control/a.service.d/50-MemoryMax.conf", "[Service]\n"},
	{"daemon",        "warning", "not running",            in_host, "daemon.sock",            NULL},
};
/* clang-format on */

TEST(damages)
{
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		const struct damage *d = &damages[i];

		host_open();
		if (d->content)
			fake_put(d->where(), d->path, d->content);
		else
			fake_remove(d->where(), d->path);
		check_only(d->check, d->finding, d->words);
		host_close();
	}
}

int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);
static bool no_instance;

int __wrap_inotify_init1(int flags)
{
	errno = EMFILE;
	return no_instance ? -1 : __real_inotify_init1(flags);
}

TEST(no_inotify)
{
	host_open();
	no_instance = true;
	check_only("inotify", "warning", "too few inotify instances are left");
	no_instance = false;
	host_close();
}

TEST(well)
{
	cJSON *answer;

	host_open();
	check_only(NULL, "ok", NULL);
	/* A folder that is yet to be made counts as well, one below a file does not. */
	path_in_host("new/deep/state", state);
	check_only(NULL, "ok", NULL);
	path_in_host("vscaled.yaml/state", state);
	answer = examine(true, CTL_ERROR);
	CHECK_STR(cJSON_GetObjectItem(entry_of(answer, "state"), "finding")->valuestring,
		  "missing");
	CHECK(cJSON_IsFalse(cJSON_GetObjectItem(answer, "usable")));
	cJSON_Delete(answer);
	host_close();
}

/* Files that are no cgroup file system, and none at all. */
TEST(no_cgroup)
{
	cJSON *answer;

	host_open();
	answer = examine(false, CTL_ERROR);
	CHECK_STR(cJSON_GetObjectItem(entry_of(answer, "cgroup-v2"), "finding")->valuestring,
		  "missing");
	CHECK_STR(cJSON_GetObjectItem(entry_of(answer, "privilege"), "finding")->valuestring,
		  "skipped");
	cJSON_Delete(answer);
	fake_remove(&tree, "cgroup.controllers");
	answer = examine(true, CTL_ERROR);
	CHECK(strstr(text, "cannot be read") != NULL);
	cJSON_Delete(answer);
	host_close();
}

/* Hosts that cannot be made here: what discovery would say of them. */
TEST(other_hosts)
{
	static const struct {
		enum cg_mode mode;
		const char *words;
	} modes[] = {{CG_MODE_NONE, "no cgroup file system"},
		     {CG_MODE_V1, "only cgroup v1"},
		     {CG_MODE_HYBRID, "hybrid"}};
	struct ctl c = {.root = ""};
	struct doctor d = {.ctl = &c};
	char said[DOCTOR_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		d.host = (struct cg_host){.mode = modes[i].mode, .available = CG_CPU | CG_MEMORY};
		CHECK_EQ(doctor_check(&d, "cgroup-v2", said), FINDING_MISSING);
		CHECK(strstr(said, modes[i].words) != NULL);
		CHECK_EQ(doctor_check(&d, "controllers", said), FINDING_SKIPPED);
	}
	d.host = (struct cg_host){.mode = CG_MODE_UNIFIED, .mount = "/mnt/x", .writable = false};
	CHECK_EQ(doctor_check(&d, "privilege", said), FINDING_MISSING);
	CHECK(strstr(said, "may not write to /mnt/x") != NULL);
	d.host.writable = true;
	CHECK_EQ(doctor_check(&d, "privilege", said), FINDING_OK);
}

/* The text for people has the remedy right below, and ends with the verdict. */
TEST(text)
{
	struct doctor d;
	struct ctl c;
	size_t size;

	host_open();
	fake_remove(&host, "run/systemd/system");
	ctl_default(&c, ctl_commands);
	c.root = host.path;
	c.cgroup_root = tree.path;
	c.trust_cgroup_root = true;
	c.state_directory = state;
	c.config = config;
	c.socket = sock;
	c.color = false;
	free(text);
	c.out = open_memstream(&text, &size);
	d = (struct doctor){.ctl = &c};
	CHECK_EQ(doctor_run(&d), CTL_ERROR);
	fclose(c.out);
	CHECK(strstr(text, "missing  systemd        systemd is not PID 1 here\n"));
	CHECK(strstr(text, "-> vscaled manages systemd units"));
	CHECK(strstr(text, "1 missing: vscaled cannot work here.\n"));
	host_close();
}

int main(void)
{
	static const struct doctor_place nowhere = {0};

	doctor_place = &nowhere;
	check_run();
	free(text);
	return check_result();
}
