// SPDX-License-Identifier: Apache-2.0
#include "peer.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct peer_unit *find_unit(struct peer *p, const char *name)
{
	for (size_t i = 0; i < p->unit_count; i++)
		if (strcmp(p->units[i].name, name) == 0)
			return &p->units[i];
	return NULL;
}

struct peer_unit *peer_add(struct peer *p, const char *name, const char *state)
{
	struct peer_unit *u = &p->units[p->unit_count++];

	*u = (struct peer_unit){
		.state = (char *)state,
		.cgroup = (char *)"/system.slice/x",
		.enter_usec = 1000 + p->unit_count,
		.props = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
	};
	snprintf(u->name, sizeof u->name, "%s", name);
	memset(u->id, (int)p->unit_count, sizeof u->id);
	return u;
}

static int on_subscribe(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct peer *p = userdata;

	p->subscribe_count++;
	if (p->subscribe_error)
		return sd_bus_error_set(error, p->subscribe_error, "scripted");
	if (p->subscribe_silent)
		return 1;
	return sd_bus_reply_method_return(m, NULL);
}

static int append_row(sd_bus_message *reply, const char *name, const char *state)
{
	return sd_bus_message_append(reply, "(ssssssouso)", name, "a unit", "loaded", state,
				     "running", "", "/org/freedesktop/systemd1/unit/x", 0u, "",
				     "/");
}

static bool row_wanted(const char *name, const char *state, char **states, char **patterns)
{
	bool state_ok = false;

	for (char **s = states; s && *s; s++)
		state_ok |= strcmp(*s, state) == 0;
	for (char **g = patterns; state_ok && g && *g; g++)
		if (fnmatch(*g, name, FNM_NOESCAPE) == 0)
			return true;
	return false;
}

static void free_strings(char **strings)
{
	for (char **s = strings; s && *s; s++)
		free(*s);
	free(strings);
}

static int on_list(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct peer *p = userdata;
	sd_bus_message *reply = NULL;
	char **states = NULL, **patterns = NULL;
	int r;

	p->list_count++;
	if (p->list_silent)
		return 1;
	r = sd_bus_message_read_strv(m, &states);
	if (r >= 0)
		r = sd_bus_message_read_strv(m, &patterns);
	if (r >= 0)
		r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', "(ssssssouso)");
	for (size_t i = 0; r >= 0 && i < p->unit_count; i++)
		if (row_wanted(p->units[i].name, p->units[i].state, states, patterns))
			r = append_row(reply, p->units[i].name, p->units[i].state);
	if (r >= 0 && p->vanish)
		r = append_row(reply, p->vanish, "active");
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	if (r >= 0)
		r = sd_bus_send(NULL, reply, NULL);
	sd_bus_message_unref(reply);
	free_strings(states);
	free_strings(patterns);
	return r < 0 ? r : 1;
}

struct late {
	struct peer *peer;
	struct peer_set set;
	sd_bus_message *call;
	sd_event_source *timer;
};

static void store(struct peer_unit *u, const struct peer_set *set)
{
	for (size_t i = 0; u && i < UNIT_PROP_ROWS; i++)
		if (set->rows & (1u << i))
			*(uint64_t *)((char *)&u->props + unit_prop_rows[i].offset) =
				*(const uint64_t *)((const char *)&set->props +
						    unit_prop_rows[i].offset);
}

static int answer_late(sd_event_source *, uint64_t, void *userdata)
{
	struct late *l = userdata;
	struct peer *p = l->peer;

	p->in_flight--;
	if (p->set_error) {
		sd_bus_error e = SD_BUS_ERROR_MAKE_CONST(p->set_error, "scripted");

		sd_bus_reply_method_error(l->call, &e);
	} else {
		store(find_unit(p, l->set.unit), &l->set);
		sd_bus_reply_method_return(l->call, NULL);
	}
	sd_bus_message_unref(l->call);
	sd_event_source_disable_unref(l->timer);
	free(l);
	return 0;
}

static int read_set(sd_bus_message *m, struct peer_set *ret)
{
	const char *unit, *name;
	uint64_t value;
	int runtime, r;

	r = sd_bus_message_read(m, "sb", &unit, &runtime);
	if (r < 0)
		return r;
	snprintf(ret->unit, sizeof ret->unit, "%s", unit);
	ret->runtime = runtime;
	r = sd_bus_message_enter_container(m, 'a', "(sv)");
	while (r >= 0 && (r = sd_bus_message_read(m, "(sv)", &name, "t", &value)) > 0)
		for (size_t i = 0; i < UNIT_PROP_ROWS; i++)
			if (strcmp(unit_prop_rows[i].name, name) == 0) {
				ret->rows |= 1u << i;
				*(uint64_t *)((char *)&ret->props + unit_prop_rows[i].offset) =
					value;
			}
	return r;
}

static int on_set(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct peer *p = userdata;
	struct late *l;
	struct peer_set set = {0};
	int r = read_set(m, &set);

	if (r < 0)
		return r;
	if (p->set_count < PEER_LOG)
		p->sets[p->set_count] = set;
	p->set_count++;
	if (p->set_silent)
		return 1;
	l = calloc(1, sizeof *l);
	*l = (struct late){.peer = p, .set = set, .call = sd_bus_message_ref(m)};
	p->in_flight++;
	p->in_flight_max = MAX(p->in_flight_max, p->in_flight);
	if (p->set_delay_usec == 0) {
		answer_late(NULL, 0, l);
		return 1;
	}
	r = sd_event_add_time_relative(p->event, &l->timer, CLOCK_MONOTONIC, p->set_delay_usec, 1,
				       answer_late, l);
	return r < 0 ? r : 1;
}

/* The signature is sd-bus's. NOLINTNEXTLINE(readability-function-size) */
static int get_id(sd_bus *bus, const char *path, const char *interface, const char *property,
		  sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const struct peer_unit *u = userdata;

	(void)bus, (void)path, (void)interface, (void)property, (void)error;
	return sd_bus_message_append_array(reply, 'y', u->id, sizeof u->id);
}

static int find(sd_bus *bus, const char *path, const char *interface, void *userdata, void **found,
		sd_bus_error *error)
{
	struct peer *p = userdata;
	char *name = NULL;
	int r = sd_bus_path_decode(path, UNIT_BUS_PATH_UNIT, &name);

	(void)bus, (void)interface, (void)error;
	if (r <= 0)
		return r;
	*found = find_unit(p, name);
	free(name);
	return *found != NULL;
}

static int count_get(sd_bus_message *m, void *userdata, sd_bus_error *)
{
	struct peer *p = userdata;

	if (!sd_bus_message_is_method_call(m, "org.freedesktop.DBus.Properties", "Get"))
		return 0;
	p->get_count++;
	return p->get_silent;
}

/* clang-format off */
static const sd_bus_vtable manager[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Subscribe", "", "", on_subscribe, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("ListUnitsByPatterns", "asas", "a(ssssssouso)", on_list, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("SetUnitProperties", "sba(sv)", "", on_set, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable unit[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("ActiveState", "s", NULL, offsetof(struct peer_unit, state), 0),
	SD_BUS_PROPERTY("InvocationID", "ay", get_id, 0, 0),
	SD_BUS_PROPERTY("ActiveEnterTimestampMonotonic", "t", NULL, offsetof(struct peer_unit, enter_usec), 0),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable resources[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("ControlGroup", "s", NULL, offsetof(struct peer_unit, cgroup), 0),
	SD_BUS_PROPERTY("CPUQuotaPerSecUSec", "t", NULL, offsetof(struct peer_unit, props.cpu_quota_per_sec_usec), 0),
	SD_BUS_PROPERTY("CPUQuotaPeriodUSec", "t", NULL, offsetof(struct peer_unit, props.cpu_quota_period_usec), 0),
	SD_BUS_PROPERTY("MemoryMax", "t", NULL, offsetof(struct peer_unit, props.mem_max), 0),
	SD_BUS_PROPERTY("MemoryHigh", "t", NULL, offsetof(struct peer_unit, props.mem_high), 0),
	SD_BUS_VTABLE_END,
};
/* clang-format on */

static int serve(struct peer *p, int fd)
{
	static const char *const kinds[] = {"x.service", "x.scope", "x.slice"};
	sd_id128_t id;
	sd_bus *bus = NULL;
	int r;

	sd_id128_randomize(&id);
	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_fd(bus, fd, fd);
	if (r >= 0)
		r = sd_bus_set_server(bus, 1, id);
	if (r >= 0)
		r = sd_bus_add_filter(bus, NULL, count_get, p);
	if (r >= 0)
		r = sd_bus_add_object_vtable(bus, NULL, UNIT_BUS_PATH, UNIT_INTERFACE_MANAGER,
					     manager, p);
	if (r >= 0)
		r = sd_bus_add_fallback_vtable(bus, NULL, UNIT_BUS_PATH_UNIT, UNIT_INTERFACE, unit,
					       find, p);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(kinds); i++)
		r = sd_bus_add_fallback_vtable(bus, NULL, UNIT_BUS_PATH_UNIT,
					       unit_interface_of(kinds[i]), resources, find, p);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		r = sd_bus_attach_event(bus, p->event, 0);
	if (r < 0) {
		sd_bus_unref(bus);
		return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(p->connections); i++)
		if (p->connections[i] == NULL) {
			p->connections[i] = bus;
			return 0;
		}
	sd_bus_close_unref(bus);
	return -EBUSY;
}

static int on_accept(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct peer *p = userdata;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)s, (void)revents;
	if (client < 0)
		return 0;
	p->connection_count++;
	return serve(p, client);
}

int peer_return(struct peer *p)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};

	unlink(p->path);
	memcpy(sa.sun_path, p->path, sizeof sa.sun_path);
	p->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->listen_fd < 0 || bind(p->listen_fd, (struct sockaddr *)&sa, sizeof sa) < 0 ||
	    listen(p->listen_fd, 8) < 0)
		return -errno;
	return sd_event_add_io(p->event, &p->listener, p->listen_fd, EPOLLIN, on_accept, p);
}

int peer_open(struct peer *p, sd_event *event, const char *path)
{
	*p = (struct peer){.event = event, .listen_fd = -1};
	snprintf(p->path, sizeof p->path, "%s", path);
	return peer_return(p);
}

void peer_leave(struct peer *p)
{
	p->listener = sd_event_source_disable_unref(p->listener);
	if (p->listen_fd >= 0)
		close(p->listen_fd);
	p->listen_fd = -1;
	unlink(p->path);
}

void peer_hang_up(struct peer *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->connections); i++)
		p->connections[i] = sd_bus_close_unref(p->connections[i]);
}

void peer_close(struct peer *p)
{
	peer_hang_up(p);
	peer_leave(p);
}

void peer_emit_reloading(struct peer *p, bool active)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->connections); i++)
		if (p->connections[i])
			sd_bus_emit_signal(p->connections[i], UNIT_BUS_PATH, UNIT_INTERFACE_MANAGER,
					   "Reloading", "b", active);
}

void peer_emit_unit(struct peer *p, const char *member, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->connections); i++)
		if (p->connections[i])
			sd_bus_emit_signal(p->connections[i], UNIT_BUS_PATH, UNIT_INTERFACE_MANAGER,
					   member, "so", name, "/x");
}

void peer_emit_job_removed(struct peer *p, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->connections); i++)
		if (p->connections[i])
			sd_bus_emit_signal(p->connections[i], UNIT_BUS_PATH, UNIT_INTERFACE_MANAGER,
					   "JobRemoved", "uoss", 7u, "/x", name, "done");
}

void peer_emit_state(struct peer *p, const char *name, const char *state)
{
	char *path = NULL;

	if (sd_bus_path_encode(UNIT_BUS_PATH_UNIT, name, &path) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(p->connections); i++)
		if (p->connections[i])
			sd_bus_emit_signal(p->connections[i], path,
					   "org.freedesktop.DBus.Properties", "PropertiesChanged",
					   "sa{sv}as", UNIT_INTERFACE, 2, "SubState", "s", "x",
					   "ActiveState", "s", state, 0);
	free(path);
}
