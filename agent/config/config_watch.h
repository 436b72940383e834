/* SPDX-License-Identifier: Apache-2.0 */
/* Reports that the configuration file has been written or replaced. Watches its folder, because
 * editors and ConfigMaps (through the link ..data) replace files. The loader checks whether it has
 * changed. */
#pragma once

#include "policy/base/base.h"
#include <systemd/sd-event.h>

/* A change is reported when no further change has happened for this long ... */
#define CONFIG_WATCH_QUIET_USEC USEC_PER_SEC
/* ... or, if changes go on, after this. */
#define CONFIG_WATCH_MAX_USEC (5 * USEC_PER_SEC)

struct config_watch;

/* From the loop, once for each burst of changes. May free the watch. */
typedef void config_watch_fn(void *ctx);

/* quiet_usec 0: CONFIG_WATCH_QUIET_USEC. -ENOENT: there is no such folder. */
int config_watch_new(sd_event *event, const char *file, usec_t quiet_usec, config_watch_fn *fn,
		     void *ctx, struct config_watch **ret);
void config_watch_free(struct config_watch *w);
