// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/client.h"
#include "agent/kube/client/client_impl.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_AGE_USEC USEC_PER_MIN

static int copy_text(const char *from, char **ret)
{
	*ret = from != NULL ? strdup(from) : NULL;
	return from != NULL && *ret == NULL ? -ENOMEM : 0;
}

static int copy_config(const struct kube_config *from, struct kube_config *to)
{
	const char *const in[] = {from->server,          from->ca_file,   from->ca_data,
				  from->tls_server_name, from->proxy_url, from->token,
				  from->token_file,      from->cert_file, from->cert_data,
				  from->key_file,        from->key_data,  from->namespace};
	char **const out[] = {&to->server,    &to->ca_file,  &to->ca_data,    &to->tls_server_name,
			      &to->proxy_url, &to->token,    &to->token_file, &to->cert_file,
			      &to->cert_data, &to->key_file, &to->key_data,   &to->namespace};

	to->insecure = from->insecure;
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		if (copy_text(in[i], out[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int credential_begin(struct credential *c, const char *file, const char *text)
{
	c->path = file;
	c->len = text != NULL ? strlen(text) : 0;
	return copy_text(text, &c->text);
}

static int credentials_begin(struct kube_client *c)
{
	const struct kube_config *k = &c->config;
	int r = credential_begin(&c->token, k->token_file, k->token);

	if (r == 0)
		r = credential_begin(&c->ca, k->ca_file, k->ca_data);
	if (r == 0)
		r = credential_begin(&c->cert, k->cert_file, k->cert_data);
	return r == 0 ? credential_begin(&c->key, k->key_file, k->key_data) : r;
}

static int say_unread(const struct credential *c, int error, char *text, size_t size)
{
	snprintf(text, size, "%s: %s", c->path,
		 error == -EBADMSG ? "holds no token" : strerror(-error));
	return error;
}

int client_follow(struct kube_client *c, usec_t now, char *text, size_t size)
{
	struct credential *const files[] = {&c->ca, &c->cert, &c->key};
	int r;

	if (c->token.path != NULL &&
	    (c->token.text == NULL || now >= c->token.read_at + TOKEN_AGE_USEC)) {
		c->counters.token_reads++;
		r = credential_follow_token(&c->token, now);
		if (r < 0)
			return say_unread(&c->token, r, text, size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		r = credential_follow(files[i]);
		if (r < 0)
			return say_unread(files[i], r, text, size);
	}
	return 0;
}

int kube_client_new(sd_event *event, const struct kube_config *config, const char *user_agent,
		    struct kube_client **ret)
{
	int r = curl_load();
	struct kube_client *c;

	if (r < 0)
		return r;
	c = calloc(1, sizeof *c);
	if (c == NULL)
		return -ENOMEM;
	if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(c);
		return -ENOMEM;
	}
	c->event = sd_event_ref(event);
	r = copy_config(config, &c->config);
	if (r == 0)
		r = copy_text(user_agent, &c->user_agent);
	if (r == 0)
		r = credentials_begin(c);
	if (r == 0)
		r = loop_start(c);
	if (r < 0) {
		client_destroy(c);
		return r;
	}
	*ret = c;
	return 0;
}

void client_unlink(struct kube_client *c, struct kube_call *call)
{
	struct kube_call **p = &c->calls;

	while (*p != call)
		p = &(*p)->next;
	*p = call->next;
	call->next = NULL;
}

void client_destroy(struct kube_client *c)
{
	assert(!c->in_curl);

	while (c->calls != NULL) {
		struct kube_call *call = c->calls;

		client_unlink(c, call);
		call_free(call);
	}
	loop_stop(c);
	credential_drop(&c->token);
	credential_drop(&c->ca);
	credential_drop(&c->cert);
	credential_drop(&c->key);
	kube_config_free(&c->config);
	free(c->user_agent);
	sd_event_unref(c->event);
	free(c);
	curl.global_cleanup();
}

void kube_client_free(struct kube_client *c)
{
	if (c == NULL)
		return;
	if (!c->busy) {
		client_destroy(c);
		return;
	}
	c->dead = true;
	for (struct kube_call *call = c->calls; call != NULL; call = call->next)
		call->cancelled = true;
}

int kube_client_start(struct kube_client *c, const struct kube_request *request, kube_line_fn *line,
		      kube_done_fn *done, void *arg, struct kube_call **ret)
{
	struct kube_call *call;
	int r;

	assert(!c->dead && done != NULL);

	if ((request->stream || request->pieces) != (line != NULL))
		return -EINVAL;
	r = call_new(request, &call);
	if (r < 0)
		return r;
	call->client = c;
	call->line = line;
	call->done = done;
	call->arg = arg;
	r = sd_event_source_set_enabled(c->begin, SD_EVENT_ONESHOT);
	if (r < 0) {
		call_free(call);
		return r;
	}
	call->next = c->calls;
	c->calls = call;
	c->counters.requests++;
	if (ret != NULL)
		*ret = call;
	return 0;
}

bool kube_call_is_open(const struct kube_call *call)
{
	return call->state == CALL_RUNNING && call_status(call) / 100 == 2;
}

void kube_call_cancel(struct kube_call *call)
{
	if (call == NULL || call->state == CALL_ENDED)
		return;
	call->cancelled = true;
	if (call->client->in_curl || call->client->dead)
		return;
	client_unlink(call->client, call);
	call_free(call);
}

const struct kube_client_counters *kube_client_counters(const struct kube_client *c)
{
	return &c->counters;
}

const char *kube_client_server(const struct kube_client *c)
{
	return c->config.server;
}

void kube_client_on_end(struct kube_client *c, kube_count_fn *fn, void *ctx)
{
	c->count = fn;
	c->count_ctx = ctx;
}
