/* SPDX-License-Identifier: Apache-2.0 */
/* History that another program has recorded, at coarser intervals than our own. */
#pragma once

#include "policy/history/history.h"

struct past_sample {
	usec_t at_real;
	double value; /* cores on average since the sample before, or bytes; >= 0 */
};

struct past_series {
	const struct past_sample *samples; /* in the order of time */
	size_t count;
	usec_t step_usec; /* a sample of CPU stands for so long */
};

/* Adds them as if they had been observed, beside what h has. CPU counts as wanted all the time: an
 * average does not tell how it was spread. cpu or memory may be empty. */
void history_add_past(struct history *h, const struct tuning_history *t,
		      const struct past_series *cpu, const struct past_series *memory);
