// SPDX-License-Identifier: Apache-2.0
/* restore and lift: over the socket while the daemon runs, else by this program itself. */
#include "agent/base/file.h"
#include "agent/ctl/client.h"
#include "agent/ctl/render.h"
#include "agent/restore/restore.h"
#include "cgroup/discover.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A container is created for 10 s at most (UNIT_CREATING_USEC), as far as the daemon waits. */
#define PENDING_TRIES    24
#define PENDING_TRY_USEC (500 * USEC_PER_MSEC)

/* What a restore without the daemon holds open. */
struct by_hand {
	int lock_fd;
	int state;
	int root;
	struct baseline_set set;
	struct restore_systemd systemd;
	struct restore restore;
};

struct summary {
	const struct ctl *c;
	cJSON *results; /* one for each name */
};

static void by_hand_close(struct by_hand *h)
{
	drop_fd(&h->root);
	drop_fd(&h->state);
	drop_fd(&h->lock_fd);
	baseline_set_free(&h->set);
}

static int open_root(const struct ctl *c, int *ret)
{
	struct cg_host host;
	int r = cg_discover(c->cgroup_root, c->trust_cgroup_root, &host);

	if (r < 0)
		return ctl_fail(c, CTL_ERROR, "see: vscalectl doctor",
				"no cgroup tree was found: %s", strerror(-r));
	if (host.mode != CG_MODE_UNIFIED)
		return ctl_fail(c, CTL_ERROR, "see: vscalectl doctor",
				"this host's cgroups are in mode %s, which vscaled never manages",
				cg_mode_name(host.mode));
	*ret = open(host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret < 0)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", host.mount, strerror(errno));
	return CTL_OK;
}

/* CTL_OK with an empty set: nothing was ever saved. */
static int open_baselines(const struct ctl *c, struct by_hand *h)
{
	char aside[STATE_ASIDE_MAX];
	int r;

	h->state = open(c->state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->state < 0 && errno == ENOENT)
		return CTL_OK;
	if (h->state < 0)
		return ctl_fail(c, CTL_ERROR,
				"run vscalectl as root, or name the place with --state-directory",
				"%s: %s", c->state_directory, strerror(errno));
	r = baseline_load(h->state, aside, &h->set);
	if (r == -ENOENT || r == 0)
		return CTL_OK;
	if (aside[0])
		return ctl_fail(c, CTL_ERROR,
				"the original values are lost; the damaged file is kept",
				"the saved values are damaged: %s/%s", c->state_directory, aside);
	return ctl_fail(c, CTL_ERROR, NULL, "the saved values cannot be read: %s", strerror(-r));
}

/* The lock and folders; the tree itself only when there is something to do in it. */
static int by_hand_open(const struct ctl *c, struct by_hand *h)
{
	int r;

	*h = (struct by_hand){.lock_fd = -1, .state = -1, .root = -1};
	r = ctl_lock(c,
		     "the daemon is starting or stopping, or listens at another socket (--socket)",
		     &h->lock_fd);
	if (r == CTL_OK)
		r = open_baselines(c, h);
	if (r != CTL_OK || h->set.count == 0)
		return r;
	if (restore_systemd_init(&h->systemd, c->root) < 0)
		return ctl_fail(c, CTL_ERROR, NULL, "the root is too long");
	r = open_root(c, &h->root);
	h->restore = (struct restore){
		.root = h->root,
		.units = c->units ? c->units : &h->systemd.units,
		.margin_permille = c->tuning->memory.margin_permille,
		.margin_min_bytes = c->tuning->memory.margin_min_bytes,
		.force = c->force,
		.spec_stays = true,
		.reclaim = true,
	};
	return r;
}

static cJSON *find_name(const cJSON *list, const char *name)
{
	cJSON *object;

	cJSON_ArrayForEach (object, list)
		if (strcmp(json_text(object, "unit"), name) == 0)
			return object;
	return NULL;
}

static unsigned count_of(const struct summary *s, enum restore_outcome outcome)
{
	const cJSON *object;
	unsigned count = 0;

	cJSON_ArrayForEach (object, s->results)
		count += strcmp(json_text(object, "outcome"), restore_outcome_names[outcome]) == 0;
	return count;
}

/* A later outcome of the same name replaces the earlier; the table shows both if they differ. */
static void add_result(struct summary *s, const char *unit, const char *outcome, const char *detail)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *earlier = find_name(s->results, unit);

	if (s->c->output == OUTPUT_TABLE &&
	    (earlier == NULL || strcmp(json_text(earlier, "outcome"), outcome) != 0))
		fprintf(s->c->out, "%-9s %s%s%s\n", outcome, unit, detail[0] ? ": " : "", detail);
	cJSON_AddStringToObject(object, "unit", unit);
	cJSON_AddStringToObject(object, "outcome", outcome);
	cJSON_AddStringToObject(object, "detail", detail);
	if (earlier != NULL)
		cJSON_ReplaceItemViaPointer(s->results, earlier, object);
	else
		cJSON_AddItemToArray(s->results, object);
}

static void each_result(void *arg, const struct restore_result *r)
{
	add_result(arg, r->unit, restore_outcome_names[r->outcome], r->detail);
}

/* The table is printed line by line as the outcomes come. */
static int print_results(const struct summary *s)
{
	const struct ctl *c = s->c;
	cJSON *object;

	if (c->output == OUTPUT_TABLE) {
		if (cJSON_GetArraySize(s->results) == 0)
			fprintf(c->out, "nothing to restore\n");
		return CTL_OK;
	}
	object = cJSON_CreateObject();
	cJSON_AddItemReferenceToObject(object, "results", s->results);
	return json_print(c, object);
}

/* The exit status that the outcomes give. */
static int result_exit(const struct summary *s)
{
	unsigned failed = count_of(s, RESTORE_FAILED), pending = count_of(s, RESTORE_PENDING);
	unsigned left = count_of(s, RESTORE_LEFT);
	const struct ctl *c = s->c;

	if (failed > 0)
		return ctl_fail(c, CTL_ERROR, "the records of these are kept: run restore again",
				"%u of them could not be restored", failed);
	if (pending > 0)
		return ctl_fail(c, CTL_TRY_LATER, "try again in some seconds",
				"%u of them could not be restored yet", pending);
	if (left > 0)
		return ctl_fail(c, CTL_TRY_LATER,
				"try again when they use less, or restart them; --force writes "
				"these values anyway, and the kernel may kill",
				"%u of them use more memory than they had originally", left);
	return CTL_OK;
}

/* name NULL: everything. What is pending is added to that array. *ret_answered (may be NULL): the
 * answer has an outcome of the name itself. */
static int ask_once(const struct ctl *c, const char *name, struct summary *s, cJSON *pending,
		    bool *ret_answered)
{
	cJSON *body = cJSON_CreateObject();
	cJSON *answer = NULL, *results;
	int r;

	if (name == NULL)
		cJSON_AddTrueToObject(body, "all");
	else
		cJSON_AddStringToObject(body, "name", name);
	cJSON_AddBoolToObject(body, "force", c->force);
	r = client_call(c, "/v1/restore", body, &answer);
	results = cJSON_GetObjectItemCaseSensitive(answer, "results");
	if (ret_answered != NULL)
		*ret_answered = find_name(results, name) != NULL;
	while (cJSON_GetArraySize(results) > 0) {
		cJSON *result = cJSON_DetachItemFromArray(results, 0);
		const char *detail = json_text(result, "detail");
		const char *outcome = json_text(result, "outcome");

		if (strcmp(outcome, restore_outcome_names[RESTORE_PENDING]) == 0) {
			cJSON_AddItemToArray(pending, result);
			continue;
		}
		add_result(s, json_text(result, "unit"), outcome,
			   strcmp(detail, "-") == 0 ? "" : detail);
		cJSON_Delete(result);
	}
	cJSON_Delete(answer);
	cJSON_Delete(body);
	return r;
}

/* A pod that is deleted meanwhile has no record any more, or the last answer has nothing of it. */
static int ask_by_name(const struct ctl *c, const char *name, struct summary *s, cJSON *pending)
{
	struct ctl asking = *c;
	bool answered = false;
	int r;

	asking.missing_ok = true;
	r = ask_once(&asking, name, s, pending, &answered);
	if (r == CTL_NOT_MANAGED || (r == CTL_OK && !answered)) {
		add_result(s, name, restore_outcome_names[RESTORE_GONE], "");
		r = CTL_OK;
	}
	return r;
}

static bool has_container(const cJSON *names, const char *pod)
{
	size_t length = strlen(pod);
	const cJSON *object;

	cJSON_ArrayForEach (object, names) {
		const char *name = json_text(object, "unit");

		if (strncmp(name, pod, length) == 0 && name[length] == '/')
			return true;
	}
	return false;
}

/* Asks for each that is pending by its name; for a pod once no container of it is pending, because
 * that restores all of them again. After an error the rest stays pending. */
static int ask_again(const struct ctl *c, struct summary *s, cJSON **pending)
{
	cJSON *names = *pending;
	int r = CTL_OK;

	*pending = cJSON_CreateArray();
	while (cJSON_GetArraySize(names) > 0) {
		cJSON *object = cJSON_DetachItemFromArray(names, 0);
		const char *name = json_text(object, "unit");
		bool later =
			r != CTL_OK || has_container(names, name) || has_container(*pending, name);

		if (!later)
			r = ask_by_name(c, name, s, *pending);
		if (later || r != CTL_OK)
			cJSON_AddItemToArray(*pending, object);
		else
			cJSON_Delete(object);
	}
	cJSON_Delete(names);
	return r;
}

static void say_waiting(const struct ctl *c, const cJSON *pending)
{
	const cJSON *object;

	cJSON_ArrayForEach (object, pending)
		fprintf(c->err, "waiting for %s: %s\n", json_text(object, "unit"),
			json_text(object, "detail"));
}

static int restore_by_socket(const struct ctl *c, struct summary *s)
{
	cJSON *pending = cJSON_CreateArray();
	const cJSON *object;
	int r = ask_once(c, c->all ? NULL : c->arguments[0], s, pending, NULL);

	say_waiting(c, pending);
	for (int i = 0; r == CTL_OK && cJSON_GetArraySize(pending) > 0 && i < PENDING_TRIES; i++) {
		usleep(PENDING_TRY_USEC);
		r = ask_again(c, s, &pending);
	}
	cJSON_ArrayForEach (object, pending)
		add_result(s, json_text(object, "unit"), json_text(object, "outcome"),
			   json_text(object, "detail"));
	cJSON_Delete(pending);
	return r;
}

static int restore_by_hand(const struct ctl *c, struct summary *s)
{
	const char *name = c->all ? NULL : c->arguments[0];
	struct by_hand h;
	int r = by_hand_open(c, &h);

	if (r == CTL_OK && h.set.count == 0 && name)
		r = ctl_fail(c, CTL_NOT_MANAGED, NULL, "%s has no saved values: nothing to restore",
			     name);
	if (r == CTL_OK && h.set.count > 0) {
		int e = restore_set(&h.restore, &h.set, name, each_result, s);
		int saved = e < 0 ? 0 : baseline_save(h.state, &h.set);

		if (e == -ENOENT)
			r = ctl_fail(c, CTL_NOT_MANAGED, NULL,
				     "%s has no saved values: nothing to restore", name);
		else if (e < 0)
			r = ctl_fail(c, CTL_ERROR, NULL, "%s", strerror(-e));
		else if (saved < 0)
			r = ctl_fail(c, CTL_ERROR, "run restore again; it does no harm",
				     "the record could not be updated: %s", strerror(-saved));
	}
	by_hand_close(&h);
	return r;
}

int ctl_restore(const struct ctl *c)
{
	struct summary s = {.c = c};
	int r, printed;

	if (c->all == (c->argument_count > 0))
		return ctl_fail(c, CTL_USAGE, NULL,
				"give a name (a unit, NAMESPACE/POD or "
				"NAMESPACE/POD/CONTAINER), or --all");
	s.results = cJSON_CreateArray();
	if (client_no_daemon(client_probe(c->socket)))
		r = restore_by_hand(c, &s);
	else
		r = restore_by_socket(c, &s);
	/* What is done is printed after an error too. */
	if (r == CTL_OK || cJSON_GetArraySize(s.results) > 0) {
		printed = print_results(&s);
		r = r == CTL_OK ? printed : r;
	}
	if (r == CTL_OK)
		r = result_exit(&s);
	cJSON_Delete(s.results);
	return r;
}

int ctl_lift(const struct ctl *c)
{
	struct by_hand h;
	int r, e;

	if (access(c->state_directory, F_OK) < 0 && errno == ENOENT)
		return CTL_OK;
	r = by_hand_open(c, &h);
	if (r == CTL_OK && h.set.count > 0) {
		e = restore_lift(&h.restore, &h.set);
		if (e > 0)
			e = baseline_save(h.state, &h.set);
		if (e < 0)
			r = ctl_fail(c, CTL_ERROR, NULL, "memory.high could not be lifted: %s",
				     strerror(-e));
	}
	by_hand_close(&h);
	return r;
}
