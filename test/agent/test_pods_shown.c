// SPDX-License-Identifier: Apache-2.0
/* The answers about a container have the keys of control_fixture.json, in its order. These are the
 * keys that docs/control-api.md lists (test_control_docs) and that vscalectl reads (test_ctl). */
#include "agent/serve/show.h"
#include "test/agent/doc_page.h"
#include "test/agent/test_pods.h"

static cJSON *fixture(void)
{
	OWN(drop_free) char *text = page_read("test/agent/control_fixture.json");
	cJSON *all = cJSON_Parse(text);

	CHECK(all != NULL);
	return all;
}

/* Compares objects and the first items of arrays, where both have one; how many objects. */
static unsigned same_keys(const cJSON *a, const cJSON *b)
{
	const cJSON *x = a != NULL ? a->child : NULL, *y = b != NULL ? b->child : NULL;
	unsigned objects = 1;

	if (cJSON_IsArray(a) && cJSON_IsArray(b))
		return x != NULL && y != NULL ? same_keys(x, y) : 0;
	if (!cJSON_IsObject(a) || !cJSON_IsObject(b))
		return 0;
	for (; x != NULL && y != NULL; x = x->next, y = y->next) {
		CHECK_STR(x->string, y->string);
		objects += same_keys(x, y);
	}
	CHECK(x == NULL && y == NULL);
	return objects;
}

/* Everything that an entry can have at a time. */
static void make_busy(struct managed *m)
{
	struct control *c = &m->control;

	c->boost.phase = BOOST_ACTIVE;
	c->mem.trial.phase = MEM_HIGH;
	c->cpu.trial.active = true;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		c->resource[r].last = (struct decision){
			.at_real = 1, .from = 1, .to = LIMIT_MAX, .reason = REASON_SHRINK};
		c->resource[r].trace =
			(struct bound_trace){.count = 1, .bound = {BOUND_USE}, .value = {3, 4}};
	}
}

static const char *text_at(const cJSON *of, const char *resource, const char *object,
			   const char *key)
{
	const cJSON *in = cJSON_GetObjectItem(cJSON_GetObjectItem(of, resource), object);

	return cJSON_GetStringValue(cJSON_GetObjectItem(in, key));
}

TEST_RIG(container)
{
	cJSON *all = fixture(), *units = cJSON_GetObjectItem(all, "explained"), *full, *brief;
	struct shown x;

	rig_pod_put(r, pods_begin(r, DRIVER_CGROUPFS, ""));
	rig_run(r, 20, pods_burn_800);
	make_busy(pods_of(r, "default/web-0/app"));
	x = shown_entry(pods_of(r, "default/web-0/app"));
	full = shown_json(&x, false);
	brief = shown_json(&x, true);
	/* All objects of both fixtures: a decision, a bound, a trial, a boost, counters, an
	 * annotation, the report, the spec. */
	CHECK_EQ(same_keys(full, cJSON_GetArrayItem(units, 4)), 13);
	CHECK_EQ(same_keys(full, cJSON_GetArrayItem(units, 1)), 8);
	CHECK_EQ(same_keys(brief, cJSON_GetArrayItem(cJSON_GetObjectItem(all, "units"), 4)), 4);
	CHECK_STR(text_at(full, "memory", "trial", "phase"), "memory.high");
	CHECK_STR(text_at(full, "cpu", "trial", "phase"), "verdict");
	CHECK_STR(text_at(full, "cpu", "last", "to"), "max");
	CHECK_STR(text_at(full, "cpu", "last", "at"), "1970-01-01T00:00:00.000001Z");
	CHECK(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(full, "memory"), "boost")));
	cJSON_Delete(full);
	cJSON_Delete(brief);
	cJSON_Delete(all);
}

/* The floor of a failed decrease is shown as the goal has it: savings gives it up sooner. */
TEST_RIG(floor_by_goal)
{
	struct managed *m;
	struct shown x;
	cJSON *full;

	rig_pod_put(r, pods_begin(r, DRIVER_CGROUPFS, ""));
	rig_run(r, 20, pods_burn_800);
	m = pods_of(r, "default/web-0/app");
	m->control.rule.goal = GOAL_SAVINGS;
	m->control.cpu.floor = (struct shrink_floor){
		.value = 800, .since_real = m->wake->now_real - 30 * USEC_PER_MIN};
	x = shown_entry(m);
	full = shown_json(&x, false);
	CHECK_EQ(cJSON_GetNumberValue(
			 cJSON_GetObjectItem(cJSON_GetObjectItem(full, "cpu"), "floor")),
		 400);
	cJSON_Delete(full);
}

/* Of what was not attached yet nothing is known. */
TEST_RIG(nothing_known)
{
	cJSON *all = fixture(), *full;
	const cJSON *units = cJSON_GetObjectItem(all, "explained"), *memory;
	struct shown x;

	rig_pod_put(r, pods_begin(r, DRIVER_CGROUPFS, ""));
	x = shown_unmanaged(r->daemon->pods.items[0], 0);
	x.why = STATE_WINDOWS;
	full = shown_json(&x, false);
	memory = cJSON_GetObjectItem(full, "memory");
	same_keys(full, cJSON_GetArrayItem(units, 4));
	CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItem(full, "name")), "default/web-0/app");
	CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItem(full, "state_reason")), "a Windows pod");
	CHECK(cJSON_IsNull(cJSON_GetObjectItem(memory, "kernel")));
	CHECK(cJSON_IsNull(cJSON_GetObjectItem(memory, "use_p99")));
	CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItem(memory, "hold")), "no-data");
	cJSON_Delete(full);
	cJSON_Delete(all);
}
