/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration again. */
#pragma once

struct daemon;

void daemon_reload(struct daemon *d);
/* Reads it again when the file is replaced. */
int daemon_watch_config(struct daemon *d);
