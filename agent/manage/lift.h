/* SPDX-License-Identifier: Apache-2.0 */
/* A memory.high that a trial or the brake lowered: set back at the start and at the end. */
#pragma once

struct records;

/* Sets back each memory.high that a record names. root: of the cgroups. */
void lift_all(struct records *r, int root);
/* At the start: the runtime folder may have records that were lost, and what was sent last. */
void lift_start(struct records *r, const char *runtime_dir, int root);
