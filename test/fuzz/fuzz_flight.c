// SPDX-License-Identifier: Apache-2.0
/* The flight recorder's file: any lines are read or refused, and what is read can be replayed. What
 * begins a file, and the lines' checksums are added here; the tuning is that of a daemon. */
#include "agent/base/file.h"
#include "agent/state/flight_file.h"
#include "test/fuzz/fuzz.h"
#include <fcntl.h>
#include <stdio.h>

static int on_event(void *user, const struct flight_event *e)
{
	*(size_t *)user += strlen(e->container);
	return 0;
}

static void add_line(FILE *f, const char *line, size_t size)
{
	fwrite(line, 1, size, f);
	fprintf(f, " %05u\n", crc32c(0, line, size) & 0xffff);
}

/* The header, the default tuning, and a container of each number that the kept inputs have. */
static const struct text *preamble(void)
{
	static struct flight_log log;
	static struct saver saver;
	static const struct usage none;

	if (log.files > 0)
		return &log.lines;
	flight_log_open(&log, &saver, open("/proc/self/task", O_RDONLY | O_CLOEXEC), MIB);
	for (uint32_t i = 0; i < 10; i++)
		flight_log_add(
			&log, &tuning_default, 4000,
			&(struct flight_line){
				.name = "a", .number = i, .file = &(uint32_t){0}, .seen = &none});
	return &log.lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(drop_free) char *text = NULL;
	const char *at = (const char *)data, *end = at + size, *next;
	size_t text_size, seen = 0;
	FILE *f = open_memstream(&text, &text_size);

	fwrite(preamble()->buf, 1, preamble()->used, f);
	for (; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (next == NULL)
			next = end;
		/* As that of a daemon. */
		if (next - at < 4 || memcmp(at, "node", 4) != 0)
			add_line(f, at, (size_t)(next - at));
	}
	fclose(f);
	flight_read(text, text_size, on_event, &seen);
	flight_read((const char *)data, size, on_event, &seen);
	return 0;
}
