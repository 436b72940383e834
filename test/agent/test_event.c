// SPDX-License-Identifier: Apache-2.0
/* Events: messages, fields, the three outputs, what is held back; and the two texts about them. */
#include "agent/journal/event.h"
#include "test/agent/doc_page.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <syslog.h>
#include <unistd.h>

struct received {
	unsigned count;
	enum event_kind kind;
	char message[EVENT_MESSAGE_SIZE];
	char values[EVENT_VALUE_COUNT][128];
};

static struct received received;
static struct event_log event_log;

static void on_record(void *ctx, const struct event_record *e, const char *message)
{
	struct received *h = ctx;

	h->count++;
	h->kind = e->kind;
	snprintf(h->message, sizeof h->message, "%s", message);
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++)
		snprintf(h->values[i], sizeof h->values[i], "%s",
			 e->values[i].exact ? e->values[i].exact : "");
}

static void record(void)
{
	received = (struct received){0};
	event_log = (struct event_log){.record = on_record, .record_ctx = &received, .fd = -1};
	event_log_use(&event_log);
	event_log_time(&event_log, 100 * USEC_PER_SEC, 1000000 * USEC_PER_SEC);
}

TEST(change_messages)
{
	struct event e = {
		.who = {.unit = "web.service", .cgroup = "/system.slice/web.service"},
		.resource = RESOURCE_CPU,
		.from = 200,
		.to = 380,
		.reason = REASON_THROTTLED,
		.detail = "throttled 95 % of the last second",
	};

	record();
	event_write(EVENT_LIMIT_RAISED, &e);
	CHECK_EQ(received.kind, EVENT_LIMIT_RAISED);
	CHECK_STR(received.message,
		  "raised web.service cpu 200m -> 380m (throttled 95 % of the last second)");
	CHECK_STR(received.values[VALUE_UNIT], "web.service");
	CHECK_STR(received.values[VALUE_CGROUP], "/system.slice/web.service");
	CHECK_STR(received.values[VALUE_RESOURCE], "cpu");
	CHECK_STR(received.values[VALUE_FROM], "200m");
	CHECK_STR(received.values[VALUE_TO], "380m");
	CHECK_STR(received.values[VALUE_REASON], "throttled");
	CHECK_STR(received.values[VALUE_POD], "");

	e.detail = NULL;
	event_write(EVENT_LIMIT_RAISED, &e);
	CHECK_STR(received.message,
		  "raised web.service cpu 200m -> 380m (throttled since the last change)");
	e.reason = REASON_NONE;
	e.to = LIMIT_MAX;
	event_write(EVENT_LIMIT_RAISED, &e);
	CHECK_STR(received.message, "raised web.service cpu 200m -> max");
	CHECK_STR(received.values[VALUE_TO], "max");

	e = (struct event){
		.who = {.namespace = "default", .pod = "web-0", .container = "app"},
		.resource = RESOURCE_MEMORY,
		.from = 64 * MIB,
		.to = 100 * MIB + 4096,
		.error = -EBUSY,
	};
	event_write(EVENT_LIMIT_LOWERED, &e);
	CHECK_STR(received.message, "lowered default/web-0/app memory 64.00Mi -> 100.00Mi");
	CHECK_STR(received.values[VALUE_FROM], "67108864");
	CHECK_STR(received.values[VALUE_TO], "104861696");
	CHECK_STR(received.values[VALUE_ERROR], ""); /* not a field of this kind */
	event_write(EVENT_LIMIT_FAILED, &e);
	CHECK_STR(received.message, "could not write default/web-0/app memory 64.00Mi -> 100.00Mi: "
				    "Device or resource busy");
	CHECK_STR(received.values[VALUE_ERROR], "16");
	e.by = "systemd";
	event_write(EVENT_DRIFT_REASSERTED, &e);
	CHECK_STR(received.message, "external change of default/web-0/app memory to 64.00Mi by "
				    "systemd, reset to 100.00Mi");
}

TEST(other_messages)
{
	record();
	event_tell(EVENT_STARTED, .version = "0.1.0", .file = "/etc/v.yaml");
	CHECK_STR(received.message, "vscaled 0.1.0 started, configuration /etc/v.yaml");
	event_tell(EVENT_CONFIG_INVALID, .file = "/etc/v.yaml",
		   .detail = "/etc/v.yaml:3: unknown key\n'x'", .kept = true);
	CHECK_STR(received.message,
		  "invalid configuration: /etc/v.yaml:3: unknown key 'x'; the last "
		  "good configuration stays");
	event_tell(EVENT_BUS_LOST, .error = -ECONNRESET);
	CHECK_STR(received.message,
		  "lost the connection to systemd: Connection reset by peer; limits "
		  "are set in the cgroups only");
	event_tell(EVENT_CLOCK_JUMPED, .span_usec = -(int64_t)USEC_PER_DAY);
	CHECK_STR(received.message, "the wall clock jumped by -24.0 h, history is adjusted");
	CHECK_STR(received.values[VALUE_SPAN], "-86400000000");
	event_tell(EVENT_SLOW_LOOP, .span_usec = 430000);
	CHECK_STR(received.message, "one pass took 430.0 ms, limits may be raised late");
	event_tell(EVENT_PAUSED, .by = "root");
	CHECK_STR(received.message, "paused by root, limits stay as they are");
	event_tell(EVENT_PAUSED, .who = {.unit = "a.service"});
	CHECK_STR(received.message, "paused a.service, limits stay as they are");
	event_tell(EVENT_OOM_KILL, .who = {.unit = "a.service"}, .from = 64 * MIB, .count = 2);
	CHECK_STR(received.message, "OOM-killed in a.service at the limit 64.00Mi, processes: 2");
	event_tell(EVENT_UNIT_MANAGED, .who = {.unit = "a.service"}, .mode = "Auto");
	CHECK_STR(received.message, "managing a.service, mode Auto");
}

TEST(held_back)
{
	struct event e = {.who = {.unit = "a.service"}, .error = -EIO};
	struct event other = {.who = {.unit = "b.service"}, .error = -EIO};

	record();
	for (int i = 0; i < 10; i++)
		event_write(EVENT_LIMIT_FAILED, &e);
	CHECK_EQ(received.count, 3);
	event_write(EVENT_LIMIT_FAILED, &other); /* another subject has its own count */
	CHECK_EQ(received.count, 4);
	other.resource = RESOURCE_MEMORY;
	e.resource = RESOURCE_MEMORY;
	event_write(EVENT_LIMIT_FAILED, &e);
	CHECK_EQ(received.count, 5);
	e.resource = RESOURCE_CPU;
	event_log_time(&event_log, 100 * USEC_PER_SEC + EVENT_LIMIT_WINDOW - 1, 0);
	event_write(EVENT_LIMIT_FAILED, &e);
	CHECK_EQ(received.count, 5);
	event_log_time(&event_log, 100 * USEC_PER_SEC + EVENT_LIMIT_WINDOW, 0);
	event_write(EVENT_LIMIT_FAILED, &e);
	CHECK_EQ(received.count, 6);
	CHECK_STR(received.values[VALUE_REPEATED], "8");
	CHECK(strstr(received.message, "[and 8 more like it before]") != NULL);
	event_write(EVENT_LIMIT_FAILED, &e);
	CHECK_EQ(received.count, 7);
	CHECK_STR(received.values[VALUE_REPEATED], "");
	/* a name is not that of its neighbour, and another kind has its own count */
	other = (struct event){.who = {.namespace = "a", .pod = "b"}, .error = -EIO};
	for (int i = 0; i < 4; i++)
		event_write(EVENT_LIMIT_FAILED, &other);
	CHECK_EQ(received.count, 10);
	other.who = (struct event_who){.namespace = "ab"};
	event_write(EVENT_LIMIT_FAILED, &other);
	CHECK_EQ(received.count, 11);
	event_write(EVENT_PROPERTY_FAILED, &other);
	CHECK_EQ(received.count, 12);
	/* changes are never held back */
	for (int i = 0; i < 100; i++)
		event_write(EVENT_LIMIT_RAISED, &e);
	CHECK_EQ(received.count, 112);
}

TEST(limiter)
{
	struct event_limit l = {0};
	uint32_t held = 99;

	CHECK(event_limit_pass(&l, 1, 1, 10, &held));
	CHECK_EQ(held, 0);
	CHECK(!event_limit_pass(&l, 1, 1, 11, &held));
	/* more subjects than slots: the oldest are given up, new ones still pass */
	for (uint64_t i = 2; i < 2 + 2 * EVENT_LIMIT_SLOTS; i++) {
		CHECK(event_limit_pass(&l, i, 1, 10 + i, &held));
		CHECK(!event_limit_pass(&l, i, 1, 10 + i, &held));
	}
	CHECK(event_limit_pass(&l, 1, 1, 1000, &held));
	CHECK_EQ(held, 0);
}

TEST(lines)
{
	struct event_record e = {.kind = EVENT_STATE_DAMAGED};
	char line[EVENT_LINE_SIZE], tiny[64];
	cJSON *json;

	e.values[VALUE_FILE].exact = "/var/lib/a b";
	e.values[VALUE_DETAIL].exact = "crc \"x\"\n\x01\xff\xc3\xa4 \xe2\x82";
	CHECK_EQ(event_text_line(&e, EVENT_FORMAT_LOGFMT, 1700000000123456, sizeof line, line), 0);
	CHECK(strncmp(line, "ts=2023-11-14T22:13:20.123Z level=warning msg=\"/var/lib/a b is ",
		      63) == 0);
	CHECK(strstr(line, " event=state-damaged id=") != NULL);
	CHECK(strstr(line, " file=\"/var/lib/a b\" detail=\"crc \\\"x\\\"\\u000a\\u0001") != NULL);
	CHECK(strchr(line, '\n') == line + strlen(line) - 1);

	CHECK_EQ(event_text_line(&e, EVENT_FORMAT_JSON, 1700000000123456, sizeof line, line), 0);
	CHECK(strchr(line, '\n') == line + strlen(line) - 1);
	json = cJSON_Parse(line);
	CHECK(json != NULL);
	CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "event")),
		  "state-damaged");
	CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "ts")),
		  "2023-11-14T22:13:20.123Z");
	CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "detail")),
		  "crc \"x\"\n\x01\xef\xbf\xbd\xc3\xa4 \xef\xbf\xbd\xef\xbf\xbd");
	cJSON_Delete(json);
	CHECK_EQ(event_text_line(&e, EVENT_FORMAT_JSON, 0, sizeof tiny, tiny), -ENOBUFS);
	event_text_message(&e, sizeof tiny, tiny);
	CHECK_EQ(strlen(tiny), sizeof tiny - 1);
}

static bool has_value_of(const struct event_info *info, const char *key, size_t len)
{
	if (len == 3 && (memcmp(key, "who", 3) == 0))
		return info->fields & (1u << VALUE_UNIT);
	if (len == 3 && memcmp(key, "why", 3) == 0)
		return info->fields & (1u << VALUE_DETAIL);
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++)
		if (strlen(event_values[i].key) == len &&
		    memcmp(event_values[i].key, key, len) == 0)
			return info->fields & (1u << i);
	return false;
}

TEST(table)
{
	for (size_t i = 0; i < EVENT_KIND_COUNT; i++) {
		const struct event_info *e = &event_table[i];

		CHECK(e->name && *e->name && e->message);
		CHECK(e->priority >= LOG_ERR && e->priority <= LOG_INFO);
		CHECK(!sd_id128_is_null(e->id));
		for (size_t k = 0; k < i; k++) {
			CHECK(!sd_id128_equal(e->id, event_table[k].id));
			CHECK(strcmp(e->name, event_table[k].name) != 0);
		}
		for (const char *c = strchr(e->message, '{'); c; c = strchr(c + 1, '{'))
			CHECK(has_value_of(e, c + 1, (size_t)(strchr(c, '}') - c - 1)));
	}
}

#define SET(value) (1u << VALUE_##value)

/* What an event has, as the page writes it: without VSCALED_, and two sets by their name. */
static const char *fields_of(const struct event_info *e, char *buf, size_t size)
{
	static const uint32_t who =
		SET(NAMESPACE) | SET(POD) | SET(CONTAINER) | SET(UNIT) | SET(CGROUP);
	static const uint32_t change =
		SET(RESOURCE) | SET(FROM) | SET(TO) | SET(REASON) | SET(DETAIL);
	bool has_who = (e->fields & who) == who, has_change = (e->fields & change) == change;
	uint32_t rest = e->fields & ~(has_who ? who : 0) & ~(has_change ? change : 0);
	size_t n = 0;

	buf[0] = '\0';
	if (has_who)
		n += (size_t)snprintf(buf + n, size - n, ",WHO");
	if (has_change)
		n += (size_t)snprintf(buf + n, size - n, ",CHANGE");
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++) {
		const char *name = event_values[i].field;

		if (strncmp(name, "VSCALED_", 8) == 0)
			name += 8;
		if (rest & (1u << i))
			n += (size_t)snprintf(buf + n, size - n, ",%s", name);
	}
	return buf + (n > 0);
}

/* Every reason has its row, and there are no others. */
TEST(reasons_page)
{
	char *text = page_read("docs/journal.md");
	const char *at = strstr(text, "\n## Reasons"), *end = strstr(text, "\n## Events");
	unsigned rows = 0;

	CHECK(at != NULL && end != NULL);
	for (const char *row = at; row != NULL && row < end; row = strstr(row + 1, "\n- `"))
		rows += row != at && row < end;
	CHECK_EQ(rows, REASON_COUNT - 1);
	for (enum reason r = REASON_NONE + 1; r < REASON_COUNT; r++) {
		char row[256];

		snprintf(row, sizeof row, "- `%s`: %s\n", reason_name(r), reason_text(r));
		if (strstr(text, row) == NULL)
			fprintf(stderr, "docs/journal.md lacks: %s", row);
		CHECK(strstr(text, row) != NULL);
	}
	free(text);
}

/* The item of an event: what is usual (info, all shown) is left out. */
static void event_item(const struct event_info *e, char *buf, size_t size)
{
	static const char *const priorities[] = {[LOG_ERR] = "err",
						 [LOG_WARNING] = "warning",
						 [LOG_NOTICE] = "notice",
						 [LOG_INFO] = ""};
	char text[512], shown[16] = "";
	const char *priority = priorities[e->priority], *fields = fields_of(e, text, sizeof text);
	bool both = priority[0] != '\0' && e->burst != 0;
	bool any = priority[0] != '\0' || e->burst != 0;
	const char *quote = fields[0] != '\0' ? "`" : "";

	if (e->burst != 0)
		snprintf(shown, sizeof shown, "%u", e->burst);
	snprintf(buf, size, "\n- `%s`%s%s%s%s%s%s%s%s%s: ", e->name, any ? " (" : "", priority,
		 both ? "," : "", shown, any ? ")" : "", fields[0] != '\0' ? " " : "", quote,
		 fields, quote);
}

/* The items of docs/journal.md begin with what the table says, in its order, and there are no
 * others. */
TEST(docs)
{
	char *text = page_read("docs/journal.md");
	const char *events = text ? strstr(text, "\n## Events") : NULL, *at = events;
	size_t rows = 0;

	CHECK(at != NULL);
	for (size_t i = 0; at && i < EVENT_KIND_COUNT; i++) {
		char row[1024];
		const char *found;

		event_item(&event_table[i], row, sizeof row);
		found = strstr(at, row);
		if (found == NULL)
			fprintf(stderr, "docs/journal.md lacks, or out of order:%s\n", row);
		CHECK(found != NULL);
		at = found ? found : at;
	}
	for (const char *c = events; c && (c = strstr(c, "\n- `")); c++)
		rows++;
	CHECK_EQ(rows, EVENT_KIND_COUNT);
	for (size_t i = 0; text && i < EVENT_VALUE_COUNT; i++) {
		char cell[64];

		snprintf(cell, sizeof cell, "`%s`", event_values[i].field);
		CHECK(strstr(text, cell) != NULL);
	}
	free(text);
}

/* Is the field always set, as the message has its value outside of brackets? */
static bool is_always_set(const struct event_info *e, const char *field, size_t len)
{
	char key[64];
	const char *at;
	bool optional = false;

	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++) {
		if (strlen(event_values[i].field) != len ||
		    memcmp(event_values[i].field, field, len) != 0)
			continue;
		snprintf(key, sizeof key, "{%s}", event_values[i].key);
		at = strstr(e->message, key);
		for (const char *c = e->message; at != NULL && c < at; c++)
			optional = *c == '[' || (optional && *c != ']');
		return at != NULL && !optional;
	}
	return false;
}

/* In place of a variable whose field an entry lacks, journalctl shows the name of the field. */
static void check_variables(const struct event_info *e, const char *from, const char *to)
{
	for (const char *c = memchr(from, '@', (size_t)(to - from)); c && c < to;) {
		const char *end = strchr(c + 1, '@');
		bool set;

		CHECK(end != NULL);
		if (end == NULL)
			return;
		set = is_always_set(e, c + 1, (size_t)(end - c - 1));
		if (!set)
			fprintf(stderr, "catalog of %s: %.*s\n", e->name, (int)(end - c + 1), c);
		CHECK(set);
		c = strchr(end + 1, '@');
	}
}

TEST(catalog)
{
	static const char tail[] = "\nDefined-By: vscaled\n";
	char *text = page_read("systemd/vscaled.catalog");
	const char *at = text;
	size_t entries = 0;

	for (const char *c = text; c && (c = strstr(c, "\n-- ")); c++)
		entries++;
	CHECK_EQ(entries, EVENT_KIND_COUNT);
	for (size_t i = 0; at && i < EVENT_KIND_COUNT; i++) {
		const struct event_info *e = &event_table[i];
		char head[256], id[SD_ID128_STRING_MAX];
		const char *found, *subject, *body, *end;

		snprintf(head, sizeof head, "\n-- %s\nSubject: ", sd_id128_to_string(e->id, id));
		found = strstr(at, head);
		if (found == NULL)
			fprintf(stderr, "catalog lacks %s, or out of order:%s", e->name, head);
		CHECK(found != NULL);
		if (found == NULL)
			continue;
		subject = found + strlen(head);
		CHECK(strcspn(subject, "\n") > 5);
		CHECK(strncmp(strchr(subject, '\n'), tail, strlen(tail)) == 0);
		body = strstr(found, "\n\n");
		end = strstr(found + 1, "\n-- ");
		end = end ? end : text + strlen(text);
		CHECK(body && end - body > 20);
		check_variables(e, found, end);
		at = found;
	}
	free(text);
}
