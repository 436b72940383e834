/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what checkpoint_load() reads, as VPA does. */
#pragma once

#include "policy/history/histogram.h"

#define CHECKPOINT_WEIGHT_MAX 10000

void checkpoint_save(const struct histogram *h, struct checkpoint *ret);
