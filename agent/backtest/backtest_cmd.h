/* SPDX-License-Identifier: Apache-2.0 */
/* The command of vscale-backtest. */
#pragma once

#include "agent/ctl/ctl.h"

extern const struct ctl_command backtest_commands[]; /* for ctl_default() */
