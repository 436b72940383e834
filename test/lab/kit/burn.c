// SPDX-License-Identifier: Apache-2.0
/*
 * burn [-L] [-t THREADS] [-d DUTY] [-p PERIOD_MS] [-s AT_SEC:DUTY]... [-l SECONDS]
 *
 * Each thread wants DUTY percent of a CPU: in every period it spends that much CPU time and sleeps
 * the rest. One that is held back works on without a pause, so the demand is never above DUTY.
 * Prints once a second what it got, in CPUs, and how long a thread was kept waiting: burn t=3
 * want=0.80 got=0.79 stalls=0 max_stall_ms=12 SIGTERM or -l ends it with a line "burn total ...".
 * -L: also its cgroup's limits, cpu_milli=200 memory_mb=64, and how long after the newest rise of
 * the demand the CPU limit was first raised, raised_ms=310.
 */
#include "gauge.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 64
#define STEPS_MAX   16

struct step {
	int at_sec, duty;
};

static struct {
	int threads, period_msec, limit_sec;
	bool limits;
	struct step steps[STEPS_MAX];
	int step_count;
} options = {.threads = 1, .period_msec = 100, .steps = {{0, 100}}, .step_count = 1};

static _Atomic int duty_percent;
static _Atomic int64_t cpu_nsec[THREADS_MAX];
static struct gauge gauges[THREADS_MAX];
static volatile sig_atomic_t stopped;

static void on_signal(int)
{
	stopped = 1;
}

/* Spends CPU time of this thread, looking at the clock every few microseconds. */
static void spend(int index, int64_t until_cpu_nsec)
{
	for (;;) {
		cpu_nsec[index] = clock_nsec(CLOCK_THREAD_CPUTIME_ID);
		if (cpu_nsec[index] >= until_cpu_nsec)
			return;
		for (volatile int i = 0; i < 2000; i++)
			;
		gauge_look(&gauges[index], now_nsec());
	}
}

static void *burn(void *arg)
{
	int index = (int)(intptr_t)arg;
	const int64_t period = options.period_msec * NSEC_PER_MSEC;

	for (int64_t next = now_nsec() + period;; next += period) {
		int64_t now;

		spend(index, clock_nsec(CLOCK_THREAD_CPUTIME_ID) + period * duty_percent / 100);
		now = now_nsec();
		if (now < next)
			gauge_sleep(&gauges[index], next);
		else
			next = now; /* late: no arrears are worked off later */
	}
	return NULL;
}

/* From a rise of the demand to the first raise of the limit after it. */
static struct {
	int64_t since_nsec;
	long long milli; /* the limit then */
	long long msec;  /* -1: not raised yet */
} rise = {.msec = -1};

static void demand(int duty)
{
	if (duty > duty_percent) {
		rise.since_nsec = now_nsec();
		rise.milli = gauge_cpu_milli();
		rise.msec = -1;
	}
	duty_percent = duty;
}

#define LOOK_NSEC (20 * NSEC_PER_MSEC)

static void wait_until(struct gauge *own, int64_t end)
{
	while (options.limits && rise.msec < 0 && now_nsec() + LOOK_NSEC < end) {
		gauge_sleep(own, now_nsec() + LOOK_NSEC);
		if (gauge_cpu_milli() > rise.milli)
			rise.msec = (now_nsec() - rise.since_nsec) / NSEC_PER_MSEC;
	}
	gauge_sleep(own, end);
}

struct totals {
	int64_t cpu_nsec, stalls, max_nsec;
};

static struct totals sum(void)
{
	struct totals t = {0};

	for (int i = 0; i < options.threads; i++) {
		t.cpu_nsec += cpu_nsec[i];
		t.stalls += gauges[i].stalls;
		if (gauges[i].max_nsec > t.max_nsec)
			t.max_nsec = gauges[i].max_nsec;
	}
	return t;
}

static int duty_at(int sec)
{
	int duty = 0;

	for (int i = 0; i < options.step_count; i++) {
		if (options.steps[i].at_sec <= sec)
			duty = options.steps[i].duty;
	}
	return duty;
}

static void print(const char *what, double got, const struct totals *t)
{
	char limits[64] = "", raised[32] = "";

	if (options.limits)
		gauge_limits(limits, sizeof limits);
	if (rise.msec >= 0)
		snprintf(raised, sizeof raised, " raised_ms=%lld", rise.msec);
	printf("burn %s want=%.2f got=%.2f stalls=%lld max_stall_ms=%lld%s%s\n", what,
	       duty_percent * options.threads / 100.0, got, (long long)t->stalls,
	       (long long)(t->max_nsec / NSEC_PER_MSEC), limits, raised);
}

static void report(void)
{
	struct gauge own = {0};
	int64_t start = now_nsec(), seen = start, cpu_seen = 0;
	struct totals t;
	char what[32];
	int sec;

	for (sec = 1; !stopped && (options.limit_sec == 0 || sec <= options.limit_sec); sec++) {
		int64_t now;

		wait_until(&own, start + sec * NSEC_PER_SEC);
		now = now_nsec();
		t = sum();
		snprintf(what, sizeof what, "t=%d", sec);
		print(what, (double)(t.cpu_nsec - cpu_seen) / (double)(now - seen), &t);
		seen = now;
		cpu_seen = t.cpu_nsec;
		demand(duty_at(sec));
	}
	t = sum();
	print("total", (double)t.cpu_nsec / (double)(now_nsec() - start), &t);
}

static int usage(void)
{
	fputs("usage: burn [-L] [-t THREADS] [-d DUTY] [-p PERIOD_MS] [-s AT_SEC:DUTY]... [-l "
	      "SECONDS]\n",
	      stderr);
	return 2;
}

static int options_read(int argc, char **argv)
{
	struct step *s;
	int c;

	while ((c = getopt(argc, argv, "Lt:d:p:s:l:")) != -1) {
		s = &options.steps[options.step_count];
		if (c == 'L')
			options.limits = true;
		else if (c == 't')
			options.threads = atoi(optarg);
		else if (c == 'd')
			options.steps[0].duty = atoi(optarg);
		else if (c == 'p')
			options.period_msec = atoi(optarg);
		else if (c == 'l')
			options.limit_sec = atoi(optarg);
		else if (c == 's' && options.step_count < STEPS_MAX &&
			 sscanf(optarg, "%d:%d", &s->at_sec, &s->duty) == 2)
			options.step_count++;
		else
			return -1;
	}
	if (options.threads < 1 || options.threads > THREADS_MAX || options.period_msec < 1)
		return -1;
	return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (options_read(argc, argv) < 0)
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	demand(duty_at(0));
	for (int i = 0; i < options.threads; i++) {
		int error = pthread_create(&thread, NULL, burn, (void *)(intptr_t)i);

		if (error != 0) {
			fprintf(stderr, "burn: %s\n", strerror(error));
			return 1;
		}
	}
	report();
	return 0;
}
