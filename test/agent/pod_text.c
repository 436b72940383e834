// SPDX-License-Identifier: Apache-2.0
#include "pod_text.h"
#include <stdio.h>

static const char *const qos[] = {"Guaranteed", "Burstable", "BestEffort"};
static const char *const kinds[] = {"app", "sidecar", "init", "ephemeral"};
static const char *const pendings[] = {"no", "deferred", "infeasible"};
static const char *const progresses[] = {"idle", "in-progress", "error"};

static const char *or_none(const char *s)
{
	return s != NULL ? s : "-";
}

static void put_amount(FILE *f, uint64_t amount)
{
	if (amount == LIMIT_MAX)
		fputs("max", f);
	else
		fprintf(f, "%llu", (unsigned long long)amount);
}

static void put_resources(FILE *f, const char *name, const struct kube_resources *r)
{
	static const char *const names[] = {"cpu", "memory"};

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		fprintf(f, " %s.%s=", name, names[i]);
		put_amount(f, r->request[i]);
		fputc('/', f);
		put_amount(f, r->limit[i]);
	}
}

static void put_container(FILE *f, const struct kube_container *c)
{
	fprintf(f, "container %s %s", c->name, kinds[c->kind]);
	put_resources(f, "spec", &c->spec);
	if (c->has_status)
		put_resources(f, "status", &c->status);
	if (c->probe_usec != 0)
		fprintf(f, " alive=%llu", (unsigned long long)(c->probe_usec / USEC_PER_SEC));
	fprintf(f, "%s restart=%u id=%s %s%s oom=%u restarts=%u started=%llu heap=%llu,%u",
		c->probed ? " probed" : "", c->restart_on_resize, or_none(c->id),
		c->running ? "running" : "stopped", c->ready ? " ready" : "", c->oom_run,
		c->restarts, (unsigned long long)c->started_real, (unsigned long long)c->heap.bytes,
		c->heap.permille);
	if (c->heap_request != 0)
		fprintf(f, " of request %llu", (unsigned long long)c->heap_request);
	fputc('\n', f);
}

char *pod_text(const struct kube_pod *p)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "uid=%s cgroup=%s namespace=%s name=%s node=%s workload=%s version=%s\n", p->uid,
		p->cgroup_uid, p->namespace, p->name, or_none(p->node), p->workload,
		p->resource_version);
	fprintf(f, "generation=%llu observed=%llu qos=%s phase=%s priority=%d\n",
		(unsigned long long)p->generation, (unsigned long long)p->observed_generation,
		qos[p->qos], p->phase, p->priority);
	if (p->containers_ready_real != 0)
		fprintf(f, "ready-since=%llu\n", (unsigned long long)p->containers_ready_real);
	fprintf(f, "flags=%s%s%s%s%s%s%s pending=%s progress=%s manager=%s message=%s\n",
		p->ready ? "ready " : "", p->deleting ? "deleting " : "",
		p->mirror ? "mirror " : "", p->windows ? "windows " : "", p->once ? "once " : "",
		p->pod_resources ? "pod-resources " : "", p->claims ? "claims " : "",
		pendings[p->pending], progresses[p->progress],
		p->resize_newest_ours ? "vscaled" : "-", or_none(p->resize_message));
	if (p->labels != NULL || p->owned || p->vpa)
		fprintf(f, "%s%s%slabels=%s\n", p->owner != NULL ? p->owner : "",
			p->owned ? " owned " : "", p->vpa ? "vpa " : "", or_none(p->labels));
	for (size_t i = 0; i < p->annotation_count; i++)
		fprintf(f, "annotation %s=%s\n", p->annotations[i].key, p->annotations[i].value);
	for (size_t i = 0; i < p->container_count; i++)
		put_container(f, &p->containers[i]);
	fclose(f);
	return text;
}

char *status_text(const struct kube_status *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "code=%u reason=%s retry=%llus message=%s\n", s->code, s->reason,
		(unsigned long long)(s->retry_after_usec / USEC_PER_SEC), s->message);
	for (uint32_t i = 0; i < s->cause_count; i++)
		fprintf(f, "cause %s field=%s message=%s\n", s->cause[i].reason, s->cause[i].field,
			s->cause[i].message);
	fclose(f);
	return text;
}
