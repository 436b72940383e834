/* SPDX-License-Identifier: Apache-2.0 */
/* Who wrote a limit that differs from ours, and what to do about it. The first action that matches
 * applies. */
#pragma once

#include "policy/types/profile.h"

enum drift_action {
	DRIFT_NONE,     /* the value is the expected one */
	DRIFT_ECHO,     /* an echo: raise what is too low, wait */
	DRIFT_ADOPT,    /* set on purpose by a user or controller: adopt it */
	DRIFT_REASSERT, /* systemd's stored property or a reload: write ours again, not counted */
	DRIFT_COUNTED,  /* unknown writer: write ours again, counted */
	DRIFT_GIVE_WAY, /* too many external writes: suspend sizing */
	DRIFT_COUNT,
};

/* For one knob. Values in the unit of the knob, rounded as the kernel shows them. */
struct drift_facts {
	uint64_t expected; /* what we last wrote or accepted */
	uint64_t observed; /* what the kernel holds */
	uint64_t property; /* the stored property that we set last */
	uint64_t stored;   /* the stored property now */
	bool has_property; /* property is valid */
	bool has_stored;
	bool set_pending;    /* our call to systemd is in flight, or its echo not seen yet */
	bool not_deliberate; /* written by a reload or reexec, or by the runtime, or not known */
};

#define DRIFT_TIMES 16
/* There are two of these for each container: times are in tenths of a second. */
struct drift_memory {
	uint32_t at_tenths[DRIFT_TIMES]; /* external writes, newest first; 0: none */
};

enum drift_action drift_classify(const struct tuning_common *t, struct drift_memory *m,
				 const struct drift_facts *f, usec_t now);
/* The number of external writes inside the window. */
uint32_t drift_count(const struct tuning_common *t, const struct drift_memory *m, usec_t now);
