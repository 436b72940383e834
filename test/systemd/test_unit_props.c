// SPDX-License-Identifier: Apache-2.0
/* Names, masks, and messages that are not what they should be. */
#include "policy/base/text.h"
#include "systemd/unit_read.h"
#include "test/check.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static sd_bus *bus;

TEST(names)
{
	static const char *const good[] = {"a.service", "a@b.service", "a\\x2db.slice", "-.slice",
					   "run-1:2_3.scope"};
	static const char *const bad[] = {
		"",          "service",     ".service",   "a.socket",
		"a",         "a/b.service", "../x.scope", "..service",
		"a b.slice", "a\n.service", "a.service ", "\xc3\xa4.service"};
	char huge[400];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(unit_interface_of(good[i]) != NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(unit_interface_of(bad[i]) == NULL);
	CHECK(unit_interface_of(NULL) == NULL);
	CHECK_STR(unit_interface_of("a.scope"), "org.freedesktop.systemd1.Scope");
	CHECK_STR(unit_interface_of("a.slice"), "org.freedesktop.systemd1.Slice");
	CHECK_STR(unit_interface_of("a.service"), "org.freedesktop.systemd1.Service");
	memset(huge, 'a', sizeof huge);
	strcpy(huge + 255 - 8, ".service");
	CHECK(unit_interface_of(huge) != NULL);
	memset(huge, 'a', sizeof huge);
	strcpy(huge + 256 - 8, ".service");
	CHECK(unit_interface_of(huge) == NULL);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(container_scopes)
{
	CHECK(text_is_container_scope("cri-containerd-" ID ".scope"));
	CHECK(text_is_container_scope("docker-" ID ".scope"));
	CHECK(!text_is_container_scope(ID ".scope"));
	CHECK(!text_is_container_scope("-" ID ".scope"));
	CHECK(!text_is_container_scope("docker-" ID "0.scope"));
	CHECK(!text_is_container_scope("docker-g" ID ".scope"));
	CHECK(!text_is_container_scope("docker-" ID ".service"));
	CHECK(!text_is_container_scope("docker-" ID));
	CHECK(!text_is_container_scope("session-1.scope"));
	CHECK(!text_is_container_scope("run-u12.scope"));
	CHECK(!text_is_container_scope(""));
}

TEST(merge)
{
	struct unit_props a = {1, 2, 3, 4}, b = {10, 20, 30, 40}, c = a;

	unit_props_merge(&c, &b, UNIT_PROP_CPU_QUOTA);
	CHECK(c.cpu_quota_per_sec_usec == 10 && c.cpu_quota_period_usec == 20 && c.mem_max == 3 &&
	      c.mem_high == 4);
	CHECK(unit_props_equal(&c, &b, UNIT_PROP_CPU_QUOTA));
	CHECK(unit_props_equal(&c, &a, UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH));
	CHECK(!unit_props_equal(&c, &a, UNIT_PROP_ALL));
	CHECK(unit_props_equal(&a, &b, 0));
}

static sd_bus_message *signal_message(const char *path)
{
	sd_bus_message *m = NULL;

	CHECK(sd_bus_message_new_signal(bus, &m, path, "org.freedesktop.DBus.Properties",
					"PropertiesChanged") >= 0);
	return m;
}

static void seal(sd_bus_message *m)
{
	CHECK(sd_bus_message_seal(m, 1, 0) >= 0);
	CHECK(sd_bus_message_rewind(m, 1) >= 0);
}

TEST(values)
{
	sd_bus_message *m = signal_message("/x");
	uint8_t id[17] = {0xde, 0xad};
	char *s = (char *)"untouched", hex[33] = "untouched";
	uint64_t v = 7;

	sd_bus_message_append(m, "vvv", "s", "text", "t", (uint64_t)42, "i", -1);
	seal(m);
	CHECK(unit_message_read_u64(m, &v) < 0); /* a string */
	CHECK_EQ(v, 7);
	sd_bus_message_rewind(m, 1);
	sd_bus_message_skip(m, "v");
	CHECK_EQ(unit_message_read_u64(m, &v), 0);
	CHECK_EQ(v, 42);
	CHECK(unit_message_read_string(m, &s) < 0); /* a number */
	CHECK(unit_message_read_id(m, hex) < 0);
	CHECK_STR(s, "untouched");
	CHECK_STR(hex, "untouched");
	sd_bus_message_skip(m, "v");
	CHECK(unit_message_read_u64(m, &v) < 0); /* the end */
	CHECK(unit_message_read_string(m, &s) < 0);
	CHECK(unit_message_read_id(m, hex) < 0);
	sd_bus_message_unref(m);

	for (size_t n = 0; n <= 17; n++) {
		m = signal_message("/x");
		sd_bus_message_open_container(m, 'v', "ay");
		sd_bus_message_append_array(m, 'y', id, n);
		sd_bus_message_close_container(m);
		seal(m);
		CHECK_EQ(unit_message_read_id(m, hex), n == 0 || n == 16 ? 0 : -EBADMSG);
		CHECK_STR(hex, n >= 16 ? "dead0000000000000000000000000000" : "");
		sd_bus_message_unref(m);
	}
}

TEST(rows)
{
	const char *name = "untouched", *state = "untouched";
	sd_bus_message *m = signal_message("/x");

	sd_bus_message_append(m, "a(ssssssouso)", 1, "web.service", "d", "loaded", "active", "run",
			      "", "/o", 0u, "", "/");
	seal(m);
	CHECK(sd_bus_message_enter_container(m, 'a', "(ssssssouso)") > 0);
	CHECK_EQ(unit_message_read_row(m, &name, &state), 1);
	CHECK_STR(name, "web.service");
	CHECK_STR(state, "active");
	CHECK_EQ(unit_message_read_row(m, &name, &state), 0);
	sd_bus_message_unref(m);

	m = signal_message("/x");
	sd_bus_message_append(m, "a(sss)", 1, "web.service", "d", "loaded");
	seal(m);
	CHECK(sd_bus_message_enter_container(m, 'a', "(sss)") > 0);
	name = "untouched";
	CHECK(unit_message_read_row(m, &name, &state) < 0);
	CHECK_STR(name, "untouched");
	sd_bus_message_unref(m);
}

TEST(errors)
{
	static const struct {
		const char *name;
		int want;
	} rows[] = {
		{"org.freedesktop.systemd1.NoSuchUnit", -ENOENT},
		{"org.freedesktop.systemd1.ShuttingDown", -ESHUTDOWN},
		{SD_BUS_ERROR_NO_REPLY, -ETIMEDOUT},
		{SD_BUS_ERROR_ACCESS_DENIED, -EACCES},
		{SD_BUS_ERROR_INVALID_ARGS, -EINVAL},
		{SD_BUS_ERROR_SERVICE_UNKNOWN, -ENOTCONN},
		{"com.example.Unheard", -EIO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		sd_bus_error e = SD_BUS_ERROR_MAKE_CONST(rows[i].name, "text");

		CHECK_EQ(unit_error_to_errno(&e), rows[i].want);
	}
}

TEST(watch)
{
	static const char *const patterns[] = {"web*.service", "[ab].slice"};
	struct unit_info *seen = calloc(1, sizeof *seen);
	struct unit_watch w = {0};
	sd_bus_message *m;

	CHECK(!unit_watch_concerns(&w, "web.service"));
	CHECK_EQ(unit_watch_set_patterns(&w, patterns, 2), 0);
	*seen = (struct unit_info){.name = strdup("web.service"), .active_state = "active"};
	unit_watch_take_seen(&w, seen, 1);
	CHECK(unit_watch_concerns(&w, "web-1.service"));
	CHECK(unit_watch_concerns(&w, "a.slice"));
	CHECK(!unit_watch_concerns(&w, "c.slice"));
	CHECK(!unit_watch_concerns(&w, "web.timer"));

	/* a changed invocation is a change, the same state is not, nonsense is taken as one */
	m = signal_message(UNIT_BUS_PATH_UNIT "/web_2eservice");
	sd_bus_message_append(m, "sa{sv}as", UNIT_INTERFACE, 1, "ActiveState", "s", "active", 0);
	seal(m);
	CHECK(!unit_watch_changed(&w, m));
	sd_bus_message_unref(m);
	m = signal_message(UNIT_BUS_PATH_UNIT "/web_2eservice");
	sd_bus_message_append(m, "sa{sv}as", UNIT_INTERFACE, 1, "InvocationID", "ay", 16, 1, 2, 3,
			      4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0);
	seal(m);
	CHECK(unit_watch_changed(&w, m));
	sd_bus_message_unref(m);
	m = signal_message(UNIT_BUS_PATH_UNIT "/web_2eservice");
	sd_bus_message_append(m, "sa{sv}as", UNIT_INTERFACE, 1, "ActiveState", "u", 3u, 0);
	seal(m);
	CHECK(unit_watch_changed(&w, m));
	sd_bus_message_unref(m);
	m = signal_message("/somewhere/else");
	sd_bus_message_append(m, "sa{sv}as", UNIT_INTERFACE, 0, 0);
	seal(m);
	CHECK(!unit_watch_changed(&w, m));
	sd_bus_message_unref(m);
	unit_watch_clear(&w);
}

int main(void)
{
	int fds[2];

	/* Messages can only be made for a bus that has begun. */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	CHECK(sd_bus_new(&bus) >= 0);
	CHECK(sd_bus_set_fd(bus, fds[0], fds[0]) >= 0);
	CHECK(sd_bus_start(bus) >= 0);
	check_run();
	sd_bus_close_unref(bus);
	close(fds[1]);
	return check_result();
}
