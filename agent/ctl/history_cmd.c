// SPDX-License-Identifier: Apache-2.0
/* vscalectl history. --verify reads the file itself, whether or not the daemon runs. */
#include "agent/base/time_text.h"
#include "agent/ctl/json.h"
#include "agent/ctl/recorded.h"
#include "agent/state/history_verify.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

/* The header line fits in it. */
#define FILE_MAX (HISTORY_BYTES_MAX + 4 * KIB)
/* A file of random bytes has thousands: all are counted, so many are listed. */
#define FAULTS_LISTED 20

static void add_fault(void *user, const struct history_fault *f)
{
	cJSON *list = user, *object;

	if (cJSON_GetArraySize(list) == FAULTS_LISTED)
		return;
	object = cJSON_CreateObject();
	cJSON_AddNumberToObject(object, "line", (double)f->line);
	cJSON_AddStringToObject(object, "fault", f->what);
	cJSON_AddStringToObject(object, "advice", f->advice);
	if (!cJSON_AddItemToArray(list, object))
		cJSON_Delete(object);
}

static void print_seen(const struct ctl *c, const char *title, const char *key, usec_t seen)
{
	char text[TIME_TEXT_SIZE];

	if (key != NULL)
		fprintf(c->out, "%-8s %s %s\n", title, time_text(seen, 0, text), key);
}

static void print_table(const struct ctl *c, const char *file, const struct history_summary *s,
			const cJSON *faults)
{
	const cJSON *f;

	fprintf(c->out, "file     %s\n", file);
	if (s->version_known)
		fprintf(c->out, "version  %u\n", s->version);
	fprintf(c->out, "size     %zu bytes\n", s->bytes);
	fprintf(c->out, "keys     %zu\n", s->keys);
	print_seen(c, "oldest", s->oldest_key, s->oldest_realtime_usec);
	print_seen(c, "newest", s->newest_key, s->newest_realtime_usec);
	fprintf(c->out, "faults   %zu\n", s->faults);
	cJSON_ArrayForEach (f, faults)
		fprintf(c->out, "%s:%.0f: %s\n  %s\n", file,
			cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(f, "line")),
			json_text(f, "fault"), json_text(f, "advice"));
}

static void add_seen(cJSON *object, const char *name, const char *key, usec_t seen)
{
	cJSON *of;

	if (key == NULL)
		return;
	of = cJSON_AddObjectToObject(object, name);
	cJSON_AddStringToObject(of, "key", key);
	cJSON_AddNumberToObject(of, "seen_realtime_usec", (double)seen);
}

static int print_json(const struct ctl *c, const char *file, const struct history_summary *s,
		      cJSON *faults)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "file", file);
	if (s->version_known)
		cJSON_AddNumberToObject(object, "version", s->version);
	cJSON_AddNumberToObject(object, "bytes", (double)s->bytes);
	cJSON_AddNumberToObject(object, "keys", (double)s->keys);
	add_seen(object, "oldest", s->oldest_key, s->oldest_realtime_usec);
	add_seen(object, "newest", s->newest_key, s->newest_realtime_usec);
	cJSON_AddNumberToObject(object, "fault_count", (double)s->faults);
	cJSON_AddItemReferenceToObject(object, "faults", faults);
	return json_print(c, object);
}

static int verify(const struct ctl *c, const char *file)
{
	OWN(history_summary_drop) struct history_summary s = {0};
	OWN(drop_free) char *text = NULL;
	cJSON *faults;
	size_t size;
	int r = ctl_read_file(file, FILE_MAX, &text, &size);

	if (r == -EFBIG)
		return ctl_fail(c, CTL_ERROR, "it is not a history file of vscaled", "%s: %s", file,
				strerror(-r));
	if (r < 0)
		return ctl_fail(c, CTL_ERROR,
				r == -EACCES   ? "run vscalectl as root"
				: r == -ENOENT ? "the daemon writes it every clocks.stateInterval "
						 "and at its end; --state-directory names its "
						 "folder"
					       : NULL,
				"%s: %s", file, strerror(-r));
	faults = cJSON_CreateArray();
	r = history_verify(text, size, add_fault, faults, &s);
	if (r < 0)
		r = ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r));
	else if (c->output == OUTPUT_TABLE)
		print_table(c, file, &s, faults);
	else
		r = print_json(c, file, &s, faults);
	cJSON_Delete(faults);
	return r == CTL_OK && s.faults > 0 ? CTL_ERROR : r;
}

int ctl_history(const struct ctl *c)
{
	char file[PATH_MAX];

	if (!c->verify && c->argument_count == 0)
		return ctl_fail(c, CTL_USAGE, "see: vscalectl help",
				"history needs the name of a unit or container, or --verify");
	if (!c->verify)
		return history_chart(c, c->arguments[0]);
	if (c->argument_count > 0)
		return verify(c, c->arguments[0]);
	snprintf(file, sizeof file, "%s/%s", c->state_directory, history_state.name);
	return verify(c, file);
}
