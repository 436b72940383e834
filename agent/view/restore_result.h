/* SPDX-License-Identifier: Apache-2.0 */
/* The result of restoring one unit or container. */
#pragma once

#include "policy/types/limits.h"

enum restore_outcome {
	RESTORE_RESTORED, /* everything is as it was, and was read back */
	RESTORE_LEFT,     /* a memory value below use + margin was not written */
	RESTORE_GONE,     /* it does not run any more; what remained of it was removed */
	RESTORE_FAILED,   /* a step was refused; the record is kept */
	RESTORE_PENDING,  /* not tried: it is being started, or systemd has not answered yet */
	RESTORE_OUTCOME_COUNT,
};

struct restore_result {
	const char *unit; /* or NAMESPACE/POD[/CONTAINER] */
	enum restore_outcome outcome;
	char detail[320]; /* in words; "" when there is nothing to add */
	/* What stood before the first write, and the originals; equal where nothing was read. */
	struct limits from, to;
};

/* "restored", "left", "gone", "failed", "pending". */
extern const char *const restore_outcome_names[RESTORE_OUTCOME_COUNT];
