// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/recorded.h"
#include "agent/base/drop.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define FILE_MAX GIB

static const char *advice(int e)
{
	switch (e) {
	case -EACCES:
		return "run vscalectl as root";
	case -ENOENT:
		return "the daemon writes it unless recorder.enabled is false; --state-directory "
		       "names its folder, --recording another file";
	case -EBADMSG:
		return "it is not a recording of vscaled, or nothing has been recorded yet";
	case -EPROTONOSUPPORT:
		return "written by another version of vscaled: read it with that version's "
		       "vscalectl";
	default:
		return NULL;
	}
}

static const char *what(int e)
{
	return e == -EBADMSG           ? "not a recording"
	       : e == -EPROTONOSUPPORT ? "a recording of another version"
				       : strerror(-e);
}

int recorded_read(const struct ctl *c, flight_event_fn *call, void *user)
{
	OWN(drop_free) char *bytes = NULL;
	char own[PATH_MAX];
	const char *file = c->recording;
	size_t size;
	int r;

	if (file == NULL) {
		snprintf(own, sizeof own, "%s/" FLIGHT_FILE, c->state_directory);
		file = own;
	}
	r = ctl_read_file(file, FILE_MAX, &bytes, &size);
	if (r == 0)
		r = flight_read((const uint8_t *)bytes, size, call, user);
	return r < 0 ? ctl_fail(c, CTL_ERROR, advice(r), "%s: %s", file, what(r)) : CTL_OK;
}

static double cores_since(const struct usage *before, const struct usage *now, usec_t span)
{
	/* A new cgroup begins at 0. */
	uint64_t from = now->cpu_usage_usec >= before->cpu_usage_usec ? before->cpu_usage_usec : 0;

	return span > 0 ? (double)(now->cpu_usage_usec - from) / (double)span : NAN;
}

static struct recorded_point point_of(const struct recorded_points *p, const struct flight_call *f)
{
	const struct usage *u = &f->usage, *before = &p->last;
	struct recorded_point ret = {
		.at_real = f->at.now_real,
		.cores = NAN,
		.unreclaimable = (double)mem_unreclaimable(&u->stat),
		.limit_cores = NAN,
		.limit_bytes = NAN,
	};

	if (p->count > 0) {
		ret.cores = cores_since(before, u, f->at.now_real - p->items[p->count - 1].at_real);
		ret.throttled = u->nr_throttled > before->nr_throttled;
		ret.killed = u->events.oom_kill > before->events.oom_kill;
	}
	if (u->limits.cpu_quota_usec != LIMIT_MAX && u->limits.cpu_period_usec > 0)
		ret.limit_cores =
			(double)u->limits.cpu_quota_usec / (double)u->limits.cpu_period_usec;
	if (u->limits.mem_max != LIMIT_MAX)
		ret.limit_bytes = (double)u->limits.mem_max;
	return ret;
}

int recorded_point_add(void *user, const struct flight_event *e)
{
	struct recorded_points *p = user;

	if ((e->kind != FLIGHT_SAMPLE && e->kind != FLIGHT_OBSERVE) ||
	    strcmp(e->container, p->name) != 0)
		return 0;
	/* The clock was set back, or two records of one moment. */
	if (p->count > 0 && e->call->at.now_real <= p->items[p->count - 1].at_real)
		return 0;
	if (p->count == p->room) {
		size_t room = p->room * 2 + 256;
		struct recorded_point *items = reallocarray(p->items, room, sizeof *items);

		if (items == NULL)
			return -ENOMEM;
		p->items = items;
		p->room = room;
	}
	p->items[p->count] = point_of(p, e->call);
	p->count++;
	p->last = e->call->usage;
	return 0;
}

void recorded_points_drop(struct recorded_points *p)
{
	free(p->items);
	*p = (struct recorded_points){0};
}
