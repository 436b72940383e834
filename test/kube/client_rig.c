// SPDX-License-Identifier: Apache-2.0
#include "client_rig.h"
#include "test/check.h"
#include <dirent.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

usec_t rig_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

void rig_open(struct rig *r, const char *scheme, unsigned port)
{
	*r = (struct rig){0};
	CHECK(sd_event_new(&r->event) >= 0);
	snprintf(r->server, sizeof r->server, "%s://127.0.0.1:%u", scheme, port);
	r->config.server = r->server;
}

void rig_client(struct rig *r)
{
	kube_client_free(r->client);
	r->client = NULL;
	CHECK_EQ(kube_client_new(r->event, &r->config, "vscaled/test (linux/any)", &r->client), 0);
}

void rig_close(struct rig *r)
{
	kube_client_free(r->client);
	sd_event_unref(r->event);
	*r = (struct rig){0};
}

void rig_turn(struct rig *r, const int *value, int want, usec_t span)
{
	usec_t end = rig_now() + span;

	while (*value < want && rig_now() < end)
		CHECK(sd_event_run(r->event, 5 * USEC_PER_MSEC) >= 0);
}

int rig_line(void *arg, const char *line, size_t len)
{
	struct rig_result *r = arg;
	size_t used = strlen(r->lines);

	snprintf(r->lines + used, sizeof r->lines - used, "%.*s|", (int)MIN(len, 100U), line);
	r->line_count++;
	r->line_bytes += len;
	return 0;
}

void rig_done(void *arg, const struct kube_answer *answer)
{
	struct rig_result *r = arg;

	r->done++;
	r->status = answer->status;
	r->error = answer->error;
	snprintf(r->detail, sizeof r->detail, "%s", answer->detail);
	CHECK_EQ(strlen(answer->body), answer->len);
	free(r->body);
	r->body = strndup(answer->body, 20000);
	r->len = answer->len;
	r->retry_after_usec = answer->retry_after_usec;
}

struct rig_result rig_ask(struct rig *r, const struct kube_request *request)
{
	struct rig_result result = {0};

	CHECK_OK(kube_client_start(r->client, request,
				   request->stream || request->pieces ? rig_line : NULL, rig_done,
				   &result, NULL));
	rig_turn(r, &result.done, 1, 60 * USEC_PER_SEC);
	CHECK_EQ(result.done, 1);
	if (result.body == NULL)
		result.body = strdup("");
	return result;
}

struct rig_result rig_get(struct rig *r, const char *path, bool stream)
{
	return rig_ask(r, &(struct kube_request){.method = "GET", .path = path, .stream = stream});
}

void rig_drop(struct rig_result *r)
{
	free(r->body);
	r->body = NULL;
}

size_t rig_open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t count = 0;

	while (d != NULL && readdir(d) != NULL)
		count++;
	if (d != NULL)
		closedir(d);
	return count;
}

void rig_write(const char *folder, const char *name, const char *text)
{
	char path[256], fresh[264];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	snprintf(fresh, sizeof fresh, "%s.new", path);
	f = fopen(fresh, "we");
	CHECK(f != NULL);
	if (f == NULL)
		return;
	fputs(text, f);
	fclose(f);
	CHECK_EQ(rename(fresh, path), 0);
}
