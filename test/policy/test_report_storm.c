// SPDX-License-Identifier: Apache-2.0
/*
 * 5,000 nodes' queues against one API server, in virtual time: what it sees per second when it
 * comes back after an hour, when the agent is rolled out, and in an ordinary hour. One line per
 * case; the figures of docs/performance.md are these.
 */
#include "policy/report/report_queue.h"
#include "test/check.h"

#define S       USEC_PER_SEC
#define NODES   5000u
#define PODS    30u
#define STEP    (100 * USEC_PER_MSEC)
#define SECONDS 7200u
/* A delay in seconds beyond this is counted as this. */
#define DELAY_MAX 7200u

/* A report is up to three writes: the resize, the status annotation, an Event. */
enum write { RESIZE, STATUS, EVENT, WRITES };

struct pod {
	struct report_slot slot;
	char uid[3];
	usec_t changed_at; /* first change that the server does not know of; 0: none */
	uint32_t todo;     /* bits of enum write */
	uint32_t resizes;
};

struct node {
	struct report_queue q;
	struct pod pods[PODS];
	usec_t next_change;
	usec_t start;
};

struct cluster {
	usec_t wake[NODES]; /* beside each other: most of the time is spent looking at these */
	struct node *nodes;
	usec_t change_every;          /* of one pod, on average; 0: once each, at the start */
	usec_t down_from, down_until; /* the server */
	uint64_t random;
	uint32_t per_second[WRITES][SECONDS];
	uint32_t tries[SECONDS];
	uint32_t lists[SECONDS];
	uint32_t delays[DELAY_MAX + 1]; /* change to resize, after the outage where there is one */
	uint64_t changed, reported;
};

static const struct report_rate rate = {
	.interval_usec = 10 * S, .burst = 20, .spread_usec = 60 * S};

static uint64_t rnd(struct cluster *c, uint64_t below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random % below;
}

static void uid_of(size_t pod, char *uid)
{
	uid[0] = (char)('a' + pod / 26);
	uid[1] = (char)('a' + pod % 26);
	uid[2] = '\0';
}

static struct pod *pod_of(struct report_slot *s)
{
	return (struct pod *)s; /* its first member */
}

static void change(struct cluster *c, struct node *n, size_t pod, usec_t now)
{
	struct pod *p = &n->pods[pod];

	if (!(p->todo & (1u << RESIZE))) {
		p->changed_at = now;
		c->changed++;
	}
	p->todo |= 1u << RESIZE;
	report_queue_mark(&n->q, &p->slot, REPORT_ORDINARY, now);
}

static bool is_down(const struct cluster *c, usec_t now)
{
	return now >= c->down_from && now < c->down_until;
}

/* A resize that was sent is followed by the two requests that report it, with the lowest priority
 * for tokens. */
static void sent(struct cluster *c, struct node *n, struct pod *p, usec_t now)
{
	enum write w = (enum write)__builtin_ctz(p->todo);
	usec_t from = MAX(p->changed_at, c->down_until);

	c->per_second[w][now / S]++;
	p->todo &= ~(1u << w);
	report_queue_drop(&n->q, &p->slot);
	if (w == RESIZE) {
		c->delays[MIN((now - MIN(from, now)) / S, (usec_t)DELAY_MAX)]++;
		c->reported++;
		p->resizes++;
		p->todo |= 1u << STATUS | 1u << EVENT;
	}
	if (p->todo)
		report_queue_mark(&n->q, &p->slot, REPORT_ORDINARY, now);
}

static void act(struct cluster *c, struct node *n, usec_t now)
{
	struct report_slot *s;

	while ((s = report_queue_next(&n->q, now)) != NULL) {
		report_queue_take(&n->q, s->urgency, now);
		if (is_down(c, now)) {
			c->tries[now / S]++;
			report_queue_failed(&n->q, now);
			continue;
		}
		sent(c, n, pod_of(s), now);
		report_queue_healthy(&n->q, now);
	}
}

static void step(struct cluster *c, struct node *n, usec_t now)
{
	usec_t due;

	while (n->next_change <= now) {
		change(c, n, rnd(c, PODS), now);
		n->next_change += c->change_every / PODS / 2 + rnd(c, c->change_every / PODS);
	}
	act(c, n, now);
	due = report_queue_due(&n->q, now);
	c->wake[n - c->nodes] = due ? MIN(due, n->next_change) : n->next_change;
}

static void run(struct cluster *c, usec_t until)
{
	for (usec_t now = S; now < until; now += STEP)
		for (size_t i = 0; i < NODES; i++)
			if (c->wake[i] <= now)
				step(c, &c->nodes[i], now);
}

static struct cluster *cluster_new(usec_t change_every)
{
	struct cluster *c = calloc(1, sizeof *c);

	c->nodes = calloc(NODES, sizeof *c->nodes);
	c->random = 20261120;
	c->change_every = change_every;
	for (size_t i = 0; i < NODES; i++) {
		struct node *n = &c->nodes[i];

		report_queue_init(&n->q, &rate, i + 1, S);
		for (size_t k = 0; k < PODS; k++) {
			uid_of(k, n->pods[k].uid);
			n->pods[k].slot.uid = n->pods[k].uid;
		}
		n->next_change = change_every ? S + rnd(c, change_every / PODS) : UINT64_MAX;
		c->wake[i] = n->next_change;
	}
	return c;
}

static void cluster_free(struct cluster *c)
{
	free(c->nodes);
	free(c);
}

static uint32_t peak(const uint32_t *per_second)
{
	uint32_t most = 0;

	for (size_t i = 0; i < SECONDS; i++)
		most = MAX(most, per_second[i]);
	return most;
}

static double mean(const uint32_t *per_second, size_t from, size_t to)
{
	uint64_t sum = 0;

	for (size_t i = from; i < to; i++)
		sum += per_second[i];
	return (double)sum / (double)(to - from);
}

static unsigned delay(const struct cluster *c, double share)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i <= DELAY_MAX; i++) {
		sum += c->delays[i];
		if ((double)sum >= share * (double)c->reported)
			return i;
	}
	return DELAY_MAX;
}

struct figures {
	uint32_t resize_peak, status_peak, event_peak, tries_peak, all_peak;
	double all_mean;
	unsigned p50, p99, worst;
};

static struct figures figures_of(const struct cluster *c, const char *name, size_t from, size_t to)
{
	uint32_t all[SECONDS];
	struct figures f;

	for (size_t i = 0; i < SECONDS; i++)
		all[i] = c->per_second[RESIZE][i] + c->per_second[STATUS][i] +
			 c->per_second[EVENT][i];
	f = (struct figures){
		.resize_peak = peak(c->per_second[RESIZE]),
		.status_peak = peak(c->per_second[STATUS]),
		.event_peak = peak(c->per_second[EVENT]),
		.tries_peak = peak(c->tries),
		.all_peak = peak(all),
		.all_mean = mean(all, from, to),
		.p50 = delay(c, 0.5),
		.p99 = delay(c, 0.99),
		.worst = delay(c, 1),
	};
	printf("%-22s peak/s: resize %u, status %u, Events %u, all %u, vain tries %u; mean/s: "
	       "resize %.0f, Events %.0f, all %.0f; delay: p50 %u s, p99 %u s, worst %u s\n",
	       name, f.resize_peak, f.status_peak, f.event_peak, f.all_peak, f.tries_peak,
	       mean(c->per_second[RESIZE], from, to), mean(c->per_second[EVENT], from, to),
	       f.all_mean, f.p50, f.p99, f.worst);
	return f;
}

/* Every pod changes every ten minutes while the server is away for an hour. */
TEST(outage)
{
	struct cluster *c = cluster_new(600 * S);
	struct figures f;
	uint64_t twice = 0, never = 0;

	c->down_from = 60 * S;
	c->down_until = 3660 * S;
	for (size_t i = 0; i < NODES; i++)
		c->nodes[i].next_change = c->wake[i] = c->down_from + rnd(c, 60 * S);
	run(c, c->down_until);
	/* No changes from here on: a second resize of a pod is a repetition. */
	for (size_t i = 0; i < NODES; i++)
		c->nodes[i].next_change = UINT64_MAX;
	run(c, 5400 * S);
	for (size_t i = 0; i < NODES; i++)
		for (size_t p = 0; p < PODS; p++) {
			twice += c->nodes[i].pods[p].resizes > 1;
			never += c->nodes[i].pods[p].resizes == 0 && c->nodes[i].pods[p].todo;
		}
	f = figures_of(c, "after an hour's outage", 3660, 3960);
	CHECK_EQ(twice, 0);
	CHECK_EQ(never, 0);
	CHECK_EQ(c->reported, c->changed);
	CHECK(c->changed > NODES * PODS * 99 / 100);
	/* The bounds: a burst of every node spread over a minute, then the rate. */
	CHECK(f.all_peak <= NODES * 20 / 60 * 3 / 2);
	CHECK(f.all_mean <= NODES * (20 / 300.0 + 0.1) * 1.05);
	CHECK(f.tries_peak <= NODES / 4);
	CHECK(mean(c->tries, 1800, 3600) <= NODES / 30.0);
	CHECK(f.p99 <= 60 + 300);
	cluster_free(c);
}

/* Ten groups of 500 nodes, one a minute, each agent within 10 s; every pod is reported once, a
 * minute or two after its node's start. */
TEST(roll_out)
{
	struct cluster *c = cluster_new(0);
	struct figures f;

	for (size_t i = 0; i < NODES; i++) {
		struct node *n = &c->nodes[i];

		n->start = S + i / 500 * 60 * S + rnd(c, 10 * S);
		c->lists[n->start / S]++;
		n->next_change = n->start + 60 * S;
		c->wake[i] = n->next_change;
	}
	c->change_every = 60 * S; /* the 30 pods of a node within a minute */
	for (usec_t now = S; now < 1800 * S; now += STEP)
		for (size_t i = 0; i < NODES; i++) {
			struct node *n = &c->nodes[i];

			if (c->wake[i] > now)
				continue;
			if (now > n->start + 120 * S)
				n->next_change = UINT64_MAX;
			step(c, n, now);
		}
	f = figures_of(c, "roll-out", 60, 1260);
	printf("%-22s peak/s: %u\n", "  its LISTs", peak(c->lists));
	CHECK(peak(c->lists) <= 100);
	/* One group's 30 pods a minute, three writes each, and the rate of all before it. */
	CHECK(f.all_peak <= 500 * 30 * 3 / 60 + NODES / 10);
	CHECK(f.all_mean <= 500);
	CHECK(f.worst <= 600);
	cluster_free(c);
}

static struct figures an_hour(const char *name, usec_t change_every)
{
	struct cluster *c = cluster_new(change_every);
	struct figures f;

	run(c, 3600 * S);
	f = figures_of(c, name, 600, 3600);
	cluster_free(c);
	return f;
}

int main(void)
{
	struct figures f;

	check_run();
	f = an_hour("a change an hour", 3600 * S);
	CHECK(f.all_peak <= 250 && f.p99 <= 1);
	/* More than the rate lets through: newest states only, and the server sees no more. */
	f = an_hour("a change in 10 min", 600 * S);
	CHECK(f.all_mean <= 510 && f.p99 <= 1200);
	return check_result();
}
