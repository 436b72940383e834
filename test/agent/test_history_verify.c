// SPDX-License-Identifier: Apache-2.0
/* vscalectl history --verify: what it says of whole and damaged files; and the format
 * of the history is that of test/agent/history. */
#include "agent/ctl/ctl.h"
#include "agent/state/history_file.h"
#include "test/check.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define GOLDEN "test/agent/history/version-2"
#define START  (1700000000 * USEC_PER_SEC)

static char folder[] = "/tmp/vscaled-verify-XXXXXX";
static char *out_text, *err_text;

static int run(const char *file, enum ctl_output output)
{
	char *argv[] = {
		"vscalectl", "history", "--verify", "-o", output == OUTPUT_JSON ? "json" : "table",
		(char *)file};
	size_t out_size, err_size;
	struct ctl c;
	int r;

	free(out_text);
	free(err_text);
	ctl_default(&c, ctl_commands);
	c.config = "/nonexistent";
	c.state_directory = folder;
	c.out = open_memstream(&out_text, &out_size);
	c.err = open_memstream(&err_text, &err_size);
	r = ctl_main(&c, file != NULL ? 6 : 5, argv);
	fclose(c.out);
	fclose(c.err);
	return r;
}

static bool says(const char *text)
{
	bool found = strstr(out_text, text) != NULL;

	if (!found)
		fprintf(stderr, "not \"%s\" in:\n%s", text, out_text);
	return found;
}

static void put(struct history_store *s, const char *key, usec_t seen)
{
	const struct tuning_history *t = &tuning_default.history;
	OWN(history_record_drop) struct history_record r = {.seen_realtime_usec = seen};
	struct cpu_rates rates = {
		.span_usec = USEC_PER_MIN, .active_usec = 20 * USEC_PER_SEC, .demand_milli = 700};

	history_init(&r.history, t);
	history_add_cpu(&r.history, &rates, seen);
	history_add_memory(&r.history, t, 300 * MIB, false, seen);
	history_add_memory(&r.history, t, 400 * MIB, true, seen);
	CHECK_EQ(history_store_put(s, key, &r), 0);
}

static char *body_of_two(size_t *ret_len)
{
	OWN(history_store_free) struct history_store s = {0};
	char *text = NULL;

	put(&s, "default/web/app", START);
	put(&s, "unit:cron.service", START + USEC_PER_HOUR);
	CHECK_EQ(history_encode(&s, &text, ret_len), 0);
	return text;
}

static void save(uint32_t version, const char *body, size_t len)
{
	const struct state_kind kind = {history_state.name, version, HISTORY_BYTES_MAX};
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_EQ(state_file_save(dir, &kind, body, len), 0);
	close(dir);
}

static void change_byte(long at, char to)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "%s/history", folder);
	f = fopen(path, "r+e");
	CHECK(f != NULL && fseek(f, at, at < 0 ? SEEK_END : SEEK_SET) == 0 && fputc(to, f) == to);
	fclose(f);
}

TEST(whole)
{
	OWN(drop_free) char *body = NULL;
	cJSON *json;
	size_t len;

	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_ERROR);
	CHECK(strstr(err_text, "/history: No such file or directory\n") != NULL);
	body = body_of_two(&len);
	save(history_state.version, body, len);
	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_OK);
	CHECK(says("version  2\n") && says("keys     2\n") && says("faults   0\n"));
	CHECK(says("oldest   2023-11-14T22:13:20Z default/web/app\n"));
	CHECK(says("newest   2023-11-14T23:13:20Z unit:cron.service\n"));
	CHECK_EQ(run(NULL, OUTPUT_JSON), CTL_OK);
	json = cJSON_Parse(out_text);
	CHECK_EQ((int)cJSON_GetNumberValue(cJSON_GetObjectItem(json, "keys")), 2);
	CHECK_EQ(cJSON_GetArraySize(cJSON_GetObjectItem(json, "faults")), 0);
	cJSON_Delete(json);
	CHECK(says("\"seen_realtime_usec\":\t1700000000000000\n"));
	save(history_state.version, "", 0);
	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_OK);
	CHECK(says("keys     0\n"));
}

/* The place of each fault, and what to do; a whole line next to it still counts. */
TEST(damaged)
{
	OWN(drop_free) char *body = NULL, *twice = NULL;
	cJSON *json;
	size_t len;

	body = body_of_two(&len);
	save(history_state.version, body, len);
	change_byte(-1, 'x');
	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_ERROR);
	CHECK(says("keys     1\n") && says("faults   2\n"));
	CHECK(says("/history:1: length or checksum are not those of the content\n  restore"));
	CHECK(says("/history:3: the file ends within this line\n"));
	CHECK_EQ(run(NULL, OUTPUT_JSON), CTL_ERROR);
	json = cJSON_Parse(out_text);
	CHECK_EQ((int)cJSON_GetNumberValue(cJSON_GetObjectItem(json, "fault_count")), 2);
	cJSON_Delete(json);
	/* The checksum is right, and the content is not. */
	memcpy(body, "kex", 3);
	save(history_state.version, body, len);
	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_ERROR);
	CHECK(says("faults   1\n") && says("/history:2: not a record of the history\n"));
	memcpy(body, "key", 3);
	CHECK(asprintf(&twice, "%s%s", body, body) > 0);
	save(history_state.version, twice, 2 * len);
	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_ERROR);
	CHECK(says("/history:4: its key is not after that of the line before\n"));
	change_byte(0, 'x');
	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_ERROR);
	CHECK(says("/history:1: not the header of a history file\n") && says("keys     0\n"));
	CHECK_EQ(run("test/agent/history", OUTPUT_TABLE), CTL_ERROR);
	CHECK(strstr(err_text, "Is a directory") != NULL);
}

/* Another vscaled wrote it: this one begins with an empty history, the file stays. */
TEST(another_version)
{
	OWN(history_store_free) struct history_store s = {0};
	char aside[STATE_ASIDE_MAX], path[128];
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	save(history_state.version + 1, "whatever\n", 9);
	CHECK_EQ(run(NULL, OUTPUT_TABLE), CTL_ERROR);
	CHECK(says("/history:1: written by another version of vscaled\n") && says("version  3\n"));
	CHECK_EQ(history_load(dir, aside, &s), -EPROTONOSUPPORT);
	CHECK_EQ(s.count, 0);
	CHECK_STR(aside, "history.version-1");
	snprintf(path, sizeof path, "%s/%s", folder, aside);
	CHECK_EQ(run(path, OUTPUT_TABLE), CTL_ERROR);
	CHECK(says("written by another version"));
	CHECK_EQ(unlinkat(dir, aside, 0), 0);
	close(dir);
}

/* To the byte what was written then: keys, weights, the recommendation. */
TEST(format)
{
	const struct tuning_history *t = &tuning_default.history;
	OWN(history_store_free) struct history_store s = {0};
	OWN(history_record_drop) struct history_record r = {0};
	OWN(state_file_free) struct state_file f = {0};
	OWN(drop_free) char *text = NULL;
	struct recommendation want;
	size_t len;

	CHECK_EQ(run(GOLDEN, OUTPUT_TABLE), CTL_OK);
	CHECK(says("version  2\n") && says("keys     2\n"));
	CHECK_EQ(ctl_read_file(GOLDEN, MIB, &text, &len), 0);
	CHECK_EQ(state_file_parse(&history_state, text, len, &f), 0);
	CHECK_EQ(record_lines(f.body, f.len, history_line, &s), 0);
	CHECK_EQ(history_store_get(&s, "default/web/app", t, &r), 0);
	CHECK_EQ(r.seen_realtime_usec, START);
	CHECK_EQ(r.history.samples, 1);
	CHECK_EQ(r.history.window_oom, 400 * MIB);
	history_recommend(&r.history, t, 1, &want);
	CHECK(want.resource[RESOURCE_CPU].peak >= 700 && want.resource[RESOURCE_CPU].peak < 900);
	CHECK(want.resource[RESOURCE_MEMORY].target >= 400 * MIB);
	CHECK_EQ(r.history.observed_usec[RESOURCE_CPU], USEC_PER_MIN);
	CHECK_EQ(r.history.observed_usec[RESOURCE_MEMORY], 0);
	/* Saved beside one of this version. */
	put(&s, "unit:a.service", START);
	free(STEAL(text));
	CHECK_EQ(history_encode(&s, &text, &len), 0);
	history_store_free(&s);
	CHECK_EQ(record_lines(text, len, history_line, &s), 0);
	CHECK_EQ(s.count, 3);
}

int main(void)
{
	char path[64];

	CHECK(mkdtemp(folder) != NULL);
	check_run();
	snprintf(path, sizeof path, "%s/history", folder);
	unlink(path);
	CHECK_EQ(rmdir(folder), 0);
	free(out_text);
	free(err_text);
	return check_result();
}
