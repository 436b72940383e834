/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration again. */
#pragma once

struct loop;

void loop_reload(struct loop *l);
/* Reads it again when the file is replaced. */
int loop_watch_config(struct loop *l);
