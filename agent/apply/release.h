/* SPDX-License-Identifier: Apache-2.0 */
/* Releases a unit: suspends the laws and orders that its originals are put back. */
#pragma once

struct managed;

/* Puts pause, restore and release into effect for the laws. */
void unit_update_hold(struct managed *m);
/* Gives a unit back its originals; why is static text. Tried again until it has worked. */
void hold_release(struct managed *m, const char *why);
