// SPDX-License-Identifier: Apache-2.0
/* What the metadata of a pod says of it, and lists of nothing but metadata. */
#include "agent/kube/model/decode.h"
#include "test/check.h"
#include <errno.h>

#define UID "01db0305-ede0-4ddc-b896-98a32314e7f2"
#define POD(kind, more)                                                                            \
	"{\"kind\":\"" kind "\",\"metadata\":{\"name\":\"web-7d9c4-x2x4z\",\"namespace\":\"lab\"," \
	"\"uid\":\"" UID "\",\"resourceVersion\":\"213\"," more "}}"

static struct kube_pod *decode(const char *text)
{
	struct kube_decode_error err;
	struct kube_pod *p = NULL;
	int r = kube_decode_pod(text, strlen(text), &p, &err);

	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(r, 0);
	return p;
}

/* What cannot be a label is left out. */
TEST(labels)
{
	OWN(drop_kube_pod)
	struct kube_pod *p = decode(POD("PartialObjectMetadata",
					"\"labels\":{\"a.b/c\":\"x_y\",\"n\":\"\",\"x\":\"a,b\","
					"\"y=\":\"1\",\"z\":7,\"app\":\"web\"}"));
	OWN(drop_kube_pod)
	struct kube_pod *none = decode(POD("PartialObjectMetadata", "\"labels\":{\"z\":7}"));

	CHECK_STR(p->labels, "a.b/c=x_y,n=,app=web");
	CHECK(!p->owned && !p->vpa);
	CHECK_STR(p->workload, "web-7d9c4-x2x4z");
	CHECK_EQ(p->container_count, 0);
	CHECK(none->labels == NULL);
}

static size_t kept(const struct kube_annotation *list, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += strlen(list[i].value);
	return sum;
}

/* 256 KiB of annotations, as the API allows: what no value needs is not kept, and nothing becomes
 * valid because its end is missing. */
TEST(long_annotations)
{
	static const char *const keys[] = {"policy", "containers", "status"};
	OWN(kube_namespaces_drop) struct kube_namespaces namespaces = {0};
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	OWN(drop_free) char *text = NULL, *list = NULL;
	struct kube_decode_error err;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fputs("\"annotations\":{\"vscaled.dev/mode\":\"Auto\"", f);
	for (size_t i = 0; i < 31; i++) {
		fprintf(f, ",\"vscaled.dev/%s%.0zu\":\"app%*s,x\"",
			i < ARRAY_SIZE(keys) ? keys[i] : "x", i < ARRAY_SIZE(keys) ? 0 : i,
			i < ARRAY_SIZE(keys) ? 40000 : 4000, "");
	}
	fputc('}', f);
	fclose(f);
	CHECK(asprintf(
		      &list,
		      "{\"kind\":\"NamespaceList\",\"items\":[{\"metadata\":{\"name\":\"a\",%s}}]}",
		      text) > 0);
	CHECK_EQ(kube_decode_namespaces(list, strlen(list), &namespaces, &err), 0);
	free(list);
	CHECK(asprintf(&list, POD("PartialObjectMetadata", "%s"), text) > 0);
	p = decode(list);
	CHECK_EQ(p->annotation_count, 32);
	CHECK_STR(kube_pod_annotation(p, "mode"), "Auto");
	CHECK_STR(strrchr(kube_pod_annotation(p, "containers"), ' '), " ...");
	CHECK(kept(p->annotations, p->annotation_count) <= KUBE_STATUS_MAX + 44 * 1024);
	CHECK(kept(namespaces.items[0].annotations, namespaces.items[0].annotation_count) <=
	      KUBE_STATUS_MAX + 44 * 1024);
}

/* Of more than 32 the mode and the status are kept, wherever they stand. */
TEST(many_annotations)
{
	OWN(kube_namespaces_drop) struct kube_namespaces namespaces = {0};
	OWN(drop_kube_pod) struct kube_pod *p = NULL;
	OWN(drop_free) char *text = NULL, *list = NULL;
	struct kube_decode_error err;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fputs("\"annotations\":{", f);
	for (size_t i = 0; i < 40; i++)
		fprintf(f, "\"vscaled.dev/a%zu\":\"1\",", i);
	fputs("\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/status\":\"{}\"}", f);
	fclose(f);
	CHECK(asprintf(
		      &list,
		      "{\"kind\":\"NamespaceList\",\"items\":[{\"metadata\":{\"name\":\"a\",%s}}]}",
		      text) > 0);
	CHECK_EQ(kube_decode_namespaces(list, strlen(list), &namespaces, &err), 0);
	CHECK_EQ(namespaces.items[0].annotation_count, 34);
	CHECK_STR(namespaces.items[0].annotations[32].key, "mode");
	free(list);
	CHECK(asprintf(&list, POD("PartialObjectMetadata", "%s"), text) > 0);
	p = decode(list);
	CHECK_EQ(p->annotation_count, 34);
	CHECK_STR(kube_pod_annotation(p, "mode"), "Auto");
	CHECK_STR(kube_pod_annotation(p, "status"), "{}");
}

/* Only a controller owns it. */
TEST(owner)
{
	OWN(drop_kube_pod)
	struct kube_pod *p = decode(
		POD("PartialObjectMetadata",
		    "\"labels\":{\"pod-template-hash\":\"7d9c4\"},\"ownerReferences\":[{\"kind\":"
		    "\"ReplicaSet\",\"name\":\"web-7d9c4\",\"controller\":true}]"));
	OWN(drop_kube_pod)
	struct kube_pod *lone = decode(POD(
		"PartialObjectMetadata", "\"ownerReferences\":[{\"kind\":\"X\",\"name\":\"y\"}]"));

	CHECK(p->owned);
	CHECK_STR(p->workload, "web");
	CHECK(!lone->owned);
}

#define OWNED(labels, kind, name)                                                                  \
	POD("PartialObjectMetadata",                                                               \
	    "\"labels\":{" labels "},\"ownerReferences\":[{\"kind\":\"" kind "\",\"name\":\"" name \
	    "\",\"controller\":true}]")

/* The kind that the workload's name belongs to. */
TEST(owner_kind)
{
	static const char *const rows[][2] = {
		{OWNED("\"pod-template-hash\":\"7d9c4\"", "ReplicaSet", "web-7d9c4"), "Deployment"},
		{OWNED("\"pod-template-hash\":\"7d9c4\"", "ReplicaSet", "web-x"), "ReplicaSet"},
		{OWNED("\"rollouts-pod-template-hash\":\"7d9c4\"", "ReplicaSet", "web-7d9c4"),
		 "Rollout"},
		{OWNED("", "ReplicaSet", "web-7d9c4"), "ReplicaSet"},
		{OWNED("", "StatefulSet", "db"), "StatefulSet"},
		{OWNED("", "Job", "report-29390400"), "CronJob"},
		{OWNED("", "Job", "report-1234567"), "Job"},
		{OWNED("", "Node", "node-1"), NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(drop_kube_pod) struct kube_pod *p = decode(rows[i][0]);

		CHECK_STR(p->owner != NULL ? p->owner : "-", rows[i][1] != NULL ? rows[i][1] : "-");
	}
}

TEST(vpa)
{
	static const char *const marks[] = {
		POD("PartialObjectMetadata", "\"annotations\":{\"vpaObservedContainers\":\"app\"}"),
		POD("PartialObjectMetadata", "\"annotations\":{\"vpaUpdates\":\"Pod resources\"}"),
		POD("PartialObjectMetadata", "\"annotations\":{\"vpaInPlaceUpdated\":\"true\"}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		OWN(drop_kube_pod) struct kube_pod *p = decode(marks[i]);

		CHECK(p->vpa);
	}
}

static int count(void *arg, struct kube_pod *pod)
{
	(*(unsigned *)arg)++;
	kube_pod_free(pod);
	return 0;
}

TEST(list)
{
	static const char text[] =
		"{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"3\"},"
		"\"items\":[" POD("PartialObjectMetadata", "\"generation\":1") ",{},7]}";
	struct kube_decode_error err;
	char version[16];
	unsigned seen = 0;
	size_t bad;

	CHECK_OK(kube_decode_pods(text, strlen(text), count, &seen, version, sizeof version, &bad,
				  &err));
	CHECK_EQ(seen, 1);
	CHECK_EQ(bad, 2);
	CHECK_STR(version, "3");
}

TEST(continue)
{
	static const struct {
		const char *text;
		int result;
		const char *token;
	} rows[] = {
		{"{\"metadata\":{}}", 0, ""},
		{"{\"metadata\":{\"continue\":\"\"}}", 0, ""},
		{"{\"metadata\":{\"continue\":\"eyJ2-_A\"},\"items\":[]}", 0, "eyJ2-_A"},
		{"{\"metadata\":{\"continue\":\"0123456\"}}", 0, "0123456"},
		{"{\"metadata\":{\"continue\":\"01234567\"}}", -EBADMSG, "old"},
		{"{\"metadata\":{\"continue\":\"a&b\"}}", -EBADMSG, "old"},
		{"{\"metadata\":{\"continue\":7}}", -EBADMSG, "old"},
		{"{\"metadata\":7}", -EBADMSG, "old"},
		{"{}", -EBADMSG, "old"},
		{"", -EBADMSG, "old"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_decode_error err;
		char token[8] = "old";

		CHECK_EQ(kube_decode_continue(rows[i].text, strlen(rows[i].text), token,
					      sizeof token, &err),
			 rows[i].result);
		CHECK_STR(token, rows[i].token);
	}
}
