/* SPDX-License-Identifier: Apache-2.0 */
/* memory.high as the kubelet writes it with an update of a container (MemoryQoS: "max", or by its
 * factor): no value of an external writer, and not reported. */
#pragma once

struct limits;
struct managed;

/* Where a kubelet or PID 1 replaced memory.high: writes what is to stand, also into seen. */
void drift_high(struct managed *m, struct limits *seen);
