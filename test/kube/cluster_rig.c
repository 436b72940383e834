// SPDX-License-Identifier: Apache-2.0
/* The server as a process, the daemon on its loop, and what a test asks of both. */
#include "test/kube/cluster_rig.h"
#include "test/check.h"
#include "test/kube/crig_http.h"
#include "test/kube/fast_clock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS_MAX 16
/* A test that hangs ends. */
#define ALARM_SEC 240
/* Real time. */
#define ANSWER_USEC (500 * USEC_PER_MSEC)

/* At once: the daemon may be half open. */
_Noreturn static void give_up(const char *what)
{
	fprintf(stderr, "cluster rig: %s\n", what);
	_exit(EXIT_FAILURE);
}

/* --- time --- */

int64_t crig_clock_ahead;
const char *crig_kubernetes = "";
const char *crig_refusal_time = "10m";
const char *crig_decrease_interval = "0s";

static void clock_fast(void *, usec_t *ret_boot, usec_t *ret_real)
{
	/* The wall clock is the server's at the start, and as fast as the other from then on. */
	static int64_t offset;
	struct timespec t;
	int64_t ahead = crig_clock_ahead;

	*ret_boot = fast_clock_now();
	if (offset == 0) {
		clock_gettime(CLOCK_REALTIME, &t);
		offset = (int64_t)t.tv_sec * (int64_t)USEC_PER_SEC - (int64_t)*ret_boot;
	}
	*ret_real = (usec_t)((int64_t)*ret_boot + offset + ahead);
}

/* Whether an answer of the server is still to come. */
static bool is_asked(const struct rig *r)
{
	return r->loop != NULL && r->loop->cluster != NULL && r->loop->cluster->client != NULL &&
	       kube_client_requests(r->loop->cluster->client);
}

/* The loop as it is, for a tick of the daemon's. Between ticks the clock stands. A server that is
 * slow because the machine is busy has time to answer: the clock waits for it, but not twice for
 * the one that does not answer at all. */
static void pump(struct rig *r)
{
	struct crig *c = (struct crig *)r;
	usec_t end = fast_clock_now() + r->tick_usec, now, give_up_at;

	fast_clock_go_on(end);
	while ((now = fast_clock_now()) < end)
		sd_event_run(r->daemon->wake.event, (end - now) / CRIG_FASTER + 1);
	c->silent &= is_asked(r);
	give_up_at = daemon_clock() + (c->silent ? 0 : ANSWER_USEC);
	while (is_asked(r) && (now = daemon_clock()) < give_up_at)
		sd_event_run(r->daemon->wake.event, give_up_at - now);
	c->silent = is_asked(r);
}

static void reported(struct rig *r, const struct event_record *e, const char *message)
{
	struct crig *c = (struct crig *)r;
	struct crig_line *l = &c->line[c->line_count];

	if (getenv("CRIG_SHOW") != NULL)
		fprintf(stderr, "| %s\n", message);
	if (c->line_count == CRIG_LINES_MAX)
		return;
	c->line_count++;
	l->kind = e->kind;
	snprintf(l->text, sizeof l->text, "%s", message);
}

/* --- the server --- */

static void server_spawn(struct crig *c, const char *const *options, int *ret_out)
{
	const char *args[OPTIONS_MAX] = {"python3", "-m", "apiserver", "--data-dir", c->folder};
	size_t n = 5;
	int out[2];

	while (options != NULL && *options != NULL && n < OPTIONS_MAX - 1)
		args[n++] = *options++;
	if (pipe2(out, O_CLOEXEC) < 0)
		give_up("no pipe");
	c->server = fork();
	if (c->server < 0)
		give_up("cannot fork");
	if (c->server == 0) {
		sigset_t none;

		/* The daemon of an earlier test blocks what ends it. */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("PYTHONPATH", "test/kube", 1);
		setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
		dup2(out[1], STDOUT_FILENO);
		execvp(args[0], (char *const *)args);
		_exit(127);
	}
	close(out[1]);
	*ret_out = out[0];
}

static void server_stop(struct crig *c)
{
	int status;

	kill(c->server, SIGTERM);
	waitpid(c->server, &status, 0);
}

static bool server_start(struct crig *c, const char *const *options)
{
	char line[256];
	bool listens = false;
	FILE *f;
	int out;

	server_spawn(c, options, &out);
	f = fdopen(out, "r");
	while (!listens && fgets(line, sizeof line, f) != NULL) {
		sscanf(line, "admin http://127.0.0.1:%u", &c->admin_port);
		listens = strncmp(line, "listening ", 10) == 0;
	}
	fclose(f);
	if (!listens)
		server_stop(c);
	return listens;
}

cJSON *crig_ask(struct crig *c, const char *method, const char *path, const char *body)
{
	static char token[256];
	OWN(drop_free) char *text = NULL;
	struct crig_bytes b = {0};
	char file[128], more[512];
	unsigned status;
	cJSON *json;
	FILE *f;
	int fd;

	snprintf(file, sizeof file, "%s/admin.token", c->folder);
	f = fopen(file, "re");
	if (f == NULL || fgets(token, sizeof token, f) == NULL)
		give_up("no token");
	fclose(f);
	snprintf(more, sizeof more,
		 "Authorization: Bearer %s\r\nUser-Agent: test\r\nContent-Type: %s\r\n", token,
		 strcmp(method, "PATCH") != 0      ? "application/json"
		 : strstr(path, "&force=") != NULL ? "application/apply-patch+yaml"
		 : strstr(path, "/resize") != NULL ? "application/strategic-merge-patch+json"
						   : "application/merge-patch+json");
	fd = crig_connect(c->admin_port, NULL);
	crig_send(fd, method, path, more, body != NULL ? body : "");
	while (!crig_receive(fd, &b))
		usleep(500);
	close(fd);
	status = crig_answer(&b, &text);
	json = text != NULL ? cJSON_Parse(text) : NULL;
	if (status / 100 == 2 && json != NULL)
		return json;
	fprintf(stderr, "%s %s: %u %.600s\n", method, path, status, text != NULL ? text : "");
	give_up("the test's own request failed");
	return NULL;
}

/* --- life --- */

static char *config_text(const struct crig *c, const char *extra)
{
	static char text[2048];

	snprintf(
		text, sizeof text,
		"clocks: {reviewInterval: 1s, stateInterval: 1h}\n"
		"%scpu: {recentWindow: 5s, shrinkInterval: 3s}\n"
		"common: {startQuiet: 3s}\n"
		"http: {listen: 127.0.0.1:%u}\n"
		"kubernetes: {kubeconfig: %s/agent.kubeconfig, nodeName: node-1, startJitter: 0s,\n"
		"  writeInterval: 3s, writeBurst: 10, statusInterval: 30s, leaseTime: 5s,\n"
		"  memoryLeaseTime: 5s, smallInterval: 5s, upInterval: 5s, downInterval: 10s,\n"
		"  refusalTime: %s, settleMax: 1m, startupTime: 20s, startupLeaseTime: 30s, "
		"requestUpTime: 20s, requestDownTime: 40s, decreaseInterval: %s%s}\n%s",
		extra != NULL && strstr(extra, "history:") != NULL
			? ""
			: "history: {confidenceAfter: 20s}\n",
		c->http_port, c->folder, crig_refusal_time, crig_decrease_interval, crig_kubernetes,
		extra != NULL ? extra : "");
	return text;
}

static struct crig *opened;

static void close_opened(void)
{
	if (opened != NULL)
		crig_close(opened);
}

void crig_open(struct crig *c, const char *const *options, const char *extra)
{
	alarm(ALARM_SEC);
	close_opened();
	check_at_end(close_opened);
	*c = (struct crig){0};
	snprintf(c->folder, sizeof c->folder, "/tmp/vscaled-api-XXXXXX");
	if (mkdtemp(c->folder) == NULL)
		give_up("no folder");
	c->http_port = crig_free_port();
	if (!server_start(c, options))
		exit(check_skip("no test API server: is there a python3?"));
	opened = c;
	rig_open(&c->rig, config_text(c, extra));
	c->rig.clock = clock_fast;
	c->rig.pump = pump;
	c->rig.reported = reported;
	fast_clock_start(CRIG_FASTER);
	fast_clock_go_on(fast_clock_now());
	crig_forget_log(c);
}

void crig_start(struct crig *c)
{
	c->fds = fake_open_fds();
	if (rig_start(&c->rig) < 0)
		give_up("the daemon does not start");
	CHECK(c->rig.loop->cluster != NULL);
}

void crig_reload(struct crig *c, const char *extra)
{
	rig_reload(&c->rig, config_text(c, extra));
}

void crig_close(struct crig *c)
{
	char command[160];

	opened = NULL;
	CHECK_EQ(c->rig.kills, 0);
	rig_stop(&c->rig);
	CHECK_EQ(fake_open_fds(), c->fds);
	rig_close(&c->rig);
	server_stop(c);
	snprintf(command, sizeof command, "rm -rf '%s'", c->folder);
	if (system(command) != 0)
		give_up("cannot clean up");
}

/* --- the daemon --- */

bool crig_until(struct crig *c, unsigned seconds, void (*load)(struct rig *r),
		bool (*holds)(struct crig *c))
{
	for (unsigned i = 0; i < seconds; i++) {
		if (holds(c))
			return true;
		rig_run(&c->rig, 1, load);
	}
	return holds(c);
}

unsigned crig_lines(const struct crig *c, enum event_kind kind, const char *text)
{
	unsigned n = 0;

	for (size_t i = 0; i < c->line_count; i++)
		n += c->line[i].kind == kind && strstr(c->line[i].text, text) != NULL;
	return n;
}

static unsigned serve(struct crig *c, int fd, const char *path, const char *body, char **ret)
{
	struct crig_bytes b = {0};

	crig_send(fd, body[0] != '\0' ? "POST" : "GET", path, "", body);
	for (unsigned i = 0; i < 200 && !crig_receive(fd, &b); i++)
		rig_run(&c->rig, 1, c->rig.step);
	close(fd);
	return crig_answer(&b, ret);
}

unsigned crig_http(struct crig *c, const char *path, char **ret)
{
	return serve(c, crig_connect(c->http_port, NULL), path, "", ret);
}

unsigned crig_control(struct crig *c, const char *path, char **ret)
{
	return crig_control_post(c, path, "", ret);
}

unsigned crig_control_post(struct crig *c, const char *path, const char *body, char **ret)
{
	return serve(c, crig_connect(0, c->rig.daemon->config.paths.socket), path, body, ret);
}
