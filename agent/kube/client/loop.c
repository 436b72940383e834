// SPDX-License-Identifier: Apache-2.0
/* curl's sockets and its timer as sources of the event loop. */
#include "agent/kube/client/client_impl.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

/* Connections that are kept, with that of the watch: two for requests (cluster.c). */
#define CONNECTIONS_MAX 3L

/* The verb as in kube-apiserver's own metrics. Every GET but /api/v1 and /version is a list. */
static const char *verb_of(const struct kube_call *call)
{
	static const struct {
		const char *method, *verb;
	} verbs[] = {{"POST", "create"}, {"PATCH", "patch"}, {"PUT", "update"}};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(call->method, verbs[i].method) == 0)
			return verbs[i].verb;
	if (call->stream)
		return "watch";
	return strcmp(call->path, "/api/v1") == 0 || strcmp(call->path, "/version") == 0 ? "get"
											 : "list";
}

/* Ends a call and frees it. The client may be dead afterwards. */
static void end_call(struct kube_call *call, const struct kube_answer *answer)
{
	struct kube_client *c = call->client;

	client_unlink(c, call);
	call->state = CALL_ENDED;
	if (answer->status == 0)
		c->counters.failures++;
	if (c->count != NULL)
		c->count(c->count_ctx, verb_of(call), answer->status);
	call->done(call->arg, answer);
	call_free(call);
}

static void fail_call(struct kube_call *call, int error, const char *detail)
{
	end_call(call, &(struct kube_answer){.error = error, .detail = detail, .body = ""});
}

/* A 401 may only mean that our token is older than the file. */
static bool retry_with_new_token(struct kube_call *call)
{
	struct kube_client *c = call->client;
	uint64_t now;

	if (call->retried || c->token.path == NULL || call_status(call) != 401)
		return false;
	if (sd_event_now(c->event, CLOCK_BOOTTIME, &now) < 0)
		return false;
	c->counters.token_reads++;
	if (credential_follow_token(&c->token, now) < 0 || c->token.version == call->token_version)
		return false;
	if (sd_event_source_set_enabled(c->begin, SD_EVENT_ONESHOT) < 0)
		return false;
	call_reset(call);
	call->retried = true;
	call->state = CALL_WAITING;
	return true;
}

static void reap_cancelled(struct kube_client *c)
{
	struct kube_call **p = &c->calls;

	while (*p != NULL) {
		struct kube_call *call = *p;

		if (!call->cancelled) {
			p = &call->next;
			continue;
		}
		*p = call->next;
		call_free(call);
	}
}

static void loop_collect(struct kube_client *c)
{
	CURLMsg *m;
	int left;

	reap_cancelled(c);
	while (!c->dead && c->multi != NULL &&
	       (m = curl.multi_info_read(c->multi, &left)) != NULL) {
		CURLcode result = m->data.result;
		struct kube_call *call = NULL;
		struct kube_answer answer;

		curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &call);
		curl.multi_remove_handle(c->multi, m->easy_handle);
		if (result == CURLE_OK && retry_with_new_token(call))
			continue;
		answer = call_answer(call, result);
		end_call(call, &answer);
	}
}

/* curl's state is broken (it could not watch a socket): every call ends, the next has a new one. */
static void give_up(struct kube_client *c, CURLMcode code)
{
	CURLM *broken = STEAL(c->multi);

	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		if (call->state == CALL_RUNNING)
			curl.multi_remove_handle(broken, call->easy);
	for (struct kube_call *call = c->calls; call != NULL && !c->dead;) {
		if (call->state != CALL_RUNNING) {
			call = call->next;
			continue;
		}
		fail_call(call, -EIO, curl.multi_strerror(code));
		call = c->calls;
	}
	curl.multi_cleanup(broken);
}

static void leave(struct kube_client *c)
{
	c->busy = false;
	if (c->dead)
		client_destroy(c);
}

static void act(struct kube_client *c, curl_socket_t fd, int mask)
{
	CURLMcode code;
	int running;

	if (c->multi == NULL)
		return;
	c->busy = true;
	c->in_curl = true;
	code = curl.multi_socket_action(c->multi, fd, mask, &running);
	c->in_curl = false;
	loop_collect(c);
	if (code != CURLM_OK && !c->dead)
		give_up(c, code);
	leave(c);
}

static int on_io(sd_event_source *, int fd, uint32_t revents, void *arg)
{
	int mask = 0;

	if (revents & (EPOLLIN | EPOLLHUP))
		mask |= CURL_CSELECT_IN;
	if (revents & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (revents & EPOLLERR)
		mask |= CURL_CSELECT_ERR;
	act(arg, fd, mask);
	return 0;
}

static int on_timer(sd_event_source *, uint64_t, void *arg)
{
	act(arg, CURL_SOCKET_TIMEOUT, 0);
	return 0;
}

static int socket_changed(CURL *, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct kube_client *c = arg;
	sd_event_source *source = socket_arg;
	uint32_t events = 0;

	sockets_mark(c, fd, what != CURL_POLL_REMOVE);
	if (what == CURL_POLL_REMOVE) {
		sd_event_source_disable_unref(source);
		if (c->multi != NULL)
			curl.multi_assign(c->multi, fd, NULL);
		return 0;
	}
	events |= what & CURL_POLL_IN ? EPOLLIN : 0;
	events |= what & CURL_POLL_OUT ? EPOLLOUT : 0;
	if (source != NULL)
		return sd_event_source_set_io_events(source, events) < 0 ? -1 : 0;
	if (sd_event_add_io(c->event, &source, fd, events, on_io, c) < 0)
		return -1;
	curl.multi_assign(c->multi, fd, source);
	return 0;
}

static int timer_changed(CURLM *, long timeout_msec, void *arg)
{
	struct kube_client *c = arg;
	int r;

	if (timeout_msec < 0)
		r = sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
	else
		r = sd_event_source_set_time_relative(c->timer,
						      (uint64_t)timeout_msec * USEC_PER_MSEC);
	if (r >= 0 && timeout_msec >= 0)
		r = sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
	return r < 0 ? -1 : 0;
}

static int make_multi(struct kube_client *c)
{
	if (c->multi != NULL)
		return 0;
	c->multi = curl.multi_init();
	if (c->multi == NULL)
		return -ENOMEM;
	curl.multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
	curl.multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl.multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, timer_changed);
	curl.multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl.multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX);
	return 0;
}

static void begin_call(struct kube_client *c, struct kube_call *call)
{
	CURLMcode code;
	int r = make_multi(c);

	if (r < 0) {
		fail_call(call, r, "out of memory");
		return;
	}
	r = call_prepare(call);
	if (r < 0) {
		fail_call(call, r, call->problem);
		return;
	}
	code = curl.multi_add_handle(c->multi, call->easy);
	if (code != CURLM_OK) {
		fail_call(call, -EIO, curl.multi_strerror(code));
		return;
	}
	call->state = CALL_RUNNING;
}

/* The oldest waiting call, which is the last of the list. */
static struct kube_call *next_waiting(const struct kube_client *c)
{
	struct kube_call *found = NULL;

	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		if (call->state == CALL_WAITING)
			found = call;
	return found;
}

static int on_begin(sd_event_source *, void *arg)
{
	struct kube_client *c = arg;
	size_t count = 0;

	c->busy = true;
	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		count += call->state == CALL_WAITING;
	/* A call that is started from a done here is begun later, so that this loop ends. */
	for (; count > 0 && !c->dead; count--) {
		struct kube_call *call = next_waiting(c);

		if (call != NULL)
			begin_call(c, call);
	}
	leave(c);
	return 0;
}

int loop_start(struct kube_client *c)
{
	int r = sd_event_add_defer(c->event, &c->begin, on_begin, c);

	if (r >= 0)
		r = sd_event_source_set_enabled(c->begin, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time(c->event, &c->timer, CLOCK_MONOTONIC, UINT64_MAX,
				      USEC_PER_MSEC, on_timer, c);
	if (r >= 0)
		r = sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
	return r < 0 ? r : 0;
}

void loop_stop(struct kube_client *c)
{
	if (c->multi != NULL)
		curl.multi_cleanup(c->multi);
	sd_event_source_disable_unref(c->begin);
	sd_event_source_disable_unref(c->timer);
}
