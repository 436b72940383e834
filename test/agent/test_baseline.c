// SPDX-License-Identifier: Apache-2.0
/* The original values: the set, its text, and the file under it. */
#include "agent/state/baseline.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int fail_realloc; /* that call fails, counted from now on; 0: none does */
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
	return fail_realloc > 0 && --fail_realloc == 0 ? NULL : __real_realloc(p, size);
}

static struct baseline sample(const char *key)
{
	return (struct baseline){
		.key = (char *)key,
		.limits = {20000, 100000, 0, 512 * MIB, LIMIT_MAX},
		.props = {200000, UINT64_MAX, 512 * MIB, UINT64_MAX},
		.dropins = UNIT_PROP_CPU_QUOTA | UNIT_PROP_MEM_HIGH,
		.high = BASELINE_HIGH_LOWERED,
		.high_before = 400 * MIB,
		.boot_id = "0123456789abcdef0123456789abcdef",
		.cgroup_inode = 4711,
		.saved_realtime_usec = 1700000000000000,
		.sent = {[RESOURCE_MEMORY] = LIMIT_MAX},
		.sent_before = {[RESOURCE_MEMORY] = 300},
		.boost_base_milli = 450,
	};
}

TEST(set)
{
	OWN(baseline_set_free) struct baseline_set s = {0};
	struct baseline b = sample("unit:b.service");

	CHECK(baseline_find(&s, "unit:b.service") == NULL);
	CHECK_EQ(baseline_put(&s, &b), 0);
	b.key = (char *)"unit:c.service";
	CHECK_EQ(baseline_put(&s, &b), 0);
	b.key = (char *)"unit:a.service";
	b.cgroup_inode = 1;
	CHECK_EQ(baseline_put(&s, &b), 0);
	CHECK_EQ(s.count, 3);
	CHECK_STR(s.items[0].key, "unit:a.service");
	CHECK_STR(s.items[1].key, "unit:b.service");
	CHECK_STR(s.items[2].key, "unit:c.service");
	b.cgroup_inode = 2;
	CHECK_EQ(baseline_put(&s, &b), 0);
	CHECK_EQ(baseline_put(&s, baseline_find(&s, "unit:a.service")), 0);
	CHECK_EQ(s.count, 3);
	CHECK_EQ(baseline_find(&s, "unit:a.service")->cgroup_inode, 2);
	baseline_remove(&s, baseline_find(&s, "unit:b.service"));
	CHECK(baseline_find(&s, "unit:b.service") == NULL);
	CHECK(baseline_find(&s, "unit:c.service") != NULL);
	CHECK_EQ(s.count, 2);
	b.key = (char *)"";
	CHECK_EQ(baseline_put(&s, &b), -EINVAL);
}

/* What points to a record follows it when others come and go, also from a replacement, and is NULL
 * once it is gone. */
TEST(holder)
{
	struct baseline_set s = {0};
	struct baseline *held[3], b = sample("unit:b.service");
	char key[32];

	b.holder = &held[1];
	CHECK_EQ(baseline_put(&s, &b), 0);
	CHECK(held[1] == &s.items[0]);
	b.holder = &held[0];
	b.key = (char *)"unit:a.service";
	CHECK_EQ(baseline_put(&s, &b), 0);
	CHECK(held[0] == &s.items[0] && held[1] == &s.items[1]);
	b.holder = NULL;
	b.cgroup_inode = 2;
	CHECK_EQ(baseline_put(&s, &b), 0);
	CHECK_EQ(held[0]->cgroup_inode, 2);
	b.key = key;
	b.holder = &held[2];
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "unit:%d.service", i);
		CHECK_EQ(baseline_put(&s, &b), 0);
		CHECK_STR(held[0]->key, "unit:a.service");
		CHECK_STR(held[1]->key, "unit:b.service");
		CHECK_STR(held[2]->key, key);
		baseline_find(&s, key)->holder = NULL;
	}
	baseline_remove(&s, baseline_find(&s, "unit:7.service"));
	CHECK_STR(held[1]->key, "unit:b.service");
	baseline_remove(&s, held[0]);
	CHECK(held[0] == NULL);
	CHECK_STR(held[1]->key, "unit:b.service");
	baseline_set_free(&s);
	CHECK(held[1] == NULL);
}

#define LINE_COMMON(key)                                                                           \
	"key=" key " cpu_quota_usec=20000 cpu_period_usec=100000 cpu_burst_usec=0 "                \
	"mem_max=536870912 mem_high=max prop_cpu_quota=200000 prop_cpu_period=max "                \
	"prop_mem_max=536870912 prop_mem_high=max dropins=5 high=2 high_before=419430400 "         \
	"invocation=0123456789abcdef0123456789abcdef inode=4711 saved=1700000000000000"
#define LINE(key)                                                                                  \
	LINE_COMMON(key)                                                                           \
	" cgroup=- unit=- shown=- ratified=0 request_cpu=0 request_memory=0 lent_cpu=450 "         \
	"sent_cpu=0 sent_memory=max over_cpu=0 over_memory=0 before_cpu=0 before_memory=300\n"

TEST(text)
{
	OWN(baseline_set_free) struct baseline_set s = {0}, back = {0};
	OWN(drop_free) char *text = NULL;
	struct baseline b = sample("unit:b.service");
	size_t len;

	CHECK_EQ(baseline_put(&s, &b), 0);
	b.key = (char *)"unit:a b.service";
	CHECK_EQ(baseline_put(&s, &b), 0);
	CHECK_EQ(baseline_encode(&s, &text, &len), 0);
	CHECK_STR(text, LINE("unit:a%20b.service") LINE("unit:b.service"));
	CHECK_EQ(record_lines(text, len, baseline_line, &back), 0);
	CHECK_EQ(back.count, 2);
	CHECK_STR(back.items[0].key, "unit:a b.service");
	CHECK_EQ(back.items[1].limits.mem_high, LIMIT_MAX);
	CHECK_EQ(back.items[1].boost_base_milli, 450);
	CHECK_EQ(back.items[1].sent_before[RESOURCE_MEMORY], 300);
	CHECK_EQ(back.items[1].props.cpu_quota_per_sec_usec, 200000);
	CHECK_EQ(back.items[1].high, BASELINE_HIGH_LOWERED);
}

TEST(refused)
{
	static const char two_same[] = LINE("unit:a") LINE("unit:a");
	static const char wrong_order[] = LINE("unit:b") LINE("unit:a");
	static const char empty_line[] = LINE("unit:b") "\n";
	static const char *const bad[] = {two_same, wrong_order, empty_line, "x", "\n"};
	static const char good[] = LINE("unit:a");
	struct baseline_set s = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_EQ(record_lines(bad[i], strlen(bad[i]), baseline_line, &s), -EBADMSG);
		baseline_set_free(&s);
	}
	for (size_t len = 1; len < sizeof good - 1; len++)
		CHECK_EQ(record_lines(good, len, baseline_line, &s), -EBADMSG);
	CHECK(s.count == 0 && s.items == NULL);
}

static void put_pod(struct baseline_set *s)
{
	struct baseline b = sample("pod:0b1c/app");

	b.cgroup = (char *)"kubepods.slice/kubepods-pod0b1c.slice/cri-containerd-77.scope";
	b.unit = (char *)"cri-containerd-77.scope";
	b.shown = (char *)"default/web-0/app";
	b.ratified = 1;
	b.request[RESOURCE_MEMORY] = 256 * MIB;
	CHECK_EQ(baseline_put(s, &b), 0);
	b.key = (char *)"pod:0b1c";
	b.cgroup = (char *)"kubepods.slice/kubepods-pod0b1c.slice";
	b.unit = NULL;
	b.shown = (char *)"default/web-0";
	CHECK_EQ(baseline_put(s, &b), 0);
}

/* Containers and pods, with all that restoring needs. */
TEST(pod)
{
	OWN(baseline_set_free) struct baseline_set s = {0}, back = {0};
	OWN(drop_free) char *text = NULL;
	struct baseline b = sample("unit:z.service");
	size_t len;

	put_pod(&s);
	CHECK_EQ(baseline_put(&s, &b), 0);
	/* A replacement frees what it replaces; one's own texts may be handed in. */
	CHECK_EQ(baseline_put(&s, baseline_find(&s, "pod:0b1c/app")), 0);
	put_pod(&s);
	CHECK_EQ(baseline_encode(&s, &text, &len), 0);
	CHECK_EQ(record_lines(text, len, baseline_line, &back), 0);
	CHECK_EQ(back.count, 3);
	CHECK_STR(back.items[0].key, "pod:0b1c");
	CHECK(back.items[0].unit == NULL && back.items[2].cgroup == NULL);
	CHECK_STR(back.items[1].cgroup,
		  "kubepods.slice/kubepods-pod0b1c.slice/cri-containerd-77.scope");
	CHECK_STR(back.items[1].unit, "cri-containerd-77.scope");
	CHECK_STR(back.items[1].shown, "default/web-0/app");
	CHECK_EQ(back.items[1].ratified, 1);
	CHECK_EQ(back.items[1].request[RESOURCE_MEMORY], 256 * MIB);
	CHECK_EQ(back.items[2].ratified, 0);
	baseline_remove(&back, baseline_find(&back, "pod:0b1c/app"));
	b.shown = malloc(RECORD_NAME_MAX + 2);
	memset(b.shown, 'x', RECORD_NAME_MAX + 1);
	b.shown[RECORD_NAME_MAX + 1] = '\0';
	CHECK_EQ(baseline_put(&s, &b), -EINVAL);
	free(b.shown);
}

/* No release wrote another one: it is refused by name, and its copy too. */
TEST(another_version)
{
	struct state_kind old = baseline_state;
	struct baseline_set s = {0};
	char path[] = "/tmp/vscaled-baseline-XXXXXX", aside[STATE_ASIDE_MAX];
	int dir = open(mkdtemp(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	old.version--;
	CHECK_EQ(state_file_save(dir, &old, LINE("unit:a"), strlen(LINE("unit:a"))), 0);
	CHECK_EQ(baseline_load(dir, aside, &s), -EPROTONOSUPPORT);
	CHECK_STR(aside, "baseline.version-1");
	CHECK_EQ(s.count, 0);
	CHECK_EQ(unlinkat(dir, aside, 0), 0);
	close(dir);
	CHECK_EQ(rmdir(path), 0);
}

TEST(many)
{
	OWN(baseline_set_free) struct baseline_set s = {0}, back = {0};
	OWN(drop_free) char *text = NULL;
	struct baseline b = sample("");
	char key[32];
	size_t len;

	b.key = key;
	for (int i = 0; i < BASELINE_COUNT_MAX; i++) {
		snprintf(key, sizeof key, "unit:%05d", i * 7919 % BASELINE_COUNT_MAX);
		if (baseline_put(&s, &b) != 0)
			break;
	}
	CHECK_EQ(s.count, BASELINE_COUNT_MAX);
	strcpy(key, "one more");
	CHECK_EQ(baseline_put(&s, &b), -ENOSPC);
	CHECK_EQ(baseline_encode(&s, &text, &len), 0);
	CHECK(len < baseline_state.max_bytes);
	CHECK_EQ(record_lines(text, len, baseline_line, &back), 0);
	CHECK_EQ(back.count, BASELINE_COUNT_MAX);
}

/* Bytes of the process: "VmRSS" or, since it was reset, "VmHWM". */
static uint64_t resident(const char *field)
{
	unsigned long long kib = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	CHECK(f != NULL);
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			sscanf(line + strlen(field), ": %llu", &kib);
	if (f != NULL)
		fclose(f);
	return kib * KIB;
}

/* The text of a full set takes no more than itself: it counts at the peak of the process. */
TEST(memory)
{
	OWN(baseline_set_free) struct baseline_set s = {0};
	OWN(drop_free) char *text = NULL;
	struct baseline b = sample("");
	FILE *reset = fopen("/proc/self/clear_refs", "we");
	uint64_t before;
	char key[32];
	size_t len;

	b.key = key;
	for (int i = 0; i < BASELINE_COUNT_MAX; i++) {
		snprintf(key, sizeof key, "unit:%05d", i);
		CHECK_EQ(baseline_put(&s, &b), 0);
	}
	if (reset == NULL || fputs("5", reset) < 0 || fclose(reset) != 0)
		return; /* a kernel without it */
	before = resident("VmRSS");
	CHECK_EQ(baseline_encode(&s, &text, &len), 0);
	printf("%zu bytes of text, %llu at the peak\n", len,
	       (unsigned long long)(resident("VmHWM") - before));
#ifndef __SANITIZE_ADDRESS__ /* its own memory counts */
	CHECK(len > 8 * RECORD_TEXT_STEP);
	CHECK(resident("VmHWM") - before < len + 3 * RECORD_TEXT_STEP);
#endif
}

/* One allocation in the middle fails, and those that follow do not: a text with a hole is no text.
 */
TEST(memory_is_short)
{
	OWN(baseline_set_free) struct baseline_set s = {0};
	OWN(drop_free) char *text = NULL;
	struct baseline b = sample("");
	char key[32];
	size_t len;

	b.key = key;
	for (int i = 0; i < 4000; i++) {
		snprintf(key, sizeof key, "unit:%05d", i);
		CHECK_EQ(baseline_put(&s, &b), 0);
	}
	for (int i = 1; i <= 5; i++) {
		fail_realloc = i;
		CHECK_EQ(baseline_encode(&s, &text, &len), -ENOMEM);
		CHECK_EQ(fail_realloc, 0);
		CHECK(text == NULL);
	}
	CHECK_EQ(baseline_encode(&s, &text, &len), 0);
}

TEST(file)
{
	OWN(baseline_set_free) struct baseline_set s = {0}, back = {0};
	char path[] = "/tmp/vscaled-baseline-XXXXXX", aside[STATE_ASIDE_MAX];
	struct baseline b = sample("unit:b.service");
	int dir = open(mkdtemp(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_EQ(baseline_load(dir, aside, &back), -ENOENT);
	CHECK_EQ(baseline_put(&s, &b), 0);
	CHECK_EQ(baseline_save(dir, &s), 0);
	CHECK_EQ(baseline_load(dir, aside, &back), 0);
	CHECK_EQ(back.count, 1);
	/* The container is whole, its content is not ours: set aside, and the copy serves. */
	CHECK_EQ(state_file_save(dir, &baseline_state, "key=x\n", 6), 0);
	baseline_set_free(&back);
	CHECK_EQ(baseline_load(dir, aside, &back), 0);
	CHECK_EQ(back.count, 1);
	CHECK_STR(aside, "baseline.damaged-1");
	/* The first one lost altogether: the copy again. */
	baseline_set_free(&back);
	CHECK_EQ(baseline_load(dir, aside, &back), 0);
	CHECK_EQ(back.count, 1);
	/* Both damaged: said, and nothing guessed. */
	CHECK_EQ(state_file_save(dir, &baseline_state, "key=x\n", 6), 0);
	CHECK_EQ(state_file_save(dir, &baseline_copy, "key=x\n", 6), 0);
	baseline_set_free(&back);
	CHECK_EQ(baseline_load(dir, aside, &back), -EBADMSG);
	CHECK_STR(aside, "baseline.damaged-2");
	CHECK_EQ(back.count, 0);
	CHECK_EQ(unlinkat(dir, "baseline.damaged-1", 0), 0);
	CHECK_EQ(unlinkat(dir, "baseline.damaged-2", 0), 0);
	CHECK_EQ(unlinkat(dir, "baseline-copy.damaged-1", 0), 0);
	close(dir);
	CHECK_EQ(rmdir(path), 0);
}
