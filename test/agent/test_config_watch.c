// SPDX-License-Identifier: Apache-2.0
/* The watch of the file's folder under what kubelets do in it; editors and upgrades do not count.
 */
#include "agent/config/config.h"
#include "agent/config/config_watch.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD  "apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"
#define QUIET (50 * USEC_PER_MSEC)

static char dir[] = "/tmp/vscaled-watch-XXXXXX";
static char file[64];
static sd_event *event;
static struct config held; /* the last good one */
static unsigned reported, refused;

static void on_reported(void *ctx)
{
	struct config_errors errs = {0};
	struct config fresh;

	CHECK(ctx == &held);
	reported++;
	if (config_load_file(file, &fresh, &errs) < 0) {
		refused++;
		return;
	}
	config_free(&held);
	held = fresh;
}

/* Runs the loop until so many changes are reported, and a little longer; returns how many were. */
static unsigned wait_reported(unsigned want)
{
	usec_t end = now_usec() + (want > 0 ? 3 * USEC_PER_SEC : 4 * QUIET);

	reported = 0;
	while (now_usec() < end) {
		sd_event_run(event, 5 * USEC_PER_MSEC);
		if (want > 0 && reported >= want) {
			want = 0;
			end = now_usec() + 3 * QUIET;
		}
	}
	return reported;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

/* A file of the host: no save counts before a reload. */
TEST(file)
{
	struct config_watch *w = NULL;

	put(file, HEAD "clocks: {stateInterval: 1m}\n");
	CHECK_EQ(config_watch_new(event, file, on_reported, &held, &w), -ENOENT);
	CHECK(w == NULL);
	unlink(file);
	CHECK_EQ(config_watch_new(event, in_dir("none/vscaled.yaml"), on_reported, &held, &w),
		 -ENOENT);
}

/* dir/NAME/vscaled.yaml, and ..data made to point there as the kubelet does it. */
static void swap(const char *name, const char *text)
{
	char path[256], fresh[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	CHECK_EQ(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/%s/vscaled.yaml", dir, name);
	put(path, text);
	strcpy(fresh, in_dir("..data_tmp"));
	CHECK_EQ(symlink(name, fresh), 0);
	CHECK_EQ(rename(fresh, in_dir("..data")), 0);
}

static void remove_data(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s/vscaled.yaml", dir, name);
	unlink(path);
	rmdir(in_dir(name));
}

TEST(config_map)
{
	struct config_watch *w = NULL;

	swap("..2026_1", HEAD "clocks: {stateInterval: 5m}\n");
	CHECK_EQ(symlink("..data/vscaled.yaml", file), 0);
	CHECK_EQ(config_watch_new(event, file, on_reported, &held, &w), 0);
	CHECK_EQ(wait_reported(0), 0);
	swap("..2026_2", HEAD "clocks: {stateInterval: 6m}\n");
	remove_data("..2026_1");
	CHECK_EQ(wait_reported(1), 1);
	CHECK_EQ(held.clocks.state_usec, 6 * USEC_PER_MIN);
	swap("..2026_3", "nonsense");
	remove_data("..2026_2");
	CHECK_EQ(wait_reported(1), 1);
	CHECK_EQ(refused, 1);
	CHECK_EQ(held.clocks.state_usec, 6 * USEC_PER_MIN);
	/* An empty one is refused, too. Nothing else in the folder counts. */
	swap("..2026_4", "");
	remove_data("..2026_3");
	CHECK_EQ(wait_reported(1), 1);
	CHECK_EQ(refused, 2);
	CHECK_EQ(held.clocks.state_usec, 6 * USEC_PER_MIN);
	put(in_dir("other.yaml"), "x");
	CHECK_EQ(wait_reported(0), 0);
	unlink(in_dir("other.yaml"));
	config_watch_free(w);
	remove_data("..2026_4");
	unlink(in_dir("..data"));
	unlink(file);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		return EXIT_FAILURE;
	snprintf(file, sizeof file, "%s/vscaled.yaml", dir);
	CHECK(sd_event_new(&event) >= 0);
	check_run();
	config_free(&held);
	sd_event_unref(event);
	CHECK_EQ(rmdir(dir), 0);
	return check_result();
}
