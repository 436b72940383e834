// SPDX-License-Identifier: Apache-2.0
#include "agent/pod/ask.h"
#include "agent/manage/managed.h"
#include "agent/pod/cluster.h"
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 384

#define RETRY_USEC USEC_PER_MIN
/* A role may be on its way until then; afterwards it is asked for this seldom. */
#define DOUBT_USEC  (5 * USEC_PER_MIN)
#define DENIED_USEC (10 * USEC_PER_MIN)

/* --- the table --- */

struct ask *ask_find(const struct ask_table *t, const char *key)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->items[i]->key, key) == 0)
			return t->items[i];
	return NULL;
}

static void drop(struct ask *a)
{
	if (a->call != NULL)
		a->table->port->cancel(a->table->port->ctx, a->call);
	if (a->table->kind->drop != NULL)
		a->table->kind->drop(a);
	free(a->key);
	free(a);
}

static struct ask *add(struct ask_table *t, const char *key)
{
	struct ask *a = calloc(1, t->kind->bytes);
	void *grown = reallocarray(t->items, t->count + 1, sizeof(struct ask *));

	if (grown != NULL)
		t->items = grown;
	if (a == NULL || grown == NULL || (a->key = strdup(key)) == NULL) {
		free(a);
		return NULL;
	}
	a->table = t;
	t->items[t->count++] = a;
	return a;
}

struct ask *ask_use(struct ask_table *t, const char *key, usec_t wait_max)
{
	struct cluster *c = t->cluster;
	struct ask *a = ask_find(t, key);

	if (a == NULL) {
		a = add(t, key);
		if (a != NULL && wait_max != 0)
			a->ask_at = c->wake->now + random_next(&c->random) % wait_max;
	}
	if (a != NULL)
		a->used = true;
	return a;
}

void ask_free(struct ask_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		drop(t->items[i]);
	free(t->items);
	t->items = NULL;
	t->count = 0;
}

/* A call that is under way ends first. */
static void forget_unused(struct ask_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		t->items[i]->used = false;
	t->kind->mark(t);
	for (size_t i = t->count; i-- > 0;)
		if (!t->items[i]->used && t->items[i]->call == NULL) {
			drop(t->items[i]);
			t->items[i] = t->items[--t->count];
		}
}

/* --- questions --- */

static void send(struct ask *a)
{
	const struct ask_kind *kind = a->table->kind;
	char path[PATH_BYTES];

	if (kind->send != NULL) {
		kind->send(a);
		return;
	}
	/* Namespaces and nodes are DNS names, checked by the decoder: nothing to escape. */
	snprintf(path, sizeof path, "%s%s%s", kind->path, a->key, kind->path_end);
	(void)ask_send(a, path);
}

static bool is_due(const struct ask *a)
{
	const struct cluster *c = a->table->cluster;

	return a->call == NULL && a->ask_at <= c->wake->now &&
	       (a->table->kind->elsewhere ||
		(c->watch != NULL && kube_watch_state(c->watch)->healthy));
}

void ask_first(struct ask_table *t)
{
	size_t calls = 0;

	for (size_t i = 0; i < t->count; i++)
		calls += t->items[i]->call != NULL;
	for (size_t i = 0; i < t->count && calls < t->kind->first_max; i++) {
		if (t->items[i]->known || !is_due(t->items[i]))
			continue;
		send(t->items[i]);
		calls += t->items[i]->call != NULL;
	}
}

void ask_tick(struct ask_table *t)
{
	struct ask *next = NULL;

	forget_unused(t);
	ask_first(t);
	for (size_t i = 0; i < t->count; i++) {
		struct ask *a = t->items[i];

		if (a->call != NULL)
			return;
		if (is_due(a) && (next == NULL || a->ask_at < next->ask_at))
			next = a;
	}
	if (next != NULL)
		send(next);
}

/* --- answers --- */

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct ask *a = arg;

	a->call = NULL;
	daemon_wake(a->table->cluster->wake);
	a->table->kind->answered(a, answer);
}

int ask_send(struct ask *a, const char *path)
{
	const struct kube_port *port = a->table->port;
	struct kube_request request = a->table->kind->request;
	int r;

	request.method = "GET";
	request.path = path;
	r = port->start(port->ctx, &request, on_answer, a, &a->call);
	if (r < 0)
		a->ask_at = a->table->cluster->wake->now + RETRY_USEC;
	return r;
}

void ask_known(struct ask *a)
{
	a->ask_at = add_sat(a->table->cluster->wake->now, a->table->kind->fresh_usec);
	a->denied_since = 0;
	a->known = true;
}

void ask_again(struct ask *a, const struct kube_answer *answer)
{
	a->ask_at = a->table->cluster->wake->now + MAX(answer->retry_after_usec, RETRY_USEC);
}

bool ask_answered(struct ask *a, const struct kube_answer *answer, bool of_use)
{
	bool denied = answer->error == 0 && (answer->status == 403 || answer->status == 404);
	struct ask_table *t = a->table;
	usec_t now = t->cluster->wake->now;
	bool before = a->known;

	if (of_use) {
		ask_known(a);
		return true;
	}
	ask_again(a, answer);
	a->denied_since = denied ? (a->denied_since != 0 ? a->denied_since : now) : 0;
	if (!denied || now - a->denied_since < DOUBT_USEC)
		return false;
	a->ask_at = now + DENIED_USEC;
	a->known = true;
	if (!t->denied)
		event_tell(t->kind->event, .detail = t->kind->detail);
	t->denied = true;
	return !before;
}
