// SPDX-License-Identifier: Apache-2.0
/*
 * A PodList of 110 and of 250 pods of about 6 KB: time, and the heap at its peak above the list's
 * own text. "pods" is what remains, "items" what came on top while one pod at a time was parsed;
 * "whole" is what parsing the document at once would take.
 */
#include "agent/kube/model/decode.h"
#include <cjson/cJSON.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RUNS 20

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static size_t now_bytes, peak_bytes;

static void *count(void *p)
{
	now_bytes += p != NULL ? malloc_usable_size(p) : 0;
	peak_bytes = MAX(peak_bytes, now_bytes);
	return p;
}

void *malloc(size_t size)
{
	return count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return count(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	now_bytes -= p != NULL ? malloc_usable_size(p) : 0;
	return count(__libc_realloc(p, size));
}

void free(void *p)
{
	now_bytes -= p != NULL ? malloc_usable_size(p) : 0;
	__libc_free(p);
}

/* Half of a real pod is managedFields. */
static void put_fields(FILE *f, const char *manager, const char *subresource)
{
	fprintf(f,
		"{\"manager\":\"%s\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
		"\"time\":\"2026-11-20T08:14:37Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:"
		"spec\":"
		"{\"f:containers\":{\"k:{\\\"name\\\":\\\"app\\\"}\":{\".\":{}",
		manager);
	for (int i = 0; i < 60; i++)
		fprintf(f, ",\"f:field%d\":{\".\":{}}", i);
	fprintf(f, "}}}},\"subresource\":\"%s\"}", subresource);
}

static void put_container(FILE *f, int n)
{
	fprintf(f, "%s{\"name\":\"app%d\",\"image\":\"registry.example/team/app:1.2.3\",\"env\":[",
		n > 0 ? "," : "", n);
	for (int i = 0; i < 8; i++)
		fprintf(f, "%s{\"name\":\"SETTING_%d\",\"value\":\"https://service-%d.example\"}",
			i > 0 ? "," : "", i, i);
	fputs("],\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"},\"requests\":"
	      "{\"cpu\":\"200m\",\"memory\":\"128Mi\"}},\"volumeMounts\":[{\"name\":\"kube-api-"
	      "access\","
	      "\"readOnly\":true,\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}],"
	      "\"livenessProbe\":{\"httpGet\":{\"path\":\"/"
	      "livez\",\"port\":8080},\"periodSeconds\":10},"
	      "\"terminationMessagePath\":\"/dev/"
	      "termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}",
	      f);
}

static void put_status(FILE *f, int n)
{
	fprintf(f,
		"%s{\"name\":\"app%d\",\"ready\":true,\"restartCount\":0,\"containerID\":"
		"\"containerd://"
		"7d9c4f1a2b3c4d5e7d9c4f1a2b3c4d5e7d9c4f1a2b3c4d5e7d9c4f1a2b3c4d5e\",\"state\":"
		"{\"running\":{\"startedAt\":\"2026-11-20T08:03:10Z\"}},\"lastState\":{},"
		"\"resources\":"
		"{\"limits\":{\"cpu\":\"500m\",\"memory\":\"256Mi\"}}}",
		n > 0 ? "," : "", n);
}

static void put_pod(FILE *f, unsigned n)
{
	static const char *const conditions[] = {"Initialized", "Ready", "ContainersReady",
						 "PodScheduled"};

	fprintf(f,
		"{\"metadata\":{\"name\":\"web-7d9c4f-%05u\",\"namespace\":\"team-%u\",\"uid\":"
		"\"01db0305-ede0-4ddc-b896-%012u\",\"resourceVersion\":\"%u\",\"generation\":3,"
		"\"labels\":{\"app\":\"web\",\"pod-template-hash\":\"7d9c4f\"},\"annotations\":"
		"{\"vscaled.dev/"
		"mode\":\"Auto\"},\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":"
		"\"web-7d9c4f\",\"controller\":true}],\"managedFields\":[",
		n, n % 9, n, 1000 + n);
	put_fields(f, "kube-controller-manager", "");
	fputc(',', f);
	put_fields(f, "kubelet", "status");
	fputs("]},\"spec\":{\"nodeName\":\"node-1\",\"containers\":[", f);
	for (int i = 0; i < 2; i++)
		put_container(f, i);
	fputs("],\"restartPolicy\":\"Always\",\"tolerations\":[{\"key\":\"node.kubernetes.io/"
	      "not-ready\","
	      "\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},"
	      "\"status\":"
	      "{\"phase\":\"Running\",\"qosClass\":\"Burstable\",\"conditions\":[",
	      f);
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
		fprintf(f,
			"%s{\"type\":\"%s\",\"status\":\"True\",\"lastTransitionTime\":"
			"\"2026-11-20T08:14:38Z\"}",
			i > 0 ? "," : "", conditions[i]);
	fputs("],\"containerStatuses\":[", f);
	for (int i = 0; i < 2; i++)
		put_status(f, i);
	fputs("]}}", f);
}

static char *make_list(unsigned pods, size_t *ret_size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_size);

	fputs("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[", f);
	for (unsigned i = 0; i < pods; i++) {
		if (i > 0)
			fputc(',', f);
		put_pod(f, i);
	}
	fputs("]}", f);
	fclose(f);
	return text;
}

struct kept {
	struct kube_pod *pod[250];
	size_t count;
};

static int keep(void *arg, struct kube_pod *pod)
{
	struct kept *k = arg;

	k->pod[k->count++] = pod;
	return 0;
}

static double clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void print(const char *name, unsigned pods, double value, const char *unit)
{
	printf("{\"name\":\"%s_%u\",\"value\":%.3f,\"unit\":\"%s\"}\n", name, pods, value, unit);
}

static int run(unsigned pods)
{
	size_t size, bad, before, left, peak = 0;
	OWN(drop_free) char *text = make_list(pods, &size);
	struct kube_decode_error err;
	double best = 1e9;
	char version[32];

	for (int i = 0; i < RUNS; i++) {
		struct kept k = {.count = 0};
		double begin;

		before = now_bytes;
		peak_bytes = now_bytes;
		begin = clock_ms();
		if (kube_decode_pods(text, size, keep, &k, version, sizeof version, &bad, &err) <
			    0 ||
		    k.count != pods)
			return 1;
		best = MIN(best, clock_ms() - begin);
		left = now_bytes - before;
		peak = peak_bytes - before;
		for (size_t j = 0; j < k.count; j++)
			kube_pod_free(k.pod[j]);
	}
	print("decode_time", pods, best, "ms");
	print("decode_text", pods, (double)size, "bytes");
	print("decode_heap_pods", pods, (double)left, "bytes");
	print("decode_heap_items", pods, (double)(peak - left), "bytes");
	before = now_bytes;
	peak_bytes = now_bytes;
	cJSON_Delete(cJSON_ParseWithLength(text, size));
	print("decode_heap_whole", pods, (double)(peak_bytes - before), "bytes");
	return 0;
}

int main(void)
{
	return run(110) != 0 || run(250) != 0;
}
