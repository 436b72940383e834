// SPDX-License-Identifier: Apache-2.0
/* The unit bus against a scripted PID 1 on a real socket: listing, setting, reading. */
#include "world.h"
#include <errno.h>
#include <unistd.h>

TEST_WORLD(list)
{
	struct peer_unit *u;

	u = peer_add(&w->peer, "web.service", "active");
	u->props = (struct unit_props){200000, 100000, 64 * MIB, UINT64_MAX};
	peer_add(&w->peer, "web-2.service", "inactive");
	peer_add(&w->peer, "web-3.service", "deactivating");
	peer_add(&w->peer, "web.socket", "active");
	peer_add(&w->peer, "db.service", "active");
	peer_add(&w->peer, "a\\x2db.slice", "active");
	w->peer.vanish = "web-gone.service";
	CHECK_EQ(unit_bus_list(w->received.bus, web, 2), 0);
	CHECK(wait_for(w, &w->received.listed, 1));
	CHECK_EQ(w->received.list_error, 0);
	CHECK_STR(w->received.names, "web.service web-3.service a\\x2db.slice ");
	CHECK_STR(w->received.first_id, "01010101010101010101010101010101");
	CHECK_STR(w->received.first_state, "active");
	CHECK_STR(w->received.first_cgroup, "/system.slice/x");
	CHECK_EQ(w->received.first.active_enter_usec, 1001);
	CHECK_EQ(w->received.first.props.cpu_quota_per_sec_usec, 200000);
	CHECK_EQ(w->received.first.props.cpu_quota_period_usec, 100000);
	CHECK_EQ(w->received.first.props.mem_max, 64 * MIB);
	CHECK(w->received.first.props.mem_high == UINT64_MAX);
	CHECK_EQ(w->received.connected, 1);
	CHECK_EQ(w->peer.subscribe_count, 1);
	CHECK_EQ(w->received.changed, 0);
}

TEST_WORLD(list_edges)
{
	static const char *const none[] = {"nothing-*.service"};
	unsigned lists, gets;

	for (int i = 0; i < 40; i++) { /* more than the window of reads */
		char name[32];

		snprintf(name, sizeof name, "web-%d.service", i);
		peer_add(&w->peer, name, "active");
	}
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 1));
	CHECK_EQ(w->received.count, 40);
	unit_bus_list(w->received.bus, none, 1);
	CHECK(wait_for(w, &w->received.listed, 2));
	CHECK_EQ(w->received.count, 0);
	lists = w->peer.list_count;
	/* no pattern is no unit, not every unit */
	CHECK_EQ(unit_bus_list(w->received.bus, NULL, 0), 0);
	CHECK_EQ(w->received.listed, 2);
	CHECK(wait_for(w, &w->received.listed, 3));
	CHECK_EQ(w->received.count, 0);
	CHECK_EQ(w->received.list_error, 0);
	CHECK_EQ(w->peer.list_count, lists);
	/* a second listing replaces the first: one answer */
	unit_bus_list(w->received.bus, none, 1);
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 4));
	CHECK_EQ(w->received.count, 40);
	run_for(w, 50 * MS);
	CHECK_EQ(w->received.listed, 4);
	/* an answer that never comes is an error, for rows and for properties */
	w->peer.list_silent = true;
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 5));
	CHECK_EQ(w->received.list_error, -ETIMEDOUT);
	w->peer.list_silent = false;
	w->peer.get_silent = true;
	gets = w->peer.get_count;
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 6));
	/* a bus daemon would have refused the 129th open call */
	CHECK(w->peer.get_count - gets <= 100);
	CHECK_EQ(w->received.list_error, -ETIMEDOUT);
}

/* What is known is named, and PID 1 is not asked for its properties. */
TEST_WORLD(list_known)
{
	unsigned gets, each;

	peer_add(&w->peer, "web-1.service", "active");
	peer_add(&w->peer, "web-2.service", "active");
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 1));
	each = w->peer.get_count / 2;
	CHECK(each > 0);
	gets = w->peer.get_count;
	w->received.unknown = "web-2.service";
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 2));
	CHECK_EQ(w->peer.get_count - gets, each);
	CHECK_STR(w->received.names, "web-1.service web-2.service ");
	CHECK(w->received.first.known);
	CHECK_STR(w->received.first_state, "active");
	gets = w->peer.get_count;
	w->received.unknown = "";
	unit_bus_list(w->received.bus, web, 2);
	CHECK(wait_for(w, &w->received.listed, 3));
	CHECK_EQ(w->received.list_error, 0);
	CHECK_EQ(w->received.count, 2);
	CHECK_EQ(w->peer.get_count, gets);
}

TEST_WORLD(set_masks)
{
	struct unit_props p = {500000, 100000, 80 * MIB, 70 * MIB};

	peer_add(&w->peer, "web.service", "active");
	CHECK_EQ(unit_set(w->received.bus, "web.service", &p, UNIT_PROP_ALL, false), 0);
	CHECK(unit_set_pending(w->received.bus, "web.service"));
	CHECK(wait_for(w, &w->received.sets, 1));
	CHECK_EQ(w->received.set_error, 0);
	CHECK(unit_props_equal(&w->received.stored, &p, UNIT_PROP_ALL));
	CHECK(w->received.lag > 0);
	CHECK_EQ(w->peer.set_count, 1);
	CHECK_EQ(w->peer.get_count, 4); /* the limits, and nothing else, are read back */
	CHECK_EQ(w->peer.sets[0].rows, 15);
	CHECK(w->peer.sets[0].runtime);
	CHECK(unit_props_equal(&w->peer.sets[0].props, &p, UNIT_PROP_ALL));
	CHECK(!unit_set_pending(w->received.bus, "web.service"));

	CHECK_EQ(unit_set(w->received.bus, "web.service", &p, UNIT_PROP_CPU_QUOTA, true), 0);
	CHECK(wait_for(w, &w->received.sets, 2));
	CHECK_EQ(w->peer.sets[1].rows, 3);
	CHECK_EQ(unit_set(w->received.bus, "web.service", &p, UNIT_PROP_MEM_MAX, true), 0);
	CHECK(wait_for(w, &w->received.sets, 3));
	CHECK_EQ(w->peer.sets[2].rows, 4);

	CHECK_EQ(unit_set(w->received.bus, "web.socket", &p, UNIT_PROP_MEM_MAX, true), -EINVAL);
	CHECK_EQ(unit_set(w->received.bus, "../x.service", &p, UNIT_PROP_MEM_MAX, true), -EINVAL);
	CHECK_EQ(unit_set(w->received.bus, "web.service", &p, 0, true), -EINVAL);
}

TEST_WORLD(set_errors)
{
	peer_add(&w->peer, "web.service", "active");
	w->peer.set_error = "org.freedesktop.systemd1.NoSuchUnit";
	set_mem(w, "web.service", MIB, false);
	CHECK(wait_for(w, &w->received.sets, 1));
	CHECK_EQ(w->received.set_error, -ENOENT);
	w->peer.set_error = SD_BUS_ERROR_ACCESS_DENIED;
	set_mem(w, "web.service", MIB, true);
	CHECK(wait_for(w, &w->received.sets, 2));
	CHECK_EQ(w->received.set_error, -EACCES);
	w->peer.set_error = NULL;

	/* no answer: the deadline, and what came meanwhile goes out after it */
	w->peer.set_silent = true;
	set_mem(w, "web.service", 2 * MIB, true);
	run_for(w, 50 * MS);
	set_mem(w, "web.service", 3 * MIB, true);
	run_for(w, 50 * MS);
	CHECK_EQ(w->peer.set_count, 3);
	CHECK(wait_for(w, &w->received.sets, 3));
	CHECK_EQ(w->received.set_error, -ETIMEDOUT);
	w->peer.set_silent = false;
	CHECK(wait_for(w, &w->received.sets, 4));
	CHECK_EQ(w->peer.sets[3].props.mem_max, 3 * MIB);
	/* the read-back is under the same deadline */
	w->peer.get_silent = true;
	set_mem(w, "web.service", 4 * MIB, true);
	CHECK(wait_for(w, &w->received.sets, 5));
	CHECK_EQ(w->received.set_error, -ETIMEDOUT);
	CHECK(!unit_set_pending(w->received.bus, "web.service"));
}

TEST_WORLD(get)
{
	peer_add(&w->peer, "web.service", "active")->props.mem_max = 7 * MIB;
	CHECK_EQ(unit_get(w->received.bus, "web.service"), 0);
	CHECK(wait_for(w, &w->received.gots, 1));
	CHECK_EQ(w->received.got_error, 0);
	CHECK_EQ(w->received.stored.mem_max, 7 * MIB);
	CHECK_EQ(w->peer.get_count, 4);
	CHECK_EQ(unit_get(w->received.bus, "none.service"), 0);
	CHECK(wait_for(w, &w->received.gots, 2));
	CHECK(w->received.got_error < 0);
	CHECK_EQ(unit_get(w->received.bus, "web.timer"), -EINVAL);
	w->peer.get_silent = true;
	CHECK_EQ(unit_get(w->received.bus, "web.service"), 0);
	CHECK(wait_for(w, &w->received.gots, 3));
	CHECK_EQ(w->received.got_error, -ETIMEDOUT);
}
