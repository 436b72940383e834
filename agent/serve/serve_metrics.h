/* SPDX-License-Identifier: Apache-2.0 */
/* Serves Prometheus and the kubelet's probes. */
#pragma once

struct serve;

/* 0 also if no address is configured. */
int serve_metrics_start(struct serve *s);
