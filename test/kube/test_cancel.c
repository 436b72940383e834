// SPDX-License-Identifier: Apache-2.0
/* Calls that are cancelled in each state, and clients that go while calls are under way. */
#include "client_rig.h"
#include "test/check.h"
#include <unistd.h>

static struct script_server server;

/* What a callback of a call does, besides counting. */
enum deed { DO_NOTHING, CANCEL_SELF, CANCEL_OTHER, FREE_CLIENT, START_MORE };

struct actor {
	struct rig *rig;
	enum deed in_line;
	enum deed in_done;
	struct kube_call *self;
	struct kube_call *other;
	int lines;
	int done;
	int deeds;
	struct rig_result *more;
};

/* For what comes at once but on a busy machine. */
#define PATIENCE_USEC (60 * USEC_PER_SEC)

static void act(struct actor *a, enum deed deed)
{
	const struct kube_request q = {.method = "GET", .path = "/ok"};

	a->deeds += deed != DO_NOTHING;
	switch (deed) {
	case DO_NOTHING:
		break;
	case CANCEL_SELF:
		kube_call_cancel(a->self);
		break;
	case CANCEL_OTHER:
		kube_call_cancel(a->other);
		a->other = NULL;
		break;
	case FREE_CLIENT:
		kube_client_free(a->rig->client);
		a->rig->client = NULL;
		break;
	case START_MORE:
		CHECK_EQ(kube_client_start(a->rig->client, &q, NULL, rig_done, a->more, NULL), 0);
		break;
	}
}

static int actor_line(void *arg, const char *line, size_t len)
{
	struct actor *a = arg;

	CHECK(len > 0 && line[0] == '{');
	if (a->lines++ == 0)
		act(a, a->in_line);
	return 0;
}

static void actor_done(void *arg, const struct kube_answer *answer)
{
	struct actor *a = arg;

	a->done++;
	act(a, a->in_done);
	/* What it points to lives until we return, whatever was done. */
	CHECK(strlen(answer->detail) < 1000);
	CHECK_EQ(strlen(answer->body), answer->len);
}

static void start(struct actor *a, const char *path, bool stream)
{
	const struct kube_request q = {.method = "GET", .path = path, .stream = stream};

	CHECK_OK(kube_client_start(a->rig->client, &q, stream ? actor_line : NULL, actor_done, a,
				   &a->self));
}

static void open_rig(struct rig *r)
{
	rig_open(r, "http", server.port);
	rig_client(r);
}

static void turn(struct rig *r, usec_t span)
{
	const int never = 0;

	rig_turn(r, &never, 1, span);
}

/* Cancelled after so many turns of the loop: waiting, connecting, asking, answering. */
TEST(cancel_each_state)
{
	static const char *const paths[] = {"/ok", "/hang", "/drip", "/forever"};

	for (size_t p = 0; p < ARRAY_SIZE(paths); p++)
		for (int turns = 0; turns < 8; turns++) {
			struct rig r;
			struct actor a = {.rig = &r};

			open_rig(&r);
			start(&a, paths[p], p == 3);
			for (int i = 0; i < turns && a.done == 0; i++)
				sd_event_run(r.event, USEC_PER_MSEC);
			if (a.done == 0) {
				kube_call_cancel(a.self);
				turn(&r, 20 * USEC_PER_MSEC);
				CHECK_EQ(a.done, 0);
			}
			/* The client is as good as before. */
			OWN(rig_drop) struct rig_result again = rig_get(&r, "/ok", false);
			CHECK_EQ(again.status, 200);
			rig_close(&r);
		}
}

TEST(free_each_state)
{
	for (int turns = 0; turns < 8; turns++) {
		struct rig r;
		struct actor a = {.rig = &r}, b = {.rig = &r}, c = {.rig = &r};

		open_rig(&r);
		start(&a, "/forever", true);
		start(&b, "/hang", false);
		start(&c, "/drip", false);
		for (int i = 0; i < turns; i++)
			sd_event_run(r.event, USEC_PER_MSEC);
		kube_client_free(STEAL(r.client));
		turn(&r, 5 * USEC_PER_MSEC);
		CHECK_EQ(a.done + b.done + c.done, 0);
		rig_close(&r);
	}
}

TEST(cancel_in_line)
{
	OWN(rig_close) struct rig r;
	struct actor a = {.rig = &r, .in_line = CANCEL_SELF};
	struct actor b = {.rig = &r, .in_line = CANCEL_OTHER}, c = {.rig = &r};

	open_rig(&r);
	start(&a, "/forever", true);
	start(&c, "/hang", false);
	start(&b, "/forever", true);
	b.other = c.self;
	rig_turn(&r, &a.lines, 1, PATIENCE_USEC);
	rig_turn(&r, &b.lines, 6, PATIENCE_USEC);
	CHECK_EQ(a.lines, 1);
	CHECK_EQ(a.done, 0);
	CHECK(b.lines > 5);
	CHECK(b.other == NULL);
	CHECK_EQ(c.done, 0);
	kube_call_cancel(b.self);
}

TEST(cancel_in_done)
{
	OWN(rig_close) struct rig r;
	struct actor a = {.rig = &r, .in_done = CANCEL_SELF};
	struct actor b = {.rig = &r, .in_done = CANCEL_OTHER}, c = {.rig = &r};

	open_rig(&r);
	start(&a, "/ok", false);
	start(&b, "/ok", false);
	start(&c, "/forever", true);
	b.other = c.self;
	rig_turn(&r, &a.done, 1, PATIENCE_USEC);
	rig_turn(&r, &b.done, 1, PATIENCE_USEC);
	turn(&r, 50 * USEC_PER_MSEC);
	CHECK_EQ(a.done, 1);
	CHECK_EQ(b.done, 1);
	CHECK_EQ(c.done, 0);
}

static void test_free_inside(enum deed in_line, enum deed in_done, const char *path)
{
	OWN(rig_close) struct rig r;
	struct actor a = {.rig = &r, .in_line = in_line, .in_done = in_done};
	struct actor b = {.rig = &r}, c = {.rig = &r};

	open_rig(&r);
	start(&b, "/forever", true);
	start(&c, "/hang", false);
	start(&a, path, path[1] == 'f' || path[1] == 's');
	rig_turn(&r, &a.deeds, 1, PATIENCE_USEC);
	turn(&r, 50 * USEC_PER_MSEC);
	CHECK(r.client == NULL);
	CHECK_EQ(a.done, in_done == FREE_CLIENT);
	CHECK_EQ(b.done + c.done, 0);
}

TEST(start_inside)
{
	struct rig_result in_line = {0}, in_done = {0};
	OWN(rig_close) struct rig r;
	struct actor a = {.rig = &r, .in_line = START_MORE, .more = &in_line};
	struct actor b = {.rig = &r, .in_done = START_MORE, .more = &in_done};

	open_rig(&r);
	start(&a, "/forever", true);
	start(&b, "/ok", false);
	rig_turn(&r, &in_line.done, 1, PATIENCE_USEC);
	rig_turn(&r, &in_done.done, 1, PATIENCE_USEC);
	CHECK_EQ(in_line.status, 200);
	CHECK_EQ(in_done.status, 200);
	rig_drop(&in_line);
	rig_drop(&in_done);
}

/* Forty calls at once, in every mood. */
TEST(crowd)
{
	static const char *const paths[] = {"/ok",  "/silent", "/garbage", "/cut",
					    "/old", "/429",    "/token",   "/redirect"};
	struct actor a[40];
	usec_t end = rig_now() + PATIENCE_USEC;
	OWN(rig_close) struct rig r;
	int done = 0;

	open_rig(&r);
	for (size_t i = 0; i < ARRAY_SIZE(a); i++) {
		a[i] = (struct actor){.rig = &r};
		start(&a[i], paths[i % ARRAY_SIZE(paths)], false);
	}
	while (done < (int)ARRAY_SIZE(a) && rig_now() < end) {
		sd_event_run(r.event, USEC_PER_MSEC);
		done = 0;
		for (size_t k = 0; k < ARRAY_SIZE(a); k++)
			done += a[k].done;
	}
	CHECK_EQ(done, ARRAY_SIZE(a));
}

int main(void)
{
	size_t files = rig_open_files();

	alarm(240);
	if (script_server_start(NULL, NULL, NULL, &server) < 0)
		return check_skip("no server can be started");
	check_run();
	test_free_inside(FREE_CLIENT, DO_NOTHING, "/forever");
	test_free_inside(FREE_CLIENT, DO_NOTHING, "/stream");
	test_free_inside(DO_NOTHING, FREE_CLIENT, "/ok");
	test_free_inside(DO_NOTHING, FREE_CLIENT, "/silent");
	test_free_inside(DO_NOTHING, FREE_CLIENT, "/half"); /* a plain answer here */
	CHECK_EQ(rig_open_files(), files);
	script_server_stop(&server);
	return check_result();
}
