// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/pid1.h"

void pid1_use(struct pid1 *p, const struct unit_port *port)
{
	p->port = *port;
}

void pid1_set_absent(struct pid1 *p)
{
	p->absent = true;
}

bool pid1_set_connected(struct pid1 *p)
{
	bool back = !p->connected && p->lost;

	p->connected = true;
	return back;
}

bool pid1_set_lost(struct pid1 *p)
{
	bool was = p->connected;

	p->connected = false;
	p->lost = true;
	return was;
}

void pid1_reload(struct pid1 *p, bool active, usec_t now)
{
	p->reloading = active;
	if (!active)
		p->reload_ended = now;
}

void pid1_need_list(struct pid1 *p)
{
	p->list_due = true;
}

bool pid1_awaits_list(const struct pid1 *p, usec_t now)
{
	return p->list_pending && now - p->list_asked_at < PID1_LIST_DEADLINE_USEC;
}

void pid1_list_asked(struct pid1 *p, usec_t now)
{
	p->list_due = false;
	p->list_asked_at = now;
	if (p->list_whole_at == 0 || now - p->list_whole_at >= PID1_LIST_WHOLE_USEC)
		p->list_whole_at = now;
}

void pid1_list_send(struct pid1 *p, const char *const *globs, size_t count)
{
	p->list_pending = true;
	if (p->port.list(p->port.ctx, globs, count) < 0) {
		p->list_pending = false;
		p->list_due = true;
	}
}

void pid1_list_answered(struct pid1 *p, int error)
{
	p->list_pending = false;
	p->list_due |= error < 0;
}

bool pid1_listed(struct pid1 *p)
{
	bool first = !p->listed;

	p->listed = true;
	return first;
}
