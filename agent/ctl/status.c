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

static void print_cost(const struct ctl *c, const cJSON *s)
{
	char lag[HUMAN_SIZE], mean[HUMAN_SIZE], rss[HUMAN_SIZE], cpu[HUMAN_SIZE];
	char scan[HUMAN_SIZE], reflex[HUMAN_SIZE];
	uint64_t used = json_amount(s, "cpu_usec"), up = json_amount(s, "uptime_usec");

	fprintf(c->out, "Reader     %s (%s)\n", json_text(s, "reader"),
		json_text(s, "reader_detail"));
	fprintf(c->out, "Loop       %" PRIu64 " wake-ups, late by %s on average, %s at most\n",
		json_amount(s, "wakeups"), human_span(json_amount(s, "loop_lag_mean_usec"), mean),
		human_span(json_amount(s, "loop_lag_max_usec"), lag));
	fprintf(c->out,
		"Scan       %s the last reflex pass, %s the last sample; %" PRIu64
		" limits written, %" PRIu64 " failed\n",
		human_span(json_amount(s, "look_usec"), reflex),
		human_span(json_amount(s, "scan_usec"), scan), json_amount(s, "writes"),
		json_amount(s, "write_failures"));
	fprintf(c->out, "Cost       %s of memory, %s of CPU time (%.2f %% of one CPU)\n",
		human_amount(RESOURCE_MEMORY, json_amount(s, "rss_bytes"), rss),
		human_span(used, cpu), up > 0 ? 100.0 * (double)used / (double)up : 0.0);
}

static void print_cluster(const struct ctl *c, const cJSON *s)
{
	bool healthy = json_flag(s, "healthy"), synced = json_flag(s, "synced");
	enum paint p = healthy ? PAINT_GOOD : PAINT_BAD;
	char ago[HUMAN_SIZE];

	fprintf(c->out, "API server %s, node %s: %s%s%s%s%s, last answer %s\n",
		json_text(s, "server"), json_text(s, "node"), paint_on(c, p),
		healthy ? "in touch" : json_text(s, "trouble"), paint_off(c, p),
		synced ? "" : ", no list of pods yet",
		json_flag(s, "resize_offered") ? "" : ", pods/resize is not offered",
		render_ago(c, json_time(s, "last_event_at"), ago));
	fprintf(c->out,
		"Reports    %" PRIu64 " waiting, %" PRIu64 " pods refused; %" PRIu64
		" requests, %" PRIu64 " failed\n",
		json_amount(s, "writes_waiting"), json_amount(s, "refused_count"),
		json_amount(s, "requests"), json_amount(s, "failures"));
	fprintf(c->out, "Pods       %" PRIu64 " opted in, cgroup driver %s\n",
		json_amount(s, "pod_count"), json_text(s, "cgroup_driver"));
}

void render_status(const struct ctl *c, const cJSON *s)
{
	const cJSON *word = cJSON_GetObjectItemCaseSensitive(s, "unsupported");
	const char *unsupported = cJSON_GetStringValue(word);
	bool paused = json_flag(s, "paused");
	char up[HUMAN_SIZE];

	fprintf(c->out, "vscaled %s, pid %" PRIu64 ", running for %s, %s\n",
		json_text(s, "version"), json_amount(s, "pid"),
		human_span(json_amount(s, "uptime_usec"), up), json_text(s, "operation"));
	fprintf(c->out, "Managed    %" PRIu64 " units and containers%s%s%s\n",
		json_amount(s, "managed_count"), paint_on(c, PAINT_WARN),
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
		json_flag(s, "bus_connected") ? "connected" : "not connected, trying again");
	fprintf(c->out, "Host       cgroup v2 at %s with %s, pressure (PSI) %s\n",
		json_text(s, "cgroup_mount"), json_text(s, "controllers"),
		json_flag(s, "psi") ? "on" : "off");
	print_cost(c, s);
}
