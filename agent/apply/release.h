/* SPDX-License-Identifier: Apache-2.0 */
/* Releases a unit: suspends the laws and requests that its originals are restored. */
#pragma once

struct managed;

/* Puts pause, restore and release into effect for the laws. */
void unit_update_hold(struct managed *m);
/* Hands a unit back; why is static text. Tried again until it succeeds. */
void hold_release(struct managed *m, const char *why);
