/* SPDX-License-Identifier: Apache-2.0 */
/* The answers to Prometheus and to the kubelet's probes. */
#pragma once

struct daemon;

/* Where nothing is to be served: 0. */
int serve_metrics_start(struct daemon *d);
