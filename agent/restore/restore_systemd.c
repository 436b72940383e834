// SPDX-License-Identifier: Apache-2.0
#include "agent/restore/restore_systemd.h"
#include "systemd/unit_dropin.h"
#include "systemd/unit_sync.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* PID 1 answers in 10 ms, in tens of seconds while it starts many units. */
#define TIMEOUT_USEC (30 * USEC_PER_SEC)

/* A missing socket and a missing unit give the same error. */
static int classify_error(const struct restore_systemd *s, int error)
{
	bool reachable =
		access(s->private_socket, F_OK) == 0 || access(s->system_socket, F_OK) == 0;

	return error == -ENOENT && !reachable ? -ENOTCONN : error;
}

static usec_t clock_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

/* How long the next call may take; 0: not at all. */
static usec_t patience(const struct restore_systemd *s)
{
	if (s->total_usec == 0)
		return s->timeout_usec;
	return MIN(s->timeout_usec, s->total_usec - MIN(s->spent_usec, s->total_usec));
}

/* A container that has just appeared: waits for its runtime. */
static void wait_for_runtime(const struct restore_systemd *s, const char *unit)
{
	usec_t age = 0, left;
	struct timespec pause;

	if (!s->waits_for_runtime || !unit_is_container(unit) ||
	    unit_age_now(&s->address, unit, patience(s), &age) < 0 || age >= UNIT_CREATING_USEC)
		return;
	left = UNIT_CREATING_USEC - age;
	pause = (struct timespec){.tv_sec = (time_t)(left / USEC_PER_SEC),
				  .tv_nsec = (long)(left % USEC_PER_SEC) * 1000};
	nanosleep(&pause, NULL);
}

static int set_now(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask)
{
	struct restore_systemd *s = ctx;
	usec_t begin, timeout = patience(s);
	int r;

	wait_for_runtime(s, unit);
	begin = clock_usec();
	r = timeout == 0 ? -ETIMEDOUT : unit_set_now(&s->address, unit, want, mask, timeout);
	s->spent_usec += clock_usec() - begin;
	return classify_error(s, r);
}

static int get_now(void *ctx, const char *unit, struct unit_props *ret)
{
	struct restore_systemd *s = ctx;
	usec_t begin = clock_usec(), timeout = patience(s);
	int r = timeout == 0 ? -ETIMEDOUT : unit_get_now(&s->address, unit, timeout, ret);

	s->spent_usec += clock_usec() - begin;
	return classify_error(s, r);
}

static int drop_now(void *ctx, const char *unit, uint32_t mask)
{
	const struct restore_systemd *s = ctx;

	return unit_dropin_remove(s->root, unit, mask);
}

static int path_in(const char *root, const char *path, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s%s", root, path);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int restore_systemd_init(struct restore_systemd *ret, const char *root)
{
	int r;

	*ret = (struct restore_systemd){
		.units = {.ctx = ret, .set = set_now, .get = get_now, .drop = drop_now},
		.root = root,
		.timeout_usec = TIMEOUT_USEC,
		.waits_for_runtime = true,
	};
	r = path_in(root, "/run/systemd/private", ret->private_socket, sizeof(ret->private_socket));
	if (r == 0)
		r = path_in(root, "/run/dbus/system_bus_socket", ret->system_socket,
			    sizeof(ret->system_socket));
	ret->address = (struct unit_address){ret->private_socket, ret->system_socket};
	return r;
}
