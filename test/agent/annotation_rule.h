/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of one container alone. */
#pragma once

#include "agent/annotation/annotation.h"
#include <errno.h>

static inline int annotation_rule(const struct annotation_input *in, const char *container,
				  struct container_rule *ret, struct annotation_error *err)
{
	OWN(annotation_drop) struct annotation_settings *s = NULL;
	int r = annotation_read(in, &s, err);

	*ret = (struct container_rule){.rule = {.mode = MODE_OFF}};
	if (r == 0 || r == -EINVAL)
		annotation_apply(s, container, ret);
	return r;
}
