// SPDX-License-Identifier: Apache-2.0
/* An answer of a Prometheus server: samples in order, none negative, or an error with a text. */
#include "agent/prometheus/prometheus.h"
#include "test/fuzz/fuzz.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prometheus_error err = {""};
	struct past_sample *s;
	size_t n;
	int r = prometheus_parse((const char *)data, size, &s, &n, &err);

	if (r < 0 && (s != NULL || err.text[0] == '\0'))
		abort();
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!(s[i].value >= 0) || (i > 0 && s[i].at_real <= s[i - 1].at_real))
			abort();
	free(s);
	prometheus_refusal((const char *)data, size, &err);
	return 0;
}
