// SPDX-License-Identifier: Apache-2.0
/* Takes the place of functions of sd-event by the linker's --wrap. */
#include "fast_clock.h"
#include <assert.h>
#include <systemd/sd-event.h>
#include <time.h>

#define SOURCES_MAX 8

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *ret);
int __wrap_sd_event_source_set_time(sd_event_source *s, uint64_t at);
sd_event_source *__wrap_sd_event_source_disable_unref(sd_event_source *s);
int __real_sd_event_now(sd_event *e, clockid_t clock, uint64_t *ret);
int __real_sd_event_source_set_time(sd_event_source *s, uint64_t at);
sd_event_source *__real_sd_event_source_disable_unref(sd_event_source *s);

static struct {
	unsigned factor;
	usec_t real, fast; /* the same moment on both clocks */
	usec_t until;      /* it stands there */
} clocks = {1, 0, 0, UINT64_MAX};

/* What was set by the fast clock, and is set again when the clock goes on. */
static struct {
	sd_event_source *source;
	usec_t at;
} armed[SOURCES_MAX];

static usec_t boottime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

static usec_t faster(usec_t at)
{
	usec_t since = at <= clocks.real ? 0 : at - clocks.real;

	return MIN(clocks.fast + since * clocks.factor, clocks.until);
}

static usec_t slower(usec_t at)
{
	if (at > clocks.until)
		return UINT64_MAX;
	return at <= clocks.fast ? clocks.real : clocks.real + (at - clocks.fast) / clocks.factor;
}

void fast_clock_start(unsigned times)
{
	clocks.factor = times;
	clocks.real = clocks.fast = boottime();
	clocks.until = UINT64_MAX;
}

usec_t fast_clock_now(void)
{
	return faster(boottime());
}

void fast_clock_go_on(usec_t until)
{
	usec_t real = boottime();

	clocks.fast = faster(real);
	clocks.real = real;
	clocks.until = until;
	for (unsigned i = 0; i < SOURCES_MAX; i++)
		if (armed[i].source != NULL)
			__real_sd_event_source_set_time(armed[i].source, slower(armed[i].at));
}

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *ret)
{
	int r = __real_sd_event_now(e, clock, ret);

	if (clock == CLOCK_BOOTTIME && r >= 0)
		*ret = faster(*ret);
	return r;
}

static void arm(sd_event_source *s, usec_t at)
{
	unsigned i = 0;

	while (i < SOURCES_MAX && armed[i].source != s)
		i++;
	for (unsigned k = 0; i == SOURCES_MAX && k < SOURCES_MAX; k++)
		i = armed[k].source == NULL ? k : i;
	assert(i < SOURCES_MAX);
	armed[i].source = s;
	armed[i].at = at;
}

int __wrap_sd_event_source_set_time(sd_event_source *s, uint64_t at)
{
	clockid_t clock;

	if (sd_event_source_get_time_clock(s, &clock) >= 0 && clock == CLOCK_BOOTTIME) {
		if (clocks.until != UINT64_MAX)
			arm(s, at);
		at = slower(at);
	}
	return __real_sd_event_source_set_time(s, at);
}

sd_event_source *__wrap_sd_event_source_disable_unref(sd_event_source *s)
{
	for (unsigned i = 0; i < SOURCES_MAX; i++)
		if (armed[i].source == s)
			armed[i].source = NULL;
	return __real_sd_event_source_disable_unref(s);
}
