// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <inttypes.h>
#include <string.h>

/* One resource of one unit, to be printed. */
struct screen {
	const struct ctl *c;
	enum resource which;
	const cJSON *json;
};

static const char *explain_amount(const struct screen *s, const char *key, char *ret)
{
	return human_amount(s->which, json_amount(s->json, key), ret);
}

static const char *explain_bytes(const struct screen *s, const char *key, char *ret)
{
	return human_amount(RESOURCE_MEMORY, json_amount(s->json, key), ret);
}

/* parts of whole as "4.3 %"; "-" when not known. */
static const char *explain_percent(const struct screen *s, const char *key, double whole,
				   char ret[static HUMAN_SIZE])
{
	uint64_t parts = json_amount(s->json, key);

	if (parts == VIEW_NONE)
		snprintf(ret, HUMAN_SIZE, "-");
	else
		snprintf(ret, HUMAN_SIZE, "%.1f %%", 100.0 * (double)parts / whole);
	return ret;
}

static void explain_row(const struct screen *s, const char *title)
{
	fprintf(s->c->out, "  %-10s ", title);
}

static void print_limit(const struct screen *s)
{
	char now[HUMAN_SIZE], original[HUMAN_SIZE], held[HUMAN_SIZE], low[HUMAN_SIZE],
		high[HUMAN_SIZE];
	uint64_t kernel = json_amount(s->json, "kernel");

	explain_row(s, "limit");
	if (json_amount(s->json, "limit") == VIEW_NONE) {
		fputs("not known yet\n", s->c->out);
		return;
	}
	fprintf(s->c->out, "%s now, originally %s",
		explain_amount(s, kernel != VIEW_NONE ? "kernel" : "limit", now),
		explain_amount(s, "original", original));
	if (kernel != VIEW_NONE && kernel != json_amount(s->json, "limit"))
		fprintf(s->c->out, ", decided: %s", explain_amount(s, "limit", held));
	if (json_amount(s->json, "floor") != VIEW_NONE ||
	    json_amount(s->json, "ceiling") != VIEW_NONE)
		fprintf(s->c->out, "; may be %s to %s", explain_amount(s, "floor", low),
			explain_amount(s, "ceiling", high));
	fputc('\n', s->c->out);
}

static void print_use(const struct screen *s)
{
	char a[HUMAN_SIZE], b[HUMAN_SIZE], c[HUMAN_SIZE], d[HUMAN_SIZE], e[HUMAN_SIZE],
		f[HUMAN_SIZE];

	explain_row(s, "use");
	fprintf(s->c->out, "%s now", explain_amount(s, "use", a));
	if (json_amount(s->json, "use_p50") != VIEW_NONE)
		fprintf(s->c->out, "; p50 %s, p90 %s, p95 %s, p99 %s, max %s",
			explain_amount(s, "use_p50", b), explain_amount(s, "use_p90", c),
			explain_amount(s, "use_p95", d), explain_amount(s, "use_p99", e),
			explain_amount(s, "use_max", f));
	fputc('\n', s->c->out);
}

static void print_history(const struct screen *s)
{
	/* Beyond a whole interval of history there is no more to gain. */
	uint64_t confidence = MIN(json_amount(s->json, "confidence_permille"), (uint64_t)1000);
	char span[HUMAN_SIZE];

	explain_row(s, "history");
	if (json_amount(s->json, "samples") == 0) {
		fputs("none yet\n", s->c->out);
		return;
	}
	fprintf(s->c->out, "%" PRIu64 " samples over %s, confidence %.0f %%\n",
		json_amount(s->json, "samples"),
		human_span(json_amount(s->json, "history_usec"), span), (double)confidence / 10);
}

static void print_pressure(const struct screen *s)
{
	bool throttling = json_amount(s->json, "throttled_permille") != VIEW_NONE;
	bool psi = json_amount(s->json, "psi_some_ppm") != VIEW_NONE;
	bool full_known = json_amount(s->json, "psi_full_ppm") != VIEW_NONE;
	bool others = json_amount(s->json, "psi_others_ppm") != VIEW_NONE;
	char throttled[HUMAN_SIZE], some[HUMAN_SIZE], full[HUMAN_SIZE];

	if (!throttling && !psi)
		return;
	explain_row(s, "pressure");
	if (throttling)
		fprintf(s->c->out, "throttled in %s of the last periods%s",
			explain_percent(s, "throttled_permille", 1000, throttled),
			psi ? "; " : "\n");
	if (psi)
		fprintf(s->c->out, "tasks waited %s of the last 10 s",
			explain_percent(s, "psi_some_ppm", 1e6, some));
	if (psi && full_known)
		fprintf(s->c->out, ", all of them %s",
			explain_percent(s, "psi_full_ppm", 1e6, full));
	if (psi && others)
		fprintf(s->c->out, ", at least %s because of neighbours",
			explain_percent(s, "psi_others_ppm", 1e6, full));
	if (psi)
		fputc('\n', s->c->out);
}

static void print_contents(const struct screen *s)
{
	const cJSON *slope = cJSON_GetObjectItemCaseSensitive(s->json, "slope_bytes_per_sec");
	double speed = cJSON_IsNumber(slope) ? slope->valuedouble : 0;
	char hard[HUMAN_SIZE], set[HUMAN_SIZE], change[HUMAN_SIZE];

	if (s->which != RESOURCE_MEMORY || json_amount(s->json, "unreclaimable_bytes") == VIEW_NONE)
		return;
	human_amount(RESOURCE_MEMORY, (uint64_t)(speed < 0 ? -speed : speed), change);
	explain_row(s, "contents");
	fprintf(s->c->out, "%s cannot be reclaimed, working set %s, %s %s/s\n",
		explain_bytes(s, "unreclaimable_bytes", hard),
		explain_bytes(s, "working_set_bytes", set),
		speed < 0 ? "shrinking by" : "growing by", change);
}

static void print_desired(const struct screen *s)
{
	char lower[HUMAN_SIZE], target[HUMAN_SIZE], upper[HUMAN_SIZE], peak[HUMAN_SIZE];

	if (json_amount(s->json, "target") == VIEW_NONE)
		return;
	explain_row(s, "recommend");
	fprintf(s->c->out, "lower %s, target %s, upper %s, peak %s\n",
		explain_amount(s, "lower", lower), explain_amount(s, "target", target),
		explain_amount(s, "upper", upper), explain_amount(s, "peak", peak));
}

static void print_bounds(const struct screen *s)
{
	const cJSON *bound;
	char text[HUMAN_SIZE];

	if (json_amount(s->json, "candidate") == VIEW_NONE)
		return;
	explain_row(s, "candidate");
	fputs(explain_amount(s, "candidate", text), s->c->out);
	cJSON_ArrayForEach (bound, cJSON_GetObjectItemCaseSensitive(s->json, "bounds")) {
		fprintf(s->c->out, ", then %s by %s",
			human_amount(s->which, json_amount(bound, "after"), text),
			json_text(bound, "text"));
	}
	fputc('\n', s->c->out);
}

static void print_last(const struct screen *s)
{
	const cJSON *last = json_object(s->json, "last");
	uint64_t before = json_amount(last, "from"), after = json_amount(last, "to");
	char from[HUMAN_SIZE], to[HUMAN_SIZE], ago[HUMAN_SIZE];
	const char *why = json_text(last, "detail");

	explain_row(s, "last");
	if (!last) {
		fputs("no change so far\n", s->c->out);
		return;
	}
	fprintf(s->c->out, "%s %s -> %s, %s: %s\n", after >= before ? "raised" : "lowered",
		human_amount(s->which, before, from), human_amount(s->which, after, to),
		render_ago(s->c, json_time(last, "at"), ago),
		strcmp(why, "-") == 0 ? json_text(last, "text") : why);
}

static void print_trial(const struct screen *s)
{
	const cJSON *trial = json_object(s->json, "trial");
	char to[HUMAN_SIZE], span[HUMAN_SIZE];

	if (!trial)
		return;
	explain_row(s, "trial");
	fprintf(s->c->out, "%s at %s; verdict in %s\n", json_text(trial, "phase"),
		human_amount(s->which, json_amount(trial, "candidate"), to),
		human_span(json_amount(trial, "ends_in_usec"), span));
}

static void print_boost(const struct screen *s)
{
	const cJSON *boost = json_object(s->json, "boost");
	uint64_t left = json_amount(boost, "ends_in_usec");
	char to[HUMAN_SIZE], base[HUMAN_SIZE], span[HUMAN_SIZE];

	if (!boost)
		return;
	explain_row(s, "boost");
	fprintf(s->c->out, json_flag(boost, "lent") ? "at least %s" : "would be %s",
		human_amount(s->which, json_amount(boost, "limit"), to));
	if (left != VIEW_NONE)
		fprintf(s->c->out, " for another %s", human_span(left, span));
	else
		fprintf(s->c->out, " until it has been ready for %s",
			human_span(json_amount(boost, "ready_for_usec"), span));
	fprintf(s->c->out, ", then %s\n", human_amount(s->which, json_amount(boost, "base"), base));
}

static void print_denied(const struct screen *s)
{
	const char *denied = json_text(s->json, "denied");

	if (strcmp(denied, "-") == 0)
		return;
	explain_row(s, "node");
	fprintf(s->c->out, "%s\n", denied);
}

static void print_next(const struct screen *s)
{
	uint64_t wait = json_amount(s->json, "next_change_in_usec");
	char span[HUMAN_SIZE];

	explain_row(s, "next");
	if (strcmp(json_text(s->json, "hold"), "none") == 0)
		fputs("nothing stands in the way", s->c->out);
	else
		fprintf(s->c->out, "no change now: %s", json_text(s->json, "hold_text"));
	if (wait != VIEW_NONE)
		fprintf(s->c->out, "; the next may come in %s", human_span(wait, span));
	fputc('\n', s->c->out);
}

static void print_counters(const struct screen *s)
{
	static const char *const words[][2] = {{"raises", "raised"},
					       {"lowers", "lowered"},
					       {"undos", "undone"},
					       {"drifts", "re-asserted"},
					       {"foreign", "by an unknown writer"}};
	const cJSON *counters = json_object(s->json, "counters");
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		uint64_t n = json_amount(counters, words[i][0]);

		if (n == 0 || n == VIEW_NONE)
			continue;
		if (comma[0] == '\0')
			explain_row(s, "so far");
		fprintf(s->c->out, "%s%" PRIu64 " %s", comma, n, words[i][1]);
		comma = ", ";
	}
	if (comma[0])
		fputc('\n', s->c->out);
}

static void print_resource(const struct ctl *c, enum resource which, const cJSON *json,
			   const cJSON *spec)
{
	static void (*const rows[])(const struct screen *) = {
		print_use,     print_history, print_pressure, print_contents,
		print_desired, print_bounds,  print_last,     print_trial,
		print_boost,   print_denied,  print_next,     print_counters};
	const struct screen s = {c, which, json};

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
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i](&s);
}

/* Commands that the user can run; those without an effect are left out. */
static void print_offers(const struct ctl *c, const char *name, const cJSON *unit)
{
	static const struct {
		enum unit_state state;
		const char *text[2];
		const char *command[2];
	} rows[] = {
		{UNIT_MANAGED, {"To stop", "To go back"}, {"pause", "restore"}},
		{UNIT_WAITING, {"To stop", "To go back"}, {"pause", "restore"}},
		{UNIT_PAUSED, {"To go on", "To go back"}, {"resume", "restore"}},
		{UNIT_GAVE_WAY, {"To size it again", "To go back"}, {"resume", "restore"}},
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
	const char *why = json_text(unit, "state_reason");
	const char *name = json_text(unit, "name");
	const cJSON *pod = json_object(unit, "kubernetes");
	enum paint p = paint_state(state);

	fprintf(c->out, "%s%s%s  mode %s, %s%s%s", paint_on(c, PAINT_BOLD), name,
		paint_off(c, PAINT_BOLD), json_text(unit, "mode"), paint_on(c, p), state,
		paint_off(c, p));
	fprintf(c->out, strcmp(why, "-") ? ": %s\n" : "\n", why);
	if (strcmp(json_text(unit, "cgroup"), "-") != 0)
		fprintf(c->out, "%s\n", json_text(unit, "cgroup"));
	if (pod)
		render_pod(c, pod);
	print_resource(c, RESOURCE_CPU, json_object(unit, "cpu"), json_object(pod, "cpu"));
	print_resource(c, RESOURCE_MEMORY, json_object(unit, "memory"), json_object(pod, "memory"));
	print_offers(c, name, unit);
}
