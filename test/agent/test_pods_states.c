// SPDX-License-Identifier: Apache-2.0
/* Each container that opted in is listed with a state and a reason at any time, and none waits in
 * silence: random worlds of pods whose cgroups come late or never, restarts, mistakes, a watch that
 * is lost, and restarts of the agent. */
#include "agent/pod/pods.h"
#include "policy/base/backoff.h"
#include "test/agent/test_pods.h"

#define PODS           4
#define SECONDS        400
#define SILENCE        (STATE_LATE_USEC + 2 * USEC_PER_SEC)
#define NAME_MAX_BYTES 96

/* What is known of one container of the world. */
struct seen {
	char name[NAME_MAX_BYTES];
	bool listed;
	enum state_reason reason;
	usec_t waits_since; /* listed as waiting though the kubelet says that it runs; 0: it is not
			     */
	bool told;
};

static uint64_t random_state;

static uint64_t random_below(uint64_t below)
{
	return random_next(&random_state) % below;
}

static struct seen seen[PODS * 2];
static unsigned long long looks, waits, told, reasons[STATE_REASON_COUNT];

static struct seen *seen_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		if (strcmp(seen[i].name, name) == 0)
			return &seen[i];
	return NULL;
}

static void on_reported(struct rig *, const struct event_record *e, const char *message)
{
	if (e->kind != EVENT_UNIT_WAITING && e->kind != EVENT_UNIT_UNMANAGED)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		if (seen[i].name[0] != '\0' && strstr(message, seen[i].name) != NULL)
			seen[i].told = true;
}

static const char *text_of(const cJSON *unit, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(unit, key));
}

static void take(const cJSON *unit)
{
	struct seen *s = seen_of(text_of(unit, "name"));
	const char *name = text_of(unit, "reason"), *text = text_of(unit, "state_reason");
	enum state_reason reason = 0;

	while (reason < STATE_REASON_COUNT && strcmp(state_rows[reason].name, name) != 0)
		reason++;
	CHECK(reason < STATE_REASON_COUNT);
	CHECK(reason == STATE_SIZING || (text != NULL && text[0] != '\0'));
	/* What does not run has no live numbers. */
	CHECK(text_of(unit, "cgroup") != NULL ||
	      cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(unit, "memory"), "use")));
	if (s == NULL)
		return;
	s->listed = true;
	s->reason = reason;
	reasons[reason]++;
}

static bool is_stuck(const struct rig_container *c, const struct seen *s)
{
	return (c->unit->running || c->claimed) && state_rows[s->reason].late;
}

static void look(struct rig *r)
{
	cJSON *units = NULL;
	const cJSON *unit;

	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		seen[i].listed = false;
	CHECK_EQ(r->loop->serve.api.ops->list(&r->loop->serve, &units), 0);
	cJSON_ArrayForEach (unit, units)
		take(unit);
	cJSON_Delete(units);
	for (size_t i = 0; i < r->pod_count; i++) {
		const struct rig_pod *p = &r->pod[i];

		for (size_t k = 0; k < p->count; k++) {
			struct seen *s = &seen[i * 2 + k];

			looks++;
			if (!s->listed)
				fprintf(stderr, "%s is not listed\n", s->name);
			CHECK(s->listed || p->mode == NULL || p->deleting);
			if (!s->listed || !is_stuck(&p->container[k], s)) {
				s->waits_since = 0;
				s->told = false;
				continue;
			}
			if (s->waits_since == 0)
				s->waits_since = r->boot;
			waits++;
			if (!s->told && r->boot - s->waits_since > SILENCE)
				fprintf(stderr, "%s waits in silence: %s\n", s->name,
					state_rows[s->reason].name);
			CHECK(s->told || r->boot - s->waits_since <= SILENCE);
			told += s->told;
		}
	}
}

/* Something happens to one of its containers, or to it. */
static void change(struct rig *r, struct rig_pod *p)
{
	struct rig_container *c = &p->container[random_below(p->count)];

	switch (random_below(9)) {
	case 0:
		if (c->unit->running)
			rig_container_stop(r, c);
		break;
	case 1:
		if (!c->unit->running)
			rig_container_start(r, p, c, random_below(2) == 0);
		break;
	case 2:
		c->reported = !c->reported;
		break;
	case 3:
		p->extra_key = random_below(4) == 0 ? "vscaled.dev/mod" : NULL;
		p->extra_value = "Auto";
		break;
	case 4:
		p->containers = random_below(4) == 0 ? "nosuch" : NULL;
		break;
	case 5:
		r->daemon->pods.live = random_below(2);
		break;
	case 6:
		if (c->unit->running)
			rig_realise(r, c->unit);
		break;
	case 7:
		c->claimed = !c->claimed;
		break;
	default:
		break;
	}
	rig_pod_put(r, p);
}

static void world(uint64_t seed)
{
	OWN(rig_close) struct rig r;
	static const char *const names[PODS] = {"web-0", "web-1", "db-0", "db-1"};

	random_state = seed;
	memset(seen, 0, sizeof seen);
	rig_open(&r, "");
	r.reported = on_reported;
	for (size_t i = 0; i < PODS; i++) {
		struct rig_pod *p = rig_pod_add(&r, random_below(DRIVER_COUNT), names[i]);

		rig_container_add(&r, p, "app", 200, 64 * MIB);
		rig_container_add(&r, p, "log", 300, 32 * MIB);
		p->mode = "Auto";
		for (size_t k = 0; k < 2; k++)
			snprintf(seen[i * 2 + k].name, NAME_MAX_BYTES, "default/%s/%s", names[i],
				 p->container[k].name);
	}
	CHECK_EQ(rig_start(&r), 0);
	for (size_t i = 0; i < PODS; i++)
		rig_pod_put(&r, &r.pod[i]);
	for (unsigned t = 0; t < SECONDS; t++) {
		if (random_below(8) == 0)
			change(&r, &r.pod[random_below(PODS)]);
		rig_run(&r, 1, pods_burn_800);
		look(&r);
	}
}

int main(void)
{
	for (uint64_t seed = 1; seed <= 12 && check_failures < 20; seed++) {
		int before = check_failures;

		world(seed);
		if (check_failures > before)
			fprintf(stderr, "in the world of seed %llu\n", (unsigned long long)seed);
	}
	fprintf(stderr, "%llu looks, %llu of one that waits, %llu of these told\n", looks, waits,
		told);
	for (size_t i = 0; i < STATE_REASON_COUNT; i++)
		if (reasons[i] > 0)
			fprintf(stderr, "%llu %s\n", reasons[i], state_rows[i].name);
	return check_result();
}
