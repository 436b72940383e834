/* SPDX-License-Identifier: Apache-2.0 */
/* The journal messages about managed units. */
#pragma once

#include "agent/journal/event.h"
#include "agent/metrics/counters.h"
#include "agent/view/view.h"
#include "policy/control/control.h"
#include "policy/laws/drift.h"

struct config_errors;
struct kube_pod;
struct managed;
struct unit_table;

/* Adds to a text in a buffer of that size as much as fits. */
void __attribute__((format(printf, 3, 4))) message_add(char *text, size_t size, const char *format,
						       ...);
/* Who: for event_tell(). */
struct event_who message_who(const struct managed *m);
struct event_who message_pod(const struct kube_pod *s);
/* took: of a raise, else zeros. The message is kept until message_steps(). */
void message_step(struct managed *m, const struct change *s, int outcome,
		  const usec_t took[SINCE_COUNT]);
void message_steps(struct unit_table *t);
/* memory.max was found above what is held, and is held again: take_back_unclassified(). */
void message_taken_back(struct managed *m, uint64_t from, uint64_t to);
/* Reports sums that are old enough; now: every sum. */
void message_summed(struct managed *m, bool now);
/* The raises of CPU in this plan are reported with those of the next moments, as one. */
void message_sum_raises(struct managed *m, bool sum);
/* systemd is sent a memory limit above the one in the cgroup, because use grows. */
void message_headroom(struct managed *m, uint64_t to);
void message_ceiling(struct managed *m, enum resource r);
void message_oom(struct managed *m, uint64_t kills);
void message_drift(struct managed *m, enum resource r, const struct drift_facts *f,
		   enum event_kind kind, const char *by);
void message_managed(struct managed *m);
/* What should be sized and has waited for STATE_LATE_USEC: in the journal and by an Event, once. */
void message_waiting(struct unit_table *t);
void message_unsaved_baseline(struct unit_table *t, int error);
/* Of a save: 0 or -errno. Not again for the error in *last. */
void message_save(const char *file, int result, int *last);
void message_restored(struct managed *m, const struct restore_result *result);
/* The same for a unit that is not in the table. */
void message_stray(const char *unit, enum restore_outcome outcome);
void message_config_errors(const char *file, const struct config_errors *errors, bool kept);
void message_unsupported(const char *what, const char *hint, int error);

/* Memory that the node did not have: text, journal message and Event. */
#define DENIED_TEXT_BYTES 512
/* Writes what the node did not have, with figures; false: no increase was denied lately. */
bool denied_text(const struct managed *m, char *ret, size_t size);
/* Reports in journal, metric and Event that denials began. */
void denied_report(struct managed *m);
