/* SPDX-License-Identifier: Apache-2.0 */
/* All policies over one series, and what is shown of them. */
#pragma once

#include "agent/backtest/series.h"
#include <cjson/cJSON.h>
#include <stdio.h>

struct backtest_report {
	const char *file;
	struct backtest_trace trace;
	struct backtest_oracle oracle;
	struct backtest_result result[BACKTEST_POLICY_COUNT];
};

/* permille: done of the series; called after some periods. NULL: not called. */
typedef void backtest_progress_fn(void *user, const char *policy, uint32_t permille);

/* On all CPUs that the process may use, progress on the caller's thread. file and the samples are
 * borrowed. -ENOMEM. */
int backtest_report_run(const char *file, const struct backtest_trace *t,
			backtest_progress_fn *progress, void *user, struct backtest_report *ret);
void backtest_report_table(const struct backtest_report *r, FILE *out);
/* What the columns and the policies mean; once, below the tables. */
void backtest_legend(FILE *out);
/* Owned; NULL when memory is short. */
cJSON *backtest_report_json(const struct backtest_report *r);

/* The same as a page of charts. */
void backtest_html_report(const struct backtest_report *r, FILE *out);
void backtest_html_end(FILE *out);
