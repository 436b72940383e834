// SPDX-License-Identifier: Apache-2.0
/*
 * vscalectl against a real socket: what it prints for fixed views must equal test/agent/golden
 * (VSCALED_REGEN=1 rewrites), and every way it can end has its exit status.
 */
#include "agent/ctl/client.h"
#include "fake_control.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define GOLDEN_DIR "test/agent/golden"

static char dir[] = "/tmp/vscaled-ctl-XXXXXX";
static char socket_path[64];
static char *out_text, *err_text;
/* Written by the process that serves; 24 rounds of names fit. */
#define REQUEST_LOG_SIZE 4096
static char *request_log;

static void drop_outputs(void)
{
	free(out_text);
	free(err_text);
	out_text = err_text = NULL;
}

/* Runs a command line of words, with the socket of this test unless it names one; exit status. */
static int run_with(struct ctl *c, const char *line)
{
	char *words = strdup(line), *save = NULL, *argv[24] = {"vscalectl"};
	size_t out_size, err_size;
	int argc = 1, r;

	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	drop_outputs();
	c->out = open_memstream(&out_text, &out_size);
	c->err = open_memstream(&err_text, &err_size);
	if (!c->socket)
		c->socket = socket_path;
	r = ctl_main(c, argc, argv);
	fclose(c->out);
	fclose(c->err);
	free(words);
	return r;
}

static int run(const char *line)
{
	struct ctl c;

	ctl_default(&c, ctl_commands);
	c.config = "/nonexistent";
	c.color = false;
	c.now_realtime_usec = FIXTURE_NOW_USEC;
	return run_with(&c, line);
}

/* A daemon in a process of its own; it ends with the test. */
static pid_t serve(void (*prepare)(struct fake_control *))
{
	pid_t pid = fork();

	if (pid == 0) {
		struct http_server *server;
		struct fake_control fake;
		sd_event *event;

		fake_control_init(&fake);
		if (prepare)
			prepare(&fake);
		if (sd_event_new(&event) < 0 ||
		    control_server_new(event, &fake.control, socket_path, (gid_t)-1, &server) < 0)
			_exit(1);
		sd_event_loop(event);
		_exit(1);
	}
	/* The socket's file exists before the server listens. */
	for (int i = 0; i < 500 && client_probe(socket_path) < 0; i++)
		usleep(10000);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &size, EOF, f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static void check_golden(const char *name)
{
	char path[128];
	char *want;

	snprintf(path, sizeof(path), GOLDEN_DIR "/%s", name);
	if (getenv("VSCALED_REGEN")) {
		FILE *f = fopen(path, "we");

		CHECK(f && fputs(out_text, f) >= 0 && fclose(f) == 0);
		return;
	}
	want = read_text(path);
	CHECK(want != NULL);
	if (want && strcmp(want, out_text) != 0)
		fprintf(stderr, "--- %s\n%s--- got\n%s", name, want, out_text);
	CHECK_STR(out_text, want ? want : "");
	free(want);
}

struct golden {
	const char *line;
	const char *file;
};

static const struct golden goldens[] = {
	{"status", "status.txt"},
	{"status -o json", "status.json"},
	{"status -o yaml", "status.yaml"},
	{"list", "list.txt"},
	{"list -o wide", "list-wide.txt"},
	{"list -o json", "list.json"},
	{"list -o yaml", "list.yaml"},
	{"top", "top.txt"},
	{"top --sort memory", "top-memory.txt"},
	{"explain web.service", "explain-web.txt"},
	{"explain web.service -o json", "explain-web.json"},
	{"explain batch@nightly.service", "explain-batch.txt"},
	{"explain cron.service", "explain-waiting.txt"},
	{"explain db.service", "explain-gave-way.txt"},
	{"explain shop/web-7d9c5b6f4-x2x1p/app", "explain-container.txt"},
	{"explain shop/web-7d9c5b6f4-x2x1p/app -o json", "explain-container.json"},
	{"explain default/db-0/postgres", "explain-wrong.txt"},
	{"list -n shop", "list-namespace.txt"},
	{"list -A", "list.txt"},
	{"config show", "config.yaml"},
	{"report", "report.txt"},
	{"report --price-cpu 0.031 --price-memory 0.004", "report-price.txt"},
	{"report -o wide", "report-wide.txt"},
	{"report -o json", "report.json"},
	{"report -o csv", "report.csv"},
	{"report -o patch", "report.patch"},
	{"help", "help.txt"},
};

static void test_goldens(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		CHECK_EQ(run(goldens[i].line), CTL_OK);
		CHECK_STR(err_text, "");
		check_golden(goldens[i].file);
	}
}

/* A container that is being started is restored again, by its name. */
static void two_pending(struct fake_control *f)
{
	f->pending = 2;
}

static void always_pending(struct fake_control *f)
{
	f->pending = 1000000;
}

static void test_restore_pending(void)
{
	pid_t pid = serve(two_pending);

	CHECK_EQ(run("restore --all --force"), CTL_OK);
	CHECK(strstr(out_text, "restored  batch@nightly.service\n") != NULL);
	CHECK(strstr(out_text, "restored  web.service\n") != NULL);
	CHECK(strstr(out_text, "pending") == NULL);
	CHECK(strstr(err_text, "waiting for web.service: it is being started\n") != NULL);
	stop(pid);
	pid = serve(always_pending);
	CHECK_EQ(run("restore --all --force"), CTL_TRY_LATER);
	CHECK(strstr(out_text, "restored  batch@nightly.service\n") != NULL);
	CHECK(strstr(out_text, "pending   web.service: it is being started\n") != NULL);
	CHECK(strstr(err_text, "1 of them") != NULL);
	CHECK_EQ(run("restore web.service -o json"), CTL_TRY_LATER);
	CHECK(strstr(out_text, "\"outcome\":\t\"pending\"") != NULL);
	stop(pid);
}

/* app is pending in the first three rounds. */
static void pod_pending(struct fake_control *f)
{
	f->pod = true;
	f->pending = 3;
	f->log = request_log;
	request_log[0] = '\0';
}

static void pod_fails(struct fake_control *f)
{
	pod_pending(f);
	f->fail_after = 2;
	f->fail_with = -EIO;
}

static void pod_not_known(struct fake_control *f)
{
	pod_fails(f);
	f->fail_with = -ENOENT;
}

static void pod_gone(struct fake_control *f)
{
	pod_fails(f);
	f->fail_with = 0;
}

/* The containers of a pending pod are not restored again while one of them is pending. */
static void test_restore_siblings(void)
{
	pid_t pid = serve(pod_pending);

	CHECK_EQ(run("restore --all"), CTL_TRY_LATER);
	CHECK_STR(request_log, "* shop/web-0/app shop/web-0/app shop/web-0/app shop/web-0 ");
	CHECK(strstr(out_text, "restored  shop/web-0/app\n") != NULL);
	CHECK(strstr(out_text, "restored  shop/web-0\n") != NULL);
	CHECK(strstr(out_text, "pending") == NULL);
	/* The later outcome counts. */
	CHECK(strstr(out_text, "restored  shop/web-0/side\n") != NULL);
	CHECK(strstr(out_text, "left      shop/web-0/side\n") != NULL);
	CHECK(strstr(err_text, "1 of them use more memory") != NULL);
	stop(pid);
	pid = serve(pod_pending);
	CHECK_EQ(run("restore --all -o json"), CTL_TRY_LATER);
	CHECK(strstr(out_text, "\"outcome\":\t\"left\"") != NULL);
	CHECK(strstr(strstr(out_text, "web-0/side") + 1, "web-0/side") == NULL);
	stop(pid);
}

/* A retry that fails takes no outcome away, and its error is the exit status. */
static void test_restore_retry_fails(void)
{
	pid_t pid = serve(pod_fails);

	CHECK_EQ(run("restore --all"), CTL_ERROR);
	CHECK_STR(request_log, "* shop/web-0/app shop/web-0/app ");
	CHECK(strstr(out_text, "pending   shop/web-0/app: it is being started\n") != NULL);
	CHECK(strstr(out_text, "pending   shop/web-0: a container of it") != NULL);
	CHECK(strstr(out_text, "restored  shop/web-0/side\n") != NULL);
	stop(pid);
	pid = serve(pod_fails);
	CHECK_EQ(run("restore --all -o json"), CTL_ERROR);
	CHECK(strstr(out_text, "\"shop/web-0/app\"") != NULL);
	CHECK(strstr(out_text, "\"shop/web-0/side\"") != NULL);
	stop(pid);
}

/* A pod that is deleted meanwhile is no error: no record of it, or nothing reported about it. */
static void test_restore_deleted(void)
{
	static void (*const prepare[])(struct fake_control *) = {pod_not_known, pod_gone};

	for (size_t i = 0; i < ARRAY_SIZE(prepare); i++) {
		pid_t pid = serve(prepare[i]);

		CHECK_EQ(run("restore --all"), CTL_OK);
		CHECK_STR(request_log, "* shop/web-0/app shop/web-0/app shop/web-0 ");
		CHECK(strstr(out_text, "gone      shop/web-0/app\n") != NULL);
		CHECK(strstr(out_text, "gone      shop/web-0\n") != NULL);
		CHECK(strstr(err_text, "not managed") == NULL);
		CHECK(strstr(err_text, "vscalectl:") == NULL);
		stop(pid);
	}
}

struct outcome {
	const char *line;
	int code;
	const char *out; /* a part of it */
	const char *err;
};

static const struct outcome with_daemon[] = {
	{"pause", CTL_OK, "paused all, 6 units\n", ""},
	{"pause web.service", CTL_OK, "paused web.service\n", ""},
	{"resume web.service", CTL_OK, "resumed web.service\n", ""},
	{"pause none.service", CTL_NOT_MANAGED, "", "not managed"},
	{"explain none.service", CTL_NOT_MANAGED, "", "vscalectl list shows all"},
	{"explain a/../b", CTL_NOT_MANAGED, "", "not managed"},
	{"restore web.service", CTL_OK, "restored  web.service\n", ""},
	{"restore --all", CTL_TRY_LATER, "left      batch@nightly.service: memory.max",
	 "1 of them use more memory"},
	{"restore --all --force", CTL_OK, "restored  batch@nightly.service\n", ""},
	{"restore --all -o json", CTL_TRY_LATER, "\"outcome\":\t\"left\"", "--force"},
	{"restore none.service", CTL_NOT_MANAGED, "", "not managed"},
	{"restore", CTL_USAGE, "", "NAMESPACE/POD/CONTAINER), or --all"},
	{"restore --all web.service", CTL_USAGE, "", "NAMESPACE/POD/CONTAINER), or --all"},
	{"version", CTL_OK, "vscalectl " VSCALED_VERSION " (", ""},
	{"--version", CTL_OK, "vscalectl ", ""},
	{"-h", CTL_OK, "Commands", ""},
	{"", CTL_USAGE, "", "which command?\n"},
	{"foo", CTL_USAGE, "", "no such command: foo"},
	{"config", CTL_USAGE, "", "no such command: config\n  say: config check, or: config show"},
	{"record replace", CTL_USAGE, "",
	 "no such command: record replace\n  say: record dump, or: record replay"},
	{"report -o html", CTL_USAGE, "",
	 "report has no format html\n  one of table, wide, json, yaml, csv, patch"},
	{"report --price-cpu 0,03", CTL_USAGE, "", "not a price: 0,03"},
	{"report --price-memory 0", CTL_USAGE, "", "not a price: 0\n  of an hour"},
	{"report --price-cpu 0.031 -o json", CTL_OK, "\"missing_per_month\":\t2.15", ""},
	{"explain", CTL_USAGE, "", "explain needs an argument"},
	{"list -n none", CTL_OK, "Nothing in namespace none", ""},
	{"list -n shop -o yaml", CTL_OK, "namespace: shop", ""},
	{"list -n shop -A", CTL_USAGE, "", "not both"},
	{"pause -n shop", CTL_USAGE, "", "takes no such option"},
	{"list /nonexistent", CTL_ERROR, "", "/nonexistent: No such file"},
	{"list test/agent/lists.txt -n shop", CTL_ERROR,
	 "NODE  NAME            MODE  CPU use/limit  MEMORY use/limit  ORIGINAL  LAST CHANGE  "
	 "STATE\n"
	 "n1    shop/web-0/app  Auto  100m / -       - / -             -, -      -            "
	 "managed\n"
	 "n2    shop/web-1/app",
	 "no report of node n3, pod c: not JSON"},
	{"list test/agent/lists.txt shop/web-1 -o yaml", CTL_ERROR,
	 "units:\n  - name: shop/web-1/app\n    namespace: shop\n    node: n2\n", ""},
	{"list -o xml", CTL_USAGE, "", "no such format: xml"},
	{"status -o wide", CTL_USAGE, "", "status has no format wide"},
	{"status -o csv", CTL_USAGE, "", "status has no format csv\n  one of table, json, yaml"},
	{"report -n none", CTL_OK, "No containers of namespace none are watched", ""},
	{"report /nonexistent", CTL_ERROR, "", "/nonexistent: No such file"},
	{"report CMakeLists.txt", CTL_ERROR, "",
	 "vscalectl: no report\n  give answers of GET /v1/report"},
	{"report -o patch --output-dir sizes", CTL_USAGE, "", "for one namespace (-n) alone"},
	{"pause --force", CTL_USAGE, "", "pause takes no such option"},
	{"--nonsense list", CTL_USAGE, "", "see: vscalectl help"},
	{"pause --help", CTL_OK, "vscalectl pause [NAME] [OPTIONS]\n\n  stop changing", ""},
	{"nosuch --help", CTL_USAGE, "", "no such command: nosuch"},
};

/* What a reload would hand back, of what the daemon sizes now. */
static void test_handed_back(void)
{
	static const char text[] =
		"apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\nunits:\n"
		"- {match: web.service, resources: cpu}\n"
		"- {match: \"batch@*\", resources: memory}\n"
		"- {match: db.service, mode: Off}\n";
	char file[96], line[128];
	FILE *f;

	snprintf(file, sizeof file, "%s/new.yaml", dir);
	snprintf(line, sizeof line, "config check %s", file);
	f = fopen(file, "we");
	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
	CHECK_EQ(run(line), CTL_OK);
	CHECK_STR(strchr(out_text, '\n'),
		  "\na reload hands back web.service: memory is not among its resources\n"
		  "a reload hands back db.service: its mode is Off\n");
	CHECK_EQ(run("config check agent/vscaled.yaml"), CTL_OK);
	CHECK_STR(strchr(out_text, '\n'),
		  "\na reload hands back web.service: it is not named\n"
		  "a reload hands back batch@nightly.service: it is not named\n"
		  "a reload hands back db.service: it is not named\n");
	unlink(file);
}

static const struct outcome without_daemon[] = {
	{"status", CTL_ERROR, "", "systemctl start vscaled"},
	{"list --socket /tmp/no/such/socket", CTL_ERROR, "",
	 "no process listens at /tmp/no/such/socket"},
	{"pause", CTL_ERROR, "", "vscaled is not running"},
	{"config check agent/vscaled.yaml", CTL_OK, "is valid", ""},
	{"config check CMakeLists.txt", CTL_ERROR, "", "CMakeLists.txt:"},
	{"config check /nonexistent", CTL_ERROR, "", "/nonexistent"},
};

static void check_outcomes(const struct outcome *o, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(run(o[i].line), o[i].code);
		if (!strstr(out_text, o[i].out) || !strstr(err_text, o[i].err))
			fprintf(stderr, "vscalectl %s: \"%s\" \"%s\"\n", o[i].line, out_text,
				err_text);
		CHECK(strstr(out_text, o[i].out) && strstr(err_text, o[i].err));
		CHECK(o[i].code == CTL_OK || err_text[0] != '\0');
	}
}

static void be_cluster(struct fake_control *f)
{
	f->cluster = true;
}

static void test_cluster(void)
{
	pid_t pid = serve(be_cluster);

	CHECK_EQ(run("status"), CTL_OK);
	check_golden("status-cluster.txt");
	CHECK_EQ(run("status -o json"), CTL_OK);
	check_golden("status-cluster.json");
	stop(pid);
	unlink(socket_path);
}

static void be_busy(struct fake_control *f)
{
	f->error = -EBUSY;
}

static void be_closed(struct fake_control *f)
{
	f->refuse_peers = true;
}

static void be_broken(struct fake_control *f)
{
	f->error = -EIO;
}

static void test_refusals(void)
{
	static const struct {
		void (*prepare)(struct fake_control *);
		int code;
		const char *err;
	} cases[] = {{be_busy, CTL_TRY_LATER, "try again"},
		     {be_closed, CTL_ERROR, "not allowed"},
		     {be_broken, CTL_ERROR, "journal"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t pid = serve(cases[i].prepare);

		CHECK_EQ(run("pause"), cases[i].code);
		CHECK(strstr(err_text, cases[i].err) != NULL);
		stop(pid);
		unlink(socket_path);
	}
}

/* Colours only on request. */
static void test_color(void)
{
	struct ctl c;

	CHECK_EQ(run("list"), CTL_OK);
	CHECK(strchr(out_text, '\033') == NULL);
	ctl_default(&c, ctl_commands);
	c.color = true;
	CHECK_EQ(run_with(&c, "list"), CTL_OK);
	CHECK(strchr(out_text, '\033') != NULL);
	ctl_default(&c, ctl_commands);
	c.color = true;
	CHECK_EQ(run_with(&c, "list --no-color"), CTL_OK);
	CHECK(strchr(out_text, '\033') == NULL);
}

/* Answers every connection with invalid JSON. */
static void serve_garbage(int listening)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{\0\"a";
	char request[1024];

	for (;;) {
		int fd = accept(listening, NULL, NULL);

		if (read(fd, request, sizeof(request)) > 0)
			send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
		close(fd);
	}
}

static void test_foreign_server(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	strcpy(address.sun_path, socket_path);
	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 4) == 0);
	pid = fork();
	if (pid == 0)
		serve_garbage(fd);
	CHECK_EQ(run("status"), CTL_ERROR);
	CHECK(strstr(err_text, "not valid") != NULL);
	stop(pid);
	close(fd);
	unlink(socket_path);
}

/* As of a pipe whose writer has failed. */
static void test_empty_stream(void)
{
	FILE *f = fopen("/dev/null", "re");
	char *text = ctl_read_stream(f);

	CHECK_STR(text, "");
	free(text);
	fclose(f);
}

int main(void)
{
	pid_t pid;

	request_log = mmap(NULL, REQUEST_LOG_SIZE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir) || request_log == MAP_FAILED)
		return EXIT_FAILURE;
	snprintf(socket_path, sizeof(socket_path), "%s/sock", dir);
	check_outcomes(without_daemon, ARRAY_SIZE(without_daemon));
	test_empty_stream();
	pid = serve(NULL);
	test_goldens();
	check_outcomes(with_daemon, ARRAY_SIZE(with_daemon));
	test_handed_back();
	test_color();
	stop(pid);
	unlink(socket_path);
	test_restore_pending();
	test_restore_siblings();
	test_restore_retry_fails();
	test_restore_deleted();
	unlink(socket_path);
	test_cluster();
	test_refusals();
	test_foreign_server();
	drop_outputs();
	rmdir(dir);
	return check_result();
}
