/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration: at the start, on SIGHUP, and when a kubelet has replaced it. */
#pragma once

#include "agent/config/config.h"

struct config_watch;
struct daemon;

struct reload {
	struct daemon *daemon;
	struct config_source source;
	struct config_watch *watch;
};

/* The log as configured; before the configuration is read, events go where they go by default. */
void log_start(struct daemon *d);
/* At the start. -errno after having said why. */
int reload_first(struct reload *reload, const char *path);
void reload_config(struct reload *reload);
/* Reads it again when a kubelet replaces it. */
int reload_watch(struct reload *reload);
