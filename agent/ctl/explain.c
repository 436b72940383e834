// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <inttypes.h>
#include <string.h>

/* ---- of a container beside its resources: pod, namespace, API server */

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

/* sized: it has a report. */
static void render_pod(const struct ctl *c, const cJSON *pod, bool sized)
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

static void render_pod_resource(const struct ctl *c, enum resource which, const cJSON *r)
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

/* ---- of every unit */

static void print_limit(const struct screen *s)
{
	uint64_t kernel = json_amount(s->json, "kernel"), limit = json_amount(s->json, "limit");
	const char *decided =
		kernel != VIEW_NONE && kernel != limit ? ", decided: {amount:limit}" : "";
	const char *range = render_has(s, "floor") || render_has(s, "ceiling")
				    ? "; may be {amount:floor} to {amount:ceiling}"
				    : "";
	char text[160];

	snprintf(text, sizeof(text), "{amount:kernel|limit} now, originally {amount:original}%s%s",
		 decided, range);
	render_row(s, "limit", limit == VIEW_NONE ? "not known yet" : text);
}

static void print_history(const struct screen *s)
{
	/* Beyond a whole interval of history there is no more to gain. */
	uint64_t confidence = MIN(json_amount(s->json, "confidence_permille"), (uint64_t)1000);
	char text[100];

	snprintf(text, sizeof(text),
		 "{count:samples} samples over {span:history_usec}, confidence %.0f %%",
		 (double)confidence / 10);
	render_row(s, "history", json_amount(s->json, "samples") == 0 ? "none yet" : text);
	if (render_has(s, "prior_pods") && json_amount(s->json, "prior_pods") != 0)
		render_row(
			s, "workload",
			"{count:prior_pods} other pods need {amount:prior_target}; counts less as "
			"this container's own history grows");
	if (render_has(s, "past_samples") && json_amount(s->json, "past_samples") != 0)
		render_row(s, "prometheus",
			   "{count:past_samples} samples of the history are from Prometheus");
}

static void print_contents(const struct screen *s)
{
	const cJSON *slope = cJSON_GetObjectItemCaseSensitive(s->json, "slope_bytes_per_sec");
	double speed = cJSON_IsNumber(slope) ? slope->valuedouble : 0;
	char change[HUMAN_SIZE], text[160];

	if (s->which != RESOURCE_MEMORY || !render_has(s, "unreclaimable_bytes"))
		return;
	snprintf(text, sizeof(text),
		 "{bytes:unreclaimable_bytes} cannot be reclaimed, working set "
		 "{bytes:working_set_bytes}, %s %s/s",
		 speed < 0 ? "shrinking by" : "growing by",
		 human_amount(RESOURCE_MEMORY, (uint64_t)(speed < 0 ? -speed : speed), change));
	render_row(s, "contents", text);
}

static void print_bounds(const struct screen *s)
{
	const cJSON *bound;

	if (!render_has(s, "candidate"))
		return;
	render_put(s, "  candidate  {amount:candidate}");
	cJSON_ArrayForEach (bound, cJSON_GetObjectItemCaseSensitive(s->json, "bounds")) {
		render_put(&(struct screen){s->c, bound, s->which},
			   ", then {amount:after} by {text:text}");
	}
	fputc('\n', s->c->out);
}

static void print_last(const struct screen *s)
{
	const struct screen last = {s->c, json_object(s->json, "last"), s->which};
	bool raised = json_amount(last.json, "to") >= json_amount(last.json, "from");
	static const char raise[] =
		"raised {amount:from} -> {amount:to}, {ago:at}: {text:detail|text}";
	static const char lower[] =
		"lowered {amount:from} -> {amount:to}, {ago:at}: {text:detail|text}";

	render_row(&last, "last", !last.json ? "no change so far" : raised ? raise : lower);
}

static void print_trial(const struct screen *s)
{
	const struct screen trial = {s->c, json_object(s->json, "trial"), s->which};

	if (trial.json)
		render_row(&trial, "trial",
			   "{text:phase} at {amount:candidate}; verdict in {span:ends_in_usec}");
}

static void print_boost(const struct screen *s)
{
	const struct screen boost = {s->c, json_object(s->json, "boost"), s->which};

	if (boost.json)
		render_row(&boost, "boost",
			   json_flag(boost.json, "lent")
				   ? "at least {amount:limit}[ for another {span:ends_in_usec}]"
				     ", then {amount:base}"
				   : "would be {amount:limit}[ for another {span:ends_in_usec}]"
				     ", then {amount:base}");
}

static void print_startup(const struct screen *s)
{
	render_row(
		s, "start-up",
		render_has(s, "startup_ready_usec")
			? "until it has been ready for {span:startup_ready_usec}; its CPU use is "
			  "not recorded"
			: "[for another {span:startup_ends_in_usec}; its CPU use is not recorded]");
}

static void print_next(const struct screen *s)
{
	bool free_to_go = strcmp(json_text(s->json, "hold"), "none") == 0;

	render_row(s, "next",
		   free_to_go ? "nothing blocks a change"
				"[; the next may come in {span:next_change_in_usec}]"
			      : "no change now: {text:hold_text}"
				"[; the next may come in {span:next_change_in_usec}]");
}

/* Tasks wait whether the quota throttles them or not. */
static void print_pressure(const struct screen *s)
{
	static const char waiting[] = "[tasks waited {percent:psi_some_ppm} of the last 10 s]"
				      "[, all of them {percent:psi_full_ppm}]"
				      "[, at least {percent:psi_others_ppm} because of neighbours]";
	bool both = render_has(s, "throttled_permille") && render_has(s, "psi_some_ppm");
	char text[320];

	snprintf(text, sizeof(text),
		 "[throttled in {percent:throttled_permille} of the last periods]%s%s",
		 both ? "; " : "", waiting);
	render_row(s, "pressure", text);
}

static void print_counters(const struct screen *s)
{
	static const char *const words[][2] = {{"raises", "raised"},
					       {"lowers", "lowered"},
					       {"undos", "undone"},
					       {"drifts", "external writes overwritten"},
					       {"foreign", "of these recent"}};
	const cJSON *counters = json_object(s->json, "counters");
	const char *comma = "  so far     ";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		uint64_t n = json_amount(counters, words[i][0]);

		if (n == 0 || n == VIEW_NONE)
			continue;
		fprintf(s->c->out, "%s%" PRIu64 " %s", comma, n, words[i][1]);
		comma = ", ";
	}
	if (comma[0] == ',')
		fputc('\n', s->c->out);
}

static void print_resource(const struct ctl *c, enum resource which, const cJSON *json,
			   const cJSON *spec)
{
	const struct screen s = {c, json, which};

	fprintf(c->out, "\n%s%s%s\n", paint_on(c, PAINT_BOLD),
		which == RESOURCE_CPU ? "CPU" : "Memory", paint_off(c, PAINT_BOLD));
	print_limit(&s);
	if (spec)
		render_pod_resource(c, which, spec);
	/* For a resource that is not sized only the reason is printed. */
	if (!json_flag(json, "controlled")) {
		print_next(&s);
		return;
	}
	render_row(&s, "use",
		   "{amount:use} now[; p50 {amount:use_p50}, p90 {amount:use_p90}, p95 "
		   "{amount:use_p95}, p99 {amount:use_p99}, max {amount:use_max}]");
	print_history(&s);
	print_pressure(&s);
	print_contents(&s);
	render_row(&s, "recommend",
		   "[lower {amount:lower}, target {amount:target}, upper {amount:upper}, "
		   "peak {amount:peak}]");
	print_bounds(&s);
	print_last(&s);
	print_trial(&s);
	print_boost(&s);
	print_startup(&s);
	render_row(&s, "node", "[{text:denied}]");
	print_next(&s);
	print_counters(&s);
}

/* Commands that the user can run; those without an effect are left out. */
static void print_offers(const struct ctl *c, const char *name, const cJSON *unit)
{
	static const struct {
		enum unit_state state;
		const char *text[2];
		const char *command[2];
	} rows[] = {
		{UNIT_MANAGED,
		 {"To stop changes", "To restore the originals"},
		 {"pause", "restore"}},
		{UNIT_WAITING,
		 {"To stop changes", "To restore the originals"},
		 {"pause", "restore"}},
		{UNIT_PAUSED, {"To resume", "To restore the originals"}, {"resume", "restore"}},
		{UNIT_FROZEN, {"To restore the originals", NULL}, {"restore", NULL}},
		{UNIT_GAVE_WAY,
		 {"To size it again", "To restore the originals"},
		 {"resume", "restore"}},
		{UNIT_RESTORED, {"To size it again", NULL}, {"resume", NULL}},
	};
	const char *state = json_text(unit, "state");

	if (strcmp(json_text(unit, "mode"), mode_name(MODE_OFF)) == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(state, unit_state_names[rows[i].state]) != 0)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].text) && rows[i].text[k] != NULL; k++)
			fprintf(c->out, "%s%s: vscalectl %s %s", k == 0 ? "\n" : "   ",
				rows[i].text[k], rows[i].command[k], name);
		fputc('\n', c->out);
	}
}

void render_explain(const struct ctl *c, const cJSON *unit)
{
	const char *state = json_text(unit, "state");
	const char *name = json_text(unit, "name");
	const cJSON *pod = json_object(unit, "kubernetes");
	enum paint p = paint_state(state);

	fprintf(c->out, "%s%s%s  mode %s, %s%s%s", paint_on(c, PAINT_BOLD), name,
		paint_off(c, PAINT_BOLD), json_text(unit, "mode"), paint_on(c, p), state,
		paint_off(c, p));
	render_put(&(struct screen){c, unit, RESOURCE_CPU},
		   "[: {text:state_reason}][; {text:remedy}]\n[{text:cgroup}\n]");
	if (pod)
		render_pod(c, pod,
			   strcmp(state, unit_state_names[UNIT_WAITING]) != 0 &&
				   strcmp(state, unit_state_names[UNIT_UNMANAGED]) != 0);
	print_resource(c, RESOURCE_CPU, json_object(unit, "cpu"), json_object(pod, "cpu"));
	print_resource(c, RESOURCE_MEMORY, json_object(unit, "memory"), json_object(pod, "memory"));
	print_offers(c, name, unit);
}
