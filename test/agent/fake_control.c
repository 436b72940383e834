// SPDX-License-Identifier: Apache-2.0
#include "fake_control.h"
#include "agent/http/http_socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An answer of a daemon with six units: one raised a moment ago; a memory shrink on trial; one that
 * waits, nothing known; one that gave way, without limits; a container whose resize was refused;
 * one of a pod with a wrong annotation. In its "units" they are in brief, in "explained" in full.
 * Owned. */
static cJSON *fixture(const char *key)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = fopen("test/agent/control_fixture.json", "re");
	cJSON *all = f != NULL && getdelim(&text, &size, EOF, f) > 0 ? cJSON_Parse(text) : NULL;
	cJSON *part = cJSON_DetachItemFromObject(all, key);

	cJSON_Delete(all);
	free(text);
	if (f != NULL)
		fclose(f);
	return part;
}

/* In full; NULL: none has this name. Owned. */
static cJSON *fixture_named(const char *name)
{
	cJSON *all = fixture("explained"), *found = NULL;

	for (int i = 0; found == NULL && i < cJSON_GetArraySize(all); i++)
		if (strcmp(cJSON_GetObjectItem(cJSON_GetArrayItem(all, i), "name")->valuestring,
			   name) == 0)
			found = cJSON_DetachItemFromArray(all, i);
	cJSON_Delete(all);
	return found;
}

static cJSON *fake_status(void *ctx)
{
	const struct fake_control *f = ctx;
	cJSON *status = fixture("status");

	if (f->cluster) {
		cJSON_ReplaceItemInObject(status, "operation", cJSON_CreateString("kubernetes"));
		cJSON_ReplaceItemInObject(status, "cluster", fixture("cluster"));
	}
	return status;
}

static int fake_list(void *ctx, cJSON **ret)
{
	const struct fake_control *f = ctx;

	if (f->error < 0)
		return f->error;
	*ret = fixture("units");
	return 0;
}

static int fake_explain(void *ctx, const char *name, cJSON **ret)
{
	const struct fake_control *f = ctx;

	if (f->error < 0)
		return f->error;
	*ret = fixture_named(name);
	return *ret != NULL ? 0 : -ENOENT;
}

static int fake_report(void *ctx, char **ret)
{
	const struct fake_control *f = ctx;
	cJSON *report = f->error < 0 ? NULL : fixture("report");

	if (f->error < 0)
		return f->error;
	*ret = cJSON_PrintUnformatted(report);
	cJSON_Delete(report);
	return *ret != NULL ? 0 : -ENOMEM;
}

/* A unit of the fixtures, or all of them; -ENOENT otherwise. */
static int count_named(const struct fake_control *f, const char *name)
{
	cJSON *found;

	if (f->error < 0)
		return f->error;
	found = name != NULL ? fixture_named(name) : fixture("units");
	if (found == NULL)
		return -ENOENT;
	cJSON_Delete(found);
	return name != NULL ? 1 : 6;
}

static int fake_pause(void *ctx, const char *name)
{
	struct fake_control *f = ctx;

	snprintf(f->last, sizeof(f->last), "pause %s", name ? name : "*");
	return count_named(f, name);
}

static int fake_resume(void *ctx, const char *name)
{
	struct fake_control *f = ctx;

	snprintf(f->last, sizeof(f->last), "resume %s", name ? name : "*");
	return count_named(f, name);
}

/* As the daemon does: a container by its own name, or the pod with all that is in it. The pod waits
 * for app; side changes its mind when it is restored once more. */
static void restore_pod(struct fake_control *f, const char *name, control_result_fn *each,
			void *arg)
{
	struct restore_result app = {.unit = "shop/web-0/app", .outcome = RESTORE_RESTORED};
	struct restore_result side = {.unit = "shop/web-0/side", .outcome = RESTORE_RESTORED};
	struct restore_result pod = {.unit = "shop/web-0", .outcome = RESTORE_RESTORED};
	bool all = name == NULL || strcmp(name, pod.unit) == 0;

	if (f->restores > 1)
		side.outcome = RESTORE_LEFT;
	if (f->pending > 0) {
		f->pending -= all || strcmp(name, app.unit) == 0;
		app.outcome = pod.outcome = RESTORE_PENDING;
		strcpy(app.detail, "it is being started");
		strcpy(pod.detail, "a container of it is pending");
	}
	if (all || strcmp(name, app.unit) == 0)
		each(arg, &app);
	if (all || strcmp(name, side.unit) == 0)
		each(arg, &side);
	if (all)
		each(arg, &pod);
}

/* web.service is restored; batch has grown and is left as it is unless forced. */
static int fake_restore(void *ctx, const char *name, bool force, control_result_fn *each, void *arg)
{
	struct restore_result web = {.unit = "web.service", .outcome = RESTORE_RESTORED};
	struct restore_result batch = {.unit = "batch@nightly.service",
				       .outcome = force ? RESTORE_RESTORED : RESTORE_LEFT};
	struct fake_control *f = ctx;
	int r = f->pod ? 0 : count_named(f, name);

	if (f->log)
		strcat(strcat(f->log, name ? name : "*"), " ");
	snprintf(f->last, sizeof(f->last), "restore %s%s", name ? name : "*",
		 force ? " force" : "");
	f->restores++;
	if (f->fail_after > 0 && f->restores > f->fail_after)
		return f->fail_with;
	if (f->pod)
		restore_pod(f, name, each, arg);
	if (r < 0 || f->pod)
		return r;
	if (!force)
		strcpy(batch.detail, "memory.max: 5.0 GiB in use, the original is 4.0 GiB");
	if (f->pending > 0 && (!name || strcmp(name, web.unit) == 0)) {
		f->pending--;
		web.outcome = RESTORE_PENDING;
		strcpy(web.detail, "it is being started");
	}
	if (!name || strcmp(name, web.unit) == 0)
		each(arg, &web);
	if (!name || strcmp(name, batch.unit) == 0)
		each(arg, &batch);
	return 0;
}

static cJSON *fake_config(void *)
{
	return cJSON_Parse(
		"{\"kind\":\"VscaledConfiguration\",\"units\":"
		"[{\"match\":[\"web*.service\",\"@x\"],\"mode\":\"Auto\"}],\"none\":[]}");
}

static int fake_probe(void *ctx, const struct http_request *request, struct http_response *ret)
{
	const struct fake_control *f = ctx;
	bool good = strcmp(request->path, "/livez") == 0 || !f->not_ready;

	*ret = (struct http_response){
		.status = good ? 200 : 503,
		.content_type = "text/plain",
		.body = strdup(good ? "ok\n" : "the first list of units is not done\n"),
	};
	return 0;
}

static bool fake_admit(void *ctx, int fd, const struct ucred *peer)
{
	const struct fake_control *f = ctx;

	return !f->refuse_peers && http_peer_in_group(fd, peer, 0);
}

static cJSON *fake_recommend(void *, const char *text, size_t len, char *ret_why, size_t why_size)
{
	cJSON *pod = cJSON_ParseWithLength(text, len), *answer = NULL;

	snprintf(ret_why, why_size, "%s", pod == NULL ? "not JSON" : "");
	if (pod != NULL)
		answer = cJSON_CreateObject();
	cJSON_Delete(pod);
	return answer;
}

static const struct control_ops fake_ops = {
	.recommend = fake_recommend,
	.status = fake_status,
	.list = fake_list,
	.explain = fake_explain,
	.report = fake_report,
	.pause = fake_pause,
	.resume = fake_resume,
	.restore = fake_restore,
	.config = fake_config,
	.probe = fake_probe,
	.admit = fake_admit,
};

void fake_control_init(struct fake_control *f)
{
	*f = (struct fake_control){.control = {.ops = &fake_ops, .ctx = f}};
}
