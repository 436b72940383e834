// SPDX-License-Identifier: Apache-2.0
#include "agent/prometheus/prometheus.h"
#include "agent/base/json.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pebibyte, and far below what overflows in thousandths. */
#define VALUE_MAX 1.2e15

/* ---- the request ---- */

/* Kubernetes draws the end of a name from these, and writes the hash of a template, a number of 32
 * bits, in ten of them (k8s.io/apimachinery pkg/util/rand): the minutes in the names of a CronJob's
 * pods begin with a 2, and "v2" in the name of another workload is no hash. */
#define DRAWN "-[bcdfghjklmnpqrstvwxz2456789]{5}"
#define HASH  "-[456789bcdf]{1,10}"

/* What stands before the end is cut to this. */
#define BASE_MAX 58

/* How the names of a workload's pods go on after its own, and up to which length of that. */
static const struct {
	const char *owner, *rest;
	size_t longest;
} pod_names[] = {
	{"Deployment", HASH DRAWN, BASE_MAX - 12},
	{"Rollout", HASH DRAWN, BASE_MAX - 12},
	{"ReplicaSet", DRAWN, BASE_MAX - 1},
	{"DaemonSet", DRAWN, BASE_MAX - 1},
	{"StatefulSet", "-[0-9]+", BASE_MAX},
	{"CronJob", "-[0-9]+" DRAWN, BASE_MAX - 10},
	{"Job", DRAWN, BASE_MAX - 1},
};

static const char *rest_of(const char *owner, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(pod_names); i++)
		if (owner != NULL && strcmp(pod_names[i].owner, owner) == 0)
			return length <= pod_names[i].longest ? pod_names[i].rest : "[a-z0-9-]+";
	return length < BASE_MAX ? "-[a-z0-9-]+" : "[a-z0-9-]+"; /* of some operator */
}

/* A name in a regular expression in a string of PromQL. Names have no other special characters. */
static void put_name(const char *name, FILE *out)
{
	for (const char *end = name + strnlen(name, BASE_MAX); name < end; name++) {
		if (*name == '.')
			fputs("\\\\", out);
		fputc(*name, out);
	}
}

static void put_selector(const struct prometheus_query *q, FILE *out)
{
	fprintf(out, "{namespace=\"%s\",pod=~\"", q->namespace);
	put_name(q->workload, out);
	fprintf(out, "%s\",container=\"%s\"%s%s}", rest_of(q->owner, strlen(q->workload)),
		q->container, q->matchers[0] != '\0' ? "," : "", q->matchers);
}

static void put_query(const struct prometheus_query *q, enum resource r, FILE *out)
{
	fputs(r == RESOURCE_CPU ? "max(rate(container_cpu_usage_seconds_total"
				: "max(container_memory_working_set_bytes",
	      out);
	put_selector(q, out);
	if (r == RESOURCE_CPU)
		fprintf(out, "[%llus])", (unsigned long long)(q->step_usec / USEC_PER_SEC));
	fputc(')', out);
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("-._~", c) != NULL;
}

static void put_encoded(const char *text, FILE *out)
{
	for (; *text != '\0'; text++)
		fprintf(out, is_plain(*text) ? "%c" : "%%%02X", (unsigned char)*text);
}

int prometheus_path(const struct prometheus_query *q, enum resource r, char *ret)
{
	char query[PROMETHEUS_PATH_BYTES] = "";
	FILE *out = fmemopen(query, sizeof query, "w");
	usec_t end = q->end_real / q->step_usec * q->step_usec;
	bool cut;

	if (out == NULL)
		return -ENOMEM;
	put_query(q, r, out);
	cut = fflush(out) != 0 || ftell(out) >= (long)sizeof query;
	fclose(out);
	out = cut ? NULL : fmemopen(ret, PROMETHEUS_PATH_BYTES, "w");
	if (out == NULL)
		return cut ? -ENAMETOOLONG : -ENOMEM;
	fputs("/api/v1/query_range?query=", out);
	put_encoded(query, out);
	fprintf(out, "&start=%llu&end=%llu&step=%llu",
		(unsigned long long)((end - q->range_usec) / USEC_PER_SEC),
		(unsigned long long)(end / USEC_PER_SEC),
		(unsigned long long)(q->step_usec / USEC_PER_SEC));
	cut = fflush(out) != 0 || ftell(out) >= PROMETHEUS_PATH_BYTES;
	fclose(out);
	return cut ? -ENAMETOOLONG : 0;
}

/* ---- the answer ---- */

static int bad(struct prometheus_error *err, const char *what)
{
	snprintf(err->text, sizeof err->text, "%s", what);
	return -EBADMSG;
}

static const char *string_of(const cJSON *o, const char *key)
{
	const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));

	return s != NULL ? s : "";
}

/* [seconds, "value"]; NaN and infinity, a division by 0, are no sample. */
static int take_sample(const cJSON *pair, struct past_sample *samples, size_t *count,
		       struct prometheus_error *err)
{
	const cJSON *at = cJSON_GetArrayItem(pair, 0), *text = cJSON_GetArrayItem(pair, 1);
	double seconds = cJSON_GetNumberValue(at), value;
	usec_t before = *count > 0 ? samples[*count - 1].at_real : 0, now;
	char *end;

	if (!cJSON_IsArray(pair) || cJSON_GetArraySize(pair) != 2 || !cJSON_IsNumber(at) ||
	    !cJSON_IsString(text) || text->valuestring[0] == '\0')
		return bad(err, "a sample is not a pair of a time and a text");
	if (!(seconds > 0 && seconds < 1e11))
		return bad(err, "a sample has an impossible time");
	value = strtod(text->valuestring, &end);
	if (*end != '\0')
		return bad(err, "a sample is not a number");
	if (!isfinite(value))
		return 0;
	if (value < 0 || value > VALUE_MAX)
		return bad(err, "a sample is negative or too large");
	now = (usec_t)(seconds * USEC_PER_SEC);
	if (now <= before)
		return bad(err, "samples are not in the order of time");
	samples[(*count)++] = (struct past_sample){.at_real = now, .value = value};
	return 0;
}

static int take_series(const cJSON *values, struct past_sample **ret, size_t *ret_count,
		       struct prometheus_error *err)
{
	OWN(drop_free) struct past_sample *samples = NULL;
	int size = cJSON_GetArraySize(values), r = 0;
	size_t count = 0;
	const cJSON *pair;

	if (!cJSON_IsArray(values))
		return bad(err, "a series has no values");
	if (size > PROMETHEUS_SAMPLES_MAX)
		return bad(err, "a series has more than 11,000 samples");
	samples = calloc((size_t)MAX(size, 1), sizeof *samples);
	if (samples == NULL)
		return -ENOMEM;
	cJSON_ArrayForEach (pair, values) {
		r = take_sample(pair, samples, &count, err);
		if (r < 0)
			return r;
	}
	*ret = STEAL(samples);
	*ret_count = count;
	return 0;
}

static int take_answer(const cJSON *root, struct past_sample **ret, size_t *ret_count,
		       struct prometheus_error *err)
{
	const cJSON *data = cJSON_GetObjectItemCaseSensitive(root, "data");
	const cJSON *result = cJSON_GetObjectItemCaseSensitive(data, "result");

	if (strcmp(string_of(root, "status"), "success") != 0)
		return bad(err, "it is not the answer of a Prometheus server: no status success");
	if (strcmp(string_of(data, "resultType"), "matrix") != 0 || !cJSON_IsArray(result))
		return bad(err, "the result is not a matrix");
	if (cJSON_GetArraySize(result) > 1)
		return bad(err, "the result has several series, where one was expected");
	if (cJSON_GetArraySize(result) == 0)
		return 0;
	return take_series(
		cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(result, 0), "values"), ret,
		ret_count, err);
}

int prometheus_parse(const char *body, size_t size, struct past_sample **ret, size_t *ret_count,
		     struct prometheus_error *err)
{
	OWN(drop_json) cJSON *root = NULL;
	struct scan_error fault;

	*ret = NULL;
	*ret_count = 0;
	if (json_parse(body, size, &root, &fault) < 0)
		return bad(err, "it is no JSON");
	return take_answer(root, ret, ret_count, err);
}

void prometheus_refusal(const char *body, size_t size, struct prometheus_error *err)
{
	OWN(drop_json) cJSON *root = NULL;
	struct scan_error fault;

	(void)json_parse(body, size, &root, &fault);
	snprintf(err->text, sizeof err->text, "%s", string_of(root, "error"));
	/* It goes to the journal. */
	for (char *at = err->text; *at != '\0'; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
}
