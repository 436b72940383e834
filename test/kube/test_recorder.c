// SPDX-License-Identifier: Apache-2.0
/* Events: once, then as a series; spam, retries, bounds. */
#include "agent/kube/report/recorder.h"
#include "test/check.h"
#include <errno.h>

#define S USEC_PER_SEC
#define EVENT_STATUS(code, message)                                                                \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":" #code     \
	",\"message\":\"" message "\"}"

struct rig {
	struct recorder *r;
	usec_t now;
	unsigned posts, patches;
	struct report_queue queue;
	char body[4096], path[2048];
	kube_done_fn *done;
	void *arg;
};

static int port_start(void *ctx, const struct kube_request *request, kube_done_fn *done, void *arg,
		      struct kube_call **ret)
{
	struct rig *g = ctx;

	CHECK(g->done == NULL);
	g->posts += strcmp(request->method, "POST") == 0;
	g->patches += strcmp(request->method, "PATCH") == 0;
	snprintf(g->body, sizeof g->body, "%s", request->body);
	snprintf(g->path, sizeof g->path, "%s", request->path);
	g->done = done;
	g->arg = arg;
	*ret = (struct kube_call *)(void *)g;
	return 0;
}

static void port_cancel(void *ctx, struct kube_call *)
{
	((struct rig *)ctx)->done = NULL;
}

static void rig_start(struct rig *g)
{
	struct kube_port port = {
		.ctx = g, .start = port_start, .cancel = port_cancel, .now = &g->now};

	*g = (struct rig){.now = 1000 * S};
	CHECK_EQ(recorder_new(&port, "node-1", &g->r), 0);
	recorder_set_queue(g->r, &g->queue);
}

#define WITH(g) for (struct rig g, *p_ = (rig_start(&g), &g); p_; recorder_free(p_->r), p_ = NULL)

static char namespace[64] = "lab", workload[64] = "web";

static void note_text(struct rig *g, const char *uid, const char *type, const char *reason,
		      const char *text)
{
	char name[] = "web-0", version[] = "7";
	char id[64];
	struct kube_pod pod = {.uid = id,
			       .name = name,
			       .workload = workload,
			       .namespace = namespace,
			       .resource_version = version};

	snprintf(id, sizeof id, "%s", uid);
	recorder_note(g->r, &pod, type, reason, "Resize", text, g->now, g->now + 1795000000 * S);
}

static void note_of(struct rig *g, const char *uid, const char *type, const char *reason)
{
	note_text(g, uid, type, reason, "cpu 500m to 900m");
}

static void answer_text(struct rig *g, unsigned status, const char *body)
{
	kube_done_fn *done = g->done;
	struct kube_answer a = {.status = status, .detail = "", .body = body, .len = strlen(body)};

	CHECK(done != NULL);
	g->done = NULL;
	if (done != NULL)
		done(g->arg, &a);
}

static void answer(struct rig *g, unsigned status)
{
	answer_text(g, status, "{}");
}

static int send_it(struct rig *g)
{
	return recorder_send(g->r, g->now, g->now + 1795000000 * S);
}

/* Sends what waits; returns how many. */
static unsigned send_all(struct rig *g)
{
	unsigned sent = 0;

	for (; send_it(g) == 0; sent++)
		answer(g, 201);
	return sent;
}

static void test_series(void)
{
	WITH(g)
	{
		char first[2048];

		CHECK_EQ(send_it(&g), -EAGAIN);
		note_of(&g, "u", "Normal", "Resized");
		CHECK(recorder_due(g.r, false, g.now));
		CHECK(!recorder_due(g.r, true, g.now));
		CHECK_EQ(send_it(&g), 0);
		CHECK_STR(g.path, "/apis/events.k8s.io/v1/namespaces/lab/events");
		CHECK(strstr(g.body, "\"note\":\"cpu 500m to 900m\"") != NULL);
		CHECK(strstr(g.body, "\"reportingInstance\":\"node-1\"") != NULL);
		CHECK_EQ(send_it(&g), -EAGAIN); /* under way */
		answer(&g, 201);
		CHECK_EQ(recorder_next(g.r, g.now), 0);
		/* The second makes a series at once. */
		g.now += 60 * S;
		note_of(&g, "u", "Normal", "Resized");
		CHECK_EQ(send_it(&g), 0);
		CHECK(strncmp(g.body, "{\"series\":{\"count\":2,", 21) == 0);
		CHECK(strncmp(g.path, "/apis/events.k8s.io/v1/namespaces/lab/events/web-0.", 51) ==
		      0);
		strcpy(first, g.path);
		answer(&g, 200);
		/* The rest goes with the end of the series. */
		for (int i = 0; i < 10; i++, g.now += 10 * S)
			note_of(&g, "u", "Normal", "Resized");
		CHECK_EQ(send_it(&g), -EAGAIN);
		CHECK_EQ(recorder_next(g.r, g.now), g.now - 10 * S + 360 * S);
		g.now += 350 * S;
		CHECK_EQ(send_it(&g), 0);
		CHECK(strncmp(g.body, "{\"series\":{\"count\":12,", 22) == 0);
		CHECK_STR(g.path, first);
		answer(&g, 200);
		/* After that a new one. */
		g.now += 60 * S;
		note_of(&g, "u", "Normal", "Resized");
		CHECK_EQ(send_it(&g), 0);
		CHECK_EQ(g.posts, 2);
		report_queue_failed(&g.queue, g.now);
		answer(&g, 201);
		CHECK(!g.queue.outage);
		CHECK_EQ(g.patches, 2);
	}
}

/* It goes on and on: reported every 30 min. */
static void test_long_series(void)
{
	WITH(g)
	{
		for (int i = 0; i < 2 * 12; i++, g.now += 300 * S) {
			note_of(&g, "u", "Normal", "Resized");
			if (send_it(&g) == 0)
				answer(&g, 200);
		}
		CHECK_EQ(g.posts, 1);
		CHECK(g.patches >= 4 && g.patches <= 5);
	}
}

static void test_gone_at_the_server(void)
{
	WITH(g)
	{
		note_of(&g, "u", "Normal", "Resized");
		send_it(&g);
		answer(&g, 201);
		note_of(&g, "u", "Normal", "Resized");
		send_it(&g);
		answer(&g, 404);
		CHECK_EQ(send_it(&g), 0); /* anew */
		CHECK_EQ(g.posts, 2);
		answer(&g, 201);
		CHECK_EQ(send_it(&g), 0);
		CHECK(strncmp(g.body, "{\"series\":{\"count\":2,", 21) == 0);
		answer(&g, 200);
		CHECK_EQ(send_it(&g), -EAGAIN);
	}
}

static void test_name_is_taken(void)
{
	WITH(g)
	{
		char first[4096];

		note_of(&g, "u", "Normal", "Resized");
		send_it(&g);
		strcpy(first, g.body);
		answer(&g, 409);
		CHECK_EQ(send_it(&g), 0);
		CHECK(strcmp(first, g.body) != 0);
		answer(&g, 201);
		CHECK_EQ(send_it(&g), -EAGAIN);
		CHECK_EQ(g.posts, 2);
	}
}

/* Without an answer it may be stored: its repetition has the same name, which the server then says
 * is taken. Another text is another Event. */
static void test_stored_without_an_answer(void)
{
	WITH(g)
	{
		char first[4096];

		note_of(&g, "u", "Warning", "Refused");
		send_it(&g);
		strcpy(first, g.body);
		answer(&g, 0);
		g.now += 10 * S;
		CHECK_EQ(send_it(&g), 0);
		CHECK_STR(g.body, first);
		answer(&g, 409);
		CHECK_EQ(send_it(&g), -EAGAIN);
		g.now += S;
		note_of(&g, "u", "Warning", "Refused");
		CHECK_EQ(send_it(&g), 0);
		CHECK_EQ(g.patches, 1);
		answer(&g, 200);
		note_of(&g, "v", "Warning", "Denied");
		send_it(&g);
		strcpy(first, strstr(g.body, "web-0."));
		note_text(&g, "v", "Warning", "Denied", "another");
		answer(&g, 0);
		g.now += 10 * S;
		CHECK_EQ(send_it(&g), 0);
		CHECK(strncmp(strstr(g.body, "web-0."), first, strcspn(first, "\"")) != 0);
		answer(&g, 201);
	}
}

static void test_retries(void)
{
	WITH(g)
	{
		unsigned tries = 0;

		note_of(&g, "u", "Warning", "Refused");
		for (int i = 0; i < 1000; i++, g.now += S) {
			if (send_it(&g) < 0)
				continue;
			tries++;
			answer(&g, i % 2 ? 500 : 0);
		}
		CHECK_EQ(tries, 12);
		CHECK_EQ(recorder_next(g.r, g.now), 0);
	}
	WITH(g)
	{ /* refused for good */
		note_of(&g, "u", "Warning", "Refused");
		send_it(&g);
		answer(&g, 422);
		CHECK_EQ(send_it(&g), -EAGAIN);
		CHECK_EQ(recorder_next(g.r, g.now), 0);
	}
	WITH(g)
	{ /* no right: not asked again for 10 min in this namespace */
		note_of(&g, "u", "Warning", "Refused");
		send_it(&g);
		answer_text(&g, 403,
			    EVENT_STATUS(403, "events.events.k8s.io is forbidden: User \\\"a\\\" "
					      "cannot create resource \\\"events\\\""));
		strcpy(namespace, "other");
		note_of(&g, "w", "Warning", "Denied");
		strcpy(namespace, "lab");
		CHECK_EQ(send_all(&g), 1);
		note_of(&g, "v", "Warning", "Denied");
		CHECK_EQ(send_it(&g), -EAGAIN);
		CHECK_EQ(recorder_next(g.r, g.now), g.now + 600 * S);
		g.now += 600 * S;
		CHECK_EQ(send_it(&g), 0);
		answer(&g, 201);
	}
}

/* What is refused or slowed down in one namespace does not stop another's Events, nor others of its
 * own for longer than 10 min. */
static void test_refused_in_one_namespace(void)
{
	static const struct {
		unsigned status;
		const char *body;
		usec_t held; /* others of the namespace */
	} rows[] = {
		{403,
		 EVENT_STATUS(403,
			      "events.events.k8s.io \\\"x\\\" is forbidden: exceeded quota: q, "
			      "requested: count/events.events.k8s.io=1"),
		 0},
		{403,
		 EVENT_STATUS(403,
			      "events.events.k8s.io \\\"x\\\" is forbidden: unable to create new "
			      "content in namespace lab because it is being terminated"),
		 0},
		{429,
		 "{\"kind\":\"Status\",\"code\":429,\"message\":\"wait\",\"details\":{"
		 "\"retryAfterSeconds\":3600}}",
		 600 * S},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		WITH(g)
		{
			note_of(&g, "u", "Warning", "Refused");
			send_it(&g);
			answer_text(&g, rows[i].status, rows[i].body);
			strcpy(namespace, "other");
			note_of(&g, "v", "Warning", "Denied");
			strcpy(namespace, "lab");
			CHECK_EQ(send_all(&g), 1);
			note_of(&g, "w", "Warning", "Denied");
			CHECK_EQ(recorder_next(g.r, g.now), g.now + rows[i].held);
		}
}

static void test_warnings_first(void)
{
	WITH(g)
	{
		note_of(&g, "a", "Normal", "Resized");
		g.now += S;
		note_of(&g, "b", "Warning", "Refused");
		CHECK(recorder_due(g.r, true, g.now));
		send_it(&g);
		CHECK(strstr(g.body, "\"Warning\"") != NULL);
		answer(&g, 201);
		send_it(&g);
		CHECK(strstr(g.body, "\"Normal\"") != NULL);
		answer(&g, 201);
	}
}

static void test_spam(void)
{
	WITH(g)
	{
		char reasons[100][8];

		for (int i = 0; i < 100; i++) {
			snprintf(reasons[i], sizeof reasons[i], "R%d", i);
			note_of(&g, "u", "Normal", reasons[i]);
		}
		CHECK_EQ(send_all(&g), 25);
		note_of(&g, "v", "Normal", "R"); /* another pod has its own */
		CHECK_EQ(send_all(&g), 1);
		g.now += 300 * S;
		note_of(&g, "u", "Normal", "R200");
		note_of(&g, "u", "Normal", "R201");
		CHECK_EQ(send_all(&g), 1);
	}
}

/* A Job with a mistake makes pod after pod: one Event in half an hour tells it. Another text, or
 * another workload's, is another mistake; a Normal Event is none. */
static void test_one_event_per_mistake(void)
{
	WITH(g)
	{
		char uid[32];

		for (int i = 0; i < 720; i++, g.now += 5 * S) {
			snprintf(uid, sizeof uid, "job-%d", i);
			note_of(&g, uid, "Warning", "InvalidAnnotation");
			send_all(&g);
		}
		CHECK_EQ(g.posts, 2);
		note_text(&g, "job-0", "Warning", "InvalidAnnotation", "another");
		strcpy(workload, "db");
		note_of(&g, "db-0", "Warning", "InvalidAnnotation");
		strcpy(workload, "web");
		CHECK_EQ(send_all(&g), 2);
		for (int i = 0; i < 10; i++) {
			snprintf(uid, sizeof uid, "web-%d", i);
			note_of(&g, uid, "Normal", "Resized");
		}
		CHECK_EQ(send_all(&g), 10);
	}
}

/* A workload and a namespace have budgets, whatever the number of their pods. */
static void test_budgets(void)
{
	WITH(g)
	{
		char uid[32];

		for (int i = 0; i < 300; i++) {
			snprintf(uid, sizeof uid, "a-%d", i);
			note_of(&g, uid, "Normal", "Resized");
		}
		CHECK_EQ(send_all(&g), 50);
		for (int i = 0; i < 300; i++) {
			snprintf(uid, sizeof uid, "b-%d", i);
			snprintf(workload, sizeof workload, "w-%d", i);
			note_of(&g, uid, "Normal", "Resized");
		}
		CHECK_EQ(send_all(&g), 50); /* 100 in the namespace */
		strcpy(namespace, "other");
		note_of(&g, "c-0", "Normal", "Resized");
		CHECK_EQ(send_all(&g), 1);
		strcpy(namespace, "lab");
		g.now += 60 * S;
		note_of(&g, "b-300", "Normal", "Resized");
		CHECK_EQ(send_all(&g), 1);
		strcpy(workload, "web");
	}
}

/* The text of a sent Event cannot be changed: a new Event has the newest one. */
static void test_newest_text(void)
{
	WITH(g)
	{
		note_text(&g, "u", "Warning", "Refused", "quota a");
		send_all(&g);
		g.now += 60 * S;
		note_text(&g, "u", "Warning", "Refused", "quota b");
		CHECK_EQ(send_all(&g), 1);
		CHECK_EQ(g.posts, 2);
		CHECK(strstr(g.body, "quota b") != NULL);
		note_text(&g, "u", "Warning", "Refused", "quota b");
		CHECK_EQ(send_all(&g), 1);
		CHECK_EQ(g.patches, 1);
		/* While its request is under way. */
		note_text(&g, "v", "Warning", "Refused", "quota x");
		send_it(&g);
		note_text(&g, "v", "Warning", "Refused", "quota c");
		answer(&g, 201);
		CHECK_EQ(send_all(&g), 1);
		CHECK(strstr(g.body, "quota c") != NULL);
	}
}

/* An outage with 10,000 pods: 1,000 are kept, the newest. */
static void test_bounded(void)
{
	WITH(g)
	{
		char uid[32];

		for (int i = 0; i < 10000; i++, g.now += USEC_PER_MSEC) {
			snprintf(uid, sizeof uid, "u%d", i);
			snprintf(namespace, sizeof namespace, "n%d", i / 40);
			note_of(&g, uid, "Normal", "Resized");
		}
		strcpy(namespace, "lab");
		CHECK_EQ(send_all(&g), RECORDER_MAX);
		CHECK(strstr(g.body, "\"u9999\"") != NULL);
	}
}

/* A full table of sent ones: an older one that is not sent yet stays. */
static void test_bounded_unsent(void)
{
	WITH(g)
	{
		char uid[32];

		note_of(&g, "waits", "Normal", "Resized");
		send_it(&g);
		answer(&g, 503);
		for (int i = 0; i < RECORDER_MAX; i++, g.now += USEC_PER_MSEC) {
			snprintf(uid, sizeof uid, "u%d", i);
			snprintf(namespace, sizeof namespace, "n%d", i / 40);
			note_of(&g, uid, "Normal", "Resized");
			CHECK_EQ(send_all(&g), 1);
		}
		g.now += 20 * S;
		CHECK_EQ(send_all(&g), 1);
		CHECK(strstr(g.body, "\"waits\"") != NULL);
		strcpy(namespace, "lab");
	}
}

static void test_forget(void)
{
	WITH(g)
	{
		note_of(&g, "u", "Normal", "Resized");
		send_it(&g);
		recorder_forget(g.r, "u"); /* under way: to its end */
		answer(&g, 201);
		recorder_forget(g.r, "u");
		recorder_forget(g.r, "u");
		note_of(&g, "u", "Normal", "Resized");
		send_it(&g);
		CHECK_EQ(g.posts, 2);
		/* Freed with a request under way. */
	}
}

int main(void)
{
	test_series();
	test_long_series();
	test_gone_at_the_server();
	test_name_is_taken();
	test_stored_without_an_answer();
	test_retries();
	test_refused_in_one_namespace();
	test_warnings_first();
	test_spam();
	test_one_event_per_mistake();
	test_budgets();
	test_newest_text();
	test_bounded();
	test_bounded_unsent();
	test_forget();
	return check_result();
}
