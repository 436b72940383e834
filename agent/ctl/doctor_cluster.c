// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config.h"
#include "agent/ctl/doctor.h"
#include "agent/kube/model/decode.h"
#include "agent/kube/model/encode.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_USEC (10 * USEC_PER_SEC)
#define REVIEW_PATH  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

const struct doctor_place *doctor_place;

/* One request, waited for. */
struct reply {
	bool done;
	unsigned status;
	int error;
	char detail[256];
	char *body;
	size_t len;
};

static void drop_reply(struct reply *r)
{
	free(r->body);
}

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct reply *r = arg;

	r->done = true;
	r->status = answer->status;
	r->error = answer->error;
	snprintf(r->detail, sizeof(r->detail), "%s", answer->detail);
	r->body = strndup(answer->body, answer->len);
	r->len = r->body ? strlen(r->body) : 0;
}

static int doctor_cluster_ask(const struct doctor_cluster *k, const char *method, const char *path,
			      const char *body, struct reply *ret)
{
	const struct kube_request request = {
		.method = method,
		.path = path,
		.body = body,
		.content = KUBE_JSON,
		.timeout_usec = TIMEOUT_USEC,
	};
	int r = kube_client_start(k->client, &request, NULL, on_done, ret, NULL);

	while (r >= 0 && !ret->done)
		r = sd_event_run(k->event, UINT64_MAX);
	return r < 0 ? r : 0;
}

/* Keeps the server's message for a status other than 200. */
static void note_refusal(struct doctor_cluster *k, const struct reply *r)
{
	struct kube_status *s = calloc(1, sizeof(*s));

	if (s)
		kube_decode_status(r->body ? r->body : "", r->len, s);
	snprintf(k->detail, sizeof(k->detail), "%.200s",
		 r->status == 0 ? r->detail
		 : s            ? s->message
				: "");
	free(s);
}

static void query_cluster(struct doctor_cluster *k)
{
	OWN(drop_reply) struct reply r = {0};
	struct kube_decode_error why;
	int e = doctor_cluster_ask(k, "GET", "/api/v1", NULL, &r);

	k->status = r.status;
	if (e < 0) {
		snprintf(k->detail, sizeof(k->detail), "%s", strerror(-e));
		return;
	}
	if (r.status == 200 && r.body &&
	    kube_decode_resize_offered(r.body, r.len, &k->resize_offered, &why) == 0)
		return;
	note_refusal(k, &r);
	if (r.status == 200) {
		k->status = 0;
		snprintf(k->detail, sizeof(k->detail), "the answer is not from an API server");
	}
}

static int doctor_cluster_find(const struct config_kubernetes *config,
			       const struct doctor_place *place, struct doctor_cluster *k)
{
	if (config->kubeconfig)
		return kube_config_load(config->kubeconfig, config->context, &k->config, &k->why);
	return kube_config_in_cluster(place->host, place->port, place->account, &k->config,
				      &k->why);
}

void doctor_cluster_open(const struct config_kubernetes *config, struct doctor_cluster *ret)
{
	struct doctor_place here = {getenv("KUBERNETES_SERVICE_HOST"),
				    getenv("KUBERNETES_SERVICE_PORT"), KUBE_ACCOUNT_DIR};
	const struct doctor_place *place = doctor_place ? doctor_place : &here;
	struct doctor_cluster *k = ret;

	*k = (struct doctor_cluster){0};
	k->wanted = config->enabled == CONFIG_TRUE ||
		    (config->enabled == CONFIG_AUTO && (config->kubeconfig || place->host));
	if (!k->wanted)
		return;
	k->config_error = doctor_cluster_find(config, place, k);
	if (k->config_error < 0)
		return;
	k->config_error = sd_event_new(&k->event);
	if (k->config_error >= 0)
		k->config_error = kube_client_new(k->event, &k->config,
						  "vscalectl/" VSCALED_VERSION, &k->client);
	if (k->config_error < 0)
		snprintf(k->why.text, sizeof(k->why.text), "%s", strerror(-k->config_error));
	else
		query_cluster(k);
}

void doctor_cluster_close(struct doctor_cluster *k)
{
	kube_client_free(k->client);
	kube_config_free(&k->config);
	sd_event_unref(k->event);
	*k = (struct doctor_cluster){0};
}

int doctor_cluster_may(const struct doctor_cluster *k, const char *verb, const char *group,
		       const char *resource, const char *subresource, bool *ret)
{
	OWN(drop_free) char *body = kube_encode_access(verb, group, resource, subresource);
	OWN(drop_reply) struct reply r = {0};
	struct kube_decode_error why;
	int e = body ? doctor_cluster_ask(k, "POST", REVIEW_PATH, body, &r) : -ENOMEM;

	if (e < 0)
		return e;
	if (r.status == 0)
		return r.error < 0 ? r.error : -EIO;
	if (r.status != 201 && r.status != 200)
		return -EPERM;
	return kube_decode_access(r.body ? r.body : "", r.len, ret, &why);
}

int doctor_cluster_pods(const struct doctor_cluster *k, const char *node, kube_pod_fn *each,
			void *arg)
{
	OWN(drop_reply) struct reply r = {0};
	char segment[3 * 253 + 1], path[1024], version[128];
	struct kube_decode_error why;
	size_t bad;
	int e = kube_encode_segment(node, segment, sizeof(segment));

	if (e < 0)
		return e;
	snprintf(path, sizeof(path),
		 "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s&resourceVersion=0", segment);
	e = doctor_cluster_ask(k, "GET", path, NULL, &r);
	if (e < 0)
		return e;
	if (r.status == 0)
		return r.error < 0 ? r.error : -EIO;
	if (r.status != 200)
		return -EPERM;
	return kube_decode_pods(r.body ? r.body : "", r.len, each, arg, version, sizeof(version),
				&bad, &why);
}
