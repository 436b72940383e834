/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of external writes to one entry. */
#pragma once

#include "policy/laws/drift.h"
#include <stdint.h>

struct managed;

/* Its limit files may have been written: they are compared before the wake-up ends. */
void drift_request_check(struct managed *m);
/* memory.max was `found` and has been replaced before its writer was known. To be called before
 * systemd answers a call: after that it stores the new value. */
void drift_replaced_early(struct managed *m, uint64_t found);
/* The writer of it is known. */
void drift_end_early(struct managed *m);
/* drift_decide() with what is known of the writers of r. */
enum drift_action drift_decide(struct managed *m, enum resource r, const struct drift_facts *f);
/* How many external writes of r count now. */
uint32_t drift_recent(const struct managed *m, enum resource r);
/* Earlier writes do not count any more. */
void drift_forget_writer(struct managed *m, enum resource r);
void drift_forget_writers(struct managed *m);
