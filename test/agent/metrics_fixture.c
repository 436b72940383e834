// SPDX-License-Identifier: Apache-2.0
#include "metrics_fixture.h"
#include "agent/config/config.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

void metrics_fixture_init(struct metrics_fixture *f, size_t containers)
{
	*f = (struct metrics_fixture){.names = calloc(containers + 1, sizeof *f->names),
				      .workload = "checkout-service"};
	for (size_t i = 0; f->names != NULL && i < containers; i++)
		snprintf(f->names[i], sizeof f->names[i], "checkout-service-7d9c5b6f8-%05zu", i);
	counters_change(&f->counters, RESOURCE_CPU, 500, 900, REASON_THROTTLED);
	counters_change(&f->counters, RESOURCE_CPU, 900, 900, REASON_THROTTLED);
	counters_change(&f->counters, RESOURCE_MEMORY, 2, 1, REASON_SHRINK);
	counters_blocked(&f->counters, BLOCKED_NONE, BLOCKED_CEILING);
	counters_blocked(&f->counters, BLOCKED_CEILING, BLOCKED_CEILING);
	counters_blocked(&f->counters, BLOCKED_CEILING, BLOCKED_NONE);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 30);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 100);
	counters_took(&f->counters.apply[BACKEND_CGROUP], 7 * USEC_PER_MSEC);
	counters_took(&f->counters.apply[BACKEND_CGROUP], USEC_PER_MIN);
	counters_took(&f->counters.loop_lag, 250);
	counters_took(&f->counters.scan[SCAN_REFLEX], 90);
	counters_took(&f->counters.scan[SCAN_SAMPLE], 800);
	counters_took(&f->counters.raise[SINCE_WAKE], 90);
	counters_took(&f->counters.raise[SINCE_DUE], 700);
	counters_request(&f->counters, "patch", 200);
	counters_request(&f->counters, "patch", 200);
	counters_request(&f->counters, "patch", 422);
	counters_request(&f->counters, "watch", 0);
	f->counters.reverted[WRITER_SYSTEMD] = 3;
	f->counters.reports.room_waits = 2;
	f->counters.reports.answers[REPORT_ANSWER_REFUSED] = 1;
}

void metrics_fixture_free(struct metrics_fixture *f)
{
	free(f->names);
}

/* One entry after the other; NULL: it does not run. */
static struct cg *const running = (struct cg *)&(char){0};
static struct node_memory memory = {.read.total = 64 * GIB};
static struct unit_table table = {.memory = &memory};
static struct host host = {.cpu_milli = 16000, .cg.writable = true};
static struct pods pods = {.host = &host};
static const struct config config;

static void set_resource(struct managed *m, enum resource r, uint64_t ceiling,
			 struct range_of recommended)
{
	struct control *c = &m->control;

	c->resource[r].managed = true;
	*(r == RESOURCE_CPU ? &c->rule.cpu_milli.max : &c->rule.mem_bytes.max) = ceiling;
	c->recommendation.resource[r] = recommended;
}

static void set_sizes(struct managed *m, size_t i)
{
	struct control *c = &m->control;

	set_resource(m, RESOURCE_CPU, 4000,
		     (struct range_of){.lower = 120, .target = 250, .upper = 400, .peak = 870});
	set_resource(m, RESOURCE_MEMORY, GIB,
		     (struct range_of){.lower = 100 * MIB,
				       .target = 128 * MIB,
				       .upper = 200 * MIB,
				       .peak = 190 * MIB});
	c->kernel = (struct limits){.cpu_quota_usec = (900 + i) * 100,
				    .cpu_period_usec = 100000,
				    .mem_max = 256 * MIB + i};
	c->last = (struct usage){
		.have = USAGE_MEM_STAT, .mem_current = 150 * MIB, .stat.anon = 90 * MIB};
	c->last_at = 1;
	c->sample.have = USAGE_PSI_CPU | USAGE_PSI_MEM | USAGE_THROTTLE;
	c->rates = (struct cpu_rates){.used_milli = 312, .throttle_ppm = 25000};
	c->psi_cpu_ppm = 12345;
	c->resource[RESOURCE_MEMORY].counters.oom_kills = 1;
	m->drift.replaced[RESOURCE_CPU] = 2;
}

/* pod NULL: a unit. */
static struct managed new_entry(char *name, struct pod *pod)
{
	return (struct managed){
		.table = &table,
		.config = &config,
		.host = &host,
		.name = name,
		.pod = pod,
		.kind = pod != NULL ? UNIT_KIND_CONTAINER : UNIT_KIND_UNIT,
		.reason = STATE_SIZING,
		.cgroup.cg = running,
		.originals.saved = true,
		.properties.stored = PROPS_NONE,
		.control = {.started_at = 1, .page_bytes = 4096, .rule.mode = MODE_AUTO},
	};
}

static void add_units(struct metrics_page *p)
{
	struct managed m = new_entry((char[]){"web.service"}, NULL);
	struct shown x = shown_entry(&m);

	set_sizes(&m, 0);
	m.properties.stored.cpu_quota_per_sec_usec = 500000;
	metrics_page_add(p, &x);
	/* Nothing is known of its CPU, and its memory has no limit. */
	m = new_entry((char[]){"a\\x2db \"quoted\"\n\xff.service"}, NULL);
	m.reason = STATE_NOT_RUNNING;
	m.control.rule.mode = MODE_OFF;
	m.control.resource[RESOURCE_MEMORY].managed = true;
	m.control.kernel.mem_max = LIMIT_MAX;
	m.control.last = (struct usage){.have = USAGE_MEM_STAT, .mem_current = 5};
	metrics_page_add(p, &x);
}

static void add_container(struct metrics_page *p, const struct metrics_fixture *f, size_t i)
{
	struct kube_container app = {
		.name = (char[]){"app"},
		.spec = {.request = {1000, 128 * MIB}, .limit = {500, 256 * MIB}}};
	struct kube_pod spec = {.namespace = (char[]){"shop"},
				.name = f->names[i],
				.workload = (char *)f->workload,
				.containers = &app,
				.container_count = 1};
	struct pod pod = {.pods = &pods, .spec = &spec};
	struct managed m = new_entry((char[]){"shop/pod/app"}, &pod);
	const struct shown x = shown_entry(&m);

	set_sizes(&m, i + 2);
	metrics_page_add(p, &x);
}

struct metrics_page *metrics_fixture_page(const struct metrics_fixture *f, size_t containers)
{
	struct metrics_page *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	*p = (struct metrics_page){
		.cluster = {.server = "https://x", .healthy = true, .pod_count = 7},
		.config_loaded_real = 1700000000 * USEC_PER_SEC,
		.wakeups = 12,
		.counters = f->counters,
		.pods = 30,
		.config_ok = true,
		.state_ok = true,
		.last_tick_real = 1700000100 * USEC_PER_SEC + 250000,
	};
	add_units(p);
	for (size_t i = 0; i < containers; i++)
		add_container(p, f, i);
	return p;
}

int metrics_fixture_answer(const struct metrics_fixture *f, size_t containers,
			   struct http_stream *ret)
{
	struct metrics_page *p = metrics_fixture_page(f, containers);

	if (p != NULL)
		process_read(&p->process);
	*ret = (struct http_stream){metrics_page_read, metrics_page_free, p};
	return p != NULL ? 0 : -ENOMEM;
}

char *metrics_fixture_render(struct metrics_page *page, size_t step)
{
	OWN(drop_free) char *piece = malloc(step);
	char *text = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *out;

	if (piece == NULL || page == NULL)
		return NULL;
	out = open_memstream(&text, &size);
	while ((n = metrics_page_read(page, piece, step)) > 0)
		fwrite(piece, 1, (size_t)n, out);
	fclose(out);
	metrics_page_free(page);
	return n == 0 ? text : NULL;
}
