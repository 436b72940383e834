// SPDX-License-Identifier: Apache-2.0
#include "agent/base/thread.h"
#include "policy/base/base.h"
#include <limits.h>
#include <signal.h>

#define STACK_BYTES ((size_t)64 << 10)

int thread_start(pthread_t *ret, void *(*work)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, MAX(STACK_BYTES, (size_t)PTHREAD_STACK_MIN));
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, &attr, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}
