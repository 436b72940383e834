// SPDX-License-Identifier: Apache-2.0
/* CSV series: what is accepted keeps the promises that the simulator relies on. */
#include "agent/backtest/series.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <string.h>

static void check_samples(const struct series *s)
{
	if (s->count < 2)
		abort();
	for (size_t i = 0; i < s->count; i++) {
		const struct backtest_sample *x = &s->samples[i];

		if (x->micro_cores > BACKTEST_CPUS_MAX * 1000000ULL ||
		    (x->memory_bytes != 0 && !s->memory))
			abort();
		if (i > 0 &&
		    (x->at < x[-1].at + BACKTEST_PERIOD_USEC || x->at - x[-1].at > USEC_PER_DAY))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that one byte too far is seen. */
	OWN(drop_free) char *text = malloc(size ? size : 1);
	struct series s = {.count = 77};
	struct series_error e = {0};
	int r;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	r = series_parse(text, size, 4, &s, &e);
	if (r == 0) {
		check_samples(&s);
		series_drop(&s);
	} else if (r != -EBADMSG || s.count != 77 || e.line == 0 || e.what == NULL) {
		abort();
	}
	return 0;
}
