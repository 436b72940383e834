/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the node did not have: text, journal message and Event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct managed;

#define DENIED_TEXT_BYTES 512
/* Writes what the node did not have, with figures; false: no increase was denied lately. */
bool denied_text(const struct managed *m, char *ret, size_t size);
/* Reports in journal, metric and Event that denials began. */
void denied_report(struct managed *m);
