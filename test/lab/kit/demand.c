// SPDX-License-Identifier: Apache-2.0
/*
 * demand [-t THREADS] [-d DUTY] [-p PERIOD_MS] [-q]: sleeps until SIGUSR1 without ever waking, then
 * each thread wants DUTY percent of a CPU, in one piece per period. What is late is dropped, or
 * with -q queues up and is worked off: the demand stays what it is, whatever came of it.
 */
#include "gauge.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int threads = 1, duty = 100, period_msec = 100, queues;

static void spend(int64_t cpu_nsec)
{
	int64_t until = clock_nsec(CLOCK_THREAD_CPUTIME_ID) + cpu_nsec;

	while (clock_nsec(CLOCK_THREAD_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 2000; i++)
			;
}

static void *work(void *)
{
	const int64_t period = period_msec * NSEC_PER_MSEC;
	struct gauge own = {0};

	for (int64_t next = now_nsec() + period;; next += period) {
		int64_t now;

		spend(period * duty / 100);
		now = now_nsec();
		if (now < next)
			gauge_sleep(&own, next);
		else if (!queues)
			next = now;
	}
	return NULL;
}

static int options_read(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:d:p:q")) != -1) {
		if (c == 't')
			threads = atoi(optarg);
		else if (c == 'd')
			duty = atoi(optarg);
		else if (c == 'p')
			period_msec = atoi(optarg);
		else if (c == 'q')
			queues = 1;
		else
			return -1;
	}
	return optind == argc && threads > 0 && period_msec > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	sigset_t set;
	int number;

	if (options_read(argc, argv) < 0) {
		fputs("usage: demand [-t THREADS] [-d DUTY] [-p PERIOD_MS] [-q]\n", stderr);
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigwait(&set, &number);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	pause();
	return 0;
}
