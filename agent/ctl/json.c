// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/json.h"
#include "agent/view/view.h"
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

const char *json_text(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text && text[0] ? text : "-";
}

uint64_t json_amount(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (cJSON_IsString(item) && strcmp(item->valuestring, "max") == 0)
		return LIMIT_MAX;
	/* Doubles are exact up to 2^53, which is more than any amount here. */
	if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 0x1p53)
		return VIEW_NONE;
	return (uint64_t)item->valuedouble;
}

bool json_flag(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

usec_t json_time(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
	usec_t t = 0;

	return text && view_time_parse(text, &t) == 0 ? t : 0;
}

const cJSON *json_object(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsObject(item) ? item : NULL;
}

/* cJSON writes such as 1790000000000000 as 1.79e+15: it gets the digits. */
static bool put_digits(cJSON *number)
{
	double v = number->valuedouble;
	char *digits = NULL;

	if (fabs(v) < 1e15 || fabs(v) > 0x1p53 || v != trunc(v))
		return true;
	if (asprintf(&digits, "%.0f", v) < 0)
		return false;
	number->type = (number->type & ~cJSON_Number) | cJSON_Raw;
	number->valuestring = digits;
	return true;
}

bool json_whole_numbers(cJSON *value)
{
	cJSON *item;

	if (cJSON_IsNumber(value))
		return put_digits(value);
	cJSON_ArrayForEach (item, value)
		if (!json_whole_numbers(item))
			return false;
	return true;
}

/* Whether YAML reads the bare word back as this same text. */
static bool is_plain(const char *text)
{
	static const char *const words[] = {"true", "false", "null", "yes", "no",  "on",
					    "off",  "y",     "n",    "nan", "inf", "max"};

	if (!isalpha((unsigned char)text[0]) && text[0] != '/')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-./@", *c))
			return false;
	return true;
}

static void yaml_scalar(FILE *out, const cJSON *value)
{
	char *text = NULL;

	if (cJSON_IsString(value) && is_plain(value->valuestring)) {
		fputs(value->valuestring, out);
		return;
	}
	/* What JSON writes for a scalar is YAML too. */
	text = cJSON_PrintUnformatted(value);
	fputs(text ? text : "null", out);
	cJSON_free(text);
}

static bool is_nested(const cJSON *value)
{
	return (cJSON_IsObject(value) || cJSON_IsArray(value)) && value->child;
}

/* The first line of an object inside a list continues the line of its dash. */
static void yaml_value(FILE *out, const cJSON *value, int indent, bool in_line)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, value) {
		if (!in_line)
			fprintf(out, "%*s", indent, "");
		in_line = false;
		if (cJSON_IsArray(value)) {
			fputs("- ", out);
		} else if (is_plain(item->string)) {
			fprintf(out, "%s:%s", item->string, is_nested(item) ? "" : " ");
		} else {
			fprintf(out, "\"%s\":%s", item->string, is_nested(item) ? "" : " ");
		}
		if (!is_nested(item)) {
			yaml_scalar(out, item);
			fputc('\n', out);
			continue;
		}
		if (!cJSON_IsArray(value))
			fputc('\n', out);
		yaml_value(out, item, indent + 2, cJSON_IsArray(value));
	}
}

static void yaml_print(FILE *out, const cJSON *value)
{
	if (is_nested(value)) {
		yaml_value(out, value, 0, false);
		return;
	}
	yaml_scalar(out, value);
	fputc('\n', out);
}

int json_print(const struct ctl *c, cJSON *value)
{
	bool yaml = c->output == OUTPUT_YAML;
	bool whole = json_whole_numbers(value);
	char *text = yaml || !whole ? NULL : cJSON_Print(value);
	int r = CTL_OK;

	if (yaml && whole)
		yaml_print(c->out, value);
	else if (text != NULL)
		fprintf(c->out, "%s\n", text);
	else
		r = ctl_fail(c, CTL_ERROR, NULL, "out of memory");
	cJSON_free(text);
	cJSON_Delete(value);
	return r;
}
