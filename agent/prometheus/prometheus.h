/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range queries to a Prometheus server for the past of a workload's container: the path of the
 * request, and the answer as samples. Source: Prometheus' HTTP API, "Range queries"; the metrics
 * are the kubelet's (cAdvisor).
 */
#pragma once

#include "policy/history/history.h"
#include "policy/types/limits.h"

#define PROMETHEUS_PATH_BYTES 2048
/* Prometheus gives no more for one series. */
#define PROMETHEUS_SAMPLES_MAX 11000

struct prometheus_query {
	const char *namespace;
	const char *owner;    /* kind of the workload: "Deployment" ... */
	const char *workload; /* its name */
	const char *container;
	const char *matchers; /* further ones, as in PromQL: `cluster="a"`; "": none */
	usec_t end_real;
	usec_t range_usec, step_usec;
};

/* The path with its query, into PROMETHEUS_PATH_BYTES. Of the workload's pods the highest at each
 * moment: a size must do for each. -ENAMETOOLONG. */
int prometheus_path(const struct prometheus_query *q, enum resource r, char *ret);

struct prometheus_error {
	char text[256];
};

/* The samples of an answer with status 200, which are the caller's to free; none: NULL and 0.
 * -EBADMSG with a text: it is no such answer; -ENOMEM. */
int prometheus_parse(const char *body, size_t size, struct past_sample **ret, size_t *ret_count,
		     struct prometheus_error *err);
/* What an answer with another status says, into err; "" where it says nothing. */
void prometheus_refusal(const char *body, size_t size, struct prometheus_error *err);
