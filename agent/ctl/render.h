/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's answers for people: one function an answer, writing to c->out. */
#pragma once

#include "agent/ctl/json.h"

void render_status(const struct ctl *c, const cJSON *status);
void render_list(const struct ctl *c, const cJSON *units);
/* Parts of explain for a container: its pod, and its spec of one resource. */
void render_pod(const struct ctl *c, const cJSON *pod);
void render_pod_resource(const struct ctl *c, enum resource which, const cJSON *r);
void render_explain(const struct ctl *c, const cJSON *unit);

enum paint { PAINT_GOOD, PAINT_WARN, PAINT_BAD, PAINT_BOLD, PAINT_NONE };

/* Terminal sequences to go around a text; "" without colour. */
const char *paint_on(const struct ctl *c, enum paint p);
const char *paint_off(const struct ctl *c, enum paint p);
enum paint paint_state(const char *state);

/* "2 min ago", or "-". */
const char *render_ago(const struct ctl *c, usec_t at_realtime_usec, char ret[static HUMAN_SIZE]);
