/* SPDX-License-Identifier: Apache-2.0 */
/* Running recorded VPA figures: one function per file of a vectors folder. */
#pragma once

#include "policy/backtest/backtest_policy.h"
#include "test/policy/csv.h"
#include "test/policy/vpa/histogram_vpa.h"
#include "test/policy/vpa/vpa_aggregate.h"

/* Counted over all files; the caller prints them. */
struct tally {
	uint64_t figures;
	uint64_t failures;
};
extern struct tally vectors_tally;

/* Each counts one figure and shows the row when it differs. */
void expect_double(const struct csv *at, const char *what, double got, double want);
void expect_int(const struct csv *at, const char *what, int64_t got, int64_t want);
void expect_text(const struct csv *at, const char *what, const char *got, const char *want);
/* Within a relative tolerance. */
void expect_near(const struct csv *at, const char *what, double got, double want, double tolerance);

const struct histogram_options *vectors_options(const char *kind);
/* "bucket:weight;..." as text, in buf. */
const char *vectors_weights(const struct checkpoint *c, char *buf, size_t size);

/* vectors_plain.c */
void run_bucket_starts(const char *dir);
void run_find_bucket(const char *dir);
void run_single_value(const char *dir);
void run_update_decisions(const char *dir);
void run_round_up(const char *dir);
/* vectors_replay.c */
void run_decay_percentiles(const char *dir);
void run_decay_checkpoints(const char *dir);
void run_decay_reload_percentiles(const char *dir);
void run_e2e_input(const char *dir);
void run_e2e_recommendation(const char *dir);
