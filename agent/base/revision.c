// SPDX-License-Identifier: Apache-2.0
#include "agent/base/revision.h"

const char *const vscaled_revision = VSCALED_REVISION;
