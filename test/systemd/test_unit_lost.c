// SPDX-License-Identifier: Apache-2.0
/* The unit bus against a scripted PID 1: signals, lost connections, freed in every callback. */
#include "world.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

TEST_WORLD(signals)
{
	unsigned n;

	peer_add(&w->peer, "web.service", "active");
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 1));

	/* a burst is one change */
	peer_emit_unit(&w->peer, "UnitNew", "web-2.service");
	peer_emit_job_removed(&w->peer, "web-2.service");
	peer_emit_state(&w->peer, "web-2.service", "active");
	CHECK(wait_for(w, &w->received.changed, 1));
	run_for(w, 60 * MS);
	CHECK_EQ(w->received.changed, 1);

	/* signals without a pause do not put it off for ever */
	for (int i = 0; i < 40; i++) {
		peer_emit_unit(&w->peer, "UnitNew", "web-2.service");
		run_for(w, 5 * MS);
	}
	CHECK(w->received.changed >= 3);
	run_for(w, 60 * MS);
	w->received.changed = 1;

	/* signals of other units, or without news, are not counted */
	peer_emit_unit(&w->peer, "UnitNew", "db.service");
	peer_emit_unit(&w->peer, "UnitNew", "web.socket");
	peer_emit_job_removed(&w->peer, "db.service");
	peer_emit_state(&w->peer, "db.service", "failed");
	peer_emit_state(&w->peer, "web.service", "active");
	peer_emit_state(&w->peer, "web-9.service", "inactive");
	run_for(w, 60 * MS);
	CHECK_EQ(w->received.changed, 1);

	peer_emit_state(&w->peer, "web.service", "failed");
	CHECK(wait_for(w, &w->received.changed, 2));
	peer_emit_unit(&w->peer, "UnitRemoved", "web.service");
	CHECK(wait_for(w, &w->received.changed, 3));
	peer_emit_job_removed(&w->peer, "x.slice");
	CHECK(wait_for(w, &w->received.changed, 4));

	peer_emit_reloading(&w->peer, true);
	CHECK(wait_for(w, &w->received.reload_begin, 1));
	run_for(w, 60 * MS);
	n = w->received.changed;
	peer_emit_reloading(&w->peer, false);
	CHECK(wait_for(w, &w->received.changed, n + 1));
	CHECK_EQ(w->received.reload_end, 1);
}

TEST(reconnect)
{
	struct world w;

	open_world_deadline(&w, 10 * USEC_PER_SEC);
	peer_add(&w.peer, "web.service", "active");
	peer_add(&w.peer, "web-2.service", "active");
	CHECK(wait_for(&w, &w.received.connected, 1));
	/* everything open when the connection goes: reported once each */
	w.peer.set_silent = w.peer.get_silent = w.peer.list_silent = true;
	set_mem(&w, "web.service", MIB, false);
	run_for(&w, 30 * MS);
	set_mem(&w, "web.service", 2 * MIB, false);
	set_mem(&w, "web-2.service", MIB, false);
	unit_get(w.received.bus, "web.service");
	unit_bus_list(w.received.bus, web, 2);
	run_for(&w, 30 * MS);
	peer_emit_reloading(&w.peer, true);
	CHECK(wait_for(&w, &w.received.reload_begin, 1));
	peer_leave(&w.peer);
	peer_hang_up(&w.peer);
	CHECK(wait_for(&w, &w.received.disconnected, 1));
	CHECK_EQ(w.received.gots, 1);
	CHECK_EQ(w.received.got_error, -ENOTCONN);
	CHECK(w.received.sets == 2 || w.received.sets == 3);
	CHECK_EQ(w.received.set_errors, w.received.sets);
	CHECK_EQ(w.received.set_error, -ENOTCONN);
	CHECK_EQ(w.received.listed, 1);
	CHECK_EQ(w.received.list_error, -ENOTCONN);
	CHECK_EQ(set_mem(&w, "web.service", MIB, true), -ENOTCONN);
	CHECK_EQ(unit_get(w.received.bus, "web.service"), -ENOTCONN);
	CHECK_EQ(unit_bus_list(w.received.bus, web, 2), -ENOTCONN);
	CHECK(!unit_set_pending(w.received.bus, "web.service"));

	/* it tries on, and says so once */
	run_for(&w, 120 * MS);
	CHECK_EQ(w.received.disconnected, 1);
	CHECK_EQ(w.received.connected, 1);
	w.peer.set_silent = w.peer.get_silent = w.peer.list_silent = false;
	CHECK(peer_return(&w.peer) >= 0);
	CHECK(wait_for(&w, &w.received.connected, 2));
	CHECK(wait_for(&w, &w.received.changed, 1));
	CHECK_EQ(w.received.reload_end, 1);
	CHECK_EQ(w.peer.subscribe_count, 2);
	CHECK_EQ(set_mem(&w, "web.service", 9 * MIB, false), 0);
	CHECK(wait_for(&w, &w.received.sets, w.received.sets + 1));
	CHECK_EQ(w.received.set_error, 0);
	CHECK_EQ(w.received.stored.mem_max, 9 * MIB);
	/* PID 1 went without a word: a new one may store something else */
	peer_hang_up(&w.peer);
	CHECK(wait_for(&w, &w.received.connected, 3));
	CHECK_EQ(w.received.reload_begin, 1);
	CHECK(wait_for(&w, &w.received.reload_end, 2));
	/* what waited when the connection went was not sent later */
	CHECK_EQ(w.peer.sets[w.peer.set_count - 1].props.mem_max, 9 * MIB);
	close_world(&w);
}

TEST_WORLD(refused_subscription)
{
	unsigned tries;

	CHECK(wait_for(w, &w->received.connected, 1));
	w->peer.subscribe_error = SD_BUS_ERROR_ACCESS_DENIED;
	peer_hang_up(&w->peer);
	CHECK(wait_for(w, &w->received.disconnected, 1));
	tries = w->peer.subscribe_count;
	CHECK(wait_for(w, &w->peer.subscribe_count, tries + 3));
	CHECK_EQ(w->received.disconnected, 1);
	w->peer.subscribe_error = "org.freedesktop.systemd1.AlreadySubscribed";
	CHECK(wait_for(w, &w->received.connected, 2));
}

TEST_WORLD(silent_subscription)
{
	unsigned tries;

	CHECK(wait_for(w, &w->received.connected, 1));
	w->peer.subscribe_silent = true;
	peer_hang_up(&w->peer);
	CHECK(wait_for(w, &w->received.disconnected, 1));
	tries = w->peer.subscribe_count;
	CHECK(wait_for(w, &w->peer.subscribe_count, tries + 2));
	CHECK_EQ(w->received.connected, 1);
	w->peer.subscribe_silent = false;
	CHECK(wait_for(w, &w->received.connected, 2));
}

TEST(unreachable)
{
	struct unit_bus_options o = {.at = {.private_socket = "/nonexistent/private",
					    .system_socket = "/nonexistent/bus"}};
	struct unit_bus *b = NULL;
	sd_event *event = NULL;

	CHECK(sd_event_new(&event) >= 0);
	CHECK_EQ(unit_bus_new(event, &o, &world_ops, NULL, &b), -ENOENT);
	CHECK(b == NULL);
	unit_bus_free(NULL);
	sd_event_unref(event);
}

/* The socket that an ended process leaves: connections are refused. */
static void leave_dead_socket(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
	CHECK_EQ(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	close(fd);
}

/* At the start PID 1 may be recreating its socket: the first connection is refused. */
TEST_WORLD(refused_at_first)
{
	CHECK(wait_for(w, &w->received.connected, 1));
	unit_bus_free(w->received.bus);
	w->received.bus = NULL;
	peer_leave(&w->peer);
	leave_dead_socket(w->peer.path);
	CHECK_OK(unit_bus_new(w->event, &w->options, &world_ops, &w->received, &w->received.bus));
	run_for(w, 60 * MS);
	CHECK_EQ(w->received.connected, 1);
	CHECK_EQ(set_mem(w, "web.service", MIB, true), -ENOTCONN);
	CHECK(peer_return(&w->peer) >= 0);
	CHECK(wait_for(w, &w->received.connected, 2));
	CHECK_EQ(w->received.disconnected, 0);
	CHECK_EQ(w->received.reload_end, 0);
}

/* Every callback may free the bus, with calls of every kind still open. */
TEST(free_inside)
{
	static const char *const where[] = {"connected", "listed", "changed",     "reloading",
					    "set_done",  "got",    "disconnected"};

	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct world w;
		usec_t end = now_usec() + 5 * USEC_PER_SEC;

		open_world(&w);
		w.received.free_in = where[i];
		for (int u = 0; u < 12; u++) {
			char name[32];

			snprintf(name, sizeof name, "web-%d.service", u);
			peer_add(&w.peer, name, "active");
			set_mem(&w, name, MIB, false);
			set_mem(&w, name, 2 * MIB, true);
			unit_get(w.received.bus, name);
		}
		unit_bus_list(w.received.bus, web, 2);
		for (int turn = 0; w.received.bus && now_usec() < end; turn++) {
			sd_event_run(w.event, 10 * MS);
			if (turn % 20 == 19) {
				peer_emit_unit(&w.peer, "UnitNew", "web.service");
				peer_emit_reloading(&w.peer, true);
			}
			if (strcmp(where[i], "disconnected") == 0 && turn == 30)
				peer_hang_up(&w.peer);
		}
		if (w.received.bus)
			fprintf(stderr, "never called: %s\n", where[i]);
		CHECK(w.received.bus == NULL);
		run_for(&w, 20 * MS);
		close_world(&w);
	}
}

/* The connection goes while callbacks of each kind are due, and one of them frees the bus. */
TEST(free_while_losing)
{
	static const char *const where[] = {"set_done", "got", "listed", "disconnected"};

	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct world w;

		open_world(&w);
		peer_add(&w.peer, "web.service", "active");
		peer_add(&w.peer, "web-2.service", "active");
		CHECK(wait_for(&w, &w.received.connected, 1));
		w.peer.set_silent = w.peer.get_silent = true;
		set_mem(&w, "web.service", MIB, false);
		set_mem(&w, "web-2.service", MIB, false);
		unit_get(w.received.bus, "web.service");
		unit_get(w.received.bus, "web-2.service");
		unit_bus_list(w.received.bus, web, 2);
		run_for(&w, 50 * MS);
		w.received.free_in = where[i];
		peer_hang_up(&w.peer);
		run_for(&w, 50 * MS);
		CHECK(w.received.bus == NULL);
		close_world(&w);
	}
}
