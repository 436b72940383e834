// SPDX-License-Identifier: Apache-2.0
#include "world.h"
#include <time.h>
#include <unistd.h>

/* The checks of check.h are counted per file: a broken fixture ends the program instead. */
#define NEED(expression)                                                                           \
	do {                                                                                       \
		if (!(expression)) {                                                               \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #expression);           \
			exit(EXIT_FAILURE);                                                        \
		}                                                                                  \
	} while (0)

static void maybe_free(struct received *h, const char *here)
{
	if (h->free_in && strcmp(h->free_in, here) == 0) {
		unit_bus_free(h->bus);
		h->bus = NULL;
		h->free_in = NULL;
	}
}

static void on_listed(void *ctx, int error, const struct unit_info *units, size_t count)
{
	struct received *h = ctx;
	size_t used = 0;

	h->listed++;
	h->list_error = error;
	h->count = count;
	h->names[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		used += (size_t)snprintf(h->names + used, sizeof h->names - used, "%s ",
					 units[i].name);
		NEED(used < sizeof h->names);
	}
	if (count > 0) {
		h->first = units[0];
		snprintf(h->first_id, sizeof h->first_id, "%s", units[0].invocation_id);
		snprintf(h->first_state, sizeof h->first_state, "%s", units[0].active_state);
		snprintf(h->first_cgroup, sizeof h->first_cgroup, "%s",
			 units[0].known ? "" : units[0].cgroup);
	}
	maybe_free(h, "listed");
}

static bool on_known(void *ctx, const char *unit)
{
	struct received *h = ctx;

	return h->unknown != NULL && strcmp(unit, h->unknown) != 0;
}

static void on_changed(void *ctx)
{
	struct received *h = ctx;

	h->changed++;
	maybe_free(h, "changed");
}

static void on_reloading(void *ctx, bool active)
{
	struct received *h = ctx;

	active ? h->reload_begin++ : h->reload_end++;
	maybe_free(h, "reloading");
}

static void on_set_done(void *ctx, const char *unit, int error, const struct unit_props *stored,
			usec_t lag)
{
	struct received *h = ctx;

	h->odd += unit == NULL || (error < 0) != (stored == NULL);
	h->sets++;
	h->set_error = error;
	h->set_errors += error < 0;
	h->lag = lag;
	if (stored)
		h->stored = *stored;
	maybe_free(h, "set_done");
}

static void on_got(void *ctx, const char *unit, int error, const struct unit_props *stored)
{
	struct received *h = ctx;

	h->odd += unit == NULL || (error < 0) != (stored == NULL);
	h->gots++;
	h->got_error = error;
	if (stored)
		h->stored = *stored;
	maybe_free(h, "got");
}

static void on_connected(void *ctx)
{
	struct received *h = ctx;

	h->connected++;
	maybe_free(h, "connected");
}

static void on_disconnected(void *ctx, int error)
{
	struct received *h = ctx;

	h->disconnected++;
	h->lost_error = error;
	maybe_free(h, "disconnected");
}

const struct unit_bus_ops world_ops = {
	.listed = on_listed,
	.known = on_known,
	.changed = on_changed,
	.reloading = on_reloading,
	.set_done = on_set_done,
	.got = on_got,
	.connected = on_connected,
	.disconnected = on_disconnected,
};

void open_world_deadline(struct world *w, usec_t deadline_usec)
{
	char path[64];

	*w = (struct world){.dir = "/tmp/unit-bus-XXXXXX"};
	NEED(mkdtemp(w->dir) != NULL);
	snprintf(path, sizeof path, "%s/pid1", w->dir);
	NEED(sd_event_new(&w->event) >= 0);
	NEED(peer_open(&w->peer, w->event, path) >= 0);
	w->options = (struct unit_bus_options){
		.at = {.private_socket = w->peer.path, .system_socket = "/nonexistent/bus"},
		.deadline_usec = deadline_usec,
		.interval_usec = 150 * MS,
		.debounce_usec = 20 * MS,
		.backoff_usec = 10 * MS,
		.backoff_max_usec = 50 * MS,
	};
	NEED(unit_bus_new(w->event, &w->options, &world_ops, &w->received, &w->received.bus) == 0);
}

void open_world(struct world *w)
{
	open_world_deadline(w, 400 * MS);
}

void close_world(struct world *w)
{
	unit_bus_free(w->received.bus);
	peer_close(&w->peer);
	sd_event_unref(w->event);
	NEED(w->received.odd == 0);
	NEED(rmdir(w->dir) == 0);
}

bool wait_for(struct world *w, const unsigned *counter, unsigned want)
{
	usec_t end = now_usec() + 5 * USEC_PER_SEC;

	while (*counter < want && now_usec() < end)
		sd_event_run(w->event, 10 * MS);
	return *counter >= want;
}

void run_for(struct world *w, usec_t usec)
{
	usec_t end = now_usec() + usec;

	while (now_usec() < end)
		sd_event_run(w->event, 5 * MS);
}

const char *const web[2] = {"web*.service", "*.slice"};

int set_mem(struct world *w, const char *unit, uint64_t mem_max, bool urgent)
{
	struct unit_props p = {.mem_max = mem_max};

	return unit_set(w->received.bus, unit, &p, UNIT_PROP_MEM_MAX, urgent);
}
