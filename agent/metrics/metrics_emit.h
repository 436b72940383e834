/* SPDX-License-Identifier: Apache-2.0 */
/* How a row's series are found; private to metrics*.c. Offsets are in the struct named. */
#pragma once

#include "agent/metrics/metrics_text.h"

#define EMIT(name)                                                                                 \
	void name(struct metrics_writer *w, const struct metric *m, const struct metrics_input *in)

#define EACH(name)                                                                                 \
	void name(struct metrics_writer *w, const struct metric *m, const struct metrics_thing *t)

EMIT(emit_build); /* no offset */
EMIT(emit_unsupported);
EMIT(emit_number);   /* uint64_t of metrics_input */
EMIT(emit_systemd);  /* a flag, none where systemd is not needed */
EMIT(emit_time);     /* usec_t of metrics_input; 0 has no series */
EMIT(emit_flag);     /* bool of metrics_input */
EMIT(emit_counter);  /* uint64_t of counters */
EMIT(emit_counters); /* uint64_t[count] of counters, by one label */
EMIT(emit_blocked);
EMIT(emit_changes);
EMIT(emit_requests);
EMIT(emit_span);    /* counters_span of counters */
EMIT(emit_spans);   /* counters_span[count] of counters, by one label */
EMIT(emit_managed); /* things by mode and state */
EACH(each_limits);  /* spec and applied of a resource */
EACH(each_bounds);  /* lower, target, upper, peak of a resource */
EACH(each_amount);  /* uint64_t of one metrics_resource */
EACH(each_amounts); /* the same of both, by the label resource */
EACH(each_thing);   /* uint64_t of metrics_thing */
