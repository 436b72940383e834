/* SPDX-License-Identifier: Apache-2.0 */
/* vscalectl report: the containers of one or many nodes (docs/control-api.md, /v1/report), summed
 * up by workload. */
#pragma once

#include "agent/ctl/render.h"

/* Adds the answers of a text, one after the other, to `all`: an array of them. A line "# NAME"
 * names the answer after it. What is no answer is named on c->err and left out, up to the next line
 * that begins with { or #. Returns how many were. source: the text's name. */
size_t report_read(const struct ctl *c, const char *source, const char *text, cJSON *all);

/* {"rows": [...], "total": {...}}, owned; rows in the order of their names, those of c's
 * namespace alone unless it is NULL. Of the pods of a workload requests, limits, use and
 * recommendation are the highest, confidence is the lowest; what the requests are above the target
 * (over_target) and above the upper bound (reclaimable), or below the target (under_target), is
 * summed. By the prices of c that is money too. "rollouts" has rows of the containers with a
 * rollout, one for each part of it (sized, unsized, stopped). */
cJSON *report_sum(const struct ctl *c, const cJSON *all);

void report_table(const struct ctl *c, const cJSON *report);
void report_csv(const struct ctl *c, const cJSON *report);
/* Strategic merge patches, one for each workload with a request that is 10 % off its target; to
 * c->output_dir, if it is given. Returns an exit status; an error has been printed. */
int report_patch(const struct ctl *c, const cJSON *report);
