/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of buckets, which VPA makes at run time and the agent has ready. */
#pragma once

#include "policy/history/histogram.h"

/* -EINVAL when the numbers make no histogram, -ERANGE when it needs too many buckets. */
int histogram_options_linear(double max, double width, double epsilon,
			     struct histogram_options *ret);
int histogram_options_exponential(double max, double first, double ratio, double epsilon,
				  struct histogram_options *ret);
