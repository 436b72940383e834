/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the node did not have: its text, journal message and Event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct managed;

#define DENIED_TEXT_BYTES 512
/* What the node did not have, with the figures; false: it has had everything lately. */
bool denied_text(const struct managed *m, char *ret, size_t size);
/* Journal, metric and Event, when that begins. */
void denied_tell(struct managed *m);
