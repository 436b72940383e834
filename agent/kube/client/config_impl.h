/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the configuration. */
#pragma once

#include "agent/kube/client/config.h"

/* Fills err and gives error back. Never anything secret. */
int kube_config_say(struct kube_config_error *err, int error, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));
void drop_kube_config(struct kube_config *c);
