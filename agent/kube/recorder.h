/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of events.k8s.io/v1, told once and then as a series: same pod, type, reason and action are
 * one. Spam is cut per pod (25, then one in 5 minutes); the rest waits its turn with the reports.
 */
#pragma once

#include "agent/kube/client.h"
#include "agent/kube/encode.h"

struct recorder;

struct recorder_options {
	const char *instance; /* the node's name */
	const char *controller; /* "vscaled.dev/vscaled" */
};

int recorder_new(struct kube_client *client, const struct recorder_options *o,
		 struct recorder **ret);
void recorder_free(struct recorder *r);
/* Notes an event; nothing is sent here. The pod's identity is copied. note: plain text. */
void recorder_note(struct recorder *r, const struct kube_pod *pod, const char *type,
		   const char *reason, const char *action, const char *note, usec_t now,
		   usec_t now_real);
/* Is something waiting to be sent? */
bool recorder_due(const struct recorder *r, usec_t now);
/* Sends the next one; 0: started, -EAGAIN: nothing is due. Retries are its own. */
int recorder_send(struct recorder *r, usec_t now, usec_t now_real);
void recorder_forget(struct recorder *r, const char *uid);
