/* SPDX-License-Identifier: Apache-2.0 */
/* Who wrote a limit that is not ours, and what to do about it. First row that matches wins. */
#pragma once

#include "policy/types/profile.h"

enum drift_action {
	DRIFT_NONE,     /* the value is ours */
	DRIFT_ECHO,     /* our own write coming back; raise what is too low, wait */
	DRIFT_ADOPT,    /* set on purpose by a user or controller: the new baseline */
	DRIFT_REASSERT, /* systemd's stored value or a reload: write ours again, not counted */
	DRIFT_COUNTED,  /* unknown writer: write ours again, counted */
	DRIFT_GIVE_WAY, /* it insists: leave it alone */
	DRIFT_COUNT,
};

/* For one knob. Values in the unit of the knob, rounded as the kernel shows them. */
struct drift_facts {
	uint64_t expected; /* what we last wrote or accepted */
	uint64_t observed; /* what the kernel holds */
	uint64_t property; /* what we last asked systemd to store */
	uint64_t stored;   /* what systemd holds now */
	bool has_property; /* property is valid: we did ask */
	bool has_stored;
	bool set_pending;  /* a call of ours is in flight, or its echo not yet seen */
	bool reloaded;     /* a daemon-reload or reexec ended a moment ago, or is under way */
	bool spec_changed; /* pods: the spec's generation moved, by another manager */
};

#define DRIFT_TIMES 16
struct drift_memory {
	usec_t at[DRIFT_TIMES]; /* foreign writes, newest first */
};

enum drift_action drift_classify(const struct tuning_common *t, struct drift_memory *m,
				 const struct drift_facts *f, usec_t now);
/* Foreign writes inside the window. */
uint32_t drift_count(const struct tuning_common *t, const struct drift_memory *m, usec_t now);
const char *drift_name(enum drift_action a);
