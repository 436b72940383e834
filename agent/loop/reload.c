// SPDX-License-Identifier: Apache-2.0
/* A configuration that is read again: on SIGHUP, and when its file was replaced. */
#include "agent/loop/reload.h"
#include "agent/config/config_watch.h"
#include "agent/loop/loop.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/wake.h"
#include "agent/units/units.h"
#include "systemd/notify.h"
#include <errno.h>
#include <string.h>

/* Another half life: every live history is read again under it. */
static void histories_follow(struct daemon *d)
{
	for (size_t i = 0; i < d->units.count; i++) {
		struct managed *m = d->units.items[i];

		if (m->control.history.samples == 0 ||
		    (usec_t)m->control.history.cpu.half_life_usec ==
			    d->config.tuning.history.half_life_usec)
			continue;
		persist_keep_history(m);
		persist_adopt_history(m);
	}
}

void loop_reload(struct loop *l)
{
	struct daemon *d = &l->daemon;
	struct config_errors errors = {0};
	struct config fresh;
	char later[256];
	int r;

	notify_send(NOTIFY_RELOADING, NULL, daemon_clock());
	r = config_load_file(l->source.path, &fresh, &errors);
	if (r < 0) {
		config_source_failed(&l->source, errors.count > 0 ? errors.text[0] : strerror(-r));
		counters_reloaded(&d->tally, false);
		message_config_errors(l->source.path, &errors, true);
	} else {
		bool other_log = fresh.log.target != d->config.log.target ||
				 fresh.log.format != d->config.log.format;

		config_keep_restart_only(&fresh, &d->config, later, sizeof later);
		config_replace(&d->config, &fresh);
		config_source_loaded(&l->source, d->wake.now_real);
		counters_reloaded(&d->tally, true);
		event_config_loaded(&(struct daemon_event){
			.file = l->source.path, .count = d->config.unit_count, .detail = later});
		if (other_log)
			loop_log_start(l);
		histories_follow(d);
		units_apply_rules(&d->units);
	}
	notify_send(NOTIFY_READY, NULL, 0);
}

static void on_config_changed(void *ctx)
{
	struct loop *l = ctx;

	daemon_wake(&l->daemon.wake);
	loop_reload(l);
}

int loop_watch_config(struct loop *l)
{
	int r = config_watch_new(l->daemon.wake.event, l->source.path, 0, on_config_changed, l,
				 &l->config_watch);

	return r == -ENOENT ? 0 : inotify_without(&l->daemon.inotify, r);
}
