// SPDX-License-Identifier: Apache-2.0
#include "agent/control_api/control_api.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

/* A body is flat; the parser itself would recurse a thousand deep. */
#define DEPTH_MAX 2

struct key_info {
	const char *name;
	unsigned bit;
	bool is_flag;
	size_t offset;
};

/* clang-format off */
static const struct key_info key_infos[] = {
	{"name",  CONTROL_KEY_NAME,  false, offsetof(struct control_body, name)},
	{"all",   CONTROL_KEY_ALL,   true,  offsetof(struct control_body, all)},
	{"force", CONTROL_KEY_FORCE, true,  offsetof(struct control_body, force)},
};
/* clang-format on */

static const struct key_info *key_find(const char *name, unsigned keys)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_infos); i++)
		if (name && (key_infos[i].bit & keys) && strcmp(key_infos[i].name, name) == 0)
			return &key_infos[i];
	return NULL;
}

static const char *take_value(const struct key_info *k, const cJSON *item, struct control_body *b)
{
	char *at = (char *)b + k->offset;

	if (k->is_flag) {
		if (!cJSON_IsBool(item))
			return "all and force are true or false";
		*(bool *)at = cJSON_IsTrue(item);
		return NULL;
	}
	if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
		return "name is a text that is not empty";
	if (strlen(item->valuestring) >= CONTROL_NAME_MAX)
		return "name is too long";
	strcpy(at, item->valuestring);
	return NULL;
}

/* What is wrong, or NULL. */
static const char *take_object(const cJSON *object, unsigned keys, struct control_body *b)
{
	const cJSON *item;
	const char *why;
	unsigned seen = 0;

	if (!cJSON_IsObject(object))
		return "the body is not a JSON object";
	cJSON_ArrayForEach (item, object) {
		const struct key_info *k = key_find(item->string, keys);

		if (!k)
			return "the body has a key that this path does not know";
		if (seen & k->bit)
			return "the body has a key twice";
		seen |= k->bit;
		why = take_value(k, item, b);
		if (why)
			return why;
	}
	return b->all && b->name[0] != '\0' ? "name and all exclude each other" : NULL;
}

/* cJSON has no limit of its own below 1000; brackets inside strings only make this stricter. */
static bool too_deep(const char *text, size_t size)
{
	unsigned opened = 0;

	for (size_t i = 0; i < size; i++)
		opened += text[i] == '{' || text[i] == '[';
	return opened > DEPTH_MAX;
}

/* A NUL, plain or escaped, would hide the rest of a name. */
static bool holds_nul(const char *text, size_t size)
{
	static const char escaped[] = "\\u0000";

	return memchr(text, '\0', size) || memmem(text, size, escaped, sizeof(escaped) - 1);
}

int control_body_parse(const char *text, size_t size, unsigned keys, struct control_body *ret,
		       const char **ret_why)
{
	struct control_body b = {0};
	const char *why, *end = NULL;
	cJSON *object;

	*ret_why = "the body is not valid JSON";
	if (size == 0) {
		*ret = b;
		return 0;
	}
	if (holds_nul(text, size) || too_deep(text, size))
		return -EBADMSG;
	object = cJSON_ParseWithLengthOpts(text, size, &end, false);
	if (!object)
		return -EBADMSG;
	while (end < text + size && strchr(" \t\r\n", *end) != NULL)
		end++;
	why = end == text + size ? take_object(object, keys, &b) : "text follows the JSON object";
	cJSON_Delete(object);
	if (why) {
		*ret_why = why;
		return -EBADMSG;
	}
	*ret = b;
	return 0;
}
