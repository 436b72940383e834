// SPDX-License-Identifier: Apache-2.0
#include "test/bench/cluster_bench.h"
#include "agent/kube/model/decode.h"
#include "agent/loop/loop.h"
#include "test/kube/crig_http.h"
#include "test/kube/fast_clock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void bench_figure(const char *name, double value, const char *unit)
{
	printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", name, value, unit);
	fflush(stdout);
}

double bench_seconds(void)
{
	return (double)daemon_clock() / USEC_PER_SEC;
}

/* --- the server --- */

static bool server_start(struct bench *b)
{
	char line[256];
	bool listens = false;
	int out[2];
	FILE *f;

	if (pipe2(out, O_CLOEXEC) < 0)
		return false;
	b->server = fork();
	if (b->server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("PYTHONPATH", "test/kube", 1);
		setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
		dup2(out[1], STDOUT_FILENO);
		execlp("python3", "python3", "-m", "apiserver", "--data-dir", b->folder, NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	while (!listens && fgets(line, sizeof line, f) != NULL) {
		sscanf(line, "admin http://127.0.0.1:%u", &b->admin_port);
		listens = strncmp(line, "listening ", 10) == 0;
	}
	fclose(f);
	return listens;
}

char *bench_ask(struct bench *b, const char *method, const char *path, const char *body)
{
	int fd = crig_connect(b->admin_port, NULL);
	struct crig_bytes bytes = {0};
	char file[128], token[256] = "", more[400];
	char *text = NULL;
	FILE *f;

	snprintf(file, sizeof file, "%s/admin.token", b->folder);
	f = fopen(file, "re");
	if (f == NULL || fgets(token, sizeof token, f) == NULL)
		exit(EXIT_FAILURE);
	fclose(f);
	snprintf(more, sizeof more,
		 "Authorization: Bearer %s\r\nUser-Agent: bench\r\n"
		 "Content-Type: application/json\r\n",
		 token);
	crig_send(fd, method, path, more, body);
	while (!crig_receive(fd, &bytes))
		usleep(1000);
	close(fd);
	if (crig_answer(&bytes, &text) != 200) {
		fprintf(stderr, "%s %s: %s\n", method, path, text);
		exit(EXIT_FAILURE);
	}
	return text;
}

/* --- the tree --- */

void bench_put(struct bench *b, const char *cgroup, const char *file, const char *text)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", cgroup, file);
	fake_put(&b->tree, path, text);
}

void bench_put_stat(struct bench *b, const char *cgroup, uint64_t ticks, bool throttled)
{
	char text[256];

	snprintf(text, sizeof text,
		 "usage_usec %" PRIu64 "\nuser_usec 0\nsystem_usec 0\nnr_periods %" PRIu64
		 "\nnr_throttled %" PRIu64 "\nthrottled_usec %" PRIu64
		 "\nnr_bursts 0\nburst_usec 0\n",
		 ticks * (throttled ? 500000 : 100000), ticks * 10, throttled ? ticks * 10 : 0,
		 throttled ? ticks * 100000 : 0);
	bench_put(b, cgroup, "cpu.stat", text);
}

static void make_cgroup(struct bench *b, const char *cgroup, unsigned n)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{"cpu.max.burst", "0\n"},
		{"cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
		{"memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
				    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
		{"memory.high", "max\n"},
		{"memory.current", "104857600\n"},
		{"memory.peak", "104857600\n"},
		{"memory.stat", "anon 94371840\nfile 10485760\nkernel 0\nshmem 0\nunevictable 0\n"
				"slab_reclaimable 0\nsock 0\ninactive_anon 0\nactive_anon "
				"94371840\ninactive_file 10485760\nactive_file 0\n"
				"workingset_refault_anon 0\nworkingset_refault_file 0\n"},
		{"memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n"},
	};
	char text[64];

	fake_put(&b->tree, cgroup, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		bench_put(b, cgroup, files[i].file, files[i].text);
	snprintf(text, sizeof text, "%u 100000\n", 50000 * n);
	bench_put(b, cgroup, "cpu.max", text);
	snprintf(text, sizeof text, "%u\n", 268435456 * n);
	bench_put(b, cgroup, "memory.max", n < 16 ? text : "max\n");
	bench_put_stat(b, cgroup, 0, false);
}

const char *bench_string_of(const cJSON *o, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
}

/* from: the slot of the first container's cgroup; slots beyond the last one are new. */
static size_t make_pod(struct bench *b, const cJSON *pod, size_t from)
{
	const cJSON *meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
	const cJSON *status = cJSON_GetObjectItemCaseSensitive(pod, "status");
	const cJSON *c;
	char path[200];

	snprintf(path, sizeof path, "kubepods/burstable/pod%s", bench_string_of(meta, "uid"));
	make_cgroup(b, path, b->containers);
	cJSON_ArrayForEach (c, cJSON_GetObjectItemCaseSensitive(status, "containerStatuses")) {
		const char *id = strstr(bench_string_of(c, "containerID"), "://") + 3;
		char *cgroup;

		if (asprintf(&cgroup, "%s/%s", path, id) < 0)
			exit(EXIT_FAILURE);
		make_cgroup(b, cgroup, 1);
		free(from < b->cgroup_count ? b->cgroup[from] : NULL);
		b->cgroup[from++] = cgroup;
		b->cgroup_count = MAX(b->cgroup_count, from);
	}
	return from;
}

static bool runs_here(const cJSON *pod)
{
	const cJSON *spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
	const char *node = bench_string_of(spec, "nodeName");

	return node != NULL && strcmp(node, "node-1") == 0;
}

void bench_replace_pods(struct bench *b, const char *namespace, const char *prefix, size_t from)
{
	char path[128], *text;
	const cJSON *pod;
	cJSON *list;

	snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods", namespace);
	text = bench_ask(b, "GET", path, "");
	list = cJSON_Parse(text);
	free(text);
	cJSON_ArrayForEach (pod, cJSON_GetObjectItemCaseSensitive(list, "items")) {
		const cJSON *meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");

		if (runs_here(pod) &&
		    strncmp(bench_string_of(meta, "name"), prefix, strlen(prefix)) == 0)
			from = make_pod(b, pod, from);
	}
	cJSON_Delete(list);
}

void bench_run_pods(struct bench *b)
{
	const cJSON *pod;
	cJSON *list;
	char *text = bench_ask(b, "GET", "/api/v1/pods", "");
	list = cJSON_Parse(text);
	bench_figure("cluster_list_bytes", (double)strlen(text), "bytes");
	free(text);
	cJSON_ArrayForEach (pod, cJSON_GetObjectItemCaseSensitive(list, "items")) {
		if (runs_here(pod))
			make_pod(b, pod, b->cgroup_count);
	}
	cJSON_Delete(list);
}

/* --- the agent: this program again, so that nothing of the bench is in its memory --- */

static void fast_clocks(void *ctx, usec_t *ret_boot, usec_t *ret_real)
{
	*ret_boot = fast_clock_now();
	*ret_real = *ret_boot + *(const usec_t *)ctx;
}

int bench_be_agent(const char *config, unsigned faster)
{
	static usec_t offset;
	const struct loop_options o = {.config_path = config,
				       .trust_root = true,
				       .clock = faster > 1 ? fast_clocks : NULL,
				       .clock_ctx = &offset};
	usec_t boot, real;
	struct loop *l;

	daemon_host_clock(NULL, &boot, &real);
	offset = real - boot;
	fast_clock_start(faster);
	if (loop_new(&o, &l) < 0 || loop_run(l) < 0)
		return EXIT_FAILURE;
	loop_free(l);
	return EXIT_SUCCESS;
}

/* One that was free a moment ago. */
static unsigned free_port(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof in;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&in, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &size) < 0)
		exit(EXIT_FAILURE);
	close(fd);
	return ntohs(in.sin_port);
}

void bench_agent_start(struct bench *b, const char *self)
{
	char path[128];
	FILE *f;

	b->metrics_port = free_port();
	snprintf(path, sizeof path, "%s/vscaled.yaml", b->folder);
	f = fopen(path, "we");
	fprintf(f,
		"apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"
		"paths: {stateDirectory: %s/state, runtimeDirectory: %s/run, cgroupRoot: %s}\n"
		"log: {target: stderr}\n"
		"http: {listen: '127.0.0.1:%u'}\n"
		"kubernetes: {kubeconfig: %s/agent.kubeconfig, nodeName: node-1, startJitter: "
		"0s%s}\n",
		b->folder, b->folder, b->tree.path, b->metrics_port, b->folder,
		b->observed ? ", observe: All" : "");
	fclose(f);
	b->agent = fork();
	if (b->agent == 0) {
		char log[128];
		int fd;

		snprintf(log, sizeof log, "%s/log", b->folder);
		fd = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		dup2(fd, STDERR_FILENO);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", self, b->fast ? "fast-agent" : "agent", path, NULL);
		_exit(127);
	}
}

/* "VmHWM", "VmRSS", "RssAnon" of the agent. */
double bench_memory(const struct bench *b, const char *field)
{
	char path[64], line[256];
	double kib = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)b->agent);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			kib = strtod(line + strlen(field) + 1, NULL);
	if (f != NULL)
		fclose(f);
	return kib * 1024;
}

/* Seconds of CPU the agent has had. */
double bench_cpu(const struct bench *b)
{
	unsigned long user = 0, system = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)b->agent);
	f = fopen(path, "re");
	if (f == NULL ||
	    fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		   &system) != 2)
		fprintf(stderr, "bench: the agent is gone\n");
	if (f != NULL)
		fclose(f);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Lines of its log with this text. */
unsigned bench_log_lines(const struct bench *b, const char *text)
{
	char path[128], line[1024];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/log", b->folder);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		n += strstr(line, text) != NULL;
	if (f != NULL)
		fclose(f);
	return n;
}

unsigned bench_requests(struct bench *b, const char *method, const char *text)
{
	char *log = bench_ask(b, "GET", "/debug/log", "");
	cJSON *rows = cJSON_Parse(log);
	const cJSON *row;
	unsigned n = 0;

	cJSON_ArrayForEach (row, rows) {
		n += strncmp(bench_string_of(row, "user_agent"), "vscaled/", 8) == 0 &&
		     strcmp(bench_string_of(row, "method"), method) == 0 &&
		     strstr(bench_string_of(row, "path"), text) != NULL;
	}
	cJSON_Delete(rows);
	free(log);
	return n;
}

void bench_sync_up(struct bench *b)
{
	double begin = bench_seconds();

	for (int i = 0; i < 3000; i++) {
		if (bench_log_lines(b, "event=unit-managed") >= b->pods * b->containers)
			break;
		usleep(10000);
	}
	bench_figure("cluster_sync", bench_seconds() - begin, "s");
	bench_figure("cluster_sync_cpu", bench_cpu(b), "s");
	bench_figure("cluster_sync_peak_rss", bench_memory(b, "VmHWM"), "bytes");
}

static void stop(pid_t pid, int signal)
{
	int status;

	kill(pid, signal);
	waitpid(pid, &status, 0);
}

int bench_open(struct bench *b)
{
	snprintf(b->folder, sizeof b->folder, "/tmp/vscaled-bench-XXXXXX");
	if (mkdtemp(b->folder) == NULL || !server_start(b))
		return BENCH_SKIP;
	fake_open(&b->tree, NULL, 0);
	return 0;
}

int bench_close(struct bench *b)
{
	char command[160];

	/* On a fast clock the timer of an orderly end lies in the future. */
	stop(b->agent, b->fast ? SIGKILL : SIGTERM);
	stop(b->server, SIGTERM);
	fake_close(&b->tree);
	snprintf(command, sizeof command, "rm -rf '%s'", b->folder);
	return system(command) != 0 ? EXIT_FAILURE : 0;
}
