// SPDX-License-Identifier: Apache-2.0
/* Takes the place of two functions of sd-event by the linker's --wrap. */
#include "fast_clock.h"
#include <systemd/sd-event.h>
#include <time.h>

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *ret);
int __wrap_sd_event_source_set_time(sd_event_source *s, uint64_t at);
int __real_sd_event_now(sd_event *e, clockid_t clock, uint64_t *ret);
int __real_sd_event_source_set_time(sd_event_source *s, uint64_t at);

static usec_t start;
static unsigned factor = 1;

static usec_t boottime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (usec_t)t.tv_sec * USEC_PER_SEC + (usec_t)t.tv_nsec / 1000;
}

static usec_t faster(usec_t at)
{
	return at <= start ? at : start + (at - start) * factor;
}

static usec_t slower(usec_t at)
{
	return at <= start ? at : start + (at - start) / factor;
}

void fast_clock_start(unsigned times)
{
	factor = times;
	start = boottime();
}

usec_t fast_clock_now(void)
{
	return faster(boottime());
}

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *ret)
{
	int r = __real_sd_event_now(e, clock, ret);

	if (clock == CLOCK_BOOTTIME && r >= 0)
		*ret = faster(*ret);
	return r;
}

int __wrap_sd_event_source_set_time(sd_event_source *s, uint64_t at)
{
	clockid_t clock;

	if (sd_event_source_get_time_clock(s, &clock) >= 0 && clock == CLOCK_BOOTTIME)
		at = slower(at);
	return __real_sd_event_source_set_time(s, at);
}
