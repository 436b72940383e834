/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of one container for the laws: request, LimitRange, heap and the like. */
#pragma once

struct managed;

/* Request, LimitRange, heap and the like, for the laws of one container. */
void pod_set_bounds(struct managed *m);
