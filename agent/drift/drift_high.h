/* SPDX-License-Identifier: Apache-2.0 */
/* memory.high as the kubelet writes it with every update of a container: "max" where MemoryQoS is
 * off or in releases before 1.37, else by its factor. It is no value of an external writer, and not
 * reported. */
#pragma once

struct limits;
struct managed;

/* Writes the memory.high that is to stand, and sets it in seen, where a kubelet or PID 1 replaced
 * it. */
void drift_high(struct managed *m, struct limits *seen);
