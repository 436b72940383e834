// SPDX-License-Identifier: Apache-2.0
/* A full node in virtual time: what the pods request is counted as the kubelet and the scheduler
 * do, two replicas and their neighbours compete for what is left, and no pod is preempted for us.
 * The kubelet admits by what it has allocated. The scheduler makes room for a deferred resize as
 * the alpha of KEP-5836 does: it counts the highest of desired, allocated and actual of all pods
 * and takes those of lower priority away. */
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "test/check.h"

#define S           USEC_PER_SEC
#define OURS        2
#define PODS        8
#define ALLOCATABLE 2000
#define RUNS        200
#define HOURS       2

/* --- what one pod counts --- */

static struct kube_container app(enum container_kind kind, uint64_t spec, uint64_t allocated,
				 uint64_t actual)
{
	return (struct kube_container){
		.name = "app",
		.kind = kind,
		.spec = {.limit = {LIMIT_MAX, LIMIT_MAX}, .request = {spec}},
		.status = {.limit = {LIMIT_MAX, LIMIT_MAX}, .request = {actual}},
		.allocated = {allocated},
		.has_status = actual != 0,
		.has_allocated = allocated != 0,
		.running = true,
	};
}

enum { APP = CONTAINER_APP, INIT = CONTAINER_INIT, SIDE = CONTAINER_SIDECAR };
static const struct {
	const char *what;
	uint64_t want_allocated, want_scheduled;
	struct {
		int kind;
		uint64_t spec, allocated, actual;
	} container[3];
	size_t count;
	enum resize_pending pending;
	const char *phase; /* NULL: Running */
	uint64_t level, level_allocated, overhead, want_slack, want_start;
} counts[] = {
	{"plain", 300, 300, .container = {{APP, 300, 300, 300}}, .count = 1},
	{"not started", 300, 300, .container = {{APP, 300, 0, 0}}, .count = 1, .phase = "Pending"},
	{"ended", 0, 0, .container = {{APP, 300, 300, 300}}, .count = 1, .phase = "Succeeded",
	 .overhead = 50},
	{"failed", 0, 0, .container = {{APP, 300, 300, 300}}, .count = 1, .phase = "Failed",
	 .level = 900, .overhead = 50},
	{"raise pending", 100, 470, .container = {{APP, 470, 100, 100}}, .count = 1,
	 .pending = RESIZE_DEFERRED},
	{"never", 100, 100, .container = {{APP, 9000, 100, 100}}, .count = 1,
	 .pending = RESIZE_INFEASIBLE},
	{"being lowered", 100, 400, .container = {{APP, 100, 100, 400}}, .count = 1},
	{"old kubelet", 100, 470, .container = {{APP, 470, 0, 100}}, .count = 1,
	 .pending = RESIZE_DEFERRED},
	{"init", 500, 500, .container = {{INIT, 500, 0, 0}, {APP, 200, 200, 200}}, .count = 2,
	 .want_slack = 300, .want_start = 500},
	{"sidecar before init", 600, 600,
	 .container = {{SIDE, 100, 100, 100}, {INIT, 500, 0, 0}, {APP, 200, 200, 200}}, .count = 3,
	 .want_start = 600},
	{"sidecar", 300, 300,
	 .container = {{INIT, 150, 0, 0}, {SIDE, 100, 100, 100}, {APP, 200, 200, 200}}, .count = 3,
	 .want_start = 150},
	{"overhead", 550, 550, .container = {{APP, 300, 300, 300}}, .count = 1, .overhead = 250},
	{"pod level", 700, 800, .container = {{APP, 300, 300, 300}}, .count = 1, .level = 800,
	 .level_allocated = 700},
};

TEST(counts)
{
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct kube_container k[3];
		struct kube_pod p = {
			.phase = (char *)(counts[i].phase ? counts[i].phase : "Running"),
			.containers = k,
			.container_count = counts[i].count,
			.pending = counts[i].pending,
			.level_request = {counts[i].level},
			.level_allocated = {counts[i].level_allocated},
			.overhead = {counts[i].overhead}};

		for (size_t n = 0; n < counts[i].count; n++)
			k[n] = app((enum container_kind)counts[i].container[n].kind,
				   counts[i].container[n].spec, counts[i].container[n].allocated,
				   counts[i].container[n].actual);
		if (kube_pod_request(&p, RESOURCE_CPU, KUBE_COUNT_ALLOCATED) !=
			    counts[i].want_allocated ||
		    kube_pod_request(&p, RESOURCE_CPU, KUBE_COUNT_SCHEDULED) !=
			    counts[i].want_scheduled)
			fprintf(stderr, "%s:\n", counts[i].what);
		CHECK_EQ(kube_pod_request(&p, RESOURCE_CPU, KUBE_COUNT_ALLOCATED),
			 counts[i].want_allocated);
		CHECK_EQ(kube_pod_request(&p, RESOURCE_CPU, KUBE_COUNT_SCHEDULED),
			 counts[i].want_scheduled);
		CHECK_EQ(kube_pod_slack(&p, RESOURCE_CPU), counts[i].want_slack);
		CHECK_EQ(kube_pod_start(&p, RESOURCE_CPU, KUBE_COUNT_SPEC), counts[i].want_start);
		CHECK_EQ(kube_pod_start(&p, RESOURCE_CPU, KUBE_COUNT_LIMIT), 0);
		/* The limits count likewise: the requests, as limits. */
		for (size_t n = 0; n < counts[i].count; n++)
			k[n].spec.limit[RESOURCE_CPU] = k[n].spec.request[RESOURCE_CPU];
		CHECK_EQ(kube_pod_start(&p, RESOURCE_CPU, KUBE_COUNT_LIMIT), counts[i].want_start);
	}
}

/* --- the node --- */

struct world_pod {
	bool exists;
	char uid[24];
	int priority;
	uint64_t spec, allocated, actual;
	uint64_t limit, actual_limit;
	uint64_t generation, observed;
	enum resize_pending pending;
	char message[128];
	usec_t kubelet_at; /* 0: it has nothing to do */
	/* Of the agent. */
	struct kube_container k;
	struct kube_pod seen;
	usec_t shown_at; /* the watch delivers the newest object; 0: it has */
	struct report_state *state;
	struct report_patch patch;
	usec_t answer_at; /* 0: no request is under way */
	uint64_t want;
};

static struct world {
	uint64_t seed;
	usec_t now;
	struct wakeup wake;
	struct cluster c;
	struct report_node n;
	struct world_pod pods[PODS];
	unsigned preempted, refused, bound, raised, waited;
} w;

static struct records records;
static struct pods pods = {.wake = &w.wake, .records = &records};

static uint64_t draw(uint64_t below)
{
	w.seed ^= w.seed << 13;
	w.seed ^= w.seed >> 7;
	w.seed ^= w.seed << 17;
	return w.seed % below;
}

static uint64_t sum(bool all, const struct world_pod *but)
{
	uint64_t n = 0;

	for (size_t i = 0; i < PODS; i++) {
		const struct world_pod *p = &w.pods[i];

		if (p->exists && p != but)
			n += all ? MAX(MAX(p->spec, p->allocated), p->actual) : p->allocated;
	}
	return n;
}

static bool is_ours(const struct world_pod *p)
{
	return p < &w.pods[OURS];
}

/* The watch lags. What others write in the moment in which ours is on its way is a race that the
 * kubelet decides, so what they do is seen at once. */
static void shows(struct world_pod *p)
{
	if (p->shown_at == 0)
		p->shown_at = w.now + (is_ours(p) ? draw(3 * S) : 0);
}

static void resize(struct world_pod *p, uint64_t request, uint64_t limit)
{
	if (p->spec == request && p->limit == limit)
		return;
	p->spec = request;
	p->limit = limit;
	p->generation++;
	p->kubelet_at = w.now + 50 * USEC_PER_MSEC + draw(3 * S);
	shows(p);
}

static void kubelet(struct world_pod *p)
{
	uint64_t others = sum(false, p);

	if (p->kubelet_at == 0 || w.now < p->kubelet_at)
		return;
	p->kubelet_at = 0;
	p->observed = p->generation;
	p->pending = RESIZE_NOT_PENDING;
	if (p->spec > ALLOCATABLE)
		p->pending = RESIZE_INFEASIBLE;
	else if (p->spec + others > ALLOCATABLE && p->spec > p->allocated)
		p->pending = RESIZE_DEFERRED;
	snprintf(p->message, sizeof p->message,
		 "Node didn't have enough resource: cpu, requested: %ju, used: %ju, capacity: %d",
		 (uintmax_t)p->spec, (uintmax_t)others, ALLOCATABLE);
	if (p->pending == RESIZE_DEFERRED)
		p->kubelet_at = w.now + 10 * S;
	if (p->pending == RESIZE_NOT_PENDING) {
		p->allocated = p->actual = p->spec;
		p->actual_limit = p->limit;
	}
	shows(p);
}

static void leave(struct world_pod *p)
{
	p->exists = false;
	cluster_room_gone(&w.c, p->uid);
}

/* Preempts for deferred resizes of pods that vscaled made so. */
static void scheduler(void)
{
	for (size_t i = 0; i < OURS; i++)
		for (size_t k = PODS; w.pods[i].pending == RESIZE_DEFERRED && k-- > OURS;) {
			struct world_pod *victim = &w.pods[k];

			if (!victim->exists || victim->priority >= w.pods[i].priority ||
			    sum(true, NULL) <= ALLOCATABLE)
				continue;
			leave(victim);
			w.preempted++;
		}
}

static void come(struct world_pod *p, uint64_t request)
{
	static unsigned serial;
	uint64_t limit = is_ours(p) ? 1500 : LIMIT_MAX;

	*p = (struct world_pod){.exists = true, .priority = is_ours(p) ? 10 : 0};
	snprintf(p->uid, sizeof p->uid, "uid-%u", serial++);
	p->spec = p->allocated = p->actual = p->want = request;
	p->limit = p->actual_limit = limit;
	p->generation = p->observed = 1;
	p->shown_at = w.now;
}

/* Pods come where the scheduler has room, end, and are resized by their owners; not while a request
 * of ours is on its way. */
static void neighbours(void)
{
	for (size_t i = 0; i < OURS; i++)
		if (w.pods[i].answer_at != 0 || w.pods[i].spec > w.pods[i].allocated)
			return;
	for (size_t i = OURS; i < PODS; i++) {
		struct world_pod *p = &w.pods[i];
		uint64_t request = 50 + draw(600);

		if (draw(120) != 0)
			continue;
		if (p->exists && draw(3) == 0)
			leave(p);
		else if (p->exists && p->shown_at == 0 && draw(2) == 0)
			resize(p, request, LIMIT_MAX);
		else if (!p->exists && sum(true, NULL) + request <= ALLOCATABLE)
			come(p, request);
	}
}

/* --- the agent --- */

static struct pod *put(struct cluster *c, struct kube_pod *spec)
{
	struct pod *p;

	cluster_room_put(c, spec);
	p = pods_entry(&pods, spec->uid);
	p->spec = spec;
	return p;
}

static void watch(struct world_pod *p)
{
	if (p->shown_at == 0 || w.now < p->shown_at)
		return;
	p->shown_at = 0;
	p->k = app(CONTAINER_APP, p->spec, p->allocated, p->actual);
	p->k.spec.limit[RESOURCE_CPU] = p->limit;
	p->k.status.limit[RESOURCE_CPU] = p->actual_limit;
	p->seen = (struct kube_pod){.uid = p->uid,
				    .phase = "Running",
				    .qos = QOS_BURSTABLE,
				    .containers = &p->k,
				    .container_count = 1,
				    .generation = p->generation,
				    .observed_generation = p->observed,
				    .pending = p->pending,
				    .resize_message = p->pending ? p->message : NULL,
				    .resize_newest_ours = p->generation > 1};
	put(&w.c, &p->seen);
}

static struct reporter_view *facts_of(struct world_pod *p)
{
	static struct reporter_view v;
	struct report_resource *x = &v.containers[0].resource[RESOURCE_CPU];

	v = (struct reporter_view){0};
	reporter_fill(&p->seen, &v);
	v.facts.active = v.facts.offered = true;
	v.facts.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	v.facts.room_counted = true;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		v.facts.room[r] = cluster_room_left(&w.c, pods_entry(&pods, p->uid), r);
	x->managed = true;
	x->original_limit = 1500;
	x->original_request = 100;
	x->held = x->actual = 1500;
	x->held_since = 1;
	x->request = p->want;
	return &v;
}

static void answer(struct world_pod *p, const struct report_tuning *t)
{
	const struct report_item *item = &p->patch.item[0];
	struct report_answer ok = {.kind = REPORT_ANSWER_OK};
	struct reporter_view *v = facts_of(p);
	uint64_t request = p->spec, limit = p->limit;

	if (item->requests & RESOURCES_CPU)
		request = item->request[RESOURCE_CPU];
	if (item->limits & RESOURCES_CPU)
		limit = item->limit[RESOURCE_CPU];
	w.raised += request > p->spec;
	p->answer_at = 0;
	resize(p, request, limit);
	v->facts.generation = p->generation;
	v->containers[0].resource[RESOURCE_CPU].spec_request = request;
	v->containers[0].resource[RESOURCE_CPU].spec_limit = limit;
	report_answered(t, &w.n, p->state, &v->facts, &ok, w.now);
}

static void agent(struct world_pod *p, const struct report_tuning *t)
{
	static struct report_decision d;
	struct reporter_view *v = facts_of(p);
	usec_t until;

	if (p->state == NULL)
		p->state = report_state_new(1);
	if (p->answer_at != 0 && w.now >= p->answer_at)
		answer(p, t);
	w.refused += (report_observed(t, p->state, &v->facts, w.now) & REPORT_CHANGE_REFUSED) != 0;
	w.bound += report_allows(p->state, 0, RESOURCE_CPU, w.now, &until) != LIMIT_MAX;
	report_decide(t, &w.n, p->state, &v->facts, w.now, &d);
	w.waited += d.short_of_room;
	if (!d.send || p->answer_at != 0)
		return;
	cluster_room_sent(&w.c, pods_entry(&pods, p->uid), &d.patch);
	report_sent(p->state, &v->facts, &d.patch, w.now);
	p->patch = d.patch;
	p->answer_at = w.now + 20 * USEC_PER_MSEC + draw(2 * S);
}

static void step(const struct report_tuning *t)
{
	w.now += S;
	w.wake.now = w.now;
	neighbours();
	for (size_t i = 0; i < PODS; i++)
		if (w.pods[i].exists)
			kubelet(&w.pods[i]);
	scheduler();
	for (size_t i = 0; i < PODS; i++)
		if (w.pods[i].exists)
			watch(&w.pods[i]);
	for (size_t i = 0; i < OURS; i++) {
		if (draw(300) == 0)
			w.pods[i].want = 50 + draw(900);
		/* A new agent: nothing is known but the objects. */
		if (draw(1500) == 0 && w.pods[i].answer_at == 0) {
			free(w.pods[i].state);
			w.pods[i].state = NULL;
		}
		agent(&w.pods[i], t);
	}
}

static void forget_all(void)
{
	for (size_t i = 0; i < pods.entry_count; i++)
		free(pods.entries[i]);
	free(pods.entries);
	pods.entries = NULL;
	pods.entry_count = 0;
}

static void run(uint64_t seed)
{
	struct report_tuning t = report_tuning_default;

	memset(&w.pods, 0, sizeof w.pods);
	w.seed = seed * 0x9e3779b97f4a7c15ULL + 1;
	w.n = (struct report_node){0};
	w.now = 1000 * S;
	w.wake.now = w.now;
	w.c = (struct cluster){.wake = &w.wake, .pods = &pods, .node_read = true};
	w.c.node_object.allocatable[RESOURCE_CPU] = ALLOCATABLE;
	w.c.node_object.allocatable[RESOURCE_MEMORY] = GIB;
	t.request_up_usec = 0;
	t.request_down_usec = 0;
	t.decrease_every_usec = 0;
	t.small_usec = t.up_interval_usec = t.down_interval_usec = 5 * S;
	for (size_t i = 0; i < OURS; i++)
		come(&w.pods[i], 100);
	/* Full but for less than what one of us may want. */
	for (size_t i = OURS; i < PODS; i++)
		come(&w.pods[i], 250 + draw(40));
	for (size_t i = 0; i < (size_t)HOURS * 3600; i++)
		step(&t);
	for (size_t i = 0; i < OURS; i++)
		free(w.pods[i].state);
	forget_all();
}

TEST(full_node)
{
	for (uint64_t seed = 0; seed < RUNS; seed++)
		run(seed);
	printf("%d runs of %d h: %u raised, %u s waited, %u refused, %u preempted\n", RUNS, HOURS,
	       w.raised, w.waited, w.refused, w.preempted);
	CHECK_EQ(w.preempted, 0);
	CHECK_EQ(w.refused, 0);
	CHECK_EQ(w.bound, 0); /* no limit was cut */
	CHECK(w.raised > RUNS);
	CHECK(w.waited > RUNS);
}

/* A pod that cannot be read: what it had before counts; one that was never read may have all. */
TEST(unreadable)
{
	struct cluster x = {.wake = &w.wake, .pods = &pods, .node_read = true};
	struct kube_container ours = app(CONTAINER_APP, 100, 100, 100),
			      others = app(CONTAINER_APP, 700, 700, 700);
	struct kube_pod a = {.uid = (char *)"a",
			     .phase = (char *)"Running",
			     .containers = &ours,
			     .container_count = 1},
			b = {.uid = (char *)"b",
			     .phase = (char *)"Running",
			     .containers = &others,
			     .container_count = 1};

	struct pod *p;

	x.node_object.allocatable[RESOURCE_CPU] = 1000;
	p = put(&x, &a);
	(void)put(&x, &b);
	CHECK_EQ(cluster_room_left(&x, p, RESOURCE_CPU), 200);
	pods_list_begin(&pods);
	cluster_room_put(&x, &a);
	pods_seen(&pods, "a");
	cluster_room_skipped(&x, "b");
	pods_seen(&pods, "b");
	cluster_room_list_end(&x);
	CHECK_EQ(cluster_room_left(&x, p, RESOURCE_CPU), 200);
	cluster_room_gone(&x, "b");
	CHECK_EQ(cluster_room_left(&x, p, RESOURCE_CPU), 900);
	cluster_room_skipped(&x, "c");
	CHECK_EQ(cluster_room_left(&x, p, RESOURCE_CPU), 0);
	pods_list_begin(&pods);
	cluster_room_put(&x, &a);
	pods_seen(&pods, "a");
	cluster_room_list_end(&x);
	CHECK_EQ(cluster_room_left(&x, p, RESOURCE_CPU), 900);
	/* The kubelet has no room yet for what another pod asks. */
	b.pending = RESIZE_DEFERRED;
	others.spec.request[RESOURCE_CPU] = 750;
	(void)put(&x, &b);
	CHECK_EQ(cluster_room_left(&x, p, RESOURCE_CPU), 0);
	forget_all();
}

/* Only to a kubelet without the fault are lower memory limits sent. */
TEST(decreases)
{
	static const struct {
		const char *release;
		bool sent;
	} rows[] = {
		{"v1.33.5", true},         {"v1.34.0", false},      {"v1.34.9", false},
		{"v1.35.2-gke.1", false},  {"v1.36.0", false},      {"v1.36.2", false},
		{"v1.36.3-eks-1", true},   {"v1.36.10+k3s1", true}, {"v1.37.0", false},
		{"v1.38.0-alpha.1", true}, {"v1.40.12", true},      {"", false},
		{"v1.36", false},          {"unknown", false},
	};
	struct cluster x = {.node_read = true};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(x.node_object.kubelet_version, sizeof x.node_object.kubelet_version, "%s",
			 rows[i].release);
		CHECK_EQ(cluster_node_decreases(&x), rows[i].sent);
	}
	snprintf(x.node_object.kubelet_version, sizeof x.node_object.kubelet_version, "v1.33.5");
	x.node_read = false;
	CHECK(!cluster_node_decreases(&x));
}
