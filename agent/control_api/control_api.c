// SPDX-License-Identifier: Apache-2.0
#include "agent/control_api/control_api.h"
#include "agent/base/json.h"
#include "agent/http/http_socket.h"
#include <errno.h>
#include <string.h>

/* --- the bodies */

struct key_info {
	const char *name;
	unsigned bit;
	bool is_flag;
	size_t offset;
};

/* clang-format off */
static const struct key_info key_infos[] = {
	{"name",  CONTROL_KEY_NAME,  false, offsetof(struct control_body, name)},
	{"all",   CONTROL_KEY_ALL,   true,  offsetof(struct control_body, all)},
	{"force", CONTROL_KEY_FORCE, true,  offsetof(struct control_body, force)},
};
/* clang-format on */

static const struct key_info *key_find(const char *name, unsigned keys)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_infos); i++)
		if (name && (key_infos[i].bit & keys) && strcmp(key_infos[i].name, name) == 0)
			return &key_infos[i];
	return NULL;
}

static const char *take_value(const struct key_info *k, const cJSON *item, struct control_body *b)
{
	char *at = (char *)b + k->offset;

	if (k->is_flag) {
		if (!cJSON_IsBool(item))
			return "all and force are true or false";
		*(bool *)at = cJSON_IsTrue(item);
		return NULL;
	}
	if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
		return "name is a text that is not empty";
	if (strlen(item->valuestring) >= CONTROL_NAME_MAX)
		return "name is too long";
	strcpy(at, item->valuestring);
	return NULL;
}

/* What is wrong, or NULL. */
static const char *take_object(const cJSON *object, unsigned keys, struct control_body *b)
{
	const cJSON *item;
	const char *why;
	unsigned seen = 0;

	if (!cJSON_IsObject(object))
		return "the body is not a JSON object";
	cJSON_ArrayForEach (item, object) {
		const struct key_info *k = key_find(item->string, keys);

		if (!k)
			return "the body has a key that this path does not know";
		if (seen & k->bit)
			return "the body has a key twice";
		seen |= k->bit;
		why = take_value(k, item, b);
		if (why)
			return why;
	}
	/* Without a key everything is meant, and that must not be what "all": false says. */
	if ((seen & CONTROL_KEY_ALL) && !b->all && b->name[0] == '\0')
		return "all is false, and no name is given";
	return b->all && b->name[0] != '\0' ? "name and all exclude each other" : NULL;
}

int control_body_parse(const char *text, size_t size, unsigned keys, struct control_body *ret,
		       const char **ret_why)
{
	OWN(drop_json) cJSON *object = NULL;
	struct control_body b = {0};
	struct scan_error fault;
	const char *why;

	*ret_why = "the body is not valid JSON";
	if (size == 0) {
		*ret = b;
		return 0;
	}
	if (json_parse(text, size, &object, &fault) < 0)
		return -EBADMSG;
	why = take_object(object, keys, &b);
	if (why) {
		*ret_why = why;
		return -EBADMSG;
	}
	*ret = b;
	return 0;
}

/* --- the routes */

struct failure {
	int error;
	unsigned status;
	const char *text;
	const char *hint;
};

/* clang-format off */
static const struct failure failures[] = {
	{-ENOENT, 404, "not managed", "a unit is managed when a rule under units: in the configuration matches it, a container when its pod has the annotation vscaled.dev/mode; vscalectl list shows all"},
	{-EINVAL, 400, "not a valid request", NULL},
	{-EPERM,  403, "not allowed", "ask as root"},
	{-EACCES, 403, "not allowed", "ask as root"},
	{-EAGAIN, 503, "temporarily not possible", "try again in a few seconds"},
	{-EBUSY,  503, "temporarily not possible", "try again in a few seconds"},
	{-ENOTSUP, 501, "this node is not supported: its cgroups are not of version 2", "nothing is sized here, and the saved originals are kept as they are; see vscalectl doctor"},
};
/* clang-format on */

static int fail_with(struct http_response *ret, int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		if (failures[i].error == error)
			return http_fail(ret, failures[i].status, failures[i].text,
					 failures[i].hint);
	return http_fail(ret, 500, strerror(-error), "the journal may say more");
}

/* Consumes object; NULL is a lack of memory. */
static int send_json(struct http_response *ret, cJSON *object)
{
	char *body = object ? cJSON_PrintUnformatted(object) : NULL;

	cJSON_Delete(object);
	if (!body)
		return -ENOMEM;
	*ret = (struct http_response){.status = 200, .body = body};
	return 0;
}

/* results: a struct view_json, an array. */
static void collect_result(void *results, const struct restore_result *result)
{
	struct view_json o = {.json = cJSON_CreateObject()};

	view_put(&o, "unit", view_text(result->unit));
	view_put(&o, "outcome", view_text(restore_outcome_names[result->outcome]));
	view_put(&o, "detail", view_text(result->detail));
	view_put(results, NULL, view_end(&o));
}

/* Answers {"key": item}, or the error; consumes the item. */
static int send_item(struct http_response *ret, const char *key, cJSON *item, int r)
{
	struct view_json o = {0};

	if (r < 0) {
		cJSON_Delete(item);
		return fail_with(ret, r);
	}
	o.json = cJSON_CreateObject();
	view_put(&o, key, item);
	return send_json(ret, view_end(&o));
}

static int get_status(void *ctx, const struct http_request *, struct http_response *ret)
{
	const struct control_api *c = ctx;

	return send_json(ret, c->ops->status(c->ctx));
}

static int get_units(void *ctx, const struct http_request *, struct http_response *ret)
{
	const struct control_api *c = ctx;
	cJSON *units = NULL;
	int r = c->ops->list(c->ctx, &units);

	return send_item(ret, "units", units, r);
}

static int get_unit(void *ctx, const struct http_request *request, struct http_response *ret)
{
	const struct control_api *c = ctx;
	cJSON *unit = NULL;
	int r = c->ops->explain(c->ctx, request->rest, &unit);

	return r < 0 ? fail_with(ret, r) : send_json(ret, unit);
}

/* Pause and resume: {"name": NAME}, or nothing for every unit. */
static int post_paused(void *ctx, const struct http_request *request, struct http_response *ret)
{
	const struct control_api *c = ctx;
	bool pause = strcmp(request->path, "/v1/pause") == 0;
	struct control_body body;
	const char *why;
	int r = control_body_parse(request->body, request->body_size,
				   CONTROL_KEY_NAME | CONTROL_KEY_ALL, &body, &why);

	if (r < 0)
		return http_fail(ret, 400, why, "{\"name\": \"UNIT\"}, or {\"all\": true}");
	r = (pause ? c->ops->pause : c->ops->resume)(c->ctx, body.name[0] ? body.name : NULL);
	return send_item(ret, "units", cJSON_CreateNumber(r), r);
}

static int post_restore(void *ctx, const struct http_request *request, struct http_response *ret)
{
	const unsigned keys = CONTROL_KEY_NAME | CONTROL_KEY_ALL | CONTROL_KEY_FORCE;
	const struct control_api *c = ctx;
	struct view_json results = {0};
	struct control_body body;
	const char *why;
	int r = control_body_parse(request->body, request->body_size, keys, &body, &why);

	if (r == 0 && !body.all && body.name[0] == '\0') {
		why = "neither name nor all is given";
		r = -EBADMSG;
	}
	if (r < 0)
		return http_fail(ret, 400, why,
				 "{\"name\": \"UNIT\", \"force\": false}, or {\"all\": true}");
	results.json = cJSON_CreateArray();
	if (!results.json)
		return -ENOMEM;
	r = c->ops->restore(c->ctx, body.all ? NULL : body.name, body.force, collect_result,
			    &results);
	return send_item(ret, "results", view_end(&results), r);
}

static int get_config(void *ctx, const struct http_request *, struct http_response *ret)
{
	const struct control_api *c = ctx;

	return send_json(ret, c->ops->config(c->ctx));
}

static int get_report(void *ctx, const struct http_request *, struct http_response *ret)
{
	const struct control_api *c = ctx;
	char *text;
	int r = c->ops->report(c->ctx, &text);

	if (r < 0)
		return r == -ENOMEM ? r : fail_with(ret, r);
	*ret = (struct http_response){.status = 200, .body = text};
	return 0;
}

static int post_recommendation(void *ctx, const struct http_request *request,
			       struct http_response *ret)
{
	const struct control_api *c = ctx;
	char why[192];
	cJSON *answer = c->ops->recommend(c->ctx, request->body != NULL ? request->body : "",
					  request->body_size, why, sizeof why);

	if (answer == NULL && why[0] != '\0')
		return http_fail(ret, 400, why,
				 "a Pod as JSON, as kubectl get pod -o json shows it");
	return send_json(ret, answer);
}

static int get_probe(void *ctx, const struct http_request *request, struct http_response *ret)
{
	const struct control_api *c = ctx;

	return c->ops->probe(c->ctx, request, ret);
}

/* clang-format off */
const struct http_route control_routes[CONTROL_ROUTE_COUNT] = {
	{"GET",  "/v1/status",  get_status},
	{"GET",  "/v1/units",   get_units},
	{"GET",  "/v1/units/*", get_unit},
	{"POST", "/v1/pause",   post_paused},
	{"POST", "/v1/resume",  post_paused},
	{"POST", "/v1/restore", post_restore},
	{"GET",  "/v1/config",  get_config},
	{"GET",  "/v1/report",  get_report},
	{"POST", "/v1/recommendation", post_recommendation},
	{"GET",  "/livez",      get_probe},
	{"GET",  "/readyz",     get_probe},
};
/* clang-format on */

static bool admit(void *ctx, int fd, const struct ucred *peer)
{
	const struct control_api *c = ctx;

	return c->ops->admit ? c->ops->admit(c->ctx, fd, peer)
			     : http_peer_in_group(fd, peer, c->group);
}

int control_server_new(sd_event *event, struct control_api *c, const char *socket_path, gid_t group,
		       struct http_server **ret)
{
	const struct http_config config = {
		.socket_path = socket_path,
		.not_found_hint = "docs/control-api.md lists the paths",
		.group = group,
		.routes = control_routes,
		.route_count = ARRAY_SIZE(control_routes),
		.ctx = c,
		.admit = admit,
	};

	c->group = group;
	return http_server_new(event, &config, ret);
}
