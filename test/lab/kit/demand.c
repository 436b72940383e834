// SPDX-License-Identifier: Apache-2.0
/*
 * demand [-t THREADS] [-d DUTY] [-p PERIOD_MS] [-q]: sleeps until SIGUSR1 without ever waking, then
 * each thread wants DUTY percent of a CPU, in one piece per period. What is late is dropped, or
 * with -q queues up and is worked off: the demand stays what it is, whatever came of it.
 *
 * After a second /run/stood-PID has the milliseconds for which the thread that stood still longest
 * did, though it had work.
 */
#include "gauge.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A longer gap in a thread's own clock is more than a switch to another thread. */
#define GAP_NSEC (2 * NSEC_PER_MSEC)

static int threads = 1, duty = 100, period_msec = 100, queues;
static _Atomic int64_t stood_nsec; /* of the thread that stood still longest */

static void note_stood(int64_t nsec)
{
	int64_t most = stood_nsec;

	while (nsec > most && !atomic_compare_exchange_weak(&stood_nsec, &most, nsec))
		;
}

static void spend(int64_t cpu_nsec, int64_t *stood)
{
	int64_t until = clock_nsec(CLOCK_THREAD_CPUTIME_ID) + cpu_nsec, before = now_nsec(), now;

	while (clock_nsec(CLOCK_THREAD_CPUTIME_ID) < until) {
		for (volatile int i = 0; i < 2000; i++)
			;
		now = now_nsec();
		if (now - before > GAP_NSEC) {
			*stood += now - before;
			note_stood(*stood);
		}
		before = now;
	}
}

static void *work(void *)
{
	const int64_t period = period_msec * NSEC_PER_MSEC;
	struct gauge own = {0};
	int64_t stood = 0;

	for (int64_t next = now_nsec() + period;; next += period) {
		int64_t now;

		spend(period * duty / 100, &stood);
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

static void write_stood(void)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/run/stood-%d", (int)getpid());
	f = fopen(path, "we");
	if (f == NULL)
		return;
	fprintf(f, "%lld\n", (long long)(stood_nsec / NSEC_PER_MSEC));
	fclose(f);
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
	sleep(1);
	write_stood();
	pause();
	return 0;
}
