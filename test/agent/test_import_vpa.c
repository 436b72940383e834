// SPDX-License-Identifier: Apache-2.0
/* vscalectl import vpa: the recommendation after it is that of VPA's checkpoint, to the integer;
 * what is refused, kept and replaced, and that nothing is written where nothing may be. */
#include "agent/ctl/ctl.h"
#include "agent/state/history_file.h"
#include "policy/backtest/backtest_policy.h"
#include "test/check.h"
#include "test/policy/vpa/vpa_aggregate.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define START   (1700000000 * USEC_PER_SEC)
#define MINUTES (5 * 24 * 60)
#define KEY     "shop/Deployment/web/app"

static char folder[] = "/tmp/vscaled-import-XXXXXX";
static char input[64];
static char *out_text, *err_text;
static usec_t now = START + MINUTES * USEC_PER_MIN;

static int run(char *const *options, const char *config)
{
	char *argv[12] = {"vscalectl", "import", "vpa", input};
	size_t out_size, err_size;
	int argc = 4;
	struct ctl c;
	int r;

	while (*options != NULL)
		argv[argc++] = *options++;
	free(out_text);
	free(err_text);
	ctl_default(&c, ctl_commands);
	c.config = config;
	c.state_directory = folder;
	c.now_realtime_usec = now;
	c.out = open_memstream(&out_text, &out_size);
	c.err = open_memstream(&err_text, &err_size);
	r = ctl_main(&c, argc, argv);
	fclose(c.out);
	fclose(c.err);
	return r;
}

#define RUN(...)      run((char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL}, "/nonexistent")
#define OUT_HAS(text) CHECK(strstr(out_text, text) != NULL)
#define ERR_HAS(text) CHECK(strstr(err_text, text) != NULL)

static int state_dir(void)
{
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void load(struct history_store *ret)
{
	char aside[STATE_ASIDE_MAX];
	int dir = state_dir(), r = history_load(dir, aside, ret);

	CHECK(r == 0 || r == -ENOENT);
	close(dir);
}

static void forget(void)
{
	int dir = state_dir();

	(void)unlinkat(dir, "history", 0);
	close(dir);
}

/* --- the text that kubectl prints */

static const char *no_time = "null";

static void put_time(FILE *f, const char *key, usec_t at)
{
	if (at == 0) {
		fprintf(f, "\"%s\":%s,", key, no_time);
		return;
	}
	time_t t = (time_t)(at / USEC_PER_SEC);
	char text[32];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(f, "\"%s\":\"%s\",", key, text);
}

static void put_histogram(FILE *f, const char *key, const struct checkpoint *c)
{
	fprintf(f, "\"%s\":{", key);
	if (c->count > 0)
		put_time(f, "referenceTimestamp", (usec_t)c->reference_usec);
	fprintf(f, "\"bucketWeights\":{");
	for (uint32_t i = 0; i < c->count; i++)
		fprintf(f, "%s\"%d\":%u", i > 0 ? "," : "", c->buckets[i].bucket,
			c->buckets[i].weight);
	fprintf(f, "},\"totalWeight\":%.17g},", c->total);
}

static void put_checkpoint(FILE *f, const char *vpa, const char *container,
			   const struct vpa_checkpoint *c)
{
	fprintf(f,
		"{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscalerCheckpoi"
		"nt\",\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s-%s\"},"
		"\"spec\":{\"vpaObjectName\":\"%s\",\"containerName\":\"%s\"},\"status\":{",
		vpa, container, vpa, container);
	put_time(f, "firstSampleStart", c->first_sample);
	put_time(f, "lastSampleStart", c->last_sample);
	put_histogram(f, "cpuHistogram", &c->cpu);
	put_histogram(f, "memoryHistogram", &c->memory);
	fprintf(f, "\"totalSamplesCount\":%llu,\"version\":\"%s\"}}",
		(unsigned long long)c->samples, c->version);
}

static void put_vpa(FILE *f, const char *vpa, const char *workload)
{
	fprintf(f,
		"{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
		"\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s\"},"
		"\"spec\":{\"targetRef\":{\"kind\":\"Deployment\",\"name\":\"%s\"}}}",
		vpa, workload);
}

/* Of an operator: it targets a custom resource above the owner of the pods. */
static void put_operator(FILE *f)
{
	fprintf(f, "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\","
		   "\"metadata\":{\"namespace\":\"shop\",\"name\":\"web-vpa\"},"
		   "\"spec\":{\"targetRef\":{\"apiVersion\":\"monitoring.coreos.com/v1\","
		   "\"kind\":\"Prometheus\",\"name\":\"k8s\"}}}");
}

static FILE *open_input(void)
{
	FILE *f = fopen(input, "we");

	CHECK(f != NULL);
	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[", f);
	return f;
}

static void close_input(FILE *f)
{
	fputs("]}\n", f);
	fclose(f);
}

static void write_input(const struct vpa_checkpoint *c, bool with_vpa)
{
	FILE *f = open_input();

	put_checkpoint(f, "web-vpa", "app", c);
	if (with_vpa) {
		fputc(',', f);
		put_vpa(f, "web-vpa", "web");
	}
	close_input(f);
}

/* --- VPA's own history of five days with an OOM kill */

static void make_checkpoint(unsigned minutes, struct vpa_checkpoint *ret)
{
	OWN(backtest_vpa_drop) struct backtest_vpa v;
	uint32_t random = 7;

	backtest_vpa_init(&v, RESOURCES_BOTH, START);
	for (unsigned i = 0; i < minutes; i++) {
		usec_t at = START + i * USEC_PER_MIN;

		random = random * 1664525 + 1013904223;
		vpa_add_cpu(&v.container, 50 + (random >> 16) % 1900, at);
		vpa_add_memory(&v.container, 300 * (int64_t)MIB + (random >> 8) * INT64_C(48), at);
		if (i == 2000)
			backtest_vpa_killed(&v, 1500 * (int64_t)MIB, at);
	}
	vpa_aggregate_save(&v.aggregate, ret);
}

/* What VPA's recommender says after its restart. */
static void vpa_says(const struct vpa_checkpoint *c, struct vpa_recommendation *ret)
{
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;

	vpa_aggregate_init(&a, &vpa_rules_default);
	CHECK_EQ(vpa_aggregate_load(&a, c), 0);
	vpa_estimate(&a, &vpa_rules_default, 1, RESOURCES_BOTH, ret);
}

static const char *config_vpa(void)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof path, "%s/vscaled.yaml", folder);
	f = fopen(path, "we");
	CHECK(f != NULL);
	fputs("apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"
	      "history:\n  algorithm: vpa\n",
	      f);
	fclose(f);
	return path;
}

static void check_equal(const struct vpa_checkpoint *c)
{
	struct tuning_history t = tuning_default.history;
	OWN(history_store_free) struct history_store s = {0};
	OWN(history_record_drop) struct history_record rec = {0};
	struct vpa_recommendation want;
	struct recommendation got;

	t.algorithm = ALGORITHM_VPA;
	forget();
	write_input(c, true);
	CHECK_EQ(run((char *[]){NULL}, config_vpa()), CTL_OK);
	OUT_HAS("imported " KEY ": ");
	OUT_HAS("1 imported, 0 kept, 0 refused\n");
	load(&s);
	CHECK_EQ(s.count, 1);
	CHECK_EQ(history_store_get(&s, KEY, &t, &rec), 0);
	CHECK_EQ(rec.seen_realtime_usec, now);
	CHECK_EQ(rec.history.cpu.reference_usec, c->cpu.reference_usec);
	CHECK_EQ(rec.history.memory.reference_usec, c->memory.reference_usec);
	history_vpa_recommend(&rec.history, &t, 1, &got);
	vpa_says(c, &want);
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		CHECK_EQ(got.resource[r].lower, want.amount[VPA_LOWER][r]);
		CHECK_EQ(got.resource[r].target, want.amount[VPA_TARGET][r]);
		CHECK_EQ(got.resource[r].upper, want.amount[VPA_UPPER][r]);
	}
}

TEST(equal)
{
	struct vpa_checkpoint c;

	make_checkpoint(MINUTES, &c);
	check_equal(&c);
	make_checkpoint(90, &c);
	check_equal(&c);
}

/* The same with algorithm default: within a bucket and its margin, and as heavy as days of its own
 * samples. */
TEST(default_algorithm)
{
	const struct tuning_history *t = &tuning_default.history;
	OWN(history_store_free) struct history_store s = {0};
	OWN(history_record_drop) struct history_record rec = {0};
	struct vpa_recommendation want;
	struct recommendation got;
	struct vpa_checkpoint c;

	make_checkpoint(MINUTES, &c);
	forget();
	write_input(&c, true);
	CHECK_EQ(RUN(), CTL_OK);
	load(&s);
	CHECK_EQ(history_store_get(&s, KEY, t, &rec), 0);
	CHECK(rec.history.cpu.total > 599 * c.cpu.total &&
	      rec.history.cpu.total < 601 * c.cpu.total);
	CHECK_EQ(history_confidence_permille(&rec.history, t, RESOURCE_CPU), 4999);
	history_recommend(&rec.history, t, 1, &got);
	vpa_says(&c, &want);
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t vpa = (uint64_t)want.amount[VPA_TARGET][r];

		CHECK(got.resource[r].target <= vpa && got.resource[r].target >= vpa / 110 * 100);
	}
}

static void memory_imported(const struct vpa_checkpoint *c, usec_t least, usec_t most,
			    const char *said)
{
	const struct tuning_history *t = &tuning_default.history;
	OWN(history_store_free) struct history_store s = {0};
	OWN(history_record_drop) struct history_record rec = {0};

	forget();
	write_input(c, true);
	CHECK_EQ(RUN(), CTL_OK);
	CHECK(strstr(out_text, said) != NULL);
	load(&s);
	CHECK_EQ(history_store_get(&s, KEY, t, &rec), 0);
	fprintf(stderr, "memory for %llu h: %s",
		(unsigned long long)(rec.history.observed_usec[RESOURCE_MEMORY] / USEC_PER_HOUR),
		out_text);
	CHECK(rec.history.observed_usec[RESOURCE_MEMORY] >= least);
	CHECK(rec.history.observed_usec[RESOURCE_MEMORY] <= most);
	if (c->cpu.count != 0)
		CHECK(rec.history.observed_usec[RESOURCE_CPU] > 4 * USEC_PER_DAY);
	else
		CHECK_EQ(rec.history.observed_usec[RESOURCE_CPU], 0);
}

/* Days of CPU, with and without memory: the time of one never counts as the other's. */
TEST(memory)
{
	const struct checkpoint none = {.reference_usec = HISTOGRAM_YEAR_1_USEC};
	struct vpa_checkpoint c, early;

	make_checkpoint(MINUTES, &c);
	memory_imported(&c, 3 * USEC_PER_DAY, 5 * USEC_PER_DAY, "; of memory: ");
	/* The recommender was restarted every day, or metrics had no memory. */
	early = c;
	early.memory = none;
	memory_imported(&early, 0, 0, "; of memory: none\n");
	/* Nor does the time of samples count as CPU's where its histogram is empty. */
	early = c;
	early.cpu = none;
	memory_imported(&early, 3 * USEC_PER_DAY, 5 * USEC_PER_DAY, "of CPU: none; of memory: ");
	/* It was seen for minutes, at the beginning or at the end. */
	early.memory = (struct checkpoint){.reference_usec = c.memory.reference_usec,
					   .total = 1,
					   .count = 1,
					   .buckets = {{60, 10000}}};
	memory_imported(&early, 0, 0, "; of memory: none\n");
	early.memory.reference_usec = (int64_t)(now / USEC_PER_DAY * USEC_PER_DAY);
	memory_imported(&early, 0, 0, "; of memory: none\n");
	/* More pods than on the mean: the weight is not that of days. */
	early.memory.reference_usec += (int64_t)USEC_PER_DAY;
	early.memory.total = 100;
	memory_imported(&early, 0, USEC_PER_DAY, "");
	/* It ended three days before CPU did. */
	make_checkpoint(2 * 24 * 60, &early);
	early.cpu = c.cpu;
	early.last_sample = c.last_sample;
	early.samples = c.samples;
	memory_imported(&early, 0, 0, "; of memory: none\n");
	/* Next to nothing is left of it. */
	early.memory = c.memory;
	early.memory.total *= 1e-9;
	memory_imported(&early, 0, 0, "; of memory: none\n");
	/* Ten pods count for one. */
	early = c;
	early.samples *= 10;
	early.memory.total *= 10;
	memory_imported(&early, 3 * USEC_PER_DAY, 5 * USEC_PER_DAY, "; of memory: ");
}

/* As older VPAs wrote: the samples bound the span. */
TEST(no_first_sample)
{
	struct vpa_checkpoint c;

	make_checkpoint(MINUTES, &c);
	c.first_sample = 0;
	memory_imported(&c, 3 * USEC_PER_DAY, 5 * USEC_PER_DAY, ": 5 d, 7200 samples; of");
	check_equal(&c);
	/* As programs in Go write it that are not of Kubernetes. */
	no_time = "\"0001-01-01T00:00:00Z\"";
	memory_imported(&c, 3 * USEC_PER_DAY, 5 * USEC_PER_DAY, ": 5 d, 7200 samples; of");
	no_time = "null";
}

TEST(kept)
{
	struct vpa_checkpoint old, fresh;

	make_checkpoint(MINUTES, &fresh);
	make_checkpoint(MINUTES - 60, &old);
	forget();
	write_input(&old, true);
	CHECK_EQ(RUN("--dry-run"), CTL_OK);
	OUT_HAS("1 imported, 0 kept, 0 refused; --dry-run: nothing was written\n");
	CHECK(access(folder, F_OK) == 0);
	{
		OWN(history_store_free) struct history_store s = {0};

		load(&s);
		CHECK_EQ(s.count, 0);
	}
	CHECK_EQ(RUN(), CTL_OK);
	now += USEC_PER_MIN;
	CHECK_EQ(RUN(), CTL_OK);
	OUT_HAS("kept     " KEY ": this node's own history is as new; --force replaces it\n");
	write_input(&fresh, true);
	CHECK_EQ(RUN(), CTL_OK);
	OUT_HAS("1 imported, 0 kept");
	write_input(&old, true);
	now += USEC_PER_MIN;
	CHECK_EQ(RUN("-o", "json"), CTL_OK);
	OUT_HAS("\"kept\":\t1");
	now += USEC_PER_MIN;
	CHECK_EQ(RUN("--force"), CTL_OK);
	OUT_HAS("1 imported, 0 kept");
}

/* Two autoscalers had the same target, one after the other: the newer history counts. */
TEST(two_of_one_target)
{
	struct vpa_checkpoint old, fresh;
	OWN(history_store_free) struct history_store s = {0};
	OWN(history_record_drop) struct history_record rec = {0};
	FILE *f;

	make_checkpoint(MINUTES, &fresh);
	make_checkpoint(MINUTES - 60, &old);
	forget();
	f = open_input();
	put_checkpoint(f, "new-vpa", "app", &fresh);
	fputc(',', f);
	put_checkpoint(f, "old-vpa", "app", &old);
	fputc(',', f);
	put_vpa(f, "new-vpa", "web");
	fputc(',', f);
	put_vpa(f, "old-vpa", "web");
	close_input(f);
	CHECK_EQ(RUN("--force"), CTL_OK);
	OUT_HAS("kept     " KEY ": another checkpoint in the input is as new\n");
	OUT_HAS("1 imported, 1 kept, 0 refused\n");
	load(&s);
	CHECK_EQ(history_store_get(&s, KEY, &tuning_default.history, &rec), 0);
	CHECK_EQ(rec.history.last_real, fresh.last_sample);
}

TEST(workload)
{
	struct vpa_checkpoint c;
	FILE *f;

	make_checkpoint(90, &c);
	forget();
	write_input(&c, false);
	CHECK_EQ(RUN(), CTL_ERROR);
	OUT_HAS("refused  shop/web-vpa-app: its VerticalPodAutoscaler, with a targetRef, is not in "
		"the input; add it, or give --workload\n");
	CHECK_EQ(RUN("--workload", "web"), CTL_OK);
	OUT_HAS("imported " KEY ": ");
	CHECK_EQ(RUN("--workload", "a/b"), CTL_USAGE);
	CHECK_EQ(RUN("--workload", "StatefulSet/web"), CTL_OK);
	OUT_HAS("imported shop/StatefulSet/web/app: ");
	f = open_input();
	put_checkpoint(f, "web-vpa", "app", &c);
	fputc(',', f);
	put_checkpoint(f, "other", "app", &c);
	close_input(f);
	CHECK_EQ(RUN("--workload", "web"), CTL_USAGE);
	ERR_HAS("--workload is for the checkpoints of one autoscaler; these are of web-vpa and "
		"other");
	f = open_input();
	put_checkpoint(f, "web-vpa", "app", &c);
	fputc(',', f);
	put_operator(f);
	close_input(f);
	CHECK_EQ(RUN(), CTL_ERROR);
	OUT_HAS("refused  shop/web-vpa-app: Prometheus/k8s, which it is for, may be above the "
		"owner of the pods; name that owner: --workload KIND/NAME\n");
	CHECK_EQ(RUN("--workload", "StatefulSet/prometheus-k8s"), CTL_OK);
	OUT_HAS("imported shop/StatefulSet/prometheus-k8s/app: ");
}

static void refused(const struct vpa_checkpoint *c, const char *why)
{
	struct vpa_checkpoint good;
	FILE *f = open_input();

	make_checkpoint(90, &good);
	put_checkpoint(f, "web-vpa", "bad", c);
	fputc(',', f);
	put_checkpoint(f, "web-vpa", "app", &good);
	fputc(',', f);
	put_vpa(f, "web-vpa", "web");
	close_input(f);
	forget();
	CHECK_EQ(RUN(), CTL_OK);
	OUT_HAS("1 imported, 0 kept, 1 refused\n");
	CHECK(strstr(out_text, why) != NULL);
}

TEST(refused)
{
	struct vpa_checkpoint good, c;

	make_checkpoint(90, &good);
	c = good;
	memcpy(c.version, "v2", 3);
	refused(&c, "refused  shop/web-vpa-bad: status.version: not v3\n");
	c = good;
	c.samples = 0;
	refused(&c, "status.totalSamplesCount: 0 or missing: no sample of CPU yet\n");
	c = good;
	c.cpu.buckets[0].bucket = 176;
	refused(&c, "status.cpuHistogram.bucketWeights: a key is no bucket from 0 to 175\n");
	c = good;
	c.cpu.buckets[1].bucket = c.cpu.buckets[0].bucket;
	refused(&c, "is there twice\n");
	c = good;
	c.memory.total = -1;
	refused(&c, "status.memoryHistogram.totalWeight: not a number from 0 to 1e50\n");
	c = good;
	c.memory.total = 0;
	refused(&c,
		"status.memoryHistogram: bucketWeights and totalWeight contradict each other\n");
	c = good;
	c.first_sample = c.last_sample = 0;
	refused(&c, "status.lastSampleStart: missing\n");
	c = good;
	c.last_sample = c.first_sample - USEC_PER_SEC;
	refused(&c, "status.lastSampleStart: before firstSampleStart\n");
	c = good;
	c.last_sample = now + 2 * USEC_PER_DAY;
	refused(&c, "lastSampleStart is in the future; check this host's clock\n");
	c = good;
	c.cpu.reference_usec = (int64_t)(now + 2 * USEC_PER_DAY);
	refused(&c, "referenceTimestamp is in the future; check this host's clock\n");
	c = good;
	c.memory.reference_usec = (int64_t)(now + 3 * USEC_PER_DAY);
	refused(&c, "referenceTimestamp is in the future; check this host's clock\n");
	/* VPA's first day: the midnight that is nearest to the end of memory's first window. */
	c.memory.reference_usec = (int64_t)(now + 36 * USEC_PER_HOUR);
	write_input(&c, true);
	CHECK_EQ(RUN(), CTL_OK);
}

static void write_text(const char *text)
{
	FILE *f = fopen(input, "we");

	CHECK(f != NULL && fputs(text, f) >= 0);
	fclose(f);
}

TEST(no_input)
{
	write_text("apiVersion: v1\nkind: List\n");
	CHECK_EQ(RUN(), CTL_ERROR);
	ERR_HAS("kubectl get vpacheckpoints,vpa -A -o json\n");
	write_text("\xff\xfe{");
	CHECK_EQ(RUN(), CTL_ERROR);
	ERR_HAS("byte 0: UTF-16, where UTF-8 was expected\n");
	write_text("\xef\xbb\xbf{\"kind\":\"List\",\"items\":[]}");
	CHECK_EQ(RUN(), CTL_ERROR);
	ERR_HAS("there is no VerticalPodAutoscalerCheckpoint in it\n");
	write_text("{\"kind\":\"List\",\"items\":7}");
	CHECK_EQ(RUN(), CTL_ERROR);
	ERR_HAS("items is not a list\n");
	unlink(input);
	CHECK_EQ(RUN(), CTL_ERROR);
	ERR_HAS("No such file or directory\n");
}

/* A damaged history is kept for examination. */
TEST(damaged_history)
{
	struct vpa_checkpoint c;
	char path[64];
	FILE *f;

	make_checkpoint(90, &c);
	write_input(&c, true);
	snprintf(path, sizeof path, "%s/history", folder);
	f = fopen(path, "we");
	CHECK(f != NULL && fputs("vscaled history 2 5 00000000\nkey=a", f) >= 0);
	fclose(f);
	CHECK_EQ(RUN(), CTL_ERROR);
	ERR_HAS("see: vscalectl history --verify\n");
	CHECK(access(path, F_OK) == 0);
	forget();
}

/* What an init container ends with keeps no agent from its start; what is stored stays. */
static void optional_fails(const char *why)
{
	CHECK_EQ(RUN(), CTL_ERROR);
	CHECK_EQ(RUN("--optional"), CTL_OK);
	ERR_HAS(why);
	ERR_HAS("the import is optional: the stored history stays as it is\n");
}

TEST(optional)
{
	struct vpa_checkpoint c;
	char path[64], new[64];
	FILE *f;

	make_checkpoint(90, &c);
	write_input(&c, true);
	snprintf(path, sizeof path, "%s/history", folder);
	snprintf(new, sizeof new, "%s/.history.new", folder);
	f = fopen(path, "we");
	CHECK(f != NULL && fputs("vscaled history 2 5 00000000\nkey=a", f) >= 0);
	fclose(f);
	optional_fails("/history: ");
	f = fopen(path, "we");
	CHECK(f != NULL && fputs("vscaled history 99 0 00000000\n", f) >= 0);
	fclose(f);
	optional_fails("/history: ");
	CHECK(access(path, F_OK) == 0);
	forget();
	CHECK_EQ(mkdir(new, 0700), 0);
	optional_fails("nothing was imported\n");
	CHECK_EQ(rmdir(new), 0);
	write_input(&c, false);
	CHECK_EQ(RUN("--optional"), CTL_OK);
	OUT_HAS("refused  shop/web-vpa-app: ");
	write_text("{\"kind\":\"List\",\"items\":[]}");
	optional_fails("there is no VerticalPodAutoscalerCheckpoint in it\n");
	write_text("");
	optional_fails("vscalectl: ");
	unlink(input);
	optional_fails("No such file or directory\n");
}

/* <(COMMAND) of a shell. */
TEST(pipe_with_a_name)
{
	static const char text[] = "{\"kind\":\"List\",\"items\":[]}";
	char file[sizeof input];
	int ends[2];

	memcpy(file, input, sizeof file);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], text, sizeof text - 1), sizeof text - 1);
	close(ends[1]);
	snprintf(input, sizeof input, "/dev/fd/%d", ends[0]);
	CHECK_EQ(RUN(), CTL_ERROR);
	ERR_HAS("there is no VerticalPodAutoscalerCheckpoint in it");
	close(ends[0]);
	memcpy(input, file, sizeof input);
}

int main(void)
{
	static const char *const names[] = {"history", "lock", "input", "vscaled.yaml",
					    "vscaled.lock"};
	int dir;

	if (mkdtemp(folder) == NULL)
		return EXIT_FAILURE;
	snprintf(input, sizeof input, "%s/input", folder);
	check_run();
	dir = state_dir();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unlinkat(dir, names[i], 0);
	close(dir);
	CHECK_EQ(rmdir(folder), 0);
	free(out_text);
	free(err_text);
	return check_result();
}
