/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as one HTML page: tables, and demand and limit of each policy over time. It needs no
 * script and no other file. */
#pragma once

#include "agent/backtest/backtest_report.h"

void backtest_html_begin(FILE *out);
void backtest_html_report(const struct backtest_report *r, FILE *out);
void backtest_html_end(FILE *out);
