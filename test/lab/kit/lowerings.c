// SPDX-License-Identifier: Apache-2.0
/*
 * lowerings SECONDS WINDOW_MS FOLDER...: what lowering memory.max did to these cgroups, seen from
 * outside. A lowering is harmful when within the window the group runs into memory.max, reads more
 * than 2 MiB a second again that it had had, or waits for memory for more than 10 ms and a
 * hundredth of the time; in each case twice as much as before. It is undone when memory.max is back
 * where it was within two seconds of that. SIGTERM ends it early. Prints every harmful one and at
 * the end: lowerings lowered=212 harmful=9 undone=9 kills=0
 */
#include "gauge.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDERS_MAX      64
#define TICK_NSEC        (50 * NSEC_PER_MSEC)
#define STALL_USEC       10000
#define REFAULTS_PER_SEC 512 /* pages */
#define UNDO_NSEC        (2 * NSEC_PER_SEC)
#define HISTORY          100 /* ticks: the 5 s before */

struct state {
	int64_t max, stalled_usec, max_events, refaults, kills;
};

struct group {
	const char *path, *name;
	int max_fd, pressure_fd, events_fd, stat_fd;
	struct state now, at; /* at: when it was lowered */
	struct state before[HISTORY];
	struct state level;          /* what it had in those 5 s */
	int64_t from;                /* memory.max before; 0: nothing is watched */
	int64_t lowered_at, hurt_at; /* 0: not harmful so far */
	const char *how;             /* it was harmful */
};

static struct group groups[FOLDERS_MAX];
static int group_count, lowered, harmful, undone;
static int64_t window_nsec, kills;
static volatile sig_atomic_t stopped;

static void on_signal(int)
{
	stopped = 1;
}

static int open_at(const char *folder, const char *file)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int64_t value_after(int fd, const char *key)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	const char *at;

	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, key);
	return n <= 0 || at == NULL ? -1 : strtoll(at + strlen(key), NULL, 10);
}

static bool state_read(const struct group *g, struct state *ret)
{
	struct state s = {
		.max = value_after(g->max_fd, ""),
		.stalled_usec = value_after(g->pressure_fd, "total="),
		.max_events = value_after(g->events_fd, "\nmax "),
		.refaults = value_after(g->stat_fd, "workingset_refault_file "),
		.kills = value_after(g->events_fd, "oom_kill "),
	};

	*ret = s;
	return s.max > 0 && s.stalled_usec >= 0 && s.max_events >= 0 && s.refaults >= 0 &&
	       s.kills >= 0;
}

/* More than `most` since it was lowered, and more than twice what is usual. */
static bool rose(int64_t count, int64_t usual, int64_t most, int64_t span_nsec)
{
	return count > most && count > 2 * usual * span_nsec / (HISTORY * TICK_NSEC);
}

/* NULL: it does not. */
static const char *hurts(const struct group *g, int64_t now)
{
	int64_t span = now - g->lowered_at;

	if (rose(g->now.max_events - g->at.max_events, g->level.max_events, 0, span))
		return "memory.max";
	if (rose(g->now.refaults - g->at.refaults, g->level.refaults,
		 REFAULTS_PER_SEC * span / NSEC_PER_SEC, span))
		return "refaults";
	if (rose(g->now.stalled_usec - g->at.stalled_usec, g->level.stalled_usec,
		 STALL_USEC + span / 1000 / 100, span))
		return "pressure";
	return NULL;
}

/* How it ended, or NULL: not yet. */
static const char *ending(const struct group *g, int64_t now)
{
	if (g->now.max >= g->from)
		return "undone";
	return now - g->hurt_at > UNDO_NSEC ? "it stayed" : NULL;
}

static void watch(struct group *g, int64_t now)
{
	const char *end;

	if (g->hurt_at == 0) {
		if (now - g->lowered_at > window_nsec) {
			g->from = 0;
			return;
		}
		g->how = hurts(g, now);
		if (g->how == NULL)
			return;
		g->hurt_at = now;
		harmful++;
	}
	end = ending(g, now);
	if (end == NULL)
		return;
	undone += g->now.max >= g->from;
	printf("lowerings %s: %lld -> %lld hurt after %lld ms by %s, %s %lld ms later; since it "
	       "was lowered max+%lld refaults+%lld stalled_ms+%lld, in the 5 s before %lld, %lld, "
	       "%lld\n",
	       g->name, (long long)g->from, (long long)g->at.max,
	       (long long)((g->hurt_at - g->lowered_at) / NSEC_PER_MSEC), g->how, end,
	       (long long)((now - g->hurt_at) / NSEC_PER_MSEC),
	       (long long)(g->now.max_events - g->at.max_events),
	       (long long)(g->now.refaults - g->at.refaults),
	       (long long)(g->now.stalled_usec - g->at.stalled_usec) / 1000,
	       (long long)g->level.max_events, (long long)g->level.refaults,
	       (long long)g->level.stalled_usec / 1000);
	g->from = 0;
}

static struct state difference(const struct state *now, const struct state *then)
{
	return (struct state){
		.stalled_usec = now->stalled_usec - then->stalled_usec,
		.max_events = now->max_events - then->max_events,
		.refaults = now->refaults - then->refaults,
	};
}

static void look(struct group *g, long tick, int64_t now)
{
	struct state old = g->now;
	struct state *then = &g->before[tick % HISTORY];

	if (!state_read(g, &g->now)) {
		g->now = old; /* it is gone */
		return;
	}
	kills += g->now.kills - old.kills;
	if (g->now.max < old.max) {
		lowered++;
		g->from = g->from != 0 && g->hurt_at != 0 ? g->from : old.max;
		g->at = g->now;
		g->level = tick < HISTORY ? (struct state){0} : difference(&old, then);
		g->lowered_at = now;
		g->hurt_at = 0;
	}
	*then = g->now;
	if (g->from != 0)
		watch(g, now);
}

static int begin(int argc, char **argv)
{
	for (int i = 3; i < argc && group_count < FOLDERS_MAX; i++) {
		struct group *g = &groups[group_count++];

		g->path = argv[i];
		g->name = strrchr(argv[i], '/') != NULL ? strrchr(argv[i], '/') + 1 : argv[i];
		g->max_fd = open_at(g->path, "memory.max");
		g->pressure_fd = open_at(g->path, "memory.pressure");
		g->events_fd = open_at(g->path, "memory.events");
		g->stat_fd = open_at(g->path, "memory.stat");
		if (!state_read(g, &g->now)) {
			fprintf(stderr, "lowerings: %s cannot be read\n", g->path);
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct gauge own = {0};
	int64_t start = now_nsec(), end;

	if (argc < 4) {
		fputs("usage: lowerings SECONDS WINDOW_MS FOLDER...\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, on_signal);
	end = start + atoi(argv[1]) * NSEC_PER_SEC;
	window_nsec = atoi(argv[2]) * NSEC_PER_MSEC;
	if (begin(argc, argv) < 0)
		return 1;
	puts("lowerings ready");
	for (long tick = 0; !stopped && now_nsec() < end; tick++) {
		for (int i = 0; i < group_count; i++)
			look(&groups[i], tick, now_nsec());
		gauge_sleep(&own, start + (tick + 1) * TICK_NSEC);
	}
	printf("lowerings lowered=%d harmful=%d undone=%d kills=%lld\n", lowered, harmful, undone,
	       (long long)kills);
	return 0;
}
