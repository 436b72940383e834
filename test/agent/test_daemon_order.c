// SPDX-License-Identifier: Apache-2.0
/*
 * Order within one wake-up: a unit that is throttled or reaches its memory limit gets the higher
 * limit before the rest of the other units is read, and before anything is reported.
 */
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include <errno.h>

#define UNITS 20
#define LAST  (UNITS - 1)
/* Read first: shows which units need a higher limit at once. */
#define FIRST    (USAGE_CPU | USAGE_THROTTLE)
#define ACTS_MAX 512

enum act { READ_FIRST, READ_REST, WRITE, TELL, ASK };

static struct {
	enum act act;
	size_t unit;
} acts[ACTS_MAX];
static size_t act_count;
static struct rig rig;
/* The unit whose cgroup is removed at goes_at: before the rest of it is read, or its raise is
 * written. */
static struct rig_unit *goes;
static enum act goes_at;

int __real_cg_read(struct cg *c, uint32_t want, struct usage *ret);
int __wrap_cg_read(struct cg *c, uint32_t want, struct usage *ret);
int __real_cg_write(struct cg *c, const struct change *ch);
int __wrap_cg_write(struct cg *c, const struct change *ch);
void __real_reader_begin(struct reader *r, enum reader_clock clock);
void __wrap_reader_begin(struct reader *r, enum reader_clock clock);
void __real_units_request_list(struct unit_table *t);
void __wrap_units_request_list(struct unit_table *t);

static void note(enum act act, const struct cg *c)
{
	size_t i = 0;

	while (rig.daemon != NULL && i < rig.daemon->units.count &&
	       rig.daemon->units.items[i]->cgroup.cg != c)
		i++;
	if (act_count == ACTS_MAX)
		return;
	acts[act_count].act = act;
	acts[act_count++].unit = i;
}

/* Descriptors of a removed cgroup are still open. */
static bool is_gone(enum act act, const struct cg *c)
{
	struct managed *m = goes == NULL ? NULL : managed_find(&rig.daemon->units, goes->name);

	if (m == NULL || m->cgroup.cg != c || (goes->running && act != goes_at))
		return false;
	if (goes->running)
		rig_unit_stop(&rig, goes);
	return true;
}

int __wrap_cg_read(struct cg *c, uint32_t want, struct usage *ret)
{
	enum act act = want & ~(uint32_t)FIRST ? READ_REST : READ_FIRST;

	note(act, c);
	return is_gone(act, c) ? -ENODEV : __real_cg_read(c, want, ret);
}

int __wrap_cg_write(struct cg *c, const struct change *ch)
{
	note(WRITE, c);
	return is_gone(WRITE, c) ? APPLY_GONE : __real_cg_write(c, ch);
}

/* Reads for an inotify event are not part of the order. */
void __wrap_reader_begin(struct reader *r, enum reader_clock clock)
{
	act_count = 0;
	__real_reader_begin(r, clock);
}

void __wrap_units_request_list(struct unit_table *t)
{
	note(ASK, NULL);
	__real_units_request_list(t);
}

static uint64_t number(const struct event_record *e, enum event_value v)
{
	return e->values[v].exact != NULL ? strtoull(e->values[v].exact, NULL, 10) : 0;
}

static void on_reported(struct rig *r, const struct event_record *e, const char *)
{
	if (e->kind != EVENT_LIMIT_RAISED)
		return;
	note(TELL, NULL);
	/* As in the metric; nothing is due in virtual time. */
	CHECK(number(e, VALUE_OWN) > 0);
	CHECK_EQ(number(e, VALUE_SPAN), number(e, VALUE_OWN));
	CHECK(number(e, VALUE_OWN) <= r->daemon->tally.raise[SINCE_WAKE].sum_usec);
}

/* The position of the nth such act; act_count: there is none. */
static size_t at(enum act act, size_t unit, unsigned nth)
{
	size_t i = 0;

	for (; i < act_count; i++)
		if (acts[i].act == act && (unit > UNITS || acts[i].unit == unit) && nth-- == 0)
			break;
	return i;
}

#define ANY (UNITS + 1)

/* Other units of which more than the CPU counters was read before this. */
static unsigned read_before(size_t end, size_t unit)
{
	unsigned n = 0;

	for (size_t i = 0; i < end; i++)
		n += acts[i].act == READ_REST && acts[i].unit != unit;
	return n;
}

static void start_units(size_t count)
{
	char name[32];

	rig_open(&rig, "units:\n  - match: q*.service\n");
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof name, "q%02zu.service", i);
		rig_add(&rig, name, 100, 64 * MIB)->anon_bytes = 10 * MIB;
	}
	CHECK_EQ(rig_start(&rig), 0);
	rig.reported = on_reported;
	rig_reflex(&rig, 30, NULL);
}

static void start(void)
{
	start_units(UNITS);
}

/* All units run and allocate a little, so that the rest is read of each of them. */
static void run(struct rig *r)
{
	for (size_t i = 0; i < UNITS; i++) {
		r->unit[i].anon_bytes ^= 2 * MIB;
		rig_burn(r, &r->unit[i], 20);
	}
}

static void run_and_throttle_last(struct rig *r)
{
	run(r);
	rig_burn(r, &r->unit[LAST], 800);
}

static void run_and_throttle_two(struct rig *r)
{
	run_and_throttle_last(r);
	rig_burn(r, &r->unit[5], 800);
}

static void run_and_grow_last(struct rig *r)
{
	run(r);
	r->unit[LAST].anon_bytes += 4 * MIB;
}

static void throttle_all(struct rig *r)
{
	for (size_t i = 0; i < r->unit_count; i++)
		rig_burn(r, &r->unit[i], 800);
}

/* Nine passes after a sample: the next tick is one. */
static void to_before_sample(void)
{
	usec_t next = rig.loop->timer.next_sample;

	while (rig.loop->timer.next_sample == next)
		rig_reflex(&rig, 1, run);
	rig_reflex(&rig, 9, run);
}

static void to_before_review(void)
{
	do
		to_before_sample();
	while (rig.boot + RIG_REFLEX_USEC < rig.loop->timer.next_review);
}

static void turn(void (*step)(struct rig *r))
{
	act_count = 0;
	rig_reflex(&rig, 1, step);
	CHECK(act_count > 0 && act_count < ACTS_MAX);
}

static void check_written_first(size_t unit)
{
	size_t write = at(WRITE, unit, 0);

	CHECK(write < act_count);
	CHECK_EQ(read_before(write, unit), 0);
	CHECK(read_before(act_count, unit) >= LAST);
	CHECK(write < at(TELL, ANY, 0));
	CHECK(at(TELL, ANY, 0) < act_count);
}

TEST(sample)
{
	usec_t next;

	start();
	to_before_sample();
	next = rig.loop->timer.next_sample;
	turn(run_and_throttle_last);
	CHECK(rig.loop->timer.next_sample > next);
	CHECK(rig_cpu_milli(&rig, &rig.unit[LAST]) > 100);
	check_written_first(LAST);
	rig_close(&rig);
}

/* A review reads limits, too, and then asks PID 1. */
TEST(review)
{
	start();
	to_before_review();
	turn(run_and_throttle_last);
	check_written_first(LAST);
	CHECK(at(ASK, ANY, 0) < act_count);
	CHECK(at(WRITE, LAST, 0) < at(ASK, ANY, 0));
	rig_close(&rig);
}

/* Close to its limit at the last pass: known before anything is read. */
TEST(memory)
{
	const struct control *c;
	uint64_t max;

	start();
	c = &rig.daemon->units.items[LAST]->control;
	to_before_sample();
	turn(run);
	for (int i = 0; i < 20 && !control_hot(c); i++)
		turn(run_and_grow_last);
	CHECK(control_hot(c));
	max = rig_bytes(&rig, &rig.unit[LAST], "memory.max");
	rig.unit[LAST].anon_bytes = max - MIB;
	turn(run);
	CHECK(rig_bytes(&rig, &rig.unit[LAST], "memory.max") > max);
	check_written_first(LAST);
	rig_close(&rig);
}

/* One after the other, each before the next is read on; then the journal. */
TEST(two)
{
	size_t first, second;

	start();
	to_before_sample();
	turn(run);
	turn(run_and_throttle_two);
	first = at(WRITE, 5, 0);
	second = at(WRITE, LAST, 0);
	CHECK(first < second && second < act_count);
	CHECK(first < at(READ_REST, LAST, 0));
	CHECK_EQ(read_before(first, 5), 0);
	CHECK_EQ(read_before(second, LAST), read_before(first, LAST));
	CHECK(second < at(TELL, ANY, 0));
	CHECK(at(TELL, ANY, 1) < act_count);
	CHECK(rig_cpu_milli(&rig, &rig.unit[5]) > 100);
	rig_close(&rig);
}

/* More raises than are kept until they are reported. */
TEST(many)
{
	enum { MANY = DONE_STEPS_MAX + 10 };
	unsigned reported;

	start_units(MANY);
	reported = rig.events[EVENT_LIMIT_RAISED];
	rig_reflex(&rig, 1, throttle_all);
	for (size_t i = 0; i < MANY; i++)
		CHECK(rig_cpu_milli(&rig, &rig.unit[i]) > 100);
	CHECK_EQ(rig.events[EVENT_LIMIT_RAISED] - reported, MANY);
	rig_close(&rig);
}

static struct managed *managed_of(const struct rig_unit *u)
{
	return managed_find(&rig.daemon->units, u->name);
}

/* A unit is removed in the middle: the others are read and raised, and it is managed again once it
 * exists. */
static void test_gone(size_t unit, enum act when)
{
	struct rig_unit *u = &rig.unit[unit];
	unsigned raised;

	start();
	raised = rig.events[EVENT_LIMIT_RAISED];
	to_before_sample();
	goes_at = when;
	goes = u;
	turn(run_and_throttle_two);
	CHECK(!u->running);
	CHECK_EQ(managed_state(managed_of(u)), UNIT_WAITING);
	CHECK(rig_cpu_milli(&rig, &rig.unit[LAST]) > 100);
	CHECK_EQ(rig.events[EVENT_LIMIT_RAISED] - raised, unit == 5 ? 1 : 2);
	for (size_t i = 0; i < UNITS; i++)
		CHECK(i == unit || managed_state(managed_of(&rig.unit[i])) == UNIT_MANAGED);
	goes = NULL;
	rig_unit_start(&rig, u);
	rig_reflex(&rig, 100, run);
	CHECK_EQ(managed_state(managed_of(u)), UNIT_MANAGED);
	rig_close(&rig);
}

/* Its place among the units. */
static size_t number_of(const char *name)
{
	size_t i = 0;

	while (i < rig.daemon->units.count && strcmp(rig.daemon->units.items[i]->name, name) != 0)
		i++;
	CHECK(i < rig.daemon->units.count);
	return i;
}

/* The pod has room for a container's raise before that is written, for one after the other. */
TEST(pod)
{
	size_t level, app, side, begin;
	struct rig_pod *p;

	rig_open(&rig, "");
	p = rig_pod_add(&rig, DRIVER_CGROUPFS, "web");
	p->mode = "Auto";
	rig_container_add(&rig, p, "app", 100, 64 * MIB);
	rig_container_add(&rig, p, "side", 100, 64 * MIB);
	CHECK_EQ(rig_start(&rig), 0);
	rig_pod_put(&rig, p);
	rig_reflex(&rig, 30, NULL);
	level = number_of("default/web");
	app = number_of("default/web/app");
	side = number_of("default/web/side");
	rig_reflex(&rig, 1, throttle_all);
	begin = at(WRITE, level, 0);
	CHECK(begin < at(WRITE, app, 0) && at(WRITE, app, 0) < act_count);
	CHECK(at(WRITE, level, 1) < at(WRITE, side, 0) && at(WRITE, side, 0) < act_count);
	CHECK(rig_cpu_milli(&rig, p->container[0].unit) > 100);
	CHECK(rig_cpu_milli(&rig, p->container[1].unit) > 100);
	CHECK(!rig.below);
	rig_close(&rig);
}

static struct rig_unit *app, *side;
static uint64_t demand;

static void throttle_side(struct rig *r)
{
	rig_burn(r, app, 50);
	rig_burn(r, side, demand);
}

/* The boost ends while the other container is throttled at every pass: the pod has room
 * for both all the time, and the other one soon gets what it needs. */
TEST(boost)
{
	struct rig_pod *p;

	rig_open(&rig, "");
	p = rig_pod_add(&rig, DRIVER_CGROUPFS, "web");
	p->mode = "Auto";
	p->extra_key = "startup-boost";
	p->extra_value = "2x 5s";
	for (int i = 0; i < 2; i++) {
		struct rig_container *c =
			rig_container_add(&rig, p, i == 0 ? "app" : "side", 100, 64 * MIB);

		c->unready = true;
		c->started_real = rig.real;
	}
	app = p->container[0].unit;
	side = p->container[1].unit;
	demand = 200;
	CHECK_EQ(rig_start(&rig), 0);
	rig_pod_put(&rig, p);
	rig_reflex(&rig, 30, NULL);
	CHECK_EQ(rig_cpu_milli(&rig, app), 200);
	for (int i = 0; i < 2; i++)
		p->container[i].unready = false;
	p->ready_real = rig.real - rig.real % USEC_PER_SEC;
	rig_pod_put(&rig, p);
	for (int i = 0; i < 100 && rig_cpu_milli(&rig, app) == 200; i++) {
		demand += 40;
		turn(throttle_side);
	}
	CHECK_EQ(rig_cpu_milli(&rig, app), 100);
	rig_reflex(&rig, 20, throttle_side);
	CHECK_EQ(rig_cpu_milli(&rig, app), 100);
	CHECK(rig_cpu_milli(&rig, side) >= demand * 8 / 10);
	CHECK(!rig.below);
	rig_close(&rig);
}

TEST(with_parameters)
{
	test_gone(3, READ_REST);
	test_gone(5, WRITE);
	test_gone(5, READ_REST);
}
