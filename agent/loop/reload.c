// SPDX-License-Identifier: Apache-2.0
/* The configuration is read at the start, on SIGHUP, and when a kubelet has replaced it. */
#include "agent/loop/reload.h"
#include "agent/annotation/annotation.h"
#include "agent/config/config_watch.h"
#include "agent/loop/daemon_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "agent/manage/wake.h"
#include "agent/units/units.h"
#include "systemd/notify.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Before the configuration is read, events go where they go by default. */
void log_start(struct daemon *d)
{
	const struct event_log_options o = {
		.target = (enum event_target)d->config.log.target,
		.format = (enum event_format)d->config.log.format,
	};

	event_log_open(&d->log, &o);
	event_log_time(&d->log, d->wake.now, d->wake.now_real);
	event_log_use(&d->log);
}

static void loaded(struct config_source *s, usec_t now_real)
{
	snprintf(s->result, sizeof s->result, "ok");
	s->loaded_real = now_real;
}

int reload_first(struct reload *reload, const char *path)
{
	struct daemon *d = reload->daemon;
	struct config_errors errors = {0};
	int r = annotation_load_config(path, &d->config, &errors);

	reload->source.path = path;
	if (r < 0) {
		message_config_errors(path, &errors, false);
		return -EINVAL;
	}
	loaded(&reload->source, d->wake.now_real);
	return 0;
}

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

void reload_config(struct reload *reload)
{
	struct daemon *d = reload->daemon;
	struct config_errors errors = {0};
	struct config fresh;
	char later[256];
	int r;

	notify_send(NOTIFY_RELOADING, NULL, daemon_clock());
	r = annotation_load_config(reload->source.path, &fresh, &errors);
	if (r < 0) {
		snprintf(reload->source.result, sizeof reload->source.result, "%.*s",
			 (int)sizeof reload->source.result - 1,
			 errors.count > 0 ? errors.text[0] : strerror(-r));
		d->tally.reloads_failed++;
		message_config_errors(reload->source.path, &errors, true);
	} else {
		bool other_log = fresh.log.target != d->config.log.target ||
				 fresh.log.format != d->config.log.format;

		config_keep_restart_only(&fresh, &d->config, later, sizeof later);
		config_free(&d->config);
		d->config = fresh;
		loaded(&reload->source, d->wake.now_real);
		d->tally.reloads++;
		event_tell(EVENT_CONFIG_LOADED, .file = reload->source.path,
			   .count = d->config.unit_count, .detail = later);
		if (other_log)
			log_start(d);
		histories_follow(d);
		units_apply_rules(&d->units);
	}
	notify_send(NOTIFY_READY, NULL, 0);
}

static void on_config_changed(void *ctx)
{
	struct reload *reload = ctx;

	daemon_wake(&reload->daemon->wake);
	reload_config(reload);
}

int reload_watch(struct reload *reload)
{
	int r = config_watch_new(reload->daemon->wake.event, reload->source.path, on_config_changed,
				 reload, &reload->watch);

	return r == -ENOENT ? 0 : inotify_without(&reload->daemon->inotify, r);
}
