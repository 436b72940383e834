// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config_watch.h"
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

/* The link that a kubelet swaps when a ConfigMap or Secret changes. */
#define SWAPPED "..data"
#define CHANGES (IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE)

struct config_watch {
	sd_event *event;
	sd_event_source *folder;
	sd_event_source *timer;
	char *name; /* of the file, in its folder */
	usec_t quiet_usec;
	usec_t burst_since; /* 0: nothing is due */
	config_watch_fn *fn;
	void *ctx;
};

static int on_timer(sd_event_source *, uint64_t, void *userdata)
{
	struct config_watch *w = userdata;

	w->burst_since = 0;
	w->fn(w->ctx);
	return 0;
}

/* Every change delays the report, but not for ever: a timer that is due is not set again. */
static void config_watch_arm(struct config_watch *w)
{
	usec_t now = 0, latest;

	sd_event_now(w->event, CLOCK_MONOTONIC, &now);
	if (w->burst_since == 0)
		w->burst_since = now;
	latest = w->burst_since + MAX(w->quiet_usec, CONFIG_WATCH_MAX_USEC);
	if (now + w->quiet_usec > latest)
		return;
	sd_event_source_set_time(w->timer, now + w->quiet_usec);
	sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

static int on_change(sd_event_source *, const struct inotify_event *e, void *userdata)
{
	struct config_watch *w = userdata;

	/* Lost events may have been about this file. */
	if ((e->mask & IN_Q_OVERFLOW) ||
	    (e->len > 0 && (strcmp(e->name, w->name) == 0 || strcmp(e->name, SWAPPED) == 0)))
		config_watch_arm(w);
	return 0;
}

static int config_watch_start(struct config_watch *w, const char *folder)
{
	int r = sd_event_add_time(w->event, &w->timer, CLOCK_MONOTONIC, 0, 0, on_timer, w);

	if (r >= 0)
		r = sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_inotify(w->event, &w->folder, folder, CHANGES | IN_ONLYDIR,
					 on_change, w);
	return r < 0 ? r : 0;
}

int config_watch_new(sd_event *event, const char *file, usec_t quiet_usec, config_watch_fn *fn,
		     void *ctx, struct config_watch **ret)
{
	OWN(drop_free) char *folder = strdup(file);
	struct config_watch *w = calloc(1, sizeof *w);
	const char *slash = strrchr(file, '/');
	int r = -ENOMEM;

	if (w == NULL)
		return r;
	*w = (struct config_watch){
		.event = sd_event_ref(event),
		.name = strdup(slash != NULL ? slash + 1 : file),
		.quiet_usec = quiet_usec > 0 ? quiet_usec : CONFIG_WATCH_QUIET_USEC,
		.fn = fn,
		.ctx = ctx,
	};
	if (folder != NULL && w->name != NULL) {
		if (slash != NULL)
			folder[MAX(slash - file, 1)] = '\0';
		r = config_watch_start(w, slash != NULL ? folder : ".");
	}
	if (r < 0) {
		config_watch_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void config_watch_free(struct config_watch *w)
{
	if (w == NULL)
		return;
	sd_event_source_disable_unref(w->folder);
	sd_event_source_disable_unref(w->timer);
	sd_event_unref(w->event);
	free(w->name);
	free(w);
}
