// SPDX-License-Identifier: Apache-2.0
/* The part of explain for a container beside its resources: pod, namespace, API server. */
#include "agent/ctl/render.h"
#include <inttypes.h>
#include <string.h>

static bool is_known(const cJSON *o, const char *key)
{
	return strcmp(json_text(o, key), "-") != 0;
}

static void print_workload(const struct screen *pod)
{
	char text[120];

	snprintf(text, sizeof(text), "{text:workload}, QoS class {text:qos_class}, %s%s",
		 json_flag(pod->json, "ready") ? "ready" : "not ready",
		 json_amount(pod->json, "restarts") ? "[, restarted {count:restarts} times]" : "");
	render_row(pod, "workload", text);
}

/* Those of one source: "-" is the pod itself. */
static void print_settings(const struct ctl *c, const cJSON *all, const char *source)
{
	bool own = strcmp(source, "-") == 0;
	const char *before = own ? "  annotated  " : "  defaults   ";
	const cJSON *a;
	bool any = false;

	cJSON_ArrayForEach (a, all) {
		if (strcmp(json_text(a, "source"), source) != 0)
			continue;
		fprintf(c->out, "%s%s=%s", any ? ", " : before, json_text(a, "key"),
			json_text(a, "value"));
		any = true;
	}
	if (any && !own)
		fprintf(c->out, " (%s)", source);
	if (any)
		fputc('\n', c->out);
}

/* In the order of the list: the pod's own, its namespace's, a rule's. */
static void print_annotations(const struct ctl *c, const cJSON *pod)
{
	const cJSON *a, *all = cJSON_GetObjectItemCaseSensitive(pod, "annotations");
	const char *source = "";

	cJSON_ArrayForEach (a, all) {
		if (strcmp(json_text(a, "source"), source) == 0)
			continue;
		source = json_text(a, "source");
		print_settings(c, all, source);
	}
	if (is_known(pod, "annotation_error"))
		fprintf(c->out, "  %-10s %s%s%s\n", "wrong", paint_on(c, PAINT_BAD),
			json_text(pod, "annotation_error"), paint_off(c, PAINT_BAD));
}

static void print_heap(const struct screen *pod)
{
	char name[32];

	snprintf(name, sizeof name, "%s heap", json_text(pod->json, "heap_runtime"));
	if (render_has(pod, "heap_bytes"))
		render_row(pod, name, "{bytes:heap_bytes}: the limit is not lowered below it");
	else if (render_has(pod, "heap_permille"))
		render_row(pod, name,
			   "{percent:heap_permille} of the limit at the start: the limit is "
			   "not lowered below it");
}

static void print_report(const struct screen *pod)
{
	static const char *const words[REPORT_VIEW_STATE_COUNT] = {
		[REPORT_VIEW_NONE] = "spec and cgroup have the same limits",
		[REPORT_VIEW_LEASE] = "sent when the cgroup's value has held for some time",
		[REPORT_VIEW_WAITING] = "waiting to be sent",
		[REPORT_VIEW_SENT] = "sent, not yet carried out by the kubelet",
		[REPORT_VIEW_DEFERRED] = "sent, deferred by the kubelet: the node lacks room",
		[REPORT_VIEW_REFUSED] = "refused",
		[REPORT_VIEW_CGROUP_ONLY] = "in the cgroup only",
	};
	const struct screen report = {pod->c, json_object(pod->json, "report"), pod->which};
	const char *state = json_text(report.json, "state");
	char text[200];

	for (int i = 0; i < REPORT_VIEW_STATE_COUNT; i++) {
		if (strcmp(state, report_view_state_names[i]) != 0)
			continue;
		snprintf(text, sizeof(text),
			 "%s[: {text:detail}][; the last one was {ago:sent_at}]", words[i]);
		render_row(&report, "report", text);
	}
	render_row(pod, "resize", "[{text:condition}]");
}

void render_pod(const struct ctl *c, const cJSON *pod, bool sized)
{
	const struct screen s = {c, pod, RESOURCE_CPU};

	fprintf(c->out, "\n%sPod%s\n", paint_on(c, PAINT_BOLD), paint_off(c, PAINT_BOLD));
	print_workload(&s);
	render_row(&s, "controls", "{text:controlled_values}");
	print_annotations(c, pod);
	render_row(&s, "rollout", "[{text:rollout}]");
	print_heap(&s);
	/* A container that is not sized has no report. */
	if (sized && !is_known(pod, "annotation_error"))
		print_report(&s);
}

/* The time of growth that a limit in the spec covers, if it is less than usual. */
static void print_lead(const struct ctl *c, const struct screen *s)
{
	uint64_t above = json_amount(s->json, "above_spec");
	char text[HUMAN_SIZE];

	if (above != VIEW_NONE && above != 0)
		fprintf(c->out,
			"  %-10s %s%s more in use than the spec allows: any resize of the pod can "
			"end in an OOM kill%s\n",
			"above", paint_on(c, PAINT_BAD), human_amount(RESOURCE_MEMORY, above, text),
			paint_off(c, PAINT_BAD));
	if (json_amount(s->json, "ahead_usec") != 0)
		render_row(s, "headroom",
			   "[the spec's limit covers {span:ahead_usec} of growth: no lower limit "
			   "can be sent later]");
}

/* "; TITLE at least A, at most B"; nothing when neither is set. */
static void print_range(const struct screen *s, const char *title, const char *min, const char *max)
{
	bool low = render_has(s, min), high = render_has(s, max);
	char text[160];

	snprintf(text, sizeof(text), "; %s[ at least {amount:%s}]%s[ at most {amount:%s}]", title,
		 min, low && high ? "," : "", max);
	if (low || high)
		render_put(s, text);
}

static void print_spec(const struct screen *s)
{
	uint64_t ratio = json_amount(s->json, "ratio_permille");

	render_put(s, "  spec       requests {amount:request}, limit {amount:spec_limit}"
		      "[, ratified {amount:ratified}]");
	print_range(s, "LimitRange", "range_min", "range_max");
	if (ratio != VIEW_NONE)
		fprintf(s->c->out, ", %.4g times the request", (double)ratio / 1000);
	print_range(s, "administrator", "admin_min", "admin_max");
	fputc('\n', s->c->out);
}

void render_pod_resource(const struct ctl *c, enum resource which, const cJSON *r)
{
	const struct screen s = {c, r, which};

	if (!render_has(&s, "request") && !render_has(&s, "spec_limit"))
		return;
	print_spec(&s);
	render_row(&s, "request", "[stays: {text:request_stays}]");
	if (is_known(r, "restart"))
		render_row(&s, "restart",
			   strcmp(json_text(r, "restart"), "allowed") == 0
				   ? "resizePolicy RestartContainer: a higher limit restarts the "
				     "container, once an hour at most"
				   : "resizePolicy RestartContainer: a higher limit would restart "
				     "the container, and stays in the cgroup");
	render_row(&s, "unratified",
		   "[growth ends at {amount:unratified_max} while the API server cannot accept a "
		   "higher limit]");
	print_lead(c, &s);
	render_row(&s, "refused",
		   "[more than {amount:refused} was refused; bounds the limit for another "
		   "{span:refused_for_usec}]");
}
