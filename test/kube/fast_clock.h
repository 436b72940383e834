/* SPDX-License-Identifier: Apache-2.0 */
/* Boottime of the event loop, run faster from the moment of fast_clock_start on. */
#pragma once

#include "policy/base/base.h"

void fast_clock_start(unsigned times);
usec_t fast_clock_now(void);
/* From where it is, at most until then: a stall of the machine takes no more of its time than that.
 * Timers beyond it are set when it goes on. */
void fast_clock_go_on(usec_t until);
