// SPDX-License-Identifier: Apache-2.0
/*
 * Every way in which an API server can fail: while it does, sizing goes on, the requests per minute
 * are bounded, the journal says it in a line; afterwards what changed is reported.
 */
#include "test/kube/test_cluster.h"

/* The whole agent in one minute of its time, with everything failing: one list or watch in 30 s to
 * 60 s once the pauses are long, writes as the queue lets them through, discovery. */
#define PER_MINUTE_MAX 40
/* A fault lasts this long, and its end is waited for that long. */
#define FAULT_SEC   60
#define RECOVER_SEC 400

struct fault {
	const char *kind;
	const char *more; /* of the fault */
	bool quiet;       /* nothing to say: the client copes */
};

/* Those that hit everything are hits of the log, too. */
static const struct fault faults[] = {
	{"429", "\"retry_after\":2", false},
	{"500", NULL, false},
	{"503", "\"retry_after\":2", false},
	{"504", NULL, false},
	{"401", NULL, false},
	{"403", "\"match\":\"watch=1\",\"count\":3", false},
	{"410", NULL, true},
	{"cut-before", NULL, false},
	{"cut-inside", NULL, false},
	{"garbage", NULL, false},
	{"half-line", NULL, false},
	{"drip", "\"rate\":100000", true},
	{"huge", NULL, false},
	{"dupkeys", NULL, true},
	{"bigint", NULL, true},
	{"hang", "\"seconds\":1", false},
	{"delay", "\"seconds\":1", true},
	{"stale", NULL, true},
	{"stream-error", "\"code\":500", false},
	{"end-at-once", NULL, true},
	{"silent", NULL, true},
};

static bool is_sent_already(struct crig *x)
{
	uint64_t held = rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0]));

	return held > 200 && crig_spec(x, &x->rig.pod[0], "app", RESOURCE_CPU) == held;
}

static bool watch_is_healthy(struct crig *x)
{
	return kube_watch_state(x->rig.loop->cluster->watch)->healthy;
}

static bool is_good(struct crig *x)
{
	return watch_is_healthy(x) && is_sent_already(x);
}

static unsigned words(void)
{
	return c.rig.events[EVENT_API_LOST] + c.rig.events[EVENT_API_REFUSES] +
	       c.rig.events[EVENT_API_OBJECT_BAD];
}

static void burn_650(struct rig *r)
{
	burn_all(r, 650);
}

/* What it demands, and a little more. */
static void granted(uint64_t milli)
{
	CHECK(milli >= 650);
	CHECK(milli <= 750);
}

/* Enough to be worth a report, in turn up and down from where it is. */
static void check_fault(const struct fault *f)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	int fds;

	CHECK(crig_until(&c, 240, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50);
	fds = fake_open_fds();
	crig_debug(&c, "cut", "{}");
	crig_forget_log(&c);
	crig_fault(&c, f->kind, f->more);
	rig_run(&c.rig, FAULT_SEC, burn_650);
	granted(rig_cpu_milli(&c.rig, app_of(p)));
	CHECK(crig_per_minute(&c) <= PER_MINUTE_MAX);
	fprintf(stderr, "%s: %.1f requests a minute, lines %u: %s\n", f->kind, crig_per_minute(&c),
		words(), c.line_count > 0 ? c.line[c.line_count - 1].text : "");
	CHECK(f->quiet || words() > 0);
	CHECK(words() < 20);
	crig_heal(&c);
	crig_debug(&c, "cut", "{}");
	CHECK(crig_until(&c, RECOVER_SEC, burn_650, is_good));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 20, burn_650);
	granted(rig_cpu_milli(&c.rig, app_of(p)));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), rig_cpu_milli(&c.rig, app_of(p)));
	CHECK(fake_open_fds() <= fds + 3); /* connections that are kept */
}

/* --- credentials --- */

static void test_token_rotates(void)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	CHECK(crig_until(&c, 240, burn_50, is_listed));
	crig_debug(&c, "rotate", "{\"identity\":\"agent\"}");
	crig_debug(&c, "cut", "{}");
	ratify(p);
	CHECK_EQ(c.rig.events[EVENT_API_REFUSES], 0);
	CHECK(watch_is_healthy(&c));
}

static void test_certificate_expires(void)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	CHECK(crig_until(&c, 240, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50); /* the watch is open by then: it is to be cut */
	crig_debug(&c, "certificate", "{\"kind\":\"expired\"}");
	CHECK(UNTIL(240, burn_650,
		    crig_lines(&c, EVENT_API_LOST, "") > 0 && !watch_is_healthy(&c)));
	rig_run(&c.rig, 40, burn_650);
	CHECK(crig_lines(&c, EVENT_API_LOST, "certificate") >= 1);
	granted(rig_cpu_milli(&c.rig, app_of(p)));
	crig_debug(&c, "certificate", "{\"kind\":\"good\"}");
	CHECK(crig_until(&c, RECOVER_SEC, burn_650, is_good));
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (argc < 2 || strcmp(argv[1], faults[i].kind) == 0)
			check_fault(&faults[i]);
	if (argc < 2) {
		test_token_rotates();
		test_certificate_expires();
	}
	return check_result();
}
