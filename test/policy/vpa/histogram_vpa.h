/* SPDX-License-Identifier: Apache-2.0 */
/* What VPA does with histograms and the agent does not: make tables of buckets, merge. */
#pragma once

#include "policy/history/histogram.h"

/* -EINVAL when the numbers make no histogram, -ERANGE when it needs too many buckets. */
int histogram_options_linear(double max, double width, double epsilon,
			     struct histogram_options *ret);
int histogram_options_exponential(double max, double first, double ratio, double epsilon,
				  struct histogram_options *ret);
/* Adds other to h, both shifted to the younger reference. -EINVAL: options or half life differ;
 * -ENOMEM. Then h is what it was. */
int histogram_merge(struct histogram *h, const struct histogram *other);
