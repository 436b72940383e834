/* SPDX-License-Identifier: Apache-2.0 */
/* Use and limits of a container over the time of the recording, in the format of the options. */
#pragma once

#include "agent/ctl/ctl.h"

int history_chart(const struct ctl *c, const char *name);
