// SPDX-License-Identifier: Apache-2.0
/* The node's records are lost or damaged while the specs hold sizes of ours. */
#include "agent/base/file.h"
#include "test/kube/test_cluster.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* The disk is full for files of this name; NULL: for none. */
static const char *full_for;
static int full_error = ENOSPC;

int __real_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, ...);

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (full_for != NULL && (flags & O_CREAT) && strcmp(path, full_for) == 0) {
		errno = full_error;
		return -1;
	}
	return __real_openat(dir, path, flags, mode);
}

static bool status_is_reported(struct crig *x)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(x, &x->rig.pod[0]);
	const char *text = kube_pod_annotation(pod, "status");

	return text != NULL && strstr(text, "\"limit\":\"700m\"") != NULL;
}

/* Sized, ratified and reported; then the agent ends and its folder is lost. */
static struct rig_pod *lose_state(enum cgroup_driver driver)
{
	static const char *const files[] = {"baseline", "baseline-copy", "history"};
	struct rig_pod *p = begin(driver, NULL, AUTO);
	int dir;

	ratify(p);
	CHECK(crig_until(&c, 240, burn_699, status_is_reported));
	dir = open(c.rig.daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_stop(&c.rig);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		CHECK(unlinkat(dir, files[i], 0) == 0);
	close(dir);
	crig_forget_log(&c);
	return p;
}

static uint64_t original(enum resource r)
{
	const struct managed *m = managed_find(&c.rig.daemon->units, "default/web-0/app");

	CHECK(m != NULL);
	return m != NULL ? m->control.resource[r].original : 0;
}

TEST_DRIVERS(recovered)
{
	struct rig_pod *p = lose_state(driver);

	crig_start(&c);
	rig_run(&c.rig, 30, burn_699);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_RECOVERED], 1);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_UNKNOWN], 0);
	CHECK_EQ(original(RESOURCE_CPU), 200);
	CHECK_EQ(original(RESOURCE_MEMORY), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	CHECK(!c.rig.daemon->records.originals_lost);
	/* And so it goes back to where it was. */
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 240, burn_50, is_put_back));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 500);
	CHECK_EQ(rig_bytes(&c.rig, p->level, "memory.max"), 96 * MIB);
	if (driver == DRIVER_SYSTEMD)
		CHECK_EQ(app_of(p)->props.cpu_quota_per_sec_usec, 200 * USEC_PER_MSEC);
	CHECK(!c.rig.below);
}

static void check_untouched(struct rig_pod *p)
{
	const struct managed *m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	unsigned moved = c.rig.events[EVENT_LIMIT_RAISED] + c.rig.events[EVENT_LIMIT_LOWERED];

	rig_run(&c.rig, 60, burn_50);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.high"), LIMIT_MAX);
	CHECK_EQ(c.rig.events[EVENT_LIMIT_RAISED] + c.rig.events[EVENT_LIMIT_LOWERED], moved);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	CHECK(m != NULL && managed_state(m) == UNIT_UNMANAGED && m->cgroup.cg == NULL);
	CHECK(m != NULL && managed_reason_text(m) != NULL &&
	      strstr(managed_reason_text(m), "not known") != NULL);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_UNKNOWN], 1);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_RECOVERED], 0);
	CHECK_EQ(crig_requests(&c, "PATCH /api/v1/namespaces/default/pods/web-0", 0), 0);
}

/* The annotation has no valid originals: the container is not written to. */
static void test_unknown(const char *status)
{
	struct rig_pod *p = lose_state(DRIVER_CGROUPFS);

	crig_annotate(&c, p, "status", status);
	crig_start(&c);
	CHECK(UNTIL(240, burn_50, crig_events(&c, "OriginalsUnknown") > 0));
	check_untouched(p);
}

/* Lowered since, or forged: they count as far as the spec's limits may be raised, within what the
 * LimitRanges allow, which are waited for; memory is 4 x 64 MiB, CPU
 * max-cpu. */
static void test_above_spec(bool bounded, uint64_t memory)
{
	struct rig_pod *p = lose_state(DRIVER_CGROUPFS);
	const struct managed *m;

	crig_annotate(&c, p, "status",
		      "{\\\"containers\\\":{\\\"app\\\":{\\\"cpu\\\":{\\\"original\\\":\\\"100\\\","
		      "\\\"limit\\\":\\\"100\\\"},\\\"memory\\\":{\\\"original\\\":\\\"1Ti\\\","
		      "\\\"limit\\\":\\\"1Ti\\\"}}}}");
	if (bounded)
		cJSON_Delete(
			crig_ask(&c, "POST", "/api/v1/namespaces/default/limitranges",
				 "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{"
				 "\"name\":\"all\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
				 "\"max\":{\"memory\":\"96Mi\"}}]}}"));
	/* In other words: it changes hands. What its owner has set is no limit of vscaled's. */
	cJSON_Delete(crig_ask(
		&c, "PATCH", "/api/v1/namespaces/default/pods/web-0/resize?fieldManager=vscaled",
		"{\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"limits\":{"
		"\"memory\":\"67108864\"}}}]}}"));
	crig_fault(&c, "503", "\"match\":\"/limitranges\",\"count\":1");
	crig_start(&c);
	rig_run(&c.rig, 30, burn_50);
	m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	CHECK(m != NULL && managed_state(m) == UNIT_UNMANAGED &&
	      strstr(managed_reason_text(m), "LimitRanges"));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK(UNTIL(240, burn_50, c.rig.events[EVENT_ORIGINALS_RECOVERED] == 1));
	rig_run(&c.rig, 12, burn_50);
	CHECK_EQ(original(RESOURCE_CPU), 700);
	CHECK_EQ(original(RESOURCE_MEMORY), memory);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_UNKNOWN], 0);
	CHECK(!c.rig.daemon->records.originals_lost);
}

/* Another start does not make the present limits originals; the operator may. */
TEST(resumed)
{
	struct rig_pod *p = lose_state(DRIVER_CGROUPFS);

	crig_annotate(&c, p, "status", NULL);
	crig_start(&c);
	rig_run(&c.rig, 20, burn_50);
	rig_stop(&c.rig);
	c.rig.events[EVENT_ORIGINALS_UNKNOWN] = 0;
	crig_start(&c);
	rig_run(&c.rig, 20, burn_50);
	check_untouched(p);
	CHECK(c.rig.loop->serve.api.ops->resume(&c.rig.loop->serve, "default/web-0") >= 1);
	rig_run(&c.rig, 10, burn_699);
	CHECK_EQ(original(RESOURCE_CPU), 700);
	CHECK_EQ(managed_state(managed_find(&c.rig.daemon->units, "default/web-0/app")),
		 UNIT_MANAGED);
	CHECK(!c.rig.daemon->records.originals_lost);
}

/* The owner's own values are originals, with a state or without. */
TEST(never_ours)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	crig_user_resizes(&c, p, "300m", NULL);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 120, burn_699, is_resized));
	rig_run(&c.rig, 5, burn_699);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_UNKNOWN], 0);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_RECOVERED], 0);
	CHECK(rig_cpu_milli(&c.rig, app_of(p)) >= 600);
}

static bool is_managed(struct crig *x)
{
	const struct managed *m = managed_find(&x->rig.daemon->units, "default/web-0/app");

	return m != NULL && managed_state(m) == UNIT_MANAGED;
}

static bool on_disk(const char *name)
{
	return faccessat(c.rig.daemon->records.dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The mark that originals are lost cannot be created. Without it the next start would take an
 * incomplete file for a complete one: so none is saved, and no new container is sized. */
TEST(mark_not_made)
{
	struct rig_pod *p = lose_state(DRIVER_CGROUPFS), *other;

	crig_annotate(&c, p, "status", NULL);
	other = crig_pod(&c, DRIVER_CGROUPFS, "new-0", AUTO);
	full_for = "originals-lost";
	crig_start(&c);
	rig_run(&c.rig, 40, burn_699);
	CHECK(!on_disk("originals-lost"));
	CHECK(!on_disk("baseline"));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(other)), 200);
	/* Reported at the start, and when it is another error. */
	CHECK_EQ(crig_lines(&c, EVENT_STATE_UNSAVED, "originals-lost"), 0);
	full_error = EROFS;
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(crig_lines(&c, EVENT_STATE_UNSAVED, "originals-lost: Read-only"), 1);
	full_for = NULL;
	rig_run(&c.rig, 40, burn_699);
	CHECK(on_disk("originals-lost"));
	CHECK(on_disk("baseline"));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(other)), 700);
	rig_stop(&c.rig);
	c.rig.events[EVENT_ORIGINALS_UNKNOWN] = 0;
	crig_start(&c);
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_UNKNOWN], 1);
	CHECK(c.rig.daemon->records.originals_lost);
}

/* The same, and the agent ends before the mark could be created. */
TEST(mark_never_made)
{
	struct rig_pod *p = lose_state(DRIVER_CGROUPFS);

	crig_annotate(&c, p, "status", NULL);
	crig_pod(&c, DRIVER_CGROUPFS, "new-0", AUTO);
	full_for = "originals-lost";
	crig_start(&c);
	rig_run(&c.rig, 40, burn_699);
	rig_stop(&c.rig);
	full_for = NULL;
	crig_start(&c);
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(managed_state(managed_find(&c.rig.daemon->units, "default/web-0/app")),
		 UNIT_UNMANAGED);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
}

/* Bytes of the records are changed, or the end is missing. */
static void damage(int dir, const char *name, bool cut)
{
	OWN(drop_fd) int fd = openat(dir, name, O_RDWR | O_CLOEXEC);
	struct stat st;

	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 60);
	CHECK(cut ? ftruncate(fd, st.st_size - 20) == 0 : pwrite(fd, "7", 1, st.st_size - 30) == 1);
}

/* Sized, ratified and reported; then the agent ends and its records are damaged. */
static struct rig_pod *damage_state(enum cgroup_driver driver, bool copy_too, bool cut)
{
	OWN(drop_fd) int dir = -1;
	struct rig_pod *p = begin(driver, NULL, AUTO);

	ratify(p);
	CHECK(crig_until(&c, 240, burn_699, status_is_reported));
	dir = open(c.rig.daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_stop(&c.rig);
	damage(dir, "baseline", cut);
	if (copy_too)
		damage(dir, "baseline-copy", cut);
	crig_forget_log(&c);
	return p;
}

/* Records that have a size of vscaled as an original. */
static unsigned wrong_originals(void)
{
	const struct baseline_set *s = &c.rig.daemon->records.baselines;
	unsigned wrong = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct limits *was = &s->items[i].limits;

		wrong += cpu_milli_of(was->cpu_quota_usec, was->cpu_period_usec) > 500 ||
			 was->mem_max > 96 * MIB;
	}
	return wrong;
}

static void restored(void *arg, const struct restore_result *result)
{
	unsigned *n = arg;

	CHECK_EQ(result->outcome, RESTORE_RESTORED);
	(*n)++;
}

/* vscalectl restore: cgroups and spec have the owner's values again. */
static void check_restore(struct rig_pod *p)
{
	unsigned n = 0;

	CHECK_OK(c.rig.loop->serve.api.ops->restore(&c.rig.loop->serve, "default/web-0", false,
						    restored, &n));
	CHECK(n >= 1);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 500);
	CHECK_EQ(rig_bytes(&c.rig, p->level, "memory.max"), 96 * MIB);
	CHECK(crig_until(&c, 240, burn_50, is_put_back));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
}

/* Both files are damaged, and at first the API server is unreachable: the mark is made before
 * anything is recorded, and nothing is written until the originals have been read from the status
 * annotation. */
static void test_damaged(enum cgroup_driver driver, bool cut)
{
	struct rig_pod *p = damage_state(driver, true, cut);
	unsigned wrong = 0;

	crig_fault(&c, "500", "\"count\":-1");
	crig_start(&c);
	CHECK(on_disk("originals-lost"));
	CHECK(!on_disk("baseline"));
	CHECK(on_disk("baseline.damaged-1"));
	CHECK(on_disk("baseline-copy.damaged-1"));
	rig_run(&c.rig, 20, burn_699);
	CHECK_EQ(c.rig.daemon->records.baselines.count, 0);
	CHECK(on_disk("originals-lost"));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	crig_heal(&c);
	for (unsigned i = 0; i < 60; i++) {
		rig_run(&c.rig, 1, burn_699);
		wrong += wrong_originals();
	}
	CHECK_EQ(wrong, 0);
	CHECK(!on_disk("originals-lost"));
	CHECK(!c.rig.daemon->records.originals_lost);
	CHECK(on_disk("baseline"));
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_RECOVERED], 1);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_UNKNOWN], 0);
	CHECK_EQ(original(RESOURCE_CPU), 200);
	CHECK_EQ(original(RESOURCE_MEMORY), 64 * MIB);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	/* What was recovered is what the next start reads. */
	rig_stop(&c.rig);
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, is_managed));
	CHECK_EQ(wrong_originals(), 0);
	check_restore(p);
}

/* One file is damaged: the other has all records, and nothing is lost. */
TEST(one_damaged)
{
	struct rig_pod *p = damage_state(DRIVER_CGROUPFS, false, false);

	crig_start(&c);
	CHECK(!on_disk("originals-lost"));
	CHECK(crig_until(&c, 240, burn_699, is_managed));
	CHECK_EQ(wrong_originals(), 0);
	CHECK_EQ(original(RESOURCE_CPU), 200);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_RECOVERED], 0);
	check_restore(p);
}

/* All originals are known again, and cannot be saved: the mark stays until they are. */
TEST(mark_stays)
{
	lose_state(DRIVER_CGROUPFS);
	full_for = ".baseline.new";
	crig_start(&c);
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_RECOVERED], 1);
	CHECK(on_disk("originals-lost"));
	CHECK(!on_disk("baseline"));
	CHECK(c.rig.daemon->records.originals_lost);
	CHECK(c.rig.daemon->tally.saves_failed > 0);
	full_for = NULL;
	rig_run(&c.rig, 40, burn_699);
	CHECK(!on_disk("originals-lost"));
	CHECK(on_disk("baseline"));
	CHECK(!c.rig.daemon->records.originals_lost);
	CHECK_STR(c.rig.daemon->records.result, "ok");
}

/* The folder is emptied while originals are lost: the mark is created again with the records. */
TEST(mark_removed)
{
	static const char *const files[] = {"baseline", "baseline-copy", "originals-lost", "lock"};
	struct rig_pod *p = lose_state(DRIVER_CGROUPFS);

	crig_annotate(&c, p, "status", NULL);
	crig_pod(&c, DRIVER_CGROUPFS, "new-0", AUTO);
	crig_start(&c);
	rig_run(&c.rig, 40, burn_699);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		CHECK(unlinkat(c.rig.daemon->records.dir, files[i], 0) == 0);
	rig_run(&c.rig, 40, burn_699);
	CHECK(on_disk("baseline"));
	CHECK(on_disk("originals-lost"));
}

TEST(with_parameters)
{
	test_damaged(DRIVER_CGROUPFS, false);
	test_damaged(DRIVER_SYSTEMD, true);
	test_unknown(NULL);
	test_unknown("{}");
	test_above_spec(false, 256 * MIB);
	test_above_spec(true, 96 * MIB);
}
