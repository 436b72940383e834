// SPDX-License-Identifier: Apache-2.0
/* The part of explain for a container beside its resources: pod, namespace, API server. */
#include "agent/ctl/render.h"
#include <inttypes.h>
#include <string.h>

static void explain_pod_row(const struct ctl *c, const char *title)
{
	fprintf(c->out, "  %-10s ", title);
}

static bool is_known(const cJSON *o, const char *key)
{
	return strcmp(json_text(o, key), "-") != 0;
}

static void print_workload(const struct ctl *c, const cJSON *pod)
{
	uint64_t restarts = json_amount(pod, "restarts");

	explain_pod_row(c, "workload");
	fprintf(c->out, "%s, QoS class %s, %s", json_text(pod, "workload"),
		json_text(pod, "qos_class"), json_flag(pod, "ready") ? "ready" : "not ready");
	if (restarts != 0 && restarts != VIEW_NONE)
		fprintf(c->out, ", restarted %" PRIu64 " times", restarts);
	fputc('\n', c->out);
}

static void print_annotations(const struct ctl *c, const cJSON *pod)
{
	const cJSON *a, *all = cJSON_GetObjectItemCaseSensitive(pod, "annotations");
	const char *comma = "";

	explain_pod_row(c, "controls");
	fprintf(c->out, "%s\n", json_text(pod, "controlled_values"));
	if (cJSON_GetArraySize(all) > 0) {
		explain_pod_row(c, "annotated");
		cJSON_ArrayForEach (a, all) {
			fprintf(c->out, "%s%s=%s", comma, json_text(a, "key"),
				json_text(a, "value"));
			comma = ", ";
		}
		fputc('\n', c->out);
	}
	if (!is_known(pod, "annotation_error"))
		return;
	explain_pod_row(c, "wrong");
	fprintf(c->out, "%s%s%s\n", paint_on(c, PAINT_BAD), json_text(pod, "annotation_error"),
		paint_off(c, PAINT_BAD));
}

static void print_heap(const struct ctl *c, const cJSON *pod)
{
	uint64_t bytes = json_amount(pod, "heap_bytes"), share = json_amount(pod, "heap_permille");
	char text[HUMAN_SIZE], name[32];

	if (bytes == VIEW_NONE && share == VIEW_NONE)
		return;
	snprintf(name, sizeof name, "%s heap", json_text(pod, "heap_runtime"));
	explain_pod_row(c, name);
	if (bytes != VIEW_NONE)
		fprintf(c->out, "%s", human_amount(RESOURCE_MEMORY, bytes, text));
	else
		fprintf(c->out, "%.1f %% of the limit at the start", (double)share / 10);
	fputs(": memory is not sized below it\n", c->out);
}

static void print_report(const struct ctl *c, const cJSON *pod)
{
	static const char *const words[REPORT_VIEW_STATE_COUNT] = {
		[REPORT_VIEW_NONE] = "the spec says what the cgroup has",
		[REPORT_VIEW_LEASE] = "the cgroup leads: the value has to hold for a while first",
		[REPORT_VIEW_WAITING] = "waits to be sent",
		[REPORT_VIEW_SENT] = "sent, the kubelet is at it",
		[REPORT_VIEW_DEFERRED] = "sent, the kubelet waits for room",
		[REPORT_VIEW_REFUSED] = "refused",
		[REPORT_VIEW_CGROUP_ONLY] = "stays in the cgroup: the API server does not take it",
	};
	const cJSON *report = json_object(pod, "report");
	const char *state = json_text(report, "state");
	char ago[HUMAN_SIZE];

	explain_pod_row(c, "report");
	for (int i = 0; i < REPORT_VIEW_STATE_COUNT; i++)
		if (strcmp(state, report_view_state_names[i]) == 0)
			fputs(words[i], c->out);
	if (is_known(report, "detail"))
		fprintf(c->out, ": %s", json_text(report, "detail"));
	if (json_time(report, "sent_at") != 0)
		fprintf(c->out, "; the last one was %s",
			render_ago(c, json_time(report, "sent_at"), ago));
	fputc('\n', c->out);
	if (!is_known(pod, "condition"))
		return;
	explain_pod_row(c, "resize");
	fprintf(c->out, "%s\n", json_text(pod, "condition"));
}

void render_pod(const struct ctl *c, const cJSON *pod)
{
	fprintf(c->out, "\n%sPod%s\n", paint_on(c, PAINT_BOLD), paint_off(c, PAINT_BOLD));
	print_workload(c, pod);
	print_annotations(c, pod);
	print_heap(c, pod);
	/* A container that is not sized has no report. */
	if (!is_known(pod, "annotation_error"))
		print_report(c, pod);
}

/* "; TITLE A to B"; nothing when neither is set. */
static void print_range(const struct ctl *c, enum resource which, const cJSON *r, const char *title,
			const char *min, const char *max)
{
	char low[HUMAN_SIZE], high[HUMAN_SIZE];
	uint64_t a = json_amount(r, min), b = json_amount(r, max);

	if (a == VIEW_NONE && b == VIEW_NONE)
		return;
	fprintf(c->out, "; %s", title);
	if (a != VIEW_NONE)
		fprintf(c->out, " at least %s%s", human_amount(which, a, low),
			b != VIEW_NONE ? "," : "");
	if (b != VIEW_NONE)
		fprintf(c->out, " at most %s", human_amount(which, b, high));
}

/* The time of growth that a limit in the spec covers, if it is less than usual. */
static void print_lead(const struct ctl *c, const cJSON *r)
{
	uint64_t above = json_amount(r, "above_spec"), ahead = json_amount(r, "ahead_usec");
	char text[HUMAN_SIZE];

	if (above != VIEW_NONE && above != 0) {
		explain_pod_row(c, "above");
		fprintf(c->out,
			"%s%s more in use than the spec allows: any resize of the pod can end "
			"in an OOM kill%s\n",
			paint_on(c, PAINT_BAD), human_amount(RESOURCE_MEMORY, above, text),
			paint_off(c, PAINT_BAD));
	}
	if (ahead != VIEW_NONE && ahead != 0) {
		explain_pod_row(c, "headroom");
		fprintf(c->out,
			"%s of growth in the spec's limit: this server takes no lower one "
			"afterwards\n",
			human_span(ahead, text));
	}
}

void render_pod_resource(const struct ctl *c, enum resource which, const cJSON *r)
{
	uint64_t ratio = json_amount(r, "ratio_permille"), refused = json_amount(r, "refused");
	uint64_t unratified = json_amount(r, "unratified_max");
	char text[HUMAN_SIZE];

	if (json_amount(r, "request") == VIEW_NONE && json_amount(r, "spec_limit") == VIEW_NONE)
		return;
	explain_pod_row(c, "spec");
	fprintf(c->out, "requests %s", human_amount(which, json_amount(r, "request"), text));
	fprintf(c->out, ", limit %s", human_amount(which, json_amount(r, "spec_limit"), text));
	if (json_amount(r, "ratified") != VIEW_NONE)
		fprintf(c->out, ", ratified %s",
			human_amount(which, json_amount(r, "ratified"), text));
	print_range(c, which, r, "LimitRange", "range_min", "range_max");
	if (ratio != VIEW_NONE)
		fprintf(c->out, ", %.4g times the request", (double)ratio / 1000);
	print_range(c, which, r, "administrator", "admin_min", "admin_max");
	fputc('\n', c->out);
	if (is_known(r, "restart")) {
		explain_pod_row(c, "restart");
		fprintf(c->out, "resizePolicy RestartContainer: a higher limit %s\n",
			strcmp(json_text(r, "restart"), "allowed") == 0
				? "restarts the container, once an hour at most"
				: "would restart the container, and stays in the cgroup");
	}
	if (unratified != VIEW_NONE) {
		explain_pod_row(c, "unratified");
		fprintf(c->out,
			"growth ends at %s while the API server cannot accept a higher limit\n",
			human_amount(which, unratified, text));
	}
	print_lead(c, r);
	if (refused == VIEW_NONE)
		return;
	explain_pod_row(c, "refused");
	fprintf(c->out, "more than %s", human_amount(which, refused, text));
	fprintf(c->out, ", which counts for another %s\n",
		human_span(json_amount(r, "refused_for_usec"), text));
}
