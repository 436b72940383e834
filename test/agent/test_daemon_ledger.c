// SPDX-License-Identifier: Apache-2.0
/* The daemon on a node that has less memory than its units need. */
#include "agent/manage/messages.h"
#include "agent/serve/show.h"
#include "test/agent/test_pods.h"

#define TOTAL  (2 * GIB)
#define SYSTEM (400 * MIB)

/* What the node has left: everything that is not used. */
static uint64_t available(const struct rig *r)
{
	uint64_t used = SYSTEM;

	for (size_t i = 0; i < r->unit_count; i++)
		used += r->unit[i].running ? r->unit[i].anon_bytes : 0;
	return TOTAL - MIN(TOTAL, used);
}

static uint64_t lowest, goal, rate;
static int64_t least_left;
static bool nonsense;

static void step(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];
		uint64_t more = rate * r->tick_usec / USEC_PER_SEC;

		if (!u->running)
			continue;
		rig_burn(r, u, 50);
		if (u->anon_bytes < goal)
			rig_grow(r, u, MIN(more, goal - u->anon_bytes));
	}
	lowest = MIN(lowest, available(r));
	if (nonsense)
		rig_meminfo(r, 0, available(r));
	else
		rig_meminfo(r, TOTAL, available(r));
}

static void start(struct rig *r, const char *config, unsigned units)
{
	static const char *const names[] = {"low.service", "middle.service", "high.service"};

	rig_open(r, config);
	for (unsigned i = 0; i < units; i++)
		rig_add(r, names[i], 1000, 64 * MIB)->anon_bytes = 30 * MIB;
	lowest = LIMIT_MAX;
	least_left = INT64_MAX;
	goal = 0;
	rig_meminfo(r, TOTAL, available(r));
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 33, step);
}

#define UNITS                                                                                      \
	"units:\n"                                                                                 \
	"  - {match: low.service, max-memory: 2Gi}\n"                                              \
	"  - {match: middle.service, max-memory: 2Gi, priority: 10}\n"                             \
	"  - {match: high.service, max-memory: 2Gi, priority: 100}\n"

static struct managed *unit(struct rig *r, const char *name)
{
	return managed_find(&r->daemon->units, name);
}

static unsigned kills(struct rig *r, const char *name)
{
	return (unsigned)unit(r, name)->control.resource[RESOURCE_MEMORY].counters.oom_kills;
}

static uint64_t reserve(void)
{
	return ledger_reserve(&tuning_default.node, TOTAL);
}

static char denied[EVENT_MESSAGE_SIZE];

static void on_reported(struct rig *, const struct event_record *e, const char *message)
{
	if (e->kind == EVENT_MEMORY_DENIED && denied[0] == '\0')
		snprintf(denied, sizeof denied, "%s", message);
}

/* PID 1 writes the headroom that it stores: that stays in the file only if the node has the
 * memory. */
static void check_files(struct rig *r)
{
	int64_t left = (int64_t)available(r) - (int64_t)reserve();

	for (size_t i = 0; i < r->unit_count; i++) {
		const struct rig_unit *u = &r->unit[i];
		uint64_t max = rig_bytes(r, u, "memory.max");

		if (max > 64 * MIB && max > u->anon_bytes)
			left -= (int64_t)(max - u->anon_bytes);
	}
	least_left = MIN(left, least_left);
}

TEST_RIG(greedy)
{
	start(r, UNITS, 3);
	r->reported = on_reported;
	denied[0] = '\0';
	goal = 700 * MIB;
	rate = 40 * MIB;
	for (int i = 0; i < 600; i++) {
		rig_reflex(r, 1, step);
		check_files(r);
	}
	printf("lowest %llu MiB, reserve %llu MiB, low %llu middle %llu high %llu MiB\n",
	       (unsigned long long)lowest / MIB, (unsigned long long)reserve() / MIB,
	       (unsigned long long)r->unit[0].anon_bytes / MIB,
	       (unsigned long long)r->unit[1].anon_bytes / MIB,
	       (unsigned long long)r->unit[2].anon_bytes / MIB);
	printf("least left when all is used: %lld MiB\n", (long long)least_left / (long long)MIB);
	CHECK(lowest >= reserve());
	/* Growth of use within the originals is not a grant. */
	CHECK(least_left >= -(int64_t)(64 * MIB));
	CHECK_EQ(r->unit[2].anon_bytes, goal);
	CHECK_EQ(kills(r, "high.service"), 0);
	CHECK(kills(r, "low.service") > 0);
	CHECK(kills(r, "middle.service") <= kills(r, "low.service"));
	/* Reported once, with the figures. */
	CHECK(r->events[EVENT_MEMORY_DENIED] >= 1 && r->events[EVENT_MEMORY_DENIED] <= 3);
	printf("%s\n", denied);
	CHECK(strstr(denied, ".service: it needs ") != NULL);
	CHECK(strstr(denied, " reserve, ") != NULL);
	CHECK_EQ(r->daemon->tally.denials, r->events[EVENT_MEMORY_DENIED]);
}

#define ACTIVE (600 * MIB)

static uint64_t kubelet_available(const struct rig *r)
{
	uint64_t a = available(r);

	return a - MIN(a, ACTIVE);
}

static void step_active(struct rig *r)
{
	step(r);
	rig_meminfo_active(r, TOTAL, available(r), kubelet_available(r));
}

/* 600 MiB of active page cache: the kubelet counts them as used and would evict a pod, while
 * MemAvailable is far above the reserve. */
TEST_RIG_BOTH(kubelet, kubelet)
{
	uint64_t least = UINT64_MAX;

	start(r, UNITS, 3);
	r->reported = on_reported;
	r->daemon->memory.kubelet = kubelet;
	denied[0] = '\0';
	goal = 700 * MIB;
	rate = 40 * MIB;
	for (int i = 0; i < 600; i++) {
		rig_reflex(r, 1, step_active);
		least = MIN(least, kubelet_available(r));
	}
	printf("%s: memory.available of the kubelet never below %llu MiB, %s\n",
	       kubelet ? "in a cluster" : "standalone", (unsigned long long)least / MIB, denied);
	CHECK((least >= 100 * MIB) == kubelet);
	CHECK_EQ(kills(r, "high.service"), 0);
	CHECK((strstr(denied, " available to the kubelet less 228 MiB") != NULL) == kubelet);
	CHECK_EQ(r->daemon->memory.supply.eviction, kubelet ? 228 * MIB : 0);
}

static void show_denied(const struct managed *m, char ret[static DENIED_TEXT_BYTES])
{
	const struct shown x = shown_entry(m);
	cJSON *all = shown_json(&x, false);
	const char *text = cJSON_GetStringValue(
		cJSON_GetObjectItem(cJSON_GetObjectItem(all, "memory"), "denied"));

	snprintf(ret, DENIED_TEXT_BYTES, "%s", text != NULL ? text : "-");
	cJSON_Delete(all);
}

/* The denial is shown as long as it lasts. */
TEST_RIG(shown)
{
	char text[DENIED_TEXT_BYTES];

	start(r, UNITS, 1);
	goal = 2 * GIB;
	rate = 40 * MIB;
	show_denied(unit(r, "low.service"), text);
	CHECK_STR(text, "-");
	for (int i = 0; i < 600 && !unit(r, "low.service")->reported.denied; i++)
		rig_reflex(r, 1, step);
	CHECK(unit(r, "low.service")->reported.denied);
	show_denied(unit(r, "low.service"), text);
	CHECK(strncmp(text, "needs ", 6) == 0);
	CHECK_EQ(unit(r, "low.service")->control.resource[RESOURCE_MEMORY].at_ceiling, false);
	goal = 0;
	r->unit[0].anon_bytes = 20 * MIB;
	rig_reflex(r, 700, step);
	CHECK(!unit(r, "low.service")->reported.denied);
	show_denied(unit(r, "low.service"), text);
	CHECK_STR(text, "-");
	CHECK_EQ(r->events[EVENT_MEMORY_DENIED], 1);
}

/* Without valid figures of the node's memory, or with the ledger off, no increase is denied. */
static void test_uncounted(const char *config, unsigned reported)
{
	OWN(rig_close) struct rig r;

	start(&r, config, 1);
	nonsense = reported > 0;
	goal = 1500 * MIB;
	rate = 100 * MIB;
	rig_reflex(&r, 300, step);
	CHECK_EQ(r.unit[0].anon_bytes, goal);
	CHECK_EQ(r.kills, 0);
	CHECK_EQ(r.events[EVENT_NODE_MEMORY_UNREAD], reported);
	CHECK_EQ(r.events[EVENT_MEMORY_DENIED], 0);
	nonsense = false;
}

static unsigned given_back;
static char first_from[32], given_to[32];

/* Journal entries of a unit that gives memory back: each starts at the value where the last one
 * ended. */
static void on_given_back(struct rig *, const struct event_record *e, const char *)
{
	const struct event_pair *v = e->values;

	if (e->kind != EVENT_LIMIT_LOWERED || strcmp(v[VALUE_REASON].exact, "given-back") != 0 ||
	    strcmp(v[VALUE_UNIT].exact, "low.service") != 0)
		return;
	if (given_back++ == 0)
		snprintf(first_from, sizeof first_from, "%s", v[VALUE_FROM].exact);
	else
		CHECK_STR(v[VALUE_FROM].exact, given_to);
	snprintf(given_to, sizeof given_to, "%s", v[VALUE_TO].exact);
}

/* The highest one grows step by step, and the lowest one gives back as much each time: in many
 * steps, reported every ten seconds at most. */
TEST_RIG(given_back_slowly)
{
	const struct control_counters *done;
	uint64_t before;

	start(r, UNITS, 3);
	rate = 60 * MIB;
	goal = 1000 * MIB;
	for (int i = 0; i < 600 && r->unit[0].anon_bytes < 900 * MIB; i++) {
		r->unit[1].anon_bytes = r->unit[2].anon_bytes = 30 * MIB;
		rig_reflex(r, 1, step);
	}
	goal = 1200 * MIB;
	rate = 20 * MIB;
	given_back = 0;
	r->reported = on_given_back;
	done = &unit(r, "low.service")->control.resource[RESOURCE_MEMORY].counters;
	before = done->lowers;
	for (int i = 0; i < 600; i++) {
		r->unit[0].anon_bytes = r->unit[1].anon_bytes = 30 * MIB;
		rig_reflex(r, 1, step);
	}
	rig_reflex(r, 110, NULL);
	printf("given back in %llu steps and %u entries\n",
	       (unsigned long long)(done->lowers - before), given_back);
	CHECK(done->lowers - before > 10);
	CHECK(given_back >= 1 && given_back <= 7);
	CHECK_EQ(strtoull(given_to, NULL, 10), rig_bytes(r, &r->unit[0], "memory.max"));
}

/* systemd restarts the unit with its stored headroom, which the ledger has not granted. */
TEST_RIG(restarted)
{
	struct rig_unit *u;
	uint64_t held, stored;

	start(r, UNITS, 1);
	u = &r->unit[0];
	goal = 400 * MIB;
	rate = 40 * MIB;
	rig_reflex(r, 60, step);
	stored = u->props.mem_max;
	held = unit(r, "low.service")->control.resource[RESOURCE_MEMORY].limit;
	CHECK(stored > held + 200 * MIB);
	goal = 0;
	rig_unit_stop(r, u);
	rig_reflex(r, 20, step);
	rig_unit_start(r, u);
	u->anon_bytes = 30 * MIB;
	CHECK_EQ(rig_bytes(r, u, "memory.max"), round_down(stored, PAGE_DEFAULT_BYTES));
	rig_reflex(r, 30, step);
	CHECK_EQ(managed_state(unit(r, "low.service")), UNIT_MANAGED);
	CHECK(rig_bytes(r, u, "memory.max") <= held);
	CHECK(rig_bytes(r, u, "memory.max") >= 64 * MIB);
	CHECK_EQ(r->kills, 0);
}

/* ---- pods ---- */

static unsigned notes;
static char noted[512];

static void note(const struct pod *pod, const char *reason, const char *, const char *text)
{
	if (strcmp(reason, "MemoryDenied") != 0)
		return;
	if (strcmp(pod->spec->name, "low-0") == 0 && notes++ == 0)
		snprintf(noted, sizeof noted, "%s", text);
}

static void step_pods(struct rig *r)
{
	uint64_t used = SYSTEM;

	for (size_t i = 0; i < r->pod_count; i++) {
		struct rig_unit *u = r->pod[i].container[0].unit;

		rig_burn(r, u, 50);
		if (u->anon_bytes < goal)
			rig_grow(r, u, rate * r->tick_usec / USEC_PER_SEC);
		used += u->anon_bytes;
	}
	lowest = MIN(lowest, TOTAL - used);
	rig_meminfo(r, TOTAL, TOTAL - used);
}

/* The pod's priority decides, and the pod that is denied gets one Event. */
static void test_pods(void)
{
	static const char *const names[] = {"low-0", "high-0"};
	OWN(rig_close) struct rig r;

	rig_open(&r, "");
	for (int i = 0; i < 2; i++) {
		struct rig_pod *p = rig_pod_add(&r, DRIVER_CGROUPFS, names[i]);

		p->priority = i * 1000;
		p->mode = "Auto";
		p->extra_key = "max-memory";
		p->extra_value = "3Gi";
		rig_container_add(&r, p, "app", 1000, 64 * MIB);
	}
	rig_meminfo(&r, TOTAL, GIB);
	CHECK_EQ(rig_start(&r), 0);
	r.daemon->pods.hooks.warn = note;
	for (size_t i = 0; i < r.pod_count; i++)
		rig_pod_put(&r, &r.pod[i]);
	goal = 0;
	lowest = LIMIT_MAX;
	rig_reflex(&r, 33, step_pods);
	CHECK_EQ(pods_of(&r, "default/high-0/app")->control.pod.priority, 1000);
	CHECK_EQ(pods_of(&r, "default/high-0/app")->control.pod.qos, r.pod[1].qos);
	goal = 1000 * MIB;
	rate = 50 * MIB;
	rig_reflex(&r, 400, step_pods);
	printf("%s\n", noted);
	CHECK(r.pod[1].container[0].unit->anon_bytes >= goal);
	CHECK_EQ(r.pod[1].container[0].unit->oom_kills, 0);
	CHECK(r.pod[0].container[0].unit->oom_kills > 0);
	CHECK(lowest >= reserve());
	CHECK_EQ(notes, 1);
	CHECK(strstr(noted, "app memory: needs ") == noted);
	CHECK(strstr(noted, "kept for higher priority, such as default/high-0/app") != NULL);
}

/* --- limits above --- */

/* What is charged to a slice: all below it. */
static void charge(struct rig *r, struct rig_unit *slice)
{
	size_t len = strlen(slice->cgroup);

	slice->anon_bytes = 0;
	for (size_t i = 0; i < r->unit_count; i++)
		if (strncmp(r->unit[i].cgroup, slice->cgroup, len) == 0 &&
		    r->unit[i].cgroup[len] == '/' && strstr(r->unit[i].name, ".service") != NULL)
			slice->anon_bytes += r->unit[i].anon_bytes;
}

static size_t slices;
static uint64_t overdrawn;

/* Units grow; what they may still take fits below the limit of each slice. */
static void step_slices(struct rig *r)
{
	for (size_t i = slices; i < r->unit_count; i++)
		if (r->unit[i].anon_bytes < goal)
			rig_grow(r, &r->unit[i], rate * r->tick_usec / USEC_PER_SEC);
	for (size_t s = 0; s < slices; s++) {
		struct rig_unit *slice = &r->unit[s];
		uint64_t max = rig_bytes(r, slice, "memory.max"), held = 0;
		size_t len = strlen(slice->cgroup);

		charge(r, slice);
		for (size_t i = slices; i < r->unit_count; i++)
			if (strncmp(r->unit[i].cgroup, slice->cgroup, len) == 0 &&
			    rig_bytes(r, &r->unit[i], "memory.max") > 64 * MIB)
				held += sub_sat(rig_bytes(r, &r->unit[i], "memory.max"),
						r->unit[i].anon_bytes);
		/* A killed one grows again below its original, which is not granted. */
		if (r->kills == 0)
			overdrawn = MAX(overdrawn, sub_sat(slice->anon_bytes + held, max));
	}
}

static bool uncounted; /* node.ledger: false */

/* shop.slice with a limit, web.slice in it with one or none, and two units. */
static void slices_start(struct rig *r, uint64_t shop, uint64_t web)
{
	char config[256];

	snprintf(config, sizeof config,
		 "clocks: {reviewInterval: 1s}\n%sunits:\n"
		 "  - {match: a.service, max-memory: 2Gi}\n"
		 "  - {match: b.service, max-memory: 2Gi}\n",
		 uncounted ? "node: {ledger: false}\n" : "");
	rig_open(r, config);
	r->reported = on_reported;
	denied[0] = '\0';
	overdrawn = 0;
	slices = 2;
	rig_add_at(r, "shop.slice", "shop.slice", shop);
	rig_add_at(r, "shop-web.slice", "shop.slice/shop-web.slice", web);
	rig_add_at(r, "a.service", "shop.slice/shop-web.slice/a.service", 64 * MIB)->anon_bytes =
		60 * MIB;
	rig_add_at(r, "b.service", "shop.slice/b.service", 64 * MIB)->anon_bytes = 60 * MIB;
	rig_meminfo(r, 64 * GIB, 48 * GIB);
	goal = 0;
	rate = 20 * MIB;
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 30, step_slices);
}

/* The nearer, or the farther slice is the lower one; cache in it can be reclaimed. */
static void test_slices(uint64_t shop, uint64_t web, const char *want)
{
	char text[DENIED_TEXT_BYTES] = "";
	OWN(rig_close) struct rig r;

	slices_start(&r, shop, web);
	r.unit[0].file_bytes = r.unit[1].file_bytes = 60 * MIB;
	goal = GIB;
	for (int i = 0; i < 300 && denied[0] == '\0'; i++)
		rig_reflex(&r, 1, step_slices);
	CHECK(strstr(denied, want) != NULL);
	CHECK(denied_text(unit(&r, strstr(denied, "for a.") ? "a.service" : "b.service"), text,
			  sizeof text));
	printf("%s\n%s\n", denied, text);
	CHECK(strstr(text, want) != NULL);
	rig_reflex(&r, 200, step_slices);
	CHECK(overdrawn <= 4 * MIB); /* what both grow by in a pass */
	CHECK(rig_bytes(&r, &r.unit[2], "memory.max") > 80 * MIB);
}

/* What one of them gives back, or a higher limit of the slice, is for the other. */
TEST_RIG(slice_raised)
{
	slices_start(r, 160 * MIB, LIMIT_MAX);
	goal = 66 * MIB;
	rig_reflex(r, 60, step_slices);
	CHECK(rig_bytes(r, &r->unit[3], "memory.max") <= 96 * MIB);
	rig_put(r, &r->unit[0], "memory.max", "1073741824\n");
	goal = 300 * MIB;
	rig_reflex(r, 200, step_slices);
	CHECK_EQ(r->kills, 0);
	CHECK(r->unit[2].anon_bytes >= goal && r->unit[3].anon_bytes >= goal);
	CHECK(overdrawn <= 4 * MIB); /* what both grow by in a pass */
}

/* Headroom that one had in the slice is taken back once the other has none. */
static void step_in_turn(struct rig *r)
{
	r->unit[2].anon_bytes = 70 * MIB;
	if (r->unit[3].anon_bytes < goal)
		rig_grow(r, &r->unit[3], rate * r->tick_usec / USEC_PER_SEC);
	charge(r, &r->unit[0]);
	charge(r, &r->unit[1]);
}

static void test_slice_taken_back(void)
{
	OWN(rig_close) struct rig r;
	uint64_t held;

	slices_start(&r, 400 * MIB, LIMIT_MAX);
	goal = 160 * MIB;
	rig_reflex(&r, 60, step_slices);
	rig_grow(&r, &r.unit[2], 40 * MIB);
	rig_reflex(&r, 1, NULL);
	held = rig_bytes(&r, &r.unit[2], "memory.max");
	goal = 310 * MIB;
	rig_reflex(&r, 400, step_in_turn);
	printf("held %llu, then %llu, the other uses %llu\n", (unsigned long long)held / MIB,
	       (unsigned long long)rig_bytes(&r, &r.unit[2], "memory.max") / MIB,
	       (unsigned long long)r.unit[3].anon_bytes / MIB);
	CHECK(rig_bytes(&r, &r.unit[2], "memory.max") < held);
	CHECK(r.unit[3].anon_bytes >= 280 * MIB);
	CHECK_EQ(r.unit[3].oom_kills, 0);
}

/* A node in a container (kind, minikube): the root of the tree has a limit, and /proc/meminfo shows
 * the host. */
TEST_RIG(root)
{
	slices_start(r, LIMIT_MAX, LIMIT_MAX);
	goal = 4 * GIB;
	for (int i = 0; i < 400; i++) {
		char text[64];

		snprintf(text, sizeof text, "%llu\n", GIB);
		fake_put(&r->tree, "memory.max", text);
		snprintf(text, sizeof text, "%llu\n",
			 (unsigned long long)r->unit[0].anon_bytes + 100 * MIB);
		fake_put(&r->tree, "memory.current", text);
		rig_reflex(r, 1, step_slices);
	}
	printf("%s\n", denied);
	CHECK(strstr(denied, "less 256 MiB reserve") != NULL);
	CHECK(rig_bytes(r, &r->unit[2], "memory.max") + rig_bytes(r, &r->unit[3], "memory.max") <=
	      GIB - 100 * MIB - 256 * MIB + 4 * MIB);
}

TEST(with_parameters)
{
	test_slices(200 * MIB, LIMIT_MAX, "shop.slice");
	test_slices(GIB, 100 * MIB, "shop.slice/shop-web.slice");
	test_slices(180 * MIB, 170 * MIB, "shop.slice");
	test_slice_taken_back();
	uncounted = true;
	test_slices(200 * MIB, LIMIT_MAX, "shop.slice");
	test_slices(GIB, 100 * MIB, "shop.slice/shop-web.slice");
	test_slice_taken_back();
	uncounted = false;
	test_uncounted("node: {ledger: false}\n" UNITS, 0);
	test_uncounted(UNITS, 1);
	test_pods();
}
