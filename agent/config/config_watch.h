/* SPDX-License-Identifier: Apache-2.0 */
/* Reports that a kubelet has replaced the configuration, where that is mounted from a ConfigMap. A
 * file of the host counts at a reload alone: what an editor saves or an upgrade installs may not be
 * meant yet. */
#pragma once

#include "policy/base/base.h"
#include <systemd/sd-event.h>

struct config_watch;

/* From the loop. May free the watch. */
typedef void config_watch_fn(void *ctx);

/* -ENOENT: it is not mounted from a ConfigMap. */
int config_watch_new(sd_event *event, const char *file, config_watch_fn *fn, void *ctx,
		     struct config_watch **ret);
void config_watch_free(struct config_watch *w);
