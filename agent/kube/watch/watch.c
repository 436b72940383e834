// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/watch/watch.h"
#include "agent/kube/model/decode.h"
#include "agent/kube/model/encode.h"
#include "agent/kube/watch/items.h"
#include "agent/kube/watch/pace.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The HTTP status that an ERROR event stands for; the reason alone is enough. */
static unsigned kube_status_code(const struct kube_status *s)
{
	if (s->code >= 300 && s->code < 600)
		return s->code;
	return strcmp(s->reason, "Expired") == 0 || strcmp(s->reason, "Gone") == 0 ? 410 : 500;
}

/* The server's cache, or its storage, is older than what was asked for. */
static bool kube_status_is_too_large(const struct kube_status *s)
{
	for (uint32_t i = 0; i < s->cause_count; i++)
		if (strcmp(s->cause[i].reason, "ResourceVersionTooLarge") == 0)
			return true;
	return false;
}

/* Each watch asks for a different time, so that those of many nodes do not end together. */
#define STREAM_SEC_MIN    300
#define STREAM_SEC_SPREAD 300
/* How long a stream may be silent beyond the time it asked for. */
#define SILENCE_USEC (30 * USEC_PER_SEC)
/* 253 bytes of a node's name and 127 of a resourceVersion, all escaped, and the rest. */
#define PATH_BYTES 1536
#define TOO_LARGE  "larger than 2 MiB"

struct kube_watch {
	sd_event *event;
	struct kube_client *client;
	struct kube_watch_events events;
	struct kube_watch_state state;
	struct pace pace;
	char *node;        /* percent-encoded */
	char version[128]; /* the newest that was seen; "": none */
	bool newest;       /* the next list asks for what is stored, not for what a cache holds */
	uint64_t random;
	struct kube_call *call; /* under way, or NULL: waiting */
	sd_event_source *timer; /* the end of a wait; when a stream is checked */
	enum watch_step step;
	/* Of the list that comes in. */
	struct items items;
	bool list_begun;
	struct kube_skipped_memory skipped;
	usec_t begun_at;
	usec_t received_at;
	usec_t silence_usec; /* of this stream, before it is cut */
	/* The Status of an ERROR event. */
	struct kube_status error_status;
	bool reported_error;
	/* The last failure that was reported. */
	int trouble_error;
	unsigned trouble_status;
	int inside; /* a callback of the owner's */
};

static usec_t now_of(const struct kube_watch *w)
{
	uint64_t now = 0;

	sd_event_now(w->event, CLOCK_BOOTTIME, &now);
	return now;
}

/* A loop that cannot set a timer any more is lost; nothing but memory can be the reason. */
static void set_timer(struct kube_watch *w, usec_t at)
{
	sd_event_source_set_time(w->timer, at);
	sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

/* Calls the owner, who must not free the watch meanwhile. */
#define WATCH_CALL(w, op, ...)                                                                     \
	do {                                                                                       \
		(w)->inside++;                                                                     \
		(w)->events.op((w)->events.ctx, ##__VA_ARGS__);                                    \
		(w)->inside--;                                                                     \
	} while (0)

static void say_healthy(struct kube_watch *w)
{
	if (w->state.healthy)
		return;
	w->state.healthy = true;
	w->trouble_error = 0;
	w->trouble_status = 0;
	WATCH_CALL(w, healthy);
}

static void say_trouble(struct kube_watch *w, const struct pace_end *end, const char *text)
{
	bool again = w->trouble_error == end->error && w->trouble_status == end->status;
	char line[768];

	w->state.healthy = false;
	if (again)
		return;
	w->trouble_error = end->error;
	w->trouble_status = end->status;
	snprintf(line, sizeof line, "%s of pods: %s", end->step == STEP_LIST ? "list" : "watch",
		 text);
	for (char *p = line; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	WATCH_CALL(w, trouble, end->error, end->status, line);
}

static void watch_skip(struct kube_watch *w, const struct kube_peek *p, enum kube_skip why,
		       const char *reason)
{
	char text[512];
	const struct kube_skipped s = {
		.why = why,
		.uid = p->uid,
		.text = text,
		.first_time = kube_skipped_changed(&w->skipped, p, reason),
	};

	kube_skipped_text(p, reason, text, sizeof text);
	w->state.skipped[why]++;
	WATCH_CALL(w, skipped, &s);
}

/* After the end of a list or a watch: begins the next one, at once or later. */
static void go_on(struct kube_watch *w, const struct pace_end *end, const char *text)
{
	usec_t now = now_of(w);
	struct pace_next next = pace_next(&w->pace, end, now);

	if (next.trouble)
		say_trouble(w, end, text);
	if (end->step == STEP_STREAM)
		w->state.restarts++;
	w->call = NULL;
	w->step = next.step;
	set_timer(w, now + next.delay);
}

static int list_item(void *arg, const char *text, size_t len)
{
	struct kube_watch *w = arg;
	struct kube_decode_error err = {.text = ""};
	struct kube_peek peek;
	struct kube_pod *pod;
	int r = kube_decode_pod(text, len, &pod, &err);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		kube_peek_pod(text, len, &peek);
		watch_skip(w, &peek, KUBE_SKIP_UNDECODABLE, err.text);
		return 0;
	}
	WATCH_CALL(w, put, pod);
	return 0;
}

static int list_item_too_long(void *arg, const char *text, size_t len)
{
	struct kube_peek peek;

	kube_peek_pod(text, len, &peek);
	watch_skip(arg, &peek, KUBE_SKIP_LARGE, TOO_LARGE);
	return 0;
}

static int list_piece(void *arg, const char *data, size_t len)
{
	struct kube_watch *w = arg;

	if (!w->list_begun) {
		w->list_begun = true;
		WATCH_CALL(w, list_begin);
	}
	return items_feed(&w->items, data, len, list_item, w);
}

static int no_pod(void *, struct kube_pod *pod)
{
	kube_pod_free(pod);
	return 0;
}

/* All items are in: what is around them must be a whole list with its version. */
static int take_list(struct kube_watch *w, char *text, size_t size)
{
	struct kube_decode_error err = {.text = ""};
	size_t zeros;
	int r = kube_decode_pods(w->items.frame.text != NULL ? w->items.frame.text : "",
				 w->items.frame.len, no_pod, NULL, w->version, sizeof w->version,
				 &zeros, &err);

	if (r < 0) {
		snprintf(text, size, "%s", err.text);
		return r;
	}
	WATCH_CALL(w, list_end);
	w->newest = false;
	w->state.synced = true;
	w->state.lists++;
	say_healthy(w);
	return 0;
}

static const char *answer_text(const struct kube_answer *answer, struct kube_status *status,
			       char *buf, size_t size)
{
	if (answer->error != 0)
		return answer->detail;
	kube_decode_status(answer->body, answer->len, status);
	snprintf(buf, size, "status %u: %s", answer->status, status->message);
	return buf;
}

static struct pace_end end_of(const struct kube_watch *w, const struct kube_answer *answer)
{
	return (struct pace_end){
		.step = w->step,
		.status = answer->status,
		.error = answer->error,
		.lasted = now_of(w) - w->begun_at,
		.retry_after = answer->retry_after_usec,
	};
}

/* A cache older than what was seen, a restored storage, or a version that is gone: the next list
 * asks for the newest. The first time this is not reported as a failure. */
static void ask_for_newest(struct kube_watch *w, const struct kube_status *s, struct pace_end *end)
{
	if (w->newest ||
	    (end->status != 410 && !(end->status == 504 && kube_status_is_too_large(s))))
		return;
	w->newest = true;
	end->status = 410;
}

static void list_done(void *arg, const struct kube_answer *answer)
{
	struct kube_watch *w = arg;
	struct pace_end end = end_of(w, answer);
	struct kube_status status = {0};
	char buf[640];
	const char *text = buf;

	w->call = NULL;
	if (answer->error == 0 && answer->status == 200)
		end.error = take_list(w, buf, sizeof buf);
	else
		text = answer_text(answer, &status, buf, sizeof buf);
	if (end.error == 0)
		ask_for_newest(w, &status, &end);
	items_drop(&w->items);
	go_on(w, &end, text);
}

static void take_event(struct kube_watch *w, struct kube_watch_line *line)
{
	struct kube_pod *pod = STEAL(line->pod);

	w->state.events++;
	w->state.last_event_at = w->received_at;
	if (line->resource_version[0] != '\0')
		memcpy(w->version, line->resource_version, sizeof w->version);
	if (pod != NULL && line->event == WATCH_DELETED) {
		WATCH_CALL(w, gone, pod->uid);
		kube_pod_free(pod);
	} else if (pod != NULL) {
		WATCH_CALL(w, put, pod);
	}
	say_healthy(w);
}

/* The object is not known, but its pod may be, which is enough for a DELETED. */
static void skip_event(struct kube_watch *w, const struct kube_peek *p, enum kube_skip why,
		       const char *reason)
{
	watch_skip(w, p, why, reason);
	/* A watch from an older version on would receive it again. */
	if (p->resource_version[0] != '\0')
		memcpy(w->version, p->resource_version, sizeof w->version);
	if (p->event != WATCH_DELETED || p->uid[0] == '\0')
		return;
	WATCH_CALL(w, gone, p->uid);
}

static int stream_line_too_long(void *arg, const char *text, size_t len)
{
	struct kube_watch *w = arg;
	struct kube_peek peek;

	w->received_at = now_of(w);
	kube_peek_watch(text, len, &peek);
	skip_event(w, &peek, KUBE_SKIP_LARGE, TOO_LARGE);
	return 0;
}

static int stream_line(void *arg, const char *text, size_t len)
{
	struct kube_watch *w = arg;
	struct kube_watch_line line = {0};
	struct kube_decode_error err = {.text = ""};
	struct kube_peek peek;
	int r = kube_decode_watch(text, len, &line, &err);

	w->received_at = now_of(w);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		kube_peek_watch(text, len, &peek);
		skip_event(w, &peek, KUBE_SKIP_UNDECODABLE, err.text);
		return 0;
	}
	if (line.event != WATCH_ERROR) {
		take_event(w, &line);
		return 0;
	}
	w->reported_error = true;
	w->error_status = line.status;
	return -ECANCELED;
}

static void stream_done(void *arg, const struct kube_answer *answer)
{
	struct kube_watch *w = arg;
	struct pace_end end = end_of(w, answer);
	struct kube_status status = {0};
	char buf[640];
	const char *text;

	w->call = NULL;
	if (w->reported_error) {
		end.status = kube_status_code(&w->error_status);
		end.error = 0;
		end.retry_after = w->error_status.retry_after_usec;
		snprintf(buf, sizeof buf, "status %u: %s", end.status, w->error_status.message);
		text = buf;
	} else {
		text = answer_text(answer, &status, buf, sizeof buf);
	}
	go_on(w, &end, text);
}

static void fill_path(struct kube_watch *w, char *path, size_t size)
{
	char version[3 * sizeof w->version];
	unsigned sec;
	int n = snprintf(path, size, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", w->node);

	assert(n > 0 && (size_t)n < size);
	if (w->step == STEP_LIST && w->newest)
		return;
	if (w->step == STEP_LIST && w->version[0] == '\0') {
		snprintf(path + n, size - (size_t)n, "&resourceVersion=0");
		return;
	}
	if (kube_encode_segment(w->version, version, sizeof version) < 0)
		version[0] = '\0'; /* cannot be: the buffer holds three bytes for each */
	if (w->step == STEP_LIST) {
		snprintf(path + n, size - (size_t)n,
			 "&resourceVersion=%s&resourceVersionMatch=NotOlderThan", version);
		return;
	}
	sec = STREAM_SEC_MIN + (unsigned)(random_next(&w->random) % (STREAM_SEC_SPREAD + 1));
	w->silence_usec = sec * USEC_PER_SEC + SILENCE_USEC;
	snprintf(path + n, size - (size_t)n,
		 "&watch=1&resourceVersion=%s&allowWatchBookmarks=true&timeoutSeconds=%u", version,
		 sec);
}

static void watch_begin(struct kube_watch *w)
{
	bool stream = w->step == STEP_STREAM;
	char path[PATH_BYTES];
	struct kube_request q = {.method = "GET",
				 .path = path,
				 .stream = stream,
				 .pieces = !stream,
				 .too_long = stream ? stream_line_too_long : NULL};
	int r;

	fill_path(w, path, sizeof path);
	w->begun_at = now_of(w);
	w->received_at = w->begun_at;
	w->reported_error = false;
	w->list_begun = false;
	r = kube_client_start(w->client, &q, stream ? stream_line : list_piece,
			      stream ? stream_done : list_done, w, &w->call);
	if (r < 0)
		go_on(w, &(struct pace_end){.step = w->step, .error = r}, strerror(-r));
	else if (stream)
		set_timer(w, w->begun_at + PACE_STEADY_USEC);
}

static void check_stream(struct kube_watch *w)
{
	usec_t now = now_of(w);

	if (now < w->received_at + w->silence_usec) {
		/* Where no pod changes, an open stream is all there is to see. */
		if (kube_call_is_open(w->call))
			say_healthy(w);
		set_timer(w, w->received_at + w->silence_usec);
		return;
	}
	kube_call_cancel(STEAL(w->call));
	go_on(w,
	      &(struct pace_end){
		      .step = STEP_STREAM, .error = -ETIMEDOUT, .lasted = now - w->begun_at},
	      "silent for longer than timeoutSeconds");
}

void kube_watch_relist(struct kube_watch *w)
{
	if (w->call == NULL || w->step != STEP_STREAM || w->inside > 0)
		return;
	kube_call_cancel(STEAL(w->call));
	w->step = STEP_LIST;
	w->newest = true;
	set_timer(w, now_of(w));
}

static int on_timer(sd_event_source *, uint64_t, void *arg)
{
	struct kube_watch *w = arg;

	if (w->call == NULL)
		watch_begin(w);
	else if (w->step == STEP_STREAM)
		check_stream(w);
	return 0;
}

static int encode_node(const char *node, char **ret)
{
	char buf[3 * 253 + 1];
	int r = kube_encode_segment(node, buf, sizeof buf);

	if (r < 0)
		return r;
	*ret = strdup(buf);
	return *ret != NULL ? 0 : -ENOMEM;
}

int kube_watch_new(sd_event *event, struct kube_client *client,
		   const struct kube_watch_options *options, const struct kube_watch_events *events,
		   struct kube_watch **ret)
{
	struct kube_watch *w = calloc(1, sizeof *w);
	usec_t delay;
	int r;

	if (w == NULL)
		return -ENOMEM;
	w->event = sd_event_ref(event);
	w->client = client;
	w->events = *events;
	w->items.max = KUBE_LINE_MAX;
	w->items.too_long = list_item_too_long;
	w->newest = options->newest;
	w->random = options->seed;
	w->pace.backoff.random = random_next(&w->random);
	delay = random_next(&w->random) % (options->start_jitter_usec + 1);
	r = encode_node(options->node, &w->node);
	if (r == 0)
		r = sd_event_add_time(event, &w->timer, CLOCK_BOOTTIME, UINT64_MAX, USEC_PER_MSEC,
				      on_timer, w);
	if (r < 0) {
		kube_watch_free(w);
		return r;
	}
	set_timer(w, options->now + delay);
	*ret = w;
	return 0;
}

void kube_watch_free(struct kube_watch *w)
{
	if (w == NULL)
		return;
	assert(w->inside == 0);

	kube_call_cancel(w->call);
	sd_event_source_disable_unref(w->timer);
	sd_event_unref(w->event);
	items_drop(&w->items);
	free(w->node);
	free(w);
}

const struct kube_watch_state *kube_watch_state(const struct kube_watch *w)
{
	return &w->state;
}
