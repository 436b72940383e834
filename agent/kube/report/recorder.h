/* SPDX-License-Identifier: Apache-2.0 */
/* Events of events.k8s.io/v1: Events with the same pod, type, reason and action are one series.
 * POST the first, PATCH the second at once (series count 2), then every 30 min; it ends 6 min after
 * the last one. Where the text has changed, a new one is POSTed in place of the PATCH, as after a
 * 404. 12 tries, 10 s apart. Their number is limited per pod (25, then one in 5 min), workload (50,
 * one a minute) and namespace (100, one in 20 s), and a Warning with one text is sent for one pod
 * of a workload in 30 min; the others are queued with the reports. */
#pragma once

#include "agent/kube/client/client.h"
#include "agent/kube/model/encode.h"
#include "policy/report/report_queue.h"

/* Events remembered; a new one replaces the oldest that is sent, else (the API server is away) the
 * oldest. */
#define RECORDER_MAX 1000

struct recorder;

/* instance: the node's name; copied. */
int recorder_new(const struct kube_port *port, const char *instance, struct recorder **ret);
void recorder_free(struct recorder *r);
/* Answers go into a queue, which is borrowed; NULL: into none. */
void recorder_set_queue(struct recorder *r, struct report_queue *queue);
/* Notes an event; nothing is sent here. The pod's identity and the note, plain text, are copied;
 * type, reason and action are static. */
void recorder_note(struct recorder *r, const struct kube_pod *pod, const char *type,
		   const char *reason, const char *action, const char *note, usec_t now,
		   usec_t now_real);
/* Is something waiting to be sent? warnings: of type Warning. */
bool recorder_due(const struct recorder *r, bool warnings, usec_t now);
/* When recorder_due() may turn true by itself; 0: never. */
usec_t recorder_next(const struct recorder *r, usec_t now);
/* Sends the next one, Warnings first. -EAGAIN: nothing is due. Retries by itself. */
int recorder_send(struct recorder *r, usec_t now, usec_t now_real);
void recorder_forget(struct recorder *r, const char *uid);
