/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

/* A thread beside the loop: it gets no signals, and a stack of 64 KiB. -errno. */
int thread_start(pthread_t *ret, void *(*work)(void *), void *arg);
