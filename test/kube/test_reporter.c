// SPDX-License-Identifier: Apache-2.0
/* The reporter against a server that answers in virtual time. */
#include "test/kube/reporter_rig.h"
#include <errno.h>

#define CPU     RESOURCE_CPU
#define MEM     RESOURCE_MEMORY
#define WITH(g) for (struct rig g, *p_ = (rig_start(&g, 1), &g); p_; rig_stop(p_), p_ = NULL)

#define FORBIDDEN(message)                                                                         \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"       \
	"\"message\":\"pods \\\"u0\\\" is forbidden: " message "\"}"
#define RBAC                                                                                       \
	FORBIDDEN("User \\\"x\\\" cannot patch resource \\\"pods/resize\\\" in API group "         \
		  "\\\"\\\" in the namespace \\\"lab\\\"")
#define STATUS(code, reason, message)                                                              \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"code\":" #code    \
	",\"message\":\"" message "\"}"

static void test_ratifies(void)
{
	WITH(g)
	{
		struct rig_pod *p = &g.pods[0];

		rig_run(&g, 10 * S);
		CHECK_STR(g.log, "S0 "); /* the originals */
		CHECK_STR(p->status, "{\"mode\":\"Auto\",\"containers\":{\"app\":{"
				     "\"cpu\":{\"original\":\"500m\",\"limit\":\"500m\"},"
				     "\"memory\":{\"original\":\"256Mi\",\"limit\":\"256Mi\"}}}}");
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 59 * S);
		CHECK_EQ(p->resizes, 0);
		p->verified = 0;
		rig_run(&g, 10 * S);
		CHECK_EQ(p->resizes, 1);
		CHECK_EQ(p->spec.limit[CPU], 900);
		CHECK_EQ(p->ratified, 1);
		CHECK(p->verified > 0);
		CHECK_EQ(p->foreign, 0);
		CHECK(report_expects(reporter_state(g.pods[0].report)));
		/* Nothing more until the status is due. */
		rig_run(&g, 500 * S);
		CHECK_STR(g.log, "S0 R0 ");
		rig_run(&g, 100 * S);
		CHECK_STR(g.log, "S0 R0 S0 ");
		CHECK(strstr(p->status, "\"limit\":\"900m\"") != NULL);
		CHECK(strstr(p->status, "\"ratifiedGeneration\":2") != NULL);
		rig_run(&g, 7200 * S);
		CHECK_STR(g.log, "S0 R0 S0 ");
		CHECK_EQ(rig_counted(&g, "resize", 200), 1);
		CHECK_EQ(rig_counted(&g, "status", 200), 2);
	}
}

static void test_body_and_path(void)
{
	WITH(g)
	{
		rig_run(&g, S);
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 61 * S);
		CHECK_STR(g.last_path,
			  "/api/v1/namespaces/lab/pods/u0/resize?timeout=29s&fieldManager=vscaled");
		CHECK_STR(g.last_body, "{\"metadata\":{\"uid\":\"u0\",\"resourceVersion\":\"10\"},"
				       "\"spec\":{\"containers\":[{"
				       "\"name\":\"app\",\"resources\":{\"limits\":{"
				       "\"cpu\":\"900m\"}}}]}}");
	}
}

static void test_gone(void)
{
	WITH(g)
	{ /* the server knows first */
		rig_run(&g, S);
		rig_fail(&g, "resize", 1, 404,
			 "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404,"
			 "\"message\":\"pods \\\"u0\\\" not found\"}");
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 600 * S);
		CHECK_STR(g.log, "S0 R0 ");
		CHECK_EQ(reporter_block(g.pods[0].report), REPORT_BLOCK_NONE);
	}
	WITH(g)
	{ /* while a request is under way */
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 60 * S);
		rig_run(&g, 5 * USEC_PER_MSEC);
		rig_gone(&g, 0);
		rig_run(&g, 60 * S);
		CHECK_EQ(reporter_block(g.pods[0].report), REPORT_BLOCK_NONE);
	}
	WITH(g)
	{ /* forgotten while a request is under way */
		g.latency = 10 * S;
		rig_run(&g, 15 * S);
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 62 * S);
		rig_forget(&g, 0);
		rig_run(&g, 60 * S);
		CHECK_EQ(reporter_waiting(g.reporter), 0);
	}
}

static void test_not_allowed(void)
{
	WITH(g)
	{
		rig_run(&g, S);
		rig_fail(&g, "resize", 1000, 403, RBAC);
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 660 * S);
		CHECK_EQ(g.troubles, 1);
		CHECK(strstr(g.trouble, "pods/resize") != NULL);
		CHECK_EQ(g.pods[0].refused, 0);
		CHECK_EQ(rig_counted(&g, "resize", 403), 1);
		rig_run(&g, 600 * S);
		CHECK_EQ(rig_counted(&g, "resize", 403), 2);
		CHECK_EQ(g.troubles, 1); /* said once */
		g.fail_count = 0;
		rig_run(&g, 600 * S);
		CHECK_EQ(g.pods[0].resizes, 1);
		CHECK_EQ(g.troubles_over, 1);
	}
	WITH(g)
	{ /* the annotation: resizes go on */
		rig_fail(&g, "status", 1000, 403,
			 FORBIDDEN("User \\\"x\\\" cannot patch resource \\\"pods\\\" in API"));
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 590 * S);
		CHECK_EQ(rig_counted(&g, "status", 403), 1);
		CHECK_EQ(g.pods[0].resizes, 1);
		CHECK_EQ(g.troubles, 1);
	}
}

/* What the API server, or an admission webhook, answers to a tenant's writes. */
struct tenant {
	const char *what; /* "resize" or "event" */
	unsigned status;
	const char *body;
	usec_t retry_after, latency;
	unsigned pods; /* that write */
	bool grow;     /* leads, else raises */
	size_t spaces; /* in so many namespaces */
	usec_t since;  /* for so long before the other pod writes */
};

static void note_of(struct rig *g, unsigned i)
{
	char id[24], space[] = "bad", version[] = "7";
	struct kube_pod pod = {
		.uid = id, .name = id, .namespace = space, .resource_version = version};

	snprintf(id, sizeof id, "x%u", i);
	recorder_note(g->recorder, &pod, "Warning", "InvalidAnnotation", "Read", id, g->now,
		      g->now + 1795000000 * S);
}

static void want_more(struct rig *g, size_t pod, bool lead)
{
	struct rig_pod *p = &g->pods[pod];

	p->held[MEM] = p->actual[MEM] = 600 * MIB;
	p->held_since = lead ? g->now : g->now - 60 * S;
	if (lead)
		rig_grow(g, pod, 230 * MIB, 10 * MIB);
	else
		reporter_changed(p->report);
}

/* How long a pod of another namespace waits for its raise, or its lead. */
static usec_t another_waits(const struct tenant *x, bool lead)
{
	static const char *const spaces[] = {"bad", "bad1", "bad2", "bad3", "bad4", "bad5"};
	struct rig g;
	usec_t waited = 0;

	rig_start(&g, x->pods + 1);
	for (size_t i = 1; i <= x->pods; i++) {
		g.pods[i].space = spaces[i % x->spaces];
		rig_show(&g, i);
	}
	rig_run(&g, 1200 * S);
	g.fail_where = "/namespaces/bad";
	g.fail_latency = x->latency;
	rig_fail(&g, x->what, 100000, x->status, x->body);
	g.fail_retry_after = x->retry_after;
	for (unsigned i = 1; i <= x->pods; i++)
		if (*x->what == 'e')
			note_of(&g, i);
		else
			want_more(&g, i, x->grow);
	rig_run(&g, x->since);
	want_more(&g, 0, lead);
	for (; g.pods[0].resizes == 0 && waited < 3600 * S; waited += 100 * USEC_PER_MSEC)
		rig_run(&g, 100 * USEC_PER_MSEC);
	CHECK(g.fail_count < 100000);
	rig_stop(&g);
	return waited;
}

#define DENIED                                                                                     \
	STATUS(403, "Forbidden",                                                                   \
	       "admission webhook \\\"x.example.com\\\" denied the request: users cannot patch "   \
	       "resources of production pods")

#define FAILING                                                                                    \
	STATUS(500, "InternalError",                                                               \
	       "Internal error occurred: failed calling webhook \\\"x.example.com\\\": failed to " \
	       "call webhook: context deadline exceeded")
#define TIMEOUT                                                                                    \
	STATUS(504, "Timeout",                                                                     \
	       "Timeout: request did not complete within requested timeout - context deadline "    \
	       "exceeded")

static const struct tenant tenants[] = {
	{"resize", 403, RBAC, 0, 0, 1, false, 1, 70 * S},
	{"resize", 403, DENIED, 0, 0, 1, false, 1, 70 * S},
	{"resize", 500, FAILING, 0, 0, 11, false, 1, 70 * S},
	{"resize", 500, FAILING, 0, 10 * S, 11, true, 1, S},
	{"resize", 500, FAILING, 0, 30 * S, 40, true, 1, S},
	{"resize", 504, TIMEOUT, 0, 29 * S, 11, false, 1, 70 * S},
	/* Six tenants at once, from the first second on. */
	{"resize", 500, FAILING, 0, 0, 60, true, 6, 0},
	{"resize", 500, FAILING, 0, 10 * S, 60, true, 6, 0},
	{"resize", 500, FAILING, 0, 10 * S, 60, true, 6, S},
	{"resize", 500, FAILING, 0, 10 * S, 60, true, 6, 2 * S},
	{"resize", 500, FAILING, 0, 10 * S, 60, true, 6, 5 * S},
	{"resize", 500, FAILING, 0, 10 * S, 60, true, 6, 60 * S},
	{"resize", 500, FAILING, 0, 30 * S, 60, true, 6, 200 * S},
	{"resize", 504, TIMEOUT, 0, 29 * S, 60, false, 6, 70 * S},
	{"event", 500, FAILING, 0, 0, 40, false, 1, 70 * S},
	{"event", 429, "slow down", 3600 * S, 0, 1, false, 1, 70 * S},
};

/* One tenant's refusals and failures are not another's. */
static void test_tenants(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++)
		for (int lead = 0; lead < 2; lead++) {
			usec_t waited = another_waits(&tenants[i], lead);

			if (waited > (lead ? USEC_PER_SEC / 2 : 5 * S))
				fprintf(stderr, "row %zu, lead %d: %llu ms\n", i, lead,
					(unsigned long long)(waited / USEC_PER_MSEC));
			CHECK(waited <= (lead ? USEC_PER_SEC / 2 : 5 * S));
		}
}

static void test_without_resize(void)
{
	WITH(g)
	{
		g.offers = false;
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 599 * S);
		CHECK_STR(g.log, "S0 ");
		CHECK(!reporter_offered(g.reporter));
		CHECK_EQ(reporter_block(g.pods[0].report), REPORT_BLOCK_OFFERED);
		g.offers = true; /* an upgrade */
		rig_run(&g, 5 * S);
		CHECK(reporter_offered(g.reporter));
		CHECK_EQ(g.pods[0].resizes, 1);
	}
	WITH(g)
	{ /* a downgrade: the path is unknown, the pod is not gone */
		rig_run(&g, S);
		g.offers = false;
		rig_fail(&g, "resize", 1000, 404,
			 "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404,"
			 "\"message\":\"the server could not find the requested resource\"}");
		rig_set_held(&g, 0, CPU, 900);
		rig_run(&g, 3000 * S);
		CHECK_EQ(rig_counted(&g, "resize", 404), 1);
		CHECK(!reporter_offered(g.reporter));
		CHECK(reporter_block(g.pods[0].report) != REPORT_BLOCK_NONE);
	}
}

/* Refusals, Warnings, memory, the rest; an ordinary Event is not starved. */
static void test_order(void)
{
	struct rig g;

	rig_start(&g, 12);
	g.latency = 200 * USEC_PER_MSEC;
	rig_run(&g, 700 * S);
	for (size_t i = 0; i < 10; i++)
		rig_set_held(&g, i, CPU, 900);
	rig_set_held(&g, 10, MEM, 512 * MIB);
	rig_run(&g, 59 * S);
	recorder_note(g.recorder, g.pods[1].seen, "Normal", "Resized", "Resize", "n", g.now, g.now);
	g.down = true;
	g.down = false;
	recorder_note(g.recorder, g.pods[2].seen, "Warning", "Refused", "Resize", "w", g.now,
		      g.now);
	g.log[0] = '\0';
	rig_run(&g, 100 * USEC_PER_MSEC);
	CHECK(strncmp(g.log, "E2 ", 3) == 0);
	rig_run(&g, 5 * S);
	CHECK(strstr(g.log, "E1 ") != NULL);
	CHECK(strstr(g.log, "R10 ") != NULL && strstr(g.log, "R10 ") < strstr(g.log, "R9 "));
	rig_stop(&g);
}

static void warn(struct rig *g, unsigned n, const char *text)
{
	char uid[32], name[32], namespace[] = "other", version[] = "7";
	struct kube_pod pod = {
		.uid = uid, .name = name, .namespace = namespace, .resource_version = version};

	snprintf(uid, sizeof uid, "noise-%u", n);
	snprintf(name, sizeof name, "job-%u", n);
	recorder_note(g->recorder, &pod, "Warning", "InvalidAnnotation", "ReadAnnotations", text,
		      g->now, g->now + 1795000000 * S);
	reporter_changed(g->pods[0].report);
}

/* Hundreds of Warnings of other pods at once: a resize goes out within 5 s, of CPU and memory. */
static void test_burst_of_warnings(enum resource r, uint64_t to)
{
	WITH(g)
	{
		rig_run(&g, 10 * S);
		for (unsigned i = 0; i < 200; i++)
			warn(&g, i, "not valid");
		rig_set_held(&g, 0, r, to);
		rig_run(&g, 65 * S);
		CHECK_EQ(g.pods[0].resizes, 1);
	}
}

/* A pod with another mistake every 5 s for hours: the resize of another pod waits no longer. */
static void test_steady_warnings(enum resource r, uint64_t to)
{
	WITH(g)
	{
		char text[32];

		for (unsigned i = 0; i < 720; i++) {
			snprintf(text, sizeof text, "mistake %u", i);
			warn(&g, i, text);
			rig_run(&g, 5 * S);
			if (i == 360)
				rig_set_held(&g, 0, r, to);
		}
		CHECK_EQ(g.pods[0].resizes, 1);
		CHECK(g.pods[0].events + g.writes > 60); /* nor do the Warnings end */
	}
}

static void test_odd_pods(void)
{
	WITH(g)
	{ /* deleted before the reporter read it */
		rig_gone(&g, 0);
		rig_run(&g, S);
		CHECK_EQ(reporter_block(g.pods[0].report), REPORT_BLOCK_NONE);
		CHECK_EQ(reporter_block(NULL), REPORT_BLOCK_NONE);
	}
}

static bool node_is_full;

/* The first pod wants to request more, the second one less. */
static void move_requests(struct rig *, struct reporter_view *v)
{
	struct report_resource *x = &v->containers[0].resource[CPU];
	bool first = strcmp(v->pod->uid, "u0") == 0;

	v->facts.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	v->facts.room_counted = node_is_full && first;
	x->request = first ? 300 : 100;
	x->request_since = 1;
}

/* A decrease waits for the node's window, unless a pod of the node waits for room. */
static void test_decrease(bool full)
{
	struct rig g;

	node_is_full = full;
	rig_start(&g, 2);
	g.alter = move_requests;
	rig_run(&g, S);
	reporter_changed(g.pods[1].report); /* as at each review */
	rig_run(&g, 1800 * S);
	CHECK_EQ(g.pods[0].resizes, full ? 0 : 1);
	CHECK_EQ(g.pods[1].resizes, full ? 1 : 0);
	CHECK(full || reporter_block(g.pods[1].report) == REPORT_BLOCK_WINDOW);
	rig_run(&g, 4 * USEC_PER_HOUR);
	CHECK_EQ(g.pods[1].resizes, 1);
	rig_stop(&g);
}

int main(void)
{
	test_ratifies();
	test_body_and_path();
	test_gone();
	test_not_allowed();
	test_tenants();
	test_without_resize();
	test_order();
	test_odd_pods();
	test_decrease(false);
	test_decrease(true);
	test_burst_of_warnings(RESOURCE_CPU, 900);
	test_burst_of_warnings(RESOURCE_MEMORY, 512 * MIB);
	test_steady_warnings(RESOURCE_CPU, 900);
	test_steady_warnings(RESOURCE_MEMORY, 512 * MIB);
	return check_result();
}
