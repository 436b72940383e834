/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that appear and vanish, as BPF reports them. */
#pragma once

#include <systemd/sd-event.h>

/* For reader_start(): sd_event_io_handler_t. */
int life_events(sd_event_source *s, int fd, uint32_t revents, void *userdata);
