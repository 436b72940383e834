/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up of a container: the CPU that it uses then says nothing about the time after it.
 *
 * It ends ready_usec after the container was first Ready, or without a readiness or startup probe
 * unprobed_usec after its start; after an hour in any case. The first Ready of a run counts: a
 * container that is not Ready later on does not start up again. The reflex raises the limit as
 * always; history, the recent maximum and the API server are not given what is seen. */
#pragma once

#include "policy/types/profile.h"

/* Of the running process, boottime. started_at 0: unknown; ready_since 0: it is not ready. */
struct startup_life {
	usec_t started_at;
	usec_t ready_since; /* without a break */
	bool probed;        /* its readiness comes from a probe */
};

/* Starts as all 0. */
struct startup {
	usec_t started_at;
	usec_t first_ready; /* of the run; 0: not yet */
	bool probed;
};

/* Call it whenever one of the values changes; another started_at is another run. */
void startup_set(struct startup *s, const struct startup_life *life);
/* When it ends; 0: nothing is known of the start. It can come closer, once the container is Ready.
 */
usec_t startup_end(const struct startup *s, const struct tuning_startup *t);
/* Does a span of use overlap it? */
bool startup_covers(const struct startup *s, const struct tuning_startup *t, usec_t from,
		    usec_t to);
