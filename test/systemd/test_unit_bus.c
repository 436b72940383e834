// SPDX-License-Identifier: Apache-2.0
/* The bus adapter against a scripted PID 1 on a real socket, both in one event loop. */
#include "peer.h"
#include "systemd/unit.h"
#include "test/check.h"
#include <errno.h>
#include <time.h>
#include <unistd.h>

#define MS USEC_PER_MSEC

/* What the callbacks said. */
struct heard {
	struct unit_bus *bus;
	unsigned listed, changed, connected, disconnected, reload_begin, reload_end, sets, gots;
	int list_error, set_error, got_error, lost_error;
	size_t count;
	char names[512];
	struct unit_info first; /* strings gone, numbers stay */
	char first_id[33], first_state[16], first_cgroup[64];
	struct unit_props stored;
	usec_t lag;
	unsigned set_errors;
	const char *free_in; /* the callback in which to free the bus */
};

struct world {
	sd_event *event;
	struct peer peer;
	struct heard heard;
	char dir[32];
	struct unit_bus_options options;
};

static void maybe_free(struct heard *h, const char *here)
{
	if (h->free_in && strcmp(h->free_in, here) == 0) {
		unit_bus_free(h->bus);
		h->bus = NULL;
		h->free_in = NULL;
	}
}

static void on_listed(void *ctx, int error, const struct unit_info *units, size_t count)
{
	struct heard *h = ctx;

	h->listed++;
	h->list_error = error;
	h->count = count;
	h->names[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		strcat(h->names, units[i].name);
		strcat(h->names, " ");
	}
	if (count > 0) {
		h->first = units[0];
		snprintf(h->first_id, sizeof h->first_id, "%s", units[0].invocation_id);
		snprintf(h->first_state, sizeof h->first_state, "%s", units[0].active_state);
		snprintf(h->first_cgroup, sizeof h->first_cgroup, "%s", units[0].cgroup);
	}
	maybe_free(h, "listed");
}

static void on_changed(void *ctx)
{
	struct heard *h = ctx;

	h->changed++;
	maybe_free(h, "changed");
}

static void on_reloading(void *ctx, bool active)
{
	struct heard *h = ctx;

	active ? h->reload_begin++ : h->reload_end++;
	maybe_free(h, "reloading");
}

static void on_set_done(void *ctx, const char *unit, int error, const struct unit_props *stored,
			usec_t lag)
{
	struct heard *h = ctx;

	CHECK(unit != NULL && (error < 0) == (stored == NULL));
	h->sets++;
	h->set_error = error;
	h->set_errors += error < 0;
	h->lag = lag;
	if (stored)
		h->stored = *stored;
	maybe_free(h, "set_done");
}

static void on_got(void *ctx, const char *unit, int error, const struct unit_props *stored)
{
	struct heard *h = ctx;

	CHECK(unit != NULL && (error < 0) == (stored == NULL));
	h->gots++;
	h->got_error = error;
	if (stored)
		h->stored = *stored;
	maybe_free(h, "got");
}

static void on_connected(void *ctx)
{
	struct heard *h = ctx;

	h->connected++;
	maybe_free(h, "connected");
}

static void on_disconnected(void *ctx, int error)
{
	struct heard *h = ctx;

	h->disconnected++;
	h->lost_error = error;
	maybe_free(h, "disconnected");
}

static const struct unit_bus_ops ops = {
	.listed = on_listed,
	.changed = on_changed,
	.reloading = on_reloading,
	.set_done = on_set_done,
	.got = on_got,
	.connected = on_connected,
	.disconnected = on_disconnected,
};

static void open_world(struct world *w)
{
	char path[64];

	*w = (struct world){.dir = "/tmp/unit-bus-XXXXXX"};
	CHECK(mkdtemp(w->dir) != NULL);
	snprintf(path, sizeof path, "%s/pid1", w->dir);
	CHECK(sd_event_new(&w->event) >= 0);
	CHECK_EQ(peer_open(&w->peer, w->event, path) < 0, 0);
	w->options = (struct unit_bus_options){
		.at = {.private_socket = w->peer.path, .system_socket = "/nonexistent/bus"},
		.deadline_usec = 400 * MS,
		.interval_usec = 150 * MS,
		.debounce_usec = 20 * MS,
		.backoff_usec = 10 * MS,
		.backoff_max_usec = 50 * MS,
	};
	CHECK_EQ(unit_bus_new(w->event, &w->options, &ops, &w->heard, &w->heard.bus), 0);
}

static void close_world(struct world *w)
{
	unit_bus_free(w->heard.bus);
	peer_close(&w->peer);
	sd_event_unref(w->event);
	CHECK_EQ(rmdir(w->dir), 0);
}

static usec_t now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

/* Runs the loop until *counter reaches want (true) or 5 s have passed. */
static bool wait_for(struct world *w, const unsigned *counter, unsigned want)
{
	usec_t end = now_usec() + 5 * USEC_PER_SEC;

	while (*counter < want && now_usec() < end)
		sd_event_run(w->event, 10 * MS);
	return *counter >= want;
}

static void run_for(struct world *w, usec_t usec)
{
	usec_t end = now_usec() + usec;

	while (now_usec() < end)
		sd_event_run(w->event, 5 * MS);
}

static const char *const web[] = {"web*.service", "*.slice"};

static int set_mem(struct world *w, const char *unit, uint64_t mem_max, bool urgent)
{
	struct unit_props p = {.mem_max = mem_max};

	return unit_set(w->heard.bus, unit, &p, UNIT_PROP_MEM_MAX, urgent);
}

static void test_list(void)
{
	struct world w;
	struct peer_unit *u;

	open_world(&w);
	u = peer_add(&w.peer, "web.service", "active");
	u->props = (struct unit_props){200000, 100000, 64 * MIB, UINT64_MAX};
	peer_add(&w.peer, "web-2.service", "inactive");
	peer_add(&w.peer, "web-3.service", "deactivating");
	peer_add(&w.peer, "web.socket", "active");
	peer_add(&w.peer, "db.service", "active");
	peer_add(&w.peer, "a\\x2db.slice", "active");
	w.peer.vanish = "web-gone.service";
	CHECK_EQ(unit_bus_list(w.heard.bus, web, 2), 0);
	CHECK(wait_for(&w, &w.heard.listed, 1));
	CHECK_EQ(w.heard.list_error, 0);
	CHECK_STR(w.heard.names, "web.service web-3.service a\\x2db.slice ");
	CHECK_STR(w.heard.first_id, "01010101010101010101010101010101");
	CHECK_STR(w.heard.first_state, "active");
	CHECK_STR(w.heard.first_cgroup, "/system.slice/x");
	CHECK_EQ(w.heard.first.active_enter_usec, 1001);
	CHECK_EQ(w.heard.first.props.cpu_quota_per_sec_usec, 200000);
	CHECK_EQ(w.heard.first.props.cpu_quota_period_usec, 100000);
	CHECK_EQ(w.heard.first.props.mem_max, 64 * MIB);
	CHECK(w.heard.first.props.mem_high == UINT64_MAX);
	CHECK_EQ(w.heard.connected, 1);
	CHECK_EQ(w.peer.subscribe_count, 1);
	CHECK_EQ(w.heard.changed, 0);
	close_world(&w);
}

static void test_list_edges(void)
{
	static const char *const none[] = {"nothing-*.service"};
	struct world w;
	unsigned lists;

	open_world(&w);
	for (int i = 0; i < 40; i++) { /* more than the window of reads */
		char name[32];

		snprintf(name, sizeof name, "web-%d.service", i);
		peer_add(&w.peer, name, "active");
	}
	unit_bus_list(w.heard.bus, web, 2);
	CHECK(wait_for(&w, &w.heard.listed, 1));
	CHECK_EQ(w.heard.count, 40);
	unit_bus_list(w.heard.bus, none, 1);
	CHECK(wait_for(&w, &w.heard.listed, 2));
	CHECK_EQ(w.heard.count, 0);
	lists = w.peer.list_count;
	/* no pattern is no unit, not every unit */
	CHECK_EQ(unit_bus_list(w.heard.bus, NULL, 0), 0);
	CHECK_EQ(w.heard.listed, 2);
	CHECK(wait_for(&w, &w.heard.listed, 3));
	CHECK_EQ(w.heard.count, 0);
	CHECK_EQ(w.heard.list_error, 0);
	CHECK_EQ(w.peer.list_count, lists);
	/* a second listing replaces the first: one answer */
	unit_bus_list(w.heard.bus, none, 1);
	unit_bus_list(w.heard.bus, web, 2);
	CHECK(wait_for(&w, &w.heard.listed, 4));
	CHECK_EQ(w.heard.count, 40);
	run_for(&w, 50 * MS);
	CHECK_EQ(w.heard.listed, 4);
	/* an answer that never comes is an error, for rows and for properties */
	w.peer.list_silent = true;
	unit_bus_list(w.heard.bus, web, 2);
	CHECK(wait_for(&w, &w.heard.listed, 5));
	CHECK_EQ(w.heard.list_error, -ETIMEDOUT);
	w.peer.list_silent = false;
	w.peer.get_silent = true;
	unit_bus_list(w.heard.bus, web, 2);
	CHECK(wait_for(&w, &w.heard.listed, 6));
	CHECK_EQ(w.heard.list_error, -ETIMEDOUT);
	close_world(&w);
}

static void test_set_masks(void)
{
	struct world w;
	struct unit_props p = {500000, 100000, 80 * MIB, 70 * MIB};

	open_world(&w);
	peer_add(&w.peer, "web.service", "active");
	CHECK_EQ(unit_set(w.heard.bus, "web.service", &p, UNIT_PROP_ALL, false), 0);
	CHECK(unit_set_pending(w.heard.bus, "web.service"));
	CHECK(wait_for(&w, &w.heard.sets, 1));
	CHECK_EQ(w.heard.set_error, 0);
	CHECK(unit_props_equal(&w.heard.stored, &p, UNIT_PROP_ALL));
	CHECK(w.heard.lag > 0);
	CHECK_EQ(w.peer.set_count, 1);
	CHECK_EQ(w.peer.sets[0].rows, 15);
	CHECK(w.peer.sets[0].runtime);
	CHECK(unit_props_equal(&w.peer.sets[0].props, &p, UNIT_PROP_ALL));
	CHECK(!unit_set_pending(w.heard.bus, "web.service"));

	CHECK_EQ(unit_set(w.heard.bus, "web.service", &p, UNIT_PROP_CPU_QUOTA, true), 0);
	CHECK(wait_for(&w, &w.heard.sets, 2));
	CHECK_EQ(w.peer.sets[1].rows, 3);
	CHECK_EQ(unit_set(w.heard.bus, "web.service", &p, UNIT_PROP_MEM_MAX, true), 0);
	CHECK(wait_for(&w, &w.heard.sets, 3));
	CHECK_EQ(w.peer.sets[2].rows, 4);

	CHECK_EQ(unit_set(w.heard.bus, "web.socket", &p, UNIT_PROP_MEM_MAX, true), -EINVAL);
	CHECK_EQ(unit_set(w.heard.bus, "../x.service", &p, UNIT_PROP_MEM_MAX, true), -EINVAL);
	CHECK_EQ(unit_set(w.heard.bus, "web.service", &p, 0, true), -EINVAL);
	close_world(&w);
}

static void test_coalescing(void)
{
	struct world w;

	open_world(&w);
	w.peer.set_delay_usec = 60 * MS;
	peer_add(&w.peer, "web.service", "active");
	set_mem(&w, "web.service", 1 * MIB, false);
	while (w.peer.set_count < 1)
		sd_event_run(w.event, 10 * MS);
	for (uint64_t i = 2; i <= 30; i++)
		set_mem(&w, "web.service", i * MIB, false);
	CHECK(wait_for(&w, &w.heard.sets, 2));
	run_for(&w, 200 * MS);
	CHECK_EQ(w.peer.set_count, 2);
	CHECK_EQ(w.heard.sets, 2);
	CHECK_EQ(w.peer.sets[1].props.mem_max, 30 * MIB);
	CHECK_EQ(w.peer.in_flight_max, 1);
	CHECK_EQ(w.heard.stored.mem_max, 30 * MIB);
	/* other units do not wait for it, but no more than the window are asked at once */
	for (int i = 0; i < 20; i++) {
		char name[32];

		snprintf(name, sizeof name, "web-%d.service", i);
		peer_add(&w.peer, name, "active");
		set_mem(&w, name, 5 * MIB, false);
	}
	CHECK(wait_for(&w, &w.heard.sets, 22));
	CHECK_EQ(w.heard.set_errors, 0);
	CHECK(w.peer.in_flight_max > 1 && w.peer.in_flight_max <= 8);
	close_world(&w);
}

static void test_set_errors(void)
{
	struct world w;

	open_world(&w);
	peer_add(&w.peer, "web.service", "active");
	w.peer.set_error = "org.freedesktop.systemd1.NoSuchUnit";
	set_mem(&w, "web.service", MIB, false);
	CHECK(wait_for(&w, &w.heard.sets, 1));
	CHECK_EQ(w.heard.set_error, -ENOENT);
	w.peer.set_error = SD_BUS_ERROR_ACCESS_DENIED;
	set_mem(&w, "web.service", MIB, true);
	CHECK(wait_for(&w, &w.heard.sets, 2));
	CHECK_EQ(w.heard.set_error, -EACCES);
	w.peer.set_error = NULL;

	/* no answer: the deadline, and what came meanwhile goes out after it */
	w.peer.set_silent = true;
	set_mem(&w, "web.service", 2 * MIB, true);
	run_for(&w, 50 * MS);
	set_mem(&w, "web.service", 3 * MIB, true);
	run_for(&w, 50 * MS);
	CHECK_EQ(w.peer.set_count, 3);
	CHECK(wait_for(&w, &w.heard.sets, 3));
	CHECK_EQ(w.heard.set_error, -ETIMEDOUT);
	w.peer.set_silent = false;
	CHECK(wait_for(&w, &w.heard.sets, 4));
	CHECK_EQ(w.peer.sets[3].props.mem_max, 3 * MIB);
	/* the read-back is under the same deadline */
	w.peer.get_silent = true;
	set_mem(&w, "web.service", 4 * MIB, true);
	CHECK(wait_for(&w, &w.heard.sets, 5));
	CHECK_EQ(w.heard.set_error, -ETIMEDOUT);
	CHECK(!unit_set_pending(w.heard.bus, "web.service"));
	close_world(&w);
}

static void test_get(void)
{
	struct world w;

	open_world(&w);
	peer_add(&w.peer, "web.service", "active")->props.mem_max = 7 * MIB;
	CHECK_EQ(unit_get(w.heard.bus, "web.service"), 0);
	CHECK(wait_for(&w, &w.heard.gots, 1));
	CHECK_EQ(w.heard.got_error, 0);
	CHECK_EQ(w.heard.stored.mem_max, 7 * MIB);
	CHECK_EQ(w.peer.get_count, 4);
	CHECK_EQ(unit_get(w.heard.bus, "none.service"), 0);
	CHECK(wait_for(&w, &w.heard.gots, 2));
	CHECK(w.heard.got_error < 0);
	CHECK_EQ(unit_get(w.heard.bus, "web.timer"), -EINVAL);
	w.peer.get_silent = true;
	CHECK_EQ(unit_get(w.heard.bus, "web.service"), 0);
	CHECK(wait_for(&w, &w.heard.gots, 3));
	CHECK_EQ(w.heard.got_error, -ETIMEDOUT);
	close_world(&w);
}

static void test_signals(void)
{
	struct world w;
	unsigned n;

	open_world(&w);
	peer_add(&w.peer, "web.service", "active");
	unit_bus_list(w.heard.bus, web, 2);
	CHECK(wait_for(&w, &w.heard.listed, 1));

	/* a burst is one change */
	peer_emit_unit(&w.peer, "UnitNew", "web-2.service");
	peer_emit_job_removed(&w.peer, "web-2.service");
	peer_emit_state(&w.peer, "web-2.service", "active");
	CHECK(wait_for(&w, &w.heard.changed, 1));
	run_for(&w, 60 * MS);
	CHECK_EQ(w.heard.changed, 1);

	/* what is not ours, or says nothing new, is none */
	peer_emit_unit(&w.peer, "UnitNew", "db.service");
	peer_emit_unit(&w.peer, "UnitNew", "web.socket");
	peer_emit_job_removed(&w.peer, "db.service");
	peer_emit_state(&w.peer, "db.service", "failed");
	peer_emit_state(&w.peer, "web.service", "active");
	peer_emit_state(&w.peer, "web-9.service", "inactive");
	run_for(&w, 60 * MS);
	CHECK_EQ(w.heard.changed, 1);

	peer_emit_state(&w.peer, "web.service", "failed");
	CHECK(wait_for(&w, &w.heard.changed, 2));
	peer_emit_unit(&w.peer, "UnitRemoved", "web.service");
	CHECK(wait_for(&w, &w.heard.changed, 3));
	peer_emit_job_removed(&w.peer, "x.slice");
	CHECK(wait_for(&w, &w.heard.changed, 4));

	peer_emit_reloading(&w.peer, true);
	CHECK(wait_for(&w, &w.heard.reload_begin, 1));
	run_for(&w, 60 * MS);
	n = w.heard.changed;
	peer_emit_reloading(&w.peer, false);
	CHECK(wait_for(&w, &w.heard.changed, n + 1));
	CHECK_EQ(w.heard.reload_end, 1);
	close_world(&w);
}

static void test_reconnect(void)
{
	struct world w;

	open_world(&w);
	peer_add(&w.peer, "web.service", "active");
	peer_add(&w.peer, "web-2.service", "active");
	CHECK(wait_for(&w, &w.heard.connected, 1));
	/* everything open when the connection goes: told once each */
	w.peer.set_silent = w.peer.get_silent = w.peer.list_silent = true;
	set_mem(&w, "web.service", MIB, false);
	run_for(&w, 30 * MS);
	set_mem(&w, "web.service", 2 * MIB, false);
	set_mem(&w, "web-2.service", MIB, false);
	unit_get(w.heard.bus, "web.service");
	unit_bus_list(w.heard.bus, web, 2);
	run_for(&w, 30 * MS);
	peer_emit_reloading(&w.peer, true);
	CHECK(wait_for(&w, &w.heard.reload_begin, 1));
	peer_leave(&w.peer);
	peer_hang_up(&w.peer);
	CHECK(wait_for(&w, &w.heard.disconnected, 1));
	CHECK_EQ(w.heard.gots, 1);
	CHECK_EQ(w.heard.got_error, -ENOTCONN);
	CHECK(w.heard.sets == 2 || w.heard.sets == 3);
	CHECK_EQ(w.heard.set_errors, w.heard.sets);
	CHECK_EQ(w.heard.set_error, -ENOTCONN);
	CHECK_EQ(w.heard.listed, 1);
	CHECK_EQ(w.heard.list_error, -ENOTCONN);
	CHECK_EQ(set_mem(&w, "web.service", MIB, true), -ENOTCONN);
	CHECK_EQ(unit_get(w.heard.bus, "web.service"), -ENOTCONN);
	CHECK_EQ(unit_bus_list(w.heard.bus, web, 2), -ENOTCONN);
	CHECK(!unit_set_pending(w.heard.bus, "web.service"));

	/* it tries on, and says so once */
	run_for(&w, 120 * MS);
	CHECK_EQ(w.heard.disconnected, 1);
	CHECK_EQ(w.heard.connected, 1);
	w.peer.set_silent = w.peer.get_silent = w.peer.list_silent = false;
	CHECK(peer_return(&w.peer) >= 0);
	CHECK(wait_for(&w, &w.heard.connected, 2));
	CHECK(wait_for(&w, &w.heard.changed, 1));
	CHECK_EQ(w.heard.reload_end, 1);
	CHECK_EQ(w.peer.subscribe_count, 2);
	CHECK_EQ(set_mem(&w, "web.service", 9 * MIB, false), 0);
	CHECK(wait_for(&w, &w.heard.sets, w.heard.sets + 1));
	CHECK_EQ(w.heard.set_error, 0);
	CHECK_EQ(w.heard.stored.mem_max, 9 * MIB);
	/* what waited when the connection went was not sent later */
	CHECK_EQ(w.peer.sets[w.peer.set_count - 1].props.mem_max, 9 * MIB);
	close_world(&w);
}

static void test_refused_subscription(void)
{
	struct world w;
	unsigned tries;

	open_world(&w);
	CHECK(wait_for(&w, &w.heard.connected, 1));
	w.peer.subscribe_error = SD_BUS_ERROR_ACCESS_DENIED;
	peer_hang_up(&w.peer);
	CHECK(wait_for(&w, &w.heard.disconnected, 1));
	tries = w.peer.subscribe_count;
	CHECK(wait_for(&w, &w.peer.subscribe_count, tries + 3));
	CHECK_EQ(w.heard.disconnected, 1);
	w.peer.subscribe_error = "org.freedesktop.systemd1.AlreadySubscribed";
	CHECK(wait_for(&w, &w.heard.connected, 2));
	close_world(&w);
}

static void test_unreachable(void)
{
	struct unit_bus_options o = {.at = {.private_socket = "/nonexistent/private",
					    .system_socket = "/nonexistent/bus"}};
	struct unit_bus *b = NULL;
	sd_event *event = NULL;

	CHECK(sd_event_new(&event) >= 0);
	CHECK_EQ(unit_bus_new(event, &o, &ops, NULL, &b), -ENOENT);
	CHECK(b == NULL);
	unit_bus_free(NULL);
	sd_event_unref(event);
}

/* Every callback may free the bus, with calls of every kind still open. */
static void test_free_inside(void)
{
	static const char *const where[] = {"connected", "listed", "changed",     "reloading",
					    "set_done",  "got",    "disconnected"};

	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct world w;
		usec_t end = now_usec() + 5 * USEC_PER_SEC;

		open_world(&w);
		w.heard.free_in = where[i];
		for (int u = 0; u < 12; u++) {
			char name[32];

			snprintf(name, sizeof name, "web-%d.service", u);
			peer_add(&w.peer, name, "active");
			set_mem(&w, name, MIB, false);
			set_mem(&w, name, 2 * MIB, true);
			unit_get(w.heard.bus, name);
		}
		unit_bus_list(w.heard.bus, web, 2);
		for (int turn = 0; w.heard.bus && now_usec() < end; turn++) {
			sd_event_run(w.event, 10 * MS);
			if (turn % 20 == 19) {
				peer_emit_unit(&w.peer, "UnitNew", "web.service");
				peer_emit_reloading(&w.peer, true);
			}
			if (strcmp(where[i], "disconnected") == 0 && turn == 30)
				peer_hang_up(&w.peer);
		}
		if (w.heard.bus)
			fprintf(stderr, "never called: %s\n", where[i]);
		CHECK(w.heard.bus == NULL);
		run_for(&w, 20 * MS);
		close_world(&w);
	}
}

/* The connection goes while callbacks of each kind are due, and one of them frees the bus. */
static void test_free_while_losing(void)
{
	static const char *const where[] = {"set_done", "got", "listed", "disconnected"};

	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct world w;

		open_world(&w);
		peer_add(&w.peer, "web.service", "active");
		peer_add(&w.peer, "web-2.service", "active");
		CHECK(wait_for(&w, &w.heard.connected, 1));
		w.peer.set_silent = w.peer.get_silent = true;
		set_mem(&w, "web.service", MIB, false);
		set_mem(&w, "web-2.service", MIB, false);
		unit_get(w.heard.bus, "web.service");
		unit_get(w.heard.bus, "web-2.service");
		unit_bus_list(w.heard.bus, web, 2);
		run_for(&w, 50 * MS);
		w.heard.free_in = where[i];
		peer_hang_up(&w.peer);
		run_for(&w, 50 * MS);
		CHECK(w.heard.bus == NULL);
		close_world(&w);
	}
}

int main(void)
{
	test_list();
	test_list_edges();
	test_set_masks();
	test_coalescing();
	test_set_errors();
	test_get();
	test_signals();
	test_reconnect();
	test_refused_subscription();
	test_unreachable();
	test_free_inside();
	test_free_while_losing();
	return check_result();
}
