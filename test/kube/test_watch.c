// SPDX-License-Identifier: Apache-2.0
/* The watch against every way a list or a watch can go wrong, each with a server of its own. */
#include "agent/kube/watch/watch.h"
#include "client_rig.h"
#include "fast_clock.h"
#include "test/check.h"
#include <errno.h>
#include <unistd.h>

#define LIST                                                                                       \
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},"   \
	"\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"lab\",\"uid\":\"uid-a\","        \
	"\"resourceVersion\":\"9\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":"       \
	"\"c\"}]},\"status\":{\"phase\":\"Running\"}},{\"metadata\":7}]}"

struct watched {
	struct script_server server;
	struct rig rig;
	struct kube_watch *watch;
	char log[512]; /* "[a]" a list with a; "+b" put, "-c" gone */
	int troubles;
	int healthy;
	bool well; /* listed, watched and healthy after the faults */
	int bad;
	int bad_reported;
	char bad_text[512];
	int error;
	unsigned status;
	char text[512];
};

static void note(struct watched *w, const char *what, const char *name)
{
	size_t used = strlen(w->log);

	snprintf(w->log + used, sizeof w->log - used, "%s%s", what, name);
}

static void put(void *ctx, struct kube_pod *pod)
{
	note(ctx, "+", pod->name);
	kube_pod_free(pod);
}

static void gone(void *ctx, const char *uid)
{
	note(ctx, "-", uid);
}

static void list_begin(void *ctx)
{
	note(ctx, "[", "");
}

static void list_end(void *ctx)
{
	note(ctx, "]", "");
}

static void trouble(void *ctx, int error, unsigned status, const char *text)
{
	struct watched *w = ctx;

	w->troubles++;
	w->error = error;
	w->status = status;
	snprintf(w->text, sizeof w->text, "%s", text);
}

static void healthy(void *ctx)
{
	((struct watched *)ctx)->healthy++;
}

static void skipped(void *ctx, const struct kube_skipped *s)
{
	struct watched *w = ctx;

	CHECK(s->text[0] != '\0');
	w->bad++;
	w->bad_reported += s->first_time;
	snprintf(w->bad_text, sizeof w->bad_text, "%s", s->text);
}

static void watched_serve(struct watched *w, enum script_mode list, enum script_mode watch)
{
	*w = (struct watched){0};
	CHECK_EQ(script_server_start(NULL, NULL, NULL, &w->server), 0);
	strcpy(w->server.share->list, LIST);
	atomic_store(&w->server.share->list_mode, (int)list);
	atomic_store(&w->server.share->watch_mode, (int)watch);
}

static void watched_open(struct watched *w, sd_event *event, usec_t jitter, uint64_t seed)
{
	const struct kube_watch_events events = {w,        put,     gone,    list_begin,
						 list_end, trouble, healthy, skipped};
	const struct kube_watch_options options = {"node/1", jitter, fast_clock_now(), seed, false};

	rig_open(&w->rig, "http", w->server.port);
	sd_event_unref(w->rig.event);
	w->rig.event = sd_event_ref(event);
	rig_client(&w->rig);
	CHECK_EQ(kube_watch_new(event, w->rig.client, &options, &events, &w->watch), 0);
}

static void watched_close(struct watched *w)
{
	kube_watch_free(w->watch);
	rig_close(&w->rig);
	script_server_stop(&w->server);
}

/* Turns the loop for a span of the fast clock. */
static void turn(sd_event *event, usec_t span)
{
	usec_t end = fast_clock_now() + span;

	while (fast_clock_now() < end)
		CHECK(sd_event_run(event, USEC_PER_MSEC) >= 0);
}

static void turn_until(sd_event *event, const int *value, int want)
{
	usec_t end = fast_clock_now() + 20 * USEC_PER_MIN;

	while (*value < want && fast_clock_now() < end)
		CHECK(sd_event_run(event, USEC_PER_MSEC) >= 0);
	CHECK(*value >= want);
}

TEST(good)
{
	sd_event *event;
	struct watched w;
	const struct kube_watch_state *s;
	const char *head;
	long sec;

	watched_serve(&w, SCRIPT_GOOD, SCRIPT_GOOD);
	CHECK(sd_event_new(&event) >= 0);
	watched_open(&w, event, 0, 1);
	head = w.server.share->head;
	s = kube_watch_state(w.watch);
	CHECK(!s->synced && !s->healthy);
	for (int i = 0; i < 2000 && s->events < 6; i++)
		sd_event_run(event, USEC_PER_MSEC);
	CHECK_STR(w.log, "[+a]+b+c+b-uid-c");
	CHECK_EQ(w.healthy, 1);
	CHECK_EQ(w.troubles, 0);
	CHECK_EQ(w.bad, 2);
	CHECK(s->synced && s->healthy);
	CHECK_EQ(s->lists, 1);
	CHECK_EQ(s->skipped[KUBE_SKIP_UNDECODABLE], 2);
	CHECK_EQ(s->events, 6);
	CHECK(strstr(head, "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode%2F1&watch=1&"
			   "resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds="));
	sec = strtol(strstr(head, "timeoutSeconds=") + 15, NULL, 10);
	CHECK(sec >= 300 && sec <= 600);

	/* A normal end after more than 30 s: begun again at once, from the bookmark on. */
	turn(event, 40 * USEC_PER_SEC);
	atomic_store(&w.server.share->watch_mode, SCRIPT_SILENT);
	turn(event, 10 * USEC_PER_SEC);
	CHECK_EQ(atomic_load(&w.server.share->watches), 2);
	CHECK_EQ(atomic_load(&w.server.share->lists), 1);
	CHECK(strstr(head, "&resourceVersion=b%2F1%204&") != NULL);
	CHECK_EQ(w.troubles, 0);

	/* Silent for ever: cut by us, reported, and begun again. */
	turn_until(event, &w.troubles, 1);
	CHECK_EQ(w.error, -ETIMEDOUT);
	atomic_store(&w.server.share->watch_mode, SCRIPT_GOOD);
	turn(event, 10 * USEC_PER_SEC);
	CHECK_EQ(atomic_load(&w.server.share->watches), 3);
	watched_close(&w);
	sd_event_unref(event);
}

/* A list that is asked for: at once, once, and no trouble. */
TEST(relist)
{
	struct watched w;
	sd_event *event;

	watched_serve(&w, SCRIPT_GOOD, SCRIPT_SILENT);
	CHECK(sd_event_new(&event) >= 0);
	watched_open(&w, event, 0, 1);
	kube_watch_relist(w.watch); /* the first one is still to come */
	turn(event, 5 * USEC_PER_SEC);
	CHECK_EQ(atomic_load(&w.server.share->lists), 1);
	CHECK_EQ(atomic_load(&w.server.share->watches), 1);
	kube_watch_relist(w.watch);
	kube_watch_relist(w.watch);
	turn(event, 10 * USEC_PER_SEC);
	CHECK_EQ(atomic_load(&w.server.share->lists), 2);
	CHECK_EQ(atomic_load(&w.server.share->watches), 2);
	CHECK_STR(w.log, "[+a][+a]");
	CHECK_EQ(w.troubles, 0);
	CHECK(kube_watch_state(w.watch)->healthy);
	watched_close(&w);
	sd_event_unref(event);
}

/* In KiB; what was the most so far is forgotten first. */
static long most_resident(bool begin)
{
	FILE *f = fopen(begin ? "/proc/self/clear_refs" : "/proc/self/status", begin ? "w" : "r");
	char line[128];
	long kib = 0;

	CHECK(f != NULL);
	if (f == NULL)
		return 0;
	if (begin)
		fputs("5", f);
	while (!begin && fgets(line, sizeof line, f) != NULL)
		sscanf(line, "VmHWM: %ld", &kib);
	fclose(f);
	return kib;
}

/* Objects that are too large, or not understood, are left out and named once; the rest goes on. */
TEST(large)
{
	struct watched w;
	sd_event *event;
	const struct kube_watch_state *s;
	long before, most;

	watched_serve(&w, SCRIPT_LARGE, SCRIPT_LARGE);
	CHECK(sd_event_new(&event) >= 0);
	watched_open(&w, event, 0, 1);
	s = kube_watch_state(w.watch);
	most_resident(true);
	before = most_resident(false);
	for (int i = 0; i < 5000 && s->skipped[KUBE_SKIP_LARGE] < 25; i++)
		sd_event_run(event, USEC_PER_MSEC);
	most = most_resident(false) - before;
	fprintf(stderr, "75 MiB of objects of 3 MiB: %ld KiB more\n", most);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
	CHECK(most < 6 * 1024);
#endif
	/* b and c went by their uids alone. */
	CHECK_STR(w.log, "[+a+z]+b+c-uid-b-uid-c+d");
	CHECK_EQ(s->lists, 1);
	CHECK(s->synced && s->healthy);
	CHECK_EQ(w.troubles, 0);
	CHECK_EQ(s->skipped[KUBE_SKIP_LARGE], 25);
	CHECK_EQ(s->skipped[KUBE_SKIP_UNDECODABLE], 2);
	CHECK_EQ(w.bad, 27);
	CHECK_EQ(w.bad_reported, 20 + 1 + 3); /* l0 to l19, odd, b, c, d */
	CHECK_STR(w.bad_text, "lab/d: larger than 2 MiB");
	/* The next watch begins behind what was skipped. */
	turn(event, 40 * USEC_PER_SEC);
	atomic_store(&w.server.share->watch_mode, SCRIPT_SILENT);
	turn(event, 10 * USEC_PER_SEC);
	CHECK_EQ(atomic_load(&w.server.share->watches), 2);
	CHECK_EQ(atomic_load(&w.server.share->lists), 1);
	CHECK(strstr(w.server.share->head, "&resourceVersion=v17&") != NULL);
	watched_close(&w);
	sd_event_unref(event);
}

struct fault {
	enum script_mode list;
	enum script_mode watch;
	int error;
	unsigned status;
	const char *text;
	unsigned least; /* requests of the first 5 minutes */
	bool silent;    /* no trouble: a list helps */
};

static const struct fault faults[] = {
	{SCRIPT_401, SCRIPT_GOOD, 0, 401, "list of pods: status 401", 7, false},
	{SCRIPT_403, SCRIPT_GOOD, 0, 403, "pods is forbidden", 5, false},
	{SCRIPT_410, SCRIPT_GOOD, 0, 0, "", 7, true},
	{SCRIPT_429, SCRIPT_GOOD, 0, 429, "Too many requests", 7, false},
	{SCRIPT_500, SCRIPT_GOOD, 0, 500, "status 500", 7, false},
	{SCRIPT_504, SCRIPT_GOOD, 0, 504, "Too large resource version", 7, false},
	{SCRIPT_VANISH, SCRIPT_GOOD, -ECONNRESET, 0, "", 7, false},
	{SCRIPT_GARBAGE, SCRIPT_GOOD, -EBADMSG, 200, "", 7, false},
	{SCRIPT_GOOD, SCRIPT_401, 0, 401, "watch of pods: status 401", 7, false},
	{SCRIPT_GOOD, SCRIPT_403, 0, 403, "pods is forbidden", 6, false},
	{SCRIPT_GOOD, SCRIPT_410, 0, 0, "", 14, true},
	{SCRIPT_GOOD, SCRIPT_429, 0, 429, "Too many requests", 7, false},
	{SCRIPT_GOOD, SCRIPT_500, 0, 500, "", 7, false},
	{SCRIPT_GOOD, SCRIPT_504, 0, 504, "", 7, false},
	{SCRIPT_GOOD, SCRIPT_VANISH, -ECONNRESET, 0, "", 7, false},
	{SCRIPT_GOOD, SCRIPT_GARBAGE, 0, 0, "", 7, true},
	{SCRIPT_GOOD, SCRIPT_ENDS, 0, 0, "", 7, true},
	{SCRIPT_GOOD, SCRIPT_EMPTY, 0, 0, "", 7, true},
	{SCRIPT_GOOD, SCRIPT_EXPIRED, 0, 0, "", 14, true},
	{SCRIPT_GOOD, SCRIPT_INTERNAL, 0, 500, "", 7, false},
	{SCRIPT_GOOD, SCRIPT_HALF, -ECONNRESET, 200, "", 7, false},
	{SCRIPT_GOOD, SCRIPT_LONG, -EPROTO, 200, "ended inside a line", 7, false},
};

static unsigned requests(const struct watched *w)
{
	return atomic_load(&w->server.share->requests);
}

static void show(const struct fault *f, const struct watched *w, unsigned first)
{
	fprintf(stderr,
		"list %d watch %d: %u requests in the first minute, %u in five, %d troubles",
		(int)f->list, (int)f->watch, first, requests(w), w->troubles);
	fprintf(stderr, " (%d, %u, \"%s\")\n", w->error, w->status, w->text);
}

static void check_fault(const struct fault *f, const struct watched *w, unsigned first)
{
	int before = check_failures;

	/* At the worst six waits in the first minute, then two a minute; a list before each watch.
	 */
	CHECK(first <= 14);
	CHECK(requests(w) <= 32);
	CHECK(requests(w) >= f->least);
	CHECK(f->silent ? w->troubles == 0 : w->troubles == 1);
	CHECK_EQ(w->error, f->error);
	CHECK_EQ(w->status, f->status);
	CHECK(strstr(w->text, f->text) != NULL);
	CHECK(f->silent || !kube_watch_state(w->watch)->healthy);
	if (check_failures > before)
		show(f, w, first);
}

/* A good stream is silent after its events and is cut in the end: what counts is that each was well
 * once, not all of them at one moment.
 */
static void turn_until_well(sd_event *event, struct watched *w, size_t count)
{
	usec_t end = fast_clock_now() + 11 * USEC_PER_MIN;
	size_t well = 0;

	while (well < count && fast_clock_now() < end) {
		turn(event, USEC_PER_SEC);
		well = 0;
		for (size_t i = 0; i < count; i++) {
			const struct kube_watch_state *s = kube_watch_state(w[i].watch);

			w[i].well |=
				s->synced && s->healthy && strstr(w[i].log, "+b+c+b-uid-c") != NULL;
			well += w[i].well;
		}
	}
}

TEST(faults)
{
	static struct watched w[ARRAY_SIZE(faults)];
	unsigned first[ARRAY_SIZE(faults)];
	sd_event *event;

	CHECK(sd_event_new(&event) >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		watched_serve(&w[i], faults[i].list, faults[i].watch);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		watched_open(&w[i], event, 0, 77 + i);
	turn(event, USEC_PER_MIN);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		first[i] = requests(&w[i]);
	turn(event, 4 * USEC_PER_MIN);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		check_fault(&faults[i], &w[i], first[i]);

	/* All is well again. */
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		w[i].log[0] = '\0';
		atomic_store(&w[i].server.share->list_mode, SCRIPT_GOOD);
		atomic_store(&w[i].server.share->watch_mode, SCRIPT_GOOD);
	}
	turn_until_well(event, w, ARRAY_SIZE(faults));
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		CHECK(w[i].well);
		if (!w[i].well)
			show(&faults[i], &w[i], first[i]);
		watched_close(&w[i]);
	}
	sd_event_unref(event);
}

/* Nothing before the jitter is over, and watches of many nodes do not begin together. */
/* The server is back, but nothing changes: an open stream is good. */
TEST(quiet_cluster)
{
	sd_event *event;
	struct watched w;

	watched_serve(&w, SCRIPT_GOOD, SCRIPT_500);
	CHECK(sd_event_new(&event) >= 0);
	watched_open(&w, event, 0, 1);
	turn_until(event, &w.troubles, 1);
	CHECK(!kube_watch_state(w.watch)->healthy);
	atomic_store(&w.server.share->watch_mode, SCRIPT_SILENT);
	turn(event, 2 * USEC_PER_MIN);
	CHECK(kube_watch_state(w.watch)->healthy);
	CHECK_EQ(w.troubles, 1);
	CHECK_EQ(w.healthy, 2);
	watched_close(&w);
	sd_event_unref(event);
}

TEST(jitter)
{
	struct watched w[8];
	unsigned begun = 0;
	sd_event *event;

	CHECK(sd_event_new(&event) >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		watched_serve(&w[i], SCRIPT_GOOD, SCRIPT_GOOD);
		watched_open(&w[i], event, USEC_PER_MIN, 1 + i * 1000);
	}
	turn(event, 30 * USEC_PER_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		begun += atomic_load(&w[i].server.share->lists);
	CHECK(begun > 0 && begun < ARRAY_SIZE(w));
	/* On a busy machine a server sees later what was sent within the minute. */
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		for (int s = 0; s < 90 && atomic_load(&w[i].server.share->lists) == 0; s++)
			turn(event, USEC_PER_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		CHECK_EQ(atomic_load(&w[i].server.share->lists), 1);
		watched_close(&w[i]);
	}
	sd_event_unref(event);
}

/* A token that was replaced is used within a minute, without a 401; its neighbour is not read anew
 * for each request. */
TEST(token_minute)
{
	char folder[] = "/tmp/vscaled-minute-XXXXXX", path[64];
	struct script_server server;
	struct rig r;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/token", folder);
	rig_write(folder, "token", "first");
	CHECK_EQ(script_server_start(NULL, NULL, NULL, &server), 0);
	rig_open(&r, "http", server.port);
	r.config.token_file = path;
	rig_client(&r);
	OWN(rig_drop) struct rig_result a = rig_get(&r, "/echo", false);
	CHECK(strstr(a.body, "Bearer first\r\n") != NULL);
	rig_write(folder, "token", "second");
	OWN(rig_drop) struct rig_result b = rig_get(&r, "/echo", false);
	CHECK(strstr(b.body, "Bearer first\r\n") != NULL);
	CHECK_EQ(kube_client_counters(r.client)->token_reads, 1);
	turn(r.event, USEC_PER_MIN);
	OWN(rig_drop) struct rig_result c = rig_get(&r, "/echo", false);
	CHECK(strstr(c.body, "Bearer second\r\n") != NULL);
	CHECK_EQ(kube_client_counters(r.client)->token_reads, 2);
	rig_close(&r);
	script_server_stop(&server);
	CHECK_EQ(unlink(path), 0);
	rmdir(folder);
}

int main(void)
{
	size_t files = rig_open_files();

	alarm(240);
	fast_clock_start(30);
	check_run();
	CHECK_EQ(rig_open_files(), files);
	return check_result();
}
