// SPDX-License-Identifier: Apache-2.0
/*
 * seed STATE_DIR UNIT|NAMESPACE/WORKLOAD/CONTAINER CPU_MILLI MEMORY_MB HOURS
 *
 * Writes a history of a unit or container that used this much, steadily, for so many hours until
 * now: what a scenario cannot wait for.
 */
#include "agent/state/history_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void live(struct history *h, const char *const *what, usec_t until)
{
	const struct tuning_history *t = &tuning_default.history;
	uint64_t milli = strtoull(what[0], NULL, 10), bytes = strtoull(what[1], NULL, 10) * MIB;
	usec_t span = strtoull(what[2], NULL, 10) * USEC_PER_HOUR;
	struct cpu_rates r = {
		.span_usec = USEC_PER_MIN,
		.active_usec = USEC_PER_MIN,
		.used_milli = milli,
		.demand_milli = milli,
		.evidence_milli = milli,
	};

	for (usec_t at = until - span; at < until; at += USEC_PER_MIN) {
		history_add_cpu(h, &r, at);
		history_add_memory(h, t, bytes, false, at);
		history_observe_memory(h, USEC_PER_MIN);
	}
}

int main(int argc, char **argv)
{
	struct history_record record = {0};
	struct history_store store = {0};
	struct timespec now;
	char key[512], *text = NULL;
	size_t len = 0;
	int dir;

	if (argc != 6) {
		fputs("usage: seed STATE_DIR UNIT CPU_MILLI MEMORY_MB HOURS\n", stderr);
		return 2;
	}
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	clock_gettime(CLOCK_REALTIME, &now);
	history_init(&record.history, &tuning_default.history);
	live(&record.history, (const char *const *)&argv[3], (usec_t)now.tv_sec * USEC_PER_SEC);
	record.seen_realtime_usec = record.history.last_real;
	snprintf(key, sizeof key, "%s%s", strchr(argv[2], '/') == NULL ? "unit:" : "", argv[2]);
	if (dir < 0 || history_load(dir, (char[STATE_ASIDE_MAX]){0}, &store) == -EBADMSG ||
	    history_store_put(&store, key, &record) < 0 ||
	    history_encode(&store, &text, &len) < 0 ||
	    state_file_save(dir, &history_state, text, len) < 0) {
		perror("seed");
		return 1;
	}
	free(text);
	history_store_free(&store);
	history_record_drop(&record);
	return 0;
}
