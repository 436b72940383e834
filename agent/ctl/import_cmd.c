// SPDX-License-Identifier: Apache-2.0
/* vscalectl import vpa: history of the Vertical Pod Autoscaler into the node's history file. */
#include "agent/base/file.h"
#include "agent/ctl/render.h"
#include "agent/kube/model/names.h"
#include "agent/kube/model/vpa_export.h"
#include "agent/state/history_file.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define GET_HINT "make it with: kubectl get vpacheckpoints,vpa -A -o json"
/* VPA puts the reference at the midnight nearest to a sample, or for memory to the end of its
 * window, which is a day later; clocks differ. */
#define AHEAD_MAX_USEC USEC_PER_DAY
/* Room for one more record with all buckets used. */
#define RECORD_BYTES (16 * KIB)

enum outcome { OUTCOME_IMPORTED, OUTCOME_KEPT, OUTCOME_REFUSED, OUTCOME_COUNT };

static const char *const outcome_names[OUTCOME_COUNT] = {"imported", "kept", "refused"};

struct import {
	const struct ctl *c;
	struct vpa_export export;
	struct history_store store;
	int lock_fd;
	unsigned counts[OUTCOME_COUNT];
	cJSON *results;
};

static void add_result(struct import *i, enum outcome o, const char *name, const char *detail)
{
	cJSON *object = cJSON_CreateObject();

	i->counts[o]++;
	if (i->c->output == OUTPUT_TABLE)
		fprintf(i->c->out, "%-8s %s: %s\n", outcome_names[o], name, detail);
	cJSON_AddStringToObject(object, "outcome", outcome_names[o]);
	cJSON_AddStringToObject(object, "name", name);
	cJSON_AddStringToObject(object, "detail", detail);
	cJSON_AddItemToArray(i->results, object);
}

/* --- one checkpoint */

/* The workload of its pods; NULL: not known. */
static const char *workload_of(const struct import *i, const struct vpa_target *t)
{
	return t != NULL && t->owns_pods ? t->workload : i->c->workload;
}

/* NULL: it can be used. above: room for the name of a target. */
static const char *fault_of(const struct import *i, const struct vpa_saved *s,
			    const struct vpa_target *t, char *above, size_t size)
{
	usec_t latest = i->c->now_realtime_usec + AHEAD_MAX_USEC;

	if (s->refused != NULL)
		return s->refused;
	if (workload_of(i, t) == NULL && t == NULL)
		return "its VerticalPodAutoscaler, with a targetRef, is not in the input; add it, "
		       "or give --workload";
	if (workload_of(i, t) == NULL) {
		snprintf(
			above, size,
			"%s, which it is for, may be above the owner of the pods; name that owner: "
			"--workload KIND/NAME",
			t->workload);
		return above;
	}
	if (s->history.last_real > latest)
		return "lastSampleStart is in the future; check this host's clock";
	for (int r = 0; r < RESOURCE_COUNT; r++)
		if (s->history.histogram[r].reference_usec >
		    (int64_t)(latest + (r == RESOURCE_MEMORY ? USEC_PER_DAY : 0)))
			return "referenceTimestamp is in the future; check this host's clock";
	return NULL;
}

static void describe(const struct history *h, char *ret, size_t size)
{
	char span[HUMAN_SIZE], memory[HUMAN_SIZE] = "none";
	usec_t proven = h->observed_usec[RESOURCE_MEMORY];

	if (proven != 0)
		human_span(proven, memory);
	snprintf(ret, size, "%s, %llu samples%s; of memory: %s",
		 human_span(h->last_real - h->first_real, span), (unsigned long long)h->samples,
		 histogram_empty(&h->cpu) ? "; of CPU: none" : "", memory);
}

/* What the node knows of shrinks that failed stays. */
static int take(struct import *i, const char *key, const struct vpa_saved *s)
{
	OWN(history_record_drop) struct history_record rec = {0};
	char detail[3 * HUMAN_SIZE + 32];
	int r = history_store_get(&i->store, key, NULL, &rec);
	bool known = r == 0, here = rec.seen_realtime_usec == i->c->now_realtime_usec;

	if (r < 0 && r != -ENOENT)
		return r;
	if (known && (here || !i->c->force) && rec.history.last_real >= s->history.last_real) {
		add_result(i, OUTCOME_KEPT, key,
			   here ? "another checkpoint in the input is as new"
				: "this node's own history is as new; --force replaces it");
		return 0;
	}
	if (!known && (i->store.count >= HISTORY_COUNT_MAX ||
		       i->store.bytes + RECORD_BYTES > HISTORY_BYTES_MAX)) {
		add_result(i, OUTCOME_REFUSED, key,
			   "the history store is full; import fewer namespaces");
		return 0;
	}
	history_drop(&rec.history);
	r = history_vpa_load(&s->history, &i->c->tuning->history, &rec.history);
	if (r < 0)
		return r;
	rec.seen_realtime_usec = i->c->now_realtime_usec;
	r = history_store_put(&i->store, key, &rec);
	if (r < 0)
		return r;
	describe(&rec.history, detail, sizeof detail);
	add_result(i, OUTCOME_IMPORTED, key, detail);
	return 0;
}

static int import_one(struct import *i, const struct vpa_saved *s)
{
	const struct vpa_target *t = vpa_export_target(&i->export, s);
	const char *workload = workload_of(i, t);
	char name[RECORD_NAME_MAX], above[RECORD_NAME_MAX];
	const char *fault = fault_of(i, s, t, above, sizeof above);

	if (fault == NULL) {
		snprintf(name, sizeof name, "%s/%s%s/%s", s->namespace,
			 strchr(workload, '/') == NULL ? "Deployment/" : "", workload,
			 s->container);
		return take(i, name, s);
	}
	snprintf(name, sizeof name, "%s/%s", s->namespace != NULL ? s->namespace : "?",
		 s->name != NULL ? s->name : "?");
	add_result(i, OUTCOME_REFUSED, name, fault);
	return 0;
}

/* --- input and history */

static int read_export(struct import *i)
{
	const struct ctl *c = i->c;
	const char *file = c->argument_count > 0 ? c->arguments[0] : "-";
	OWN(drop_free) char *text = NULL;
	struct kube_decode_error err;
	size_t size;
	int r = ctl_read_file(file, VPA_EXPORT_BYTES_MAX, &text, &size);

	if (r < 0)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r));
	r = vpa_export_decode(text, size, &i->export, &err);
	if (r == -ENOMEM)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r));
	if (r < 0)
		return ctl_fail(c, CTL_ERROR, GET_HINT, "%s: %s", file, err.text);
	if (i->export.saved_count == 0)
		return ctl_fail(c, CTL_ERROR, GET_HINT,
				"%s: there is no VerticalPodAutoscalerCheckpoint in it", file);
	return CTL_OK;
}

/* One name for the checkpoints of two autoscalers would mix workloads. */
static int check_workload(const struct import *i)
{
	const struct ctl *c = i->c;
	const char *vpa = NULL, *name;

	if (c->workload == NULL)
		return CTL_OK;
	name = strchr(c->workload, '/') != NULL ? strchr(c->workload, '/') + 1 : c->workload;
	if (!kube_is_subdomain(name) || (name > c->workload && !isupper(c->workload[0])))
		return ctl_fail(c, CTL_USAGE, NULL, "not a workload's name: %s", c->workload);
	for (size_t k = 0; k < i->export.saved_count; k++) {
		const struct vpa_saved *s = &i->export.saved[k];
		const struct vpa_target *t = vpa_export_target(&i->export, s);

		if (s->refused != NULL || (t != NULL && t->owns_pods))
			continue;
		if (vpa != NULL && strcmp(vpa, s->vpa) != 0)
			return ctl_fail(c, CTL_USAGE, GET_HINT,
					"--workload is for the checkpoints of one autoscaler; "
					"these are of %s and %s",
					vpa, s->vpa);
		vpa = s->vpa;
	}
	return CTL_OK;
}

/* The file stays as it is, also when it is damaged. */
static int read_store(struct import *i)
{
	OWN(drop_free) char *text = NULL;
	OWN(state_file_free) struct state_file f = {0};
	char file[PATH_MAX];
	size_t size;
	int r;

	snprintf(file, sizeof file, "%s/%s", i->c->state_directory, history_state.name);
	r = ctl_read_file(file, HISTORY_BYTES_MAX + 4 * KIB, &text, &size);
	if (r == -ENOENT)
		return CTL_OK;
	if (r == 0)
		r = state_file_parse(&history_state, text, size, &f);
	if (r == 0)
		r = record_lines(f.body, f.len, history_line, &i->store);
	if (r == 0)
		return CTL_OK;
	return ctl_fail(i->c, CTL_ERROR,
			r == -EACCES ? "run vscalectl as root" : "see: vscalectl history --verify",
			"%s: %s", file, strerror(-r));
}

static int save_store(const struct import *i)
{
	OWN(drop_free) char *body = NULL;
	OWN(drop_fd) int dir = -1;
	size_t len;
	int r;

	if (i->c->dry_run || i->counts[OUTCOME_IMPORTED] == 0)
		return CTL_OK;
	dir = open(i->c->state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : history_encode(&i->store, &body, &len);
	if (r == 0)
		r = state_file_save(dir, &history_state, body, len);
	if (r == 0)
		return CTL_OK;
	return ctl_fail(i->c, CTL_ERROR, "nothing was imported", "%s/%s: %s", i->c->state_directory,
			history_state.name, strerror(-r));
}

static int print_sums(struct import *i)
{
	cJSON *object;

	if (i->c->output == OUTPUT_TABLE) {
		fprintf(i->c->out, "%u imported, %u kept, %u refused%s\n",
			i->counts[OUTCOME_IMPORTED], i->counts[OUTCOME_KEPT],
			i->counts[OUTCOME_REFUSED],
			i->c->dry_run ? "; --dry-run: nothing was written" : "");
		return CTL_OK;
	}
	object = cJSON_CreateObject();
	cJSON_AddBoolToObject(object, "dry_run", i->c->dry_run);
	for (int o = 0; o < OUTCOME_COUNT; o++)
		cJSON_AddNumberToObject(object, outcome_names[o], i->counts[o]);
	cJSON_AddItemReferenceToObject(object, "checkpoints", i->results);
	return json_print(i->c, object);
}

static int run_import(struct import *i)
{
	int r = read_export(i), e = 0;

	if (r == CTL_OK)
		r = check_workload(i);
	/* A dry run reads beside the daemon. */
	if (r == CTL_OK && !i->c->dry_run)
		r = ctl_lock(i->c,
			     "stop the daemon, import, and start it again; in a cluster use the "
			     "component import-vpa",
			     &i->lock_fd);
	if (r == CTL_OK)
		r = read_store(i);
	if (r != CTL_OK)
		return r;
	for (size_t k = 0; e == 0 && k < i->export.saved_count; k++)
		e = import_one(i, &i->export.saved[k]);
	if (e < 0)
		return ctl_fail(i->c, CTL_ERROR, "nothing was imported", "%s", strerror(-e));
	r = save_store(i);
	if (r == CTL_OK)
		r = print_sums(i);
	/* One bad checkpoint among others does not keep an agent from its start. */
	return r == CTL_OK && i->counts[OUTCOME_REFUSED] == i->export.saved_count ? CTL_ERROR : r;
}

int ctl_import_vpa(const struct ctl *c)
{
	struct import i = {.c = c, .lock_fd = -1, .results = cJSON_CreateArray()};
	int r = run_import(&i);

	vpa_export_drop(&i.export);
	history_store_free(&i.store);
	drop_fd(&i.lock_fd);
	cJSON_Delete(i.results);
	if (r == CTL_OK || !c->optional)
		return r;
	fflush(c->out);
	fprintf(c->err, "vscalectl: the import is optional: the stored history stays as it is\n");
	return CTL_OK;
}
