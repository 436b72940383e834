// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <inttypes.h>
#include <string.h>

/* The result of a load or a save, and when that was. */
static void print_result(const struct ctl *c, const cJSON *s, const char *result, const char *at)
{
	const char *text = json_text(s, result);
	enum paint p = strcmp(text, "ok") == 0 ? PAINT_GOOD : PAINT_BAD;
	char ago[HUMAN_SIZE];

	fprintf(c->out, " (%s%s%s, %s)\n", paint_on(c, p), text, paint_off(c, p),
		render_ago(c, json_time(s, at), ago));
}

static void print_cost(const struct screen *s)
{
	uint64_t used = json_amount(s->json, "cpu_usec"), up = json_amount(s->json, "uptime_usec");

	render_put(s, "Reader     {text:reader} ({text:reader_detail})\n"
		      "Loop       {count:wakeups} wake-ups, late by {span:loop_lag_mean_usec} on "
		      "average, {span:loop_lag_max_usec} at most\n"
		      "Scan       {span:look_usec} the last reflex pass, {span:scan_usec} the last "
		      "sample; {count:writes} limits written, {count:write_failures} failed\n"
		      "Cost       {bytes:rss_bytes} of memory, {span:cpu_usec} of CPU time");
	fprintf(s->c->out, " (%.2f %% of one CPU)\n",
		up > 0 ? 100.0 * (double)used / (double)up : 0.0);
}

static void print_cluster(const struct ctl *c, const cJSON *json)
{
	const struct screen s = {c, json, RESOURCE_CPU};
	bool healthy = json_flag(json, "healthy");
	enum paint p = healthy ? PAINT_GOOD : PAINT_BAD;

	render_put(&s, "API server {text:server}, node {text:node}: ");
	fprintf(c->out, "%s%s%s%s%s", paint_on(c, p),
		healthy ? "connected" : json_text(json, "trouble"), paint_off(c, p),
		json_flag(json, "synced") ? "" : ", pods not listed yet",
		json_flag(json, "resize_offered") ? "" : ", pods/resize is not offered");
	render_put(&s,
		   ", last answer {ago:last_event_at}\n"
		   "Reports    {count:writes_waiting} waiting, {count:refused_count} pods "
		   "refused; {count:requests} requests, {count:failures} failed\n"
		   "Pods       {count:pod_count} opted in, cgroup driver {text:cgroup_driver}\n");
}

void render_status(const struct ctl *c, const cJSON *s)
{
	const struct screen status = {c, s, RESOURCE_CPU};
	const cJSON *word = cJSON_GetObjectItemCaseSensitive(s, "unsupported");
	const char *unsupported = cJSON_GetStringValue(word);
	bool paused = json_flag(s, "paused");

	render_put(&status,
		   "vscaled {text:version}, pid {count:pid}, running for {span:uptime_usec}, "
		   "{text:operation}\n"
		   "Managed    {count:managed_count} units and containers");
	fprintf(c->out, "%s%s%s\n", paint_on(c, PAINT_WARN),
		paused ? ", all paused (vscalectl resume)" : "", paint_off(c, PAINT_WARN));
	fprintf(c->out, "Config     %s", json_text(s, "config_path"));
	print_result(c, s, "config_result", "config_loaded_at");
	fprintf(c->out, "State      %s", json_text(s, "state_directory"));
	print_result(c, s, "state_result", "state_saved_at");
	if (json_object(s, "cluster"))
		print_cluster(c, json_object(s, "cluster"));
	if (unsupported != NULL) {
		fprintf(c->out,
			"Host       %snot supported: %s%s, nothing is managed (vscalectl doctor)\n",
			paint_on(c, PAINT_BAD), unsupported, paint_off(c, PAINT_BAD));
		return;
	}
	fprintf(c->out, "systemd    %s\n",
		json_flag(s, "bus_connected") ? "connected" : "not connected, reconnecting");
	fprintf(c->out, "Host       Linux %s%s, cgroup v2 at %s with %s, pressure (PSI) %s\n",
		json_text(s, "kernel"),
		json_flag(s, "kernel_old") ? ", older than any that is tested" : "",
		json_text(s, "cgroup_mount"), json_text(s, "controllers"),
		json_flag(s, "psi") ? "on" : "off");
	print_cost(&status);
}
