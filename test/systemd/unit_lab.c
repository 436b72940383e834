// SPDX-License-Identifier: Apache-2.0
/* The unit adapter against the machine's own systemd; run by test/lab/scenarios/units. */
#include "agent/journal/event.h"
#include "systemd/unit.h"
#include "systemd/unit_dropin.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#define A      "lab-a.service"
#define STATIC "lab-static.service"

struct received {
	unsigned listed, changed, connected, disconnected, reload_begin, reload_end, sets, gots;
	int list_error, set_error, got_error;
	char names[512], id[33];
	struct unit_info a;
	struct unit_props stored;
	usec_t lag;
};

static struct received received;
static struct unit_bus *bus;
static sd_event *event;
static const struct unit_address *address; /* NULL: the private socket first */

static void on_listed(void *, int error, const struct unit_info *units, size_t count)
{
	received.listed++;
	received.list_error = error;
	strcpy(received.names, " ");
	for (size_t i = 0; i < count; i++) {
		strcat(received.names, units[i].name);
		strcat(received.names, " ");
		if (strcmp(units[i].name, A) != 0)
			continue;
		received.a = units[i];
		strcpy(received.id, units[i].invocation_id);
		CHECK_STR(units[i].cgroup, "/system.slice/" A);
		CHECK_STR(units[i].active_state, "active");
	}
}

static void on_changed(void *)
{
	received.changed++;
}

static void on_reloading(void *, bool active)
{
	active ? received.reload_begin++ : received.reload_end++;
}

static void on_set_done(void *ctx, const char *unit, int error, const struct unit_props *stored,
			usec_t lag)
{
	(void)ctx, (void)unit;
	received.sets++;
	received.set_error = error;
	received.lag = lag;
	if (stored)
		received.stored = *stored;
}

static void on_got(void *ctx, const char *unit, int error, const struct unit_props *stored)
{
	(void)ctx, (void)unit;
	received.gots++;
	received.got_error = error;
	if (stored)
		received.stored = *stored;
}

static void on_connected(void *)
{
	received.connected++;
}

static void on_disconnected(void *, int error)
{
	fprintf(stderr, "disconnected: %s\n", strerror(-error));
	received.disconnected++;
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

static bool wait_for(const unsigned *counter, unsigned want)
{
	usec_t end = now_usec() + 60 * USEC_PER_SEC;

	while (*counter < want && now_usec() < end)
		sd_event_run(event, 50 * USEC_PER_MSEC);
	return *counter >= want;
}

static void settle(usec_t usec)
{
	usec_t end = now_usec() + usec;

	while (now_usec() < end)
		sd_event_run(event, 20 * USEC_PER_MSEC);
}

__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	char command[512];
	va_list args;
	int r;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	r = system(command);
	if (r != 0)
		fprintf(stderr, "%s: %d\n", command, r);
	return r;
}

static const char *cgroup_file(const char *unit, const char *file)
{
	static char text[128];
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "/sys/fs/cgroup/system.slice/%s/%s", unit, file);
	text[0] = '\0';
	f = fopen(path, "re");
	if (f == NULL || fgets(text, sizeof text, f) == NULL)
		snprintf(text, sizeof text, "unreadable");
	text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
	return text;
}

static void check_kernel(const char *unit, const char *cpu, const char *max, const char *high)
{
	CHECK_STR(cgroup_file(unit, "cpu.max"), cpu);
	CHECK_STR(cgroup_file(unit, "memory.max"), max);
	CHECK_STR(cgroup_file(unit, "memory.high"), high);
}

static void begin(void)
{
	FILE *f;

	CHECK_EQ(run("mkdir -p /run/systemd/system"), 0);
	f = fopen("/run/systemd/system/" STATIC, "we");
	fputs("[Service]\nExecStart=/bin/sleep 1000\nCPUQuota=40%\nMemoryMax=48M\n", f);
	fclose(f);
	CHECK_EQ(run("systemctl daemon-reload && systemctl start " STATIC), 0);
	CHECK_OK(run("systemd-run -q --unit=" A " -p CPUQuota=50%% -p MemoryMax=64M sleep 1000"));
	CHECK_EQ(run("systemd-run -q --scope --unit=lab-s.scope -p MemoryMax=32M sleep 1000 &"), 0);
	CHECK(sd_event_default(&event) >= 0);
	CHECK_OK(unit_bus_new(event, address ? &(struct unit_bus_options){.at = *address} : NULL,
			      &ops, NULL, &bus));
	CHECK(wait_for(&received.connected, 1));
	settle(USEC_PER_SEC);
}

static const char *const patterns[] = {"lab-*", "lab.slice"};

static void list(void)
{
	unsigned before = received.listed;

	CHECK_EQ(unit_bus_list(bus, patterns, 2), 0);
	CHECK(wait_for(&received.listed, before + 1));
	CHECK_EQ(received.list_error, 0);
	fprintf(stderr, "listed:%s\n", received.names);
}

static void set(const char *unit, const struct unit_props *p, uint32_t mask)
{
	unsigned before = received.sets;

	CHECK_EQ(unit_set(bus, unit, p, mask, true), 0);
	CHECK(wait_for(&received.sets, before + 1));
}

static const struct unit_props wanted = {300000, 100000, 80 * MIB, 70 * MIB};

static void test_list_and_set(void)
{
	char id[64] = "";
	unsigned before;
	FILE *f;

	list();
	CHECK(strstr(received.names, " " A " ") && strstr(received.names, " " STATIC " ") &&
	      strstr(received.names, " lab-s.scope "));
	CHECK_EQ(received.a.props.cpu_quota_per_sec_usec, 500000);
	CHECK(received.a.props.cpu_quota_period_usec == UINT64_MAX);
	CHECK_EQ(received.a.props.mem_max, 64 * MIB);
	CHECK(received.a.props.mem_high == UINT64_MAX);
	CHECK(received.a.active_enter_usec > 0);
	f = popen("systemctl show --value -p InvocationID " A, "re");
	CHECK(fgets(id, sizeof id, f) != NULL);
	pclose(f);
	id[strcspn(id, "\n")] = '\0';
	CHECK_STR(received.id, id);

	settle(300 * USEC_PER_MSEC);
	before = received.changed;
	set(A, &wanted, UNIT_PROP_ALL);
	CHECK_EQ(received.set_error, 0);
	CHECK(unit_props_equal(&received.stored, &wanted, UNIT_PROP_ALL));
	check_kernel(A, "30000 100000", "83886080", "73400320");
	/* our own write is no reason to list again */
	settle(500 * USEC_PER_MSEC);
	CHECK_EQ(received.changed, before);
	set("lab-s.scope", &wanted, UNIT_PROP_MEM_MAX);
	CHECK_EQ(received.set_error, 0);
	check_kernel("lab-s.scope", cgroup_file("lab-s.scope", "cpu.max"), "83886080", "max");
	set("lab-none.service", &wanted, UNIT_PROP_MEM_MAX);
	CHECK_EQ(received.set_error, -ENOENT);
}

static void test_reload(void)
{
	unsigned changed = received.changed;

	received.reload_begin = received.reload_end = 0;
	CHECK_EQ(run("systemctl daemon-reload"), 0);
	CHECK(wait_for(&received.reload_begin, 1));
	CHECK(wait_for(&received.reload_end, 1));
	CHECK(wait_for(&received.changed, changed + 1));
	CHECK_EQ(received.disconnected, 0);
	list();
	CHECK(unit_props_equal(&received.a.props, &wanted, UNIT_PROP_ALL));
	check_kernel(A, "30000 100000", "83886080", "73400320");
}

static void test_reexec(void)
{
	unsigned changed = received.changed, connected = received.connected;

	received.reload_begin = received.reload_end = 0;
	CHECK_EQ(run("systemctl daemon-reexec"), 0);
	CHECK(wait_for(&received.changed, changed + 1));
	CHECK(wait_for(&received.connected, connected + 1));
	CHECK(received.disconnected > 0);
	CHECK(received.reload_begin <= received.reload_end || wait_for(&received.reload_end, 1));
	list();
	CHECK(unit_props_equal(&received.a.props, &wanted, UNIT_PROP_ALL));
	check_kernel(A, "30000 100000", "83886080", "73400320");
	set(A, &(struct unit_props){.mem_max = 90 * MIB}, UNIT_PROP_MEM_MAX);
	CHECK_EQ(received.set_error, 0);
	CHECK_EQ(received.stored.mem_max, 90 * MIB);
	fprintf(stderr, "reexec: %u lost, %u begun, %u ended\n", received.disconnected,
		received.reload_begin, received.reload_end);
}

static void test_lifecycle(void)
{
	unsigned changed;
	char id[33];

	list();
	strcpy(id, received.id);
	settle(500 * USEC_PER_MSEC);
	changed = received.changed;
	CHECK_EQ(run("systemctl restart " A), 0);
	CHECK(wait_for(&received.changed, changed + 1));
	settle(500 * USEC_PER_MSEC);
	list();
	CHECK(strcmp(id, received.id) != 0);
	/* the runtime properties of a transient unit live as long as the unit is loaded */
	CHECK_EQ(received.a.props.mem_max, 90 * MIB);

	settle(500 * USEC_PER_MSEC);
	changed = received.changed;
	CHECK_EQ(run("systemd-run -q --unit=unrelated.service true"), 0);
	settle(USEC_PER_SEC);
	CHECK_EQ(received.changed, changed);
	CHECK_EQ(run("systemctl kill -s KILL " STATIC), 0); /* ends without a job */
	CHECK(wait_for(&received.changed, changed + 1));
	settle(500 * USEC_PER_MSEC);
	list();
	CHECK(strstr(received.names, STATIC) == NULL);
	changed = received.changed;
	CHECK_EQ(run("systemctl reset-failed " STATIC "; systemctl start " STATIC), 0);
	CHECK(wait_for(&received.changed, changed + 1));
	settle(500 * USEC_PER_MSEC);
	list();
	CHECK(strstr(received.names, STATIC) != NULL);
}

static void test_dropins(void)
{
	struct unit_props p, original;
	uint32_t found = 0;

	CHECK_EQ(unit_get_now(address, STATIC, 10 * USEC_PER_SEC, &original), 0);
	CHECK_EQ(original.mem_max, 48 * MIB);
	CHECK_EQ(unit_dropin_find("", STATIC, &found), 0);
	CHECK_EQ(found, 0);
	CHECK_EQ(unit_set_now(address, STATIC, &wanted, UNIT_PROP_ALL, 10 * USEC_PER_SEC), 0);
	CHECK_EQ(unit_get_now(address, STATIC, 10 * USEC_PER_SEC, &p), 0);
	CHECK(unit_props_equal(&p, &wanted, UNIT_PROP_ALL));
	CHECK_EQ(unit_dropin_find("", STATIC, &found), 0);
	CHECK_EQ(found, UNIT_PROP_ALL);
	run("ls -l /run/systemd/system.control/" STATIC ".d /run/systemd/transient/" A ".d");
	CHECK_EQ(unit_dropin_find("", A, &found), 0);
	CHECK_EQ(found, UNIT_PROP_ALL);

	/* what restore does: the old values, then no trace */
	CHECK_EQ(unit_set_now(address, STATIC, &original, UNIT_PROP_ALL, 10 * USEC_PER_SEC), 0);
	CHECK_EQ(unit_dropin_remove("", STATIC, UNIT_PROP_ALL), 0);
	CHECK(access("/run/systemd/system.control/" STATIC ".d", F_OK) < 0);
	check_kernel(STATIC, "40000 100000", "50331648", "max");
	CHECK_EQ(run("systemctl daemon-reload"), 0);
	CHECK_EQ(unit_get_now(address, STATIC, 10 * USEC_PER_SEC, &p), 0);
	CHECK(unit_props_equal(&p, &original, UNIT_PROP_ALL));
	check_kernel(STATIC, "40000 100000", "50331648", "max");
}

/* Without a verdict: the machine is emulated. */
static void measure(void)
{
	struct unit_props p = wanted;
	usec_t sum = 0, worst = 0, t;
	unsigned before;

	for (uint64_t i = 0; i < 40; i++) {
		p.mem_max = (80 + i) * MIB;
		set(A, &p, UNIT_PROP_ALL);
		sum += received.lag;
		worst = MAX(worst, received.lag);
	}
	fprintf(stderr, "set of four properties: mean %llu us, worst %llu us\n",
		(unsigned long long)sum / 40, (unsigned long long)worst);
	t = now_usec();
	before = received.listed;
	for (int i = 0; i < 20; i++) {
		unit_bus_list(bus, patterns, 2);
		wait_for(&received.listed, ++before);
	}
	fprintf(stderr, "list of 3 units: %llu us\n", (unsigned long long)(now_usec() - t) / 20);
	t = now_usec();
	before = received.gots;
	for (int i = 0; i < 100; i++)
		unit_get(bus, A);
	wait_for(&received.gots, before + 100);
	CHECK_EQ(received.got_error, 0);
	fprintf(stderr, "read of one unit: %llu us\n", (unsigned long long)(now_usec() - t) / 100);
	for (int i = 0; i < 2; i++) {
		static const char *const interfaces[] = {"org.freedesktop.systemd1.Unit",
							 "org.freedesktop.systemd1.Service"};

		sd_bus *direct = NULL;
		bool unused;

		CHECK_EQ(unit_conn_open(address, &direct, &unused), 0);
		t = now_usec();
		for (int k = 0; k < 20; k++)
			sd_bus_call_method(direct, UNIT_BUS_NAME,
					   UNIT_BUS_PATH_UNIT "/lab_2da_2eservice",
					   "org.freedesktop.DBus.Properties", "GetAll", NULL, NULL,
					   "s", interfaces[i]);
		fprintf(stderr, "GetAll of %s: %llu us\n", interfaces[i],
			(unsigned long long)(now_usec() - t) / 20);
		sd_bus_close_unref(direct);
	}
}

static int scenario(void)
{
	begin();
	test_list_and_set();
	test_reload();
	test_reexec();
	test_lifecycle();
	test_dropins();
	measure();
	unit_bus_free(bus);
	sd_event_unref(event);
	run("systemctl stop " A " " STATIC " lab-s.scope; rm -f /run/systemd/system/" STATIC);
	return check_result();
}

/* What the daemon does, from inside its unit: sets, writes, logs, notifies. The scenario reads the
 * outcome from this file. */
static int sandbox(void)
{
	struct event_log log;
	char path[] = "/sys/fs/cgroup/system.slice/" A "/memory.max";
	uint64_t watchdog = 0;
	int fd, logged, notified, set, written;
	FILE *f;

	logged = event_log_open(&log, &(struct event_log_options){.target = EVENT_TARGET_JOURNAL});
	event_log_use(&log);
	event_tell(EVENT_LIMIT_RAISED, .who = {.unit = A, .cgroup = "/system.slice/" A},
		   .resource = RESOURCE_CPU, .from = 200, .to = 380, .reason = REASON_THROTTLED,
		   .detail = "throttled 95 % of the last second");
	notified = MIN(sd_notify(0, "READY=1\nSTATUS=in the sandbox"), 0);
	set = unit_set_now(NULL, A, &wanted, UNIT_PROP_ALL, 20 * USEC_PER_SEC);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	written = fd >= 0 && write(fd, "99999744", 8) == 8 ? 0 : -errno;
	sd_watchdog_enabled(0, &watchdog);
	f = fopen("/run/vscaled/sandbox", "we");
	if (f == NULL)
		return EXIT_FAILURE;
	fprintf(f, "journal=%d notify=%d set=%d write=%d watchdog=%d state=%d\n", logged, notified,
		set, written, (int)(watchdog / USEC_PER_SEC),
		access(getenv("STATE_DIRECTORY") ?: "/none", W_OK));
	fclose(f);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct unit_address system_bus = {.private_socket = "/nonexistent"};

	if (argc == 2 && strcmp(argv[1], "sandbox") == 0)
		return sandbox();
	if (argc == 2 && strcmp(argv[1], "bus") == 0)
		address = &system_bus;
	return scenario();
}
