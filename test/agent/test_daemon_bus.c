// SPDX-License-Identifier: Apache-2.0
/* The connection to PID 1 dies and comes back, over real D-Bus: /readyz, the metric, the journal.
 */
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include "test/kube/crig_http.h"
#include "test/systemd/peer.h"
#include <time.h>
#include <unistd.h>

#define MS USEC_PER_MSEC

static struct rig r;
static struct peer peer;
static sd_event *peer_event;
static unsigned port;

int __real_unit_bus_new(sd_event *event, const struct unit_bus_options *options,
			const struct unit_bus_ops *ops, void *ctx, struct unit_bus **ret);
int __wrap_unit_bus_new(sd_event *event, const struct unit_bus_options *options,
			const struct unit_bus_ops *ops, void *ctx, struct unit_bus **ret);

/* The daemon names no address: the default is this host's PID 1. */
int __wrap_unit_bus_new(sd_event *event, const struct unit_bus_options *options,
			const struct unit_bus_ops *ops, void *ctx, struct unit_bus **ret)
{
	const struct unit_bus_options at = {
		.at = {.private_socket = peer.path, .system_socket = "/nonexistent/bus"},
		.debounce_usec = 10 * MS,
		.backoff_usec = 10 * MS,
		.backoff_max_usec = 50 * MS,
	};

	CHECK(options == NULL);
	return __real_unit_bus_new(event, &at, ops, ctx, ret);
}

/* Both ends and the daemon's timer. */
static void turn(void)
{
	while (sd_event_run(peer_event, 0) > 0)
		;
	rig_run(&r, 1, NULL);
	usleep(1000);
}

static bool until(unsigned kind, unsigned count)
{
	for (unsigned i = 0; i < 5000 && r.events[kind] < count; i++)
		turn();
	return r.events[kind] == count;
}

/* The status; *ret is the body, owned. */
static unsigned ask(const char *path, char **ret)
{
	int fd = crig_connect(port, NULL);
	struct crig_bytes b = {0};

	crig_send(fd, "GET", path, "", "");
	for (unsigned i = 0; i < 5000 && !crig_receive(fd, &b); i++)
		turn();
	close(fd);
	return crig_answer(&b, ret);
}

static unsigned status_of(const char *path)
{
	OWN(drop_free) char *body = NULL;

	return ask(path, &body);
}

/* The control API's /readyz says the same. */
static void check_socket(unsigned status, const char *text)
{
	const struct control_api *api = &r.loop->serve.api;
	const struct http_request ready = {.path = "/readyz"};
	struct http_response answer = {0};

	CHECK_EQ(api->ops->probe(api->ctx, &ready, &answer), 0);
	CHECK_EQ(answer.status, status);
	CHECK(answer.body != NULL && strstr(answer.body, text) != NULL);
	free(answer.body);
}

static void check_metric(bool connected)
{
	OWN(drop_free) char *page = NULL;

	CHECK_EQ(ask("/metrics", &page), 200);
	CHECK(page != NULL && strstr(page, connected ? "\nvscaled_systemd_connected 1\n"
						     : "\nvscaled_systemd_connected 0\n") != NULL);
}

static void check_connected(void)
{
	CHECK_EQ(status_of("/readyz"), 200);
	CHECK_EQ(status_of("/livez"), 200);
	check_metric(true);
}

/* The agent lives, is not ready, and says why. */
static void check_lost(void)
{
	OWN(drop_free) char *body = NULL;

	CHECK_EQ(ask("/readyz", &body), 503);
	CHECK(body != NULL && strstr(body, "systemd") != NULL);
	CHECK_EQ(status_of("/readyz?exclude=systemd"), 200);
	CHECK_EQ(status_of("/livez"), 200);
	check_metric(false);
}

static void open_all(void)
{
	char text[512], path[96];

	port = crig_free_port();
	snprintf(text, sizeof text, "http: {listen: 127.0.0.1:%u}\n%s", port,
		 rig_config("- {match: web.service}\n"));
	rig_open(&r, text);
	r.bus = true;
	rig_add(&r, "web.service", 500, 64 * MIB);
	CHECK(sd_event_new(&peer_event) >= 0);
	snprintf(path, sizeof path, "%s/pid1", r.folder);
	CHECK_EQ(peer_open(&peer, peer_event, path), 0);
	peer_add(&peer, "web.service", "active")->cgroup = (char *)"/system.slice/web.service";
	CHECK_EQ(rig_start(&r), 0);
}

static void close_all(void)
{
	rig_stop(&r);
	peer_close(&peer);
	sd_event_unref(peer_event);
	rig_close(&r);
}

/* PID 1 closes its socket, as it does in a daemon-reexec, and is back later. */
TEST(lost_and_back)
{
	open_all();
	CHECK(until(EVENT_UNIT_MANAGED, 1));
	check_connected();
	peer_leave(&peer);
	peer_hang_up(&peer);
	CHECK(until(EVENT_BUS_LOST, 1));
	check_lost();
	/* It is tried again, and fails. */
	for (unsigned i = 0; i < 100; i++)
		turn();
	check_lost();
	CHECK_EQ(r.events[EVENT_BUS_BACK], 0);
	CHECK(peer_return(&peer) >= 0);
	CHECK(until(EVENT_BUS_BACK, 1));
	check_connected();
	CHECK_EQ(r.events[EVENT_BUS_LOST], 1);
	close_all();
}

/* Something listens and does not take the daemon: that is no connection. */
TEST(refused)
{
	open_all();
	CHECK(until(EVENT_UNIT_MANAGED, 1));
	peer.subscribe_error = SD_BUS_ERROR_ACCESS_DENIED;
	peer_hang_up(&peer);
	CHECK(until(EVENT_BUS_LOST, 1));
	check_lost();
	peer.subscribe_error = NULL;
	CHECK(until(EVENT_BUS_BACK, 1));
	check_connected();
	close_all();
}

/* An agent of pods alone, on a node whose PID 1 has no socket for it: ready, and no alert about a
 * lost connection. */
TEST(not_needed)
{
	OWN(drop_free) char *page = NULL;
	char text[512], path[96];
	FILE *f;

	port = crig_free_port();
	rig_open(&r, "");
	snprintf(path, sizeof path, "%s/kubeconfig", r.folder);
	f = fopen(path, "we");
	CHECK(f != NULL);
	fprintf(f, "{\"current-context\": \"c\", \"contexts\": [{\"name\": \"c\", \"context\": "
		   "{\"cluster\": \"c\"}}], \"clusters\": [{\"name\": \"c\", \"cluster\": "
		   "{\"server\": \"http://127.0.0.1:9\"}}]}\n");
	fclose(f);
	snprintf(text, sizeof text,
		 "http: {listen: 127.0.0.1:%u}\n"
		 "kubernetes: {enabled: true, kubeconfig: %s, nodeName: node-1}\n",
		 port, path);
	rig_write_config(&r, text);
	r.bus = true;
	snprintf(peer.path, sizeof peer.path, "%s/no-pid1", r.folder);
	CHECK(sd_event_new(&peer_event) >= 0);
	CHECK_EQ(rig_start(&r), 0);
	CHECK_EQ(ask("/metrics", &page), 200);
	CHECK(page != NULL && strstr(page, "vscaled_pods 0") != NULL);
	CHECK(page != NULL && strstr(page, "vscaled_systemd_connected 0") == NULL);
	CHECK(page != NULL && strstr(page, "vscaled_state_last_save_successful 1") != NULL);
	/* The history was saved, the originals were not. */
	r.daemon->records.failed = true;
	free(STEAL(page));
	CHECK_EQ(ask("/metrics", &page), 200);
	CHECK(page != NULL && strstr(page, "vscaled_state_last_save_successful 0") != NULL);
	CHECK_EQ(status_of("/readyz?exclude=pods"), 200);
	check_socket(503, "[-]pods failed");
	rig_stop(&r);
	sd_event_unref(peer_event);
	rig_close(&r);
}
