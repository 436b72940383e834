// SPDX-License-Identifier: Apache-2.0
/* CSV series: what is accepted keeps the promises that the simulator relies on. */
#include "agent/backtest/series.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <string.h>

static void check_samples(const struct series *s, bool memory)
{
	if (s->count < 2)
		abort();
	for (size_t i = 0; i < s->count; i++) {
		const struct backtest_sample *x = &s->samples[i];

		if (x->micro_cores > BACKTEST_CPUS_MAX * 1000000ULL ||
		    (x->memory_bytes != 0 && !memory))
			abort();
		if (i > 0 &&
		    (x->at < x[-1].at + BACKTEST_PERIOD_USEC || x->at - x[-1].at > USEC_PER_DAY))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that one byte too far is seen. */
	OWN(drop_free) char *text = malloc(size + 1);
	struct series_file f = {.count = 77};
	struct series_error e = {0};
	int r;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	r = series_parse(text, 4, &f, &e);
	if (r == 0) {
		for (size_t i = 0; i < f.count; i++)
			check_samples(&f.series[i], f.memory);
		series_drop(&f);
	} else if (r != -EBADMSG || f.count != 77 || e.line == 0 || e.what[0] == '\0') {
		abort();
	}
	return 0;
}
