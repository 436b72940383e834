// SPDX-License-Identifier: Apache-2.0
/* The history of a workload has containers that end before they were sampled twice, or before their
 * start-up is over; restarts and roll-outs change nothing of it. */
#include "agent/manage/managed.h"
#include "agent/pod/pods.h"
#include "test/agent/test_pods.h"

#define KEY         "default/web-0/app"
#define HISTORY_KEY "default/Pod/web-0/app"

static struct history_record stored(struct rig *r)
{
	struct history_record rec = {0};

	CHECK_OK(history_store_get(&r->daemon->units.records->histories, HISTORY_KEY,
				   &tuning_default.history, &rec));
	return rec;
}

static void job(struct rig *r, enum cgroup_driver driver)
{
	struct rig_pod *p = pods_begin(r, driver, "");

	p->once = true;
	p->container[0].started_real = r->real;
	rig_pod_put(r, p);
	CHECK(pods_of(r, KEY)->cgroup.cg != NULL);
}

static void end_job(struct rig *r)
{
	struct rig_container *app = &r->pod[0].container[0];

	rig_container_stop(r, app);
	app->restarts--;
	rig_run(r, 1, NULL);
	CHECK(pods_of(r, KEY)->cgroup.cg == NULL);
}

static void write_totals(struct rig *r, uint64_t usage_usec, uint64_t peak)
{
	const struct rig_unit *u = r->pod[0].container[0].unit;
	char path[RIG_PATH_MAX + 16], text[128];

	snprintf(path, sizeof path, "%s/cpu.stat", u->cgroup);
	snprintf(text, sizeof text,
		 "usage_usec %llu\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
		 (unsigned long long)usage_usec);
	fake_put(&r->tree, path, text);
	snprintf(path, sizeof path, "%s/memory.peak", u->cgroup);
	snprintf(text, sizeof text, "%llu\n", (unsigned long long)peak);
	fake_put(&r->tree, path, text);
}

/* Two seconds, and no sample: CPU and the highest memory of all of them. */
TEST_RIG_DRIVERS(between_samples)
{
	struct history_record rec;

	job(r, driver);
	write_totals(r, 300 * USEC_PER_MSEC, 40 * MIB);
	managed_read_totals(pods_of(r, KEY));
	r->boot += 2 * USEC_PER_SEC;
	r->real += 2 * USEC_PER_SEC;
	CHECK_EQ(pods_of(r, KEY)->control.history.samples, 0);
	end_job(r);
	rec = stored(r);
	CHECK_EQ(rec.history.samples, 1);
	CHECK(rec.history.observed_usec[RESOURCE_CPU] >= 2 * USEC_PER_SEC &&
	      rec.history.observed_usec[RESOURCE_CPU] <= 4 * USEC_PER_SEC);
	CHECK(histogram_percentile(&rec.history.cpu, 0.9) >= 0.075);
	CHECK(histogram_percentile(&rec.history.memory, 0.9) >= 30.0 * MIB);
	history_record_drop(&rec);
}

/* Start-up is all there is of a run of 20 s: its age counts once. */
TEST_RIG(within_startup)
{
	struct history_record rec;

	job(r, DRIVER_CGROUPFS);
	rig_run(r, 20, pods_burn_800);
	CHECK(histogram_empty(&pods_of(r, KEY)->control.history.cpu));
	end_job(r);
	rec = stored(r);
	CHECK(histogram_percentile(&rec.history.cpu, 0.99) >= 0.2);
	CHECK(rec.history.observed_usec[RESOURCE_CPU] >= 18 * USEC_PER_SEC &&
	      rec.history.observed_usec[RESOURCE_CPU] <= 24 * USEC_PER_SEC);
	history_record_drop(&rec);
}

/* The API server reports the kill after the cgroup was removed, and no sample was taken. */
TEST_RIG_DRIVERS(killed_unsampled)
{
	struct rig_container *app;
	struct history_record rec;

	job(r, driver);
	app = &r->pod[0].container[0];
	end_job(r);
	app->oom_run = 1;
	rig_pod_put(r, &r->pod[0]);
	rec = stored(r);
	CHECK(rec.history.window_oom >= 64 * MIB);
	history_record_drop(&rec);
	/* And the daemon after this one knows it. */
	rig_restart(r);
	rec = stored(r);
	CHECK(rec.history.window_oom >= 64 * MIB);
	history_record_drop(&rec);
}

static struct recommendation recommended(struct rig *r, const char *name)
{
	struct recommendation ret;

	memset(&ret, 0, sizeof ret);
	history_recommend(&pods_of(r, name)->control.history, &tuning_default.history, 1, &ret);
	return ret;
}

static struct rig_pod *next_pod(struct rig *r, const char *name)
{
	struct rig_pod *p = rig_pod_add(r, DRIVER_CGROUPFS, name);

	p->workload = "web";
	p->mode = "Auto";
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_pod_put(r, p);
	return p;
}

/* A restart of the daemon and a new ReplicaSet: the numbers are the same to the byte. */
TEST_RIG(nothing_lost)
{
	struct recommendation before, after;
	struct rig_pod *p;

	p = pods_begin(r, DRIVER_CGROUPFS, "");
	p->workload = "web";
	rig_pod_put(r, p);
	p->container[0].unit->anon_bytes = 30 * MIB;
	rig_run(r, 600, pods_burn_800);
	before = recommended(r, "default/web-0/app");
	CHECK(before.resource[RESOURCE_CPU].peak > 0 && before.resource[RESOURCE_MEMORY].peak > 0);
	rig_restart(r);
	rig_pod_put(r, p);
	after = recommended(r, "default/web-0/app");
	CHECK(memcmp(&before, &after, sizeof before) == 0);
	/* The old pod goes, then the new one comes. */
	rig_pod_remove(r, p);
	pods_gone(&r->daemon->pods, p->uid);
	next_pod(r, "web-1");
	after = recommended(r, "default/web-1/app");
	CHECK(memcmp(&before, &after, sizeof before) == 0);
}

static uint64_t samples_of(struct rig *r, const char *pod, const char *kind)
{
	char name[64];
	struct rig_pod *p = rig_pod_add(r, DRIVER_CGROUPFS, pod);
	uint64_t samples;

	p->workload = "api";
	p->owner = kind;
	p->mode = "Auto";
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_pod_put(r, p);
	snprintf(name, sizeof name, "default/%s/app", pod);
	samples = pods_of(r, name)->control.history.samples;
	rig_pod_remove(r, p);
	pods_gone(&r->daemon->pods, p->uid);
	return samples;
}

/* A CronJob and a Deployment of one name: neither begins with what the other one needs. */
TEST_RIG(kinds)
{
	struct rig_pod *p;

	p = pods_begin(r, DRIVER_CGROUPFS, "");
	p->workload = "api";
	p->owner = "CronJob";
	rig_pod_run(r, p, 300, pods_burn_800);
	CHECK_EQ(samples_of(r, "api-7f9c-a", "Deployment"), 0);
	CHECK(samples_of(r, "api-2940-b", "CronJob") > 0);
	rig_pod_remove(r, p);
	pods_gone(&r->daemon->pods, p->uid);
	CHECK_EQ(samples_of(r, "api-7f9c-c", "Deployment"), 0);
	CHECK(samples_of(r, "api-2940-d", "CronJob") > 0);
}
