// SPDX-License-Identifier: Apache-2.0
#include "systemd/notify.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

static const char *const heads[] = {
	[NOTIFY_READY] = "READY=1",       [NOTIFY_RELOADING] = "RELOADING=1",
	[NOTIFY_STOPPING] = "STOPPING=1", [NOTIFY_STATUS] = "",
	[NOTIFY_WATCHDOG] = "WATCHDOG=1",
};

int notify_format(enum notify_state state, const char *status, usec_t monotonic_usec, size_t size,
		  char *ret)
{
	char stamp[48] = "";
	bool begins = heads[state][0] == '\0';
	char *text;
	int n;

	if (state == NOTIFY_RELOADING)
		snprintf(stamp, sizeof stamp, "\nMONOTONIC_USEC=%" PRIu64, monotonic_usec);
	n = snprintf(ret, size, "%s%s%s%s", heads[state], stamp, status && !begins ? "\n" : "",
		     status ? "STATUS=" : "");
	if (n < 0 || (size_t)n >= size)
		return -ENOBUFS;
	if (status == NULL)
		return 0;
	text = ret + n;
	if (strlen(status) >= size - (size_t)n)
		return -ENOBUFS;
	strcpy(text, status);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	return 0;
}

int notify_send(enum notify_state state, const char *status, usec_t monotonic_usec)
{
	char text[1024];
	int r = notify_format(state, status, monotonic_usec, sizeof text, text);

	if (r < 0)
		return r;
	r = sd_notify(0, text);
	return r < 0 ? r : 0;
}
