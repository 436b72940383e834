// SPDX-License-Identifier: Apache-2.0
#include "agent/config/config_watch.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* The link that a kubelet swaps when a ConfigMap changes. */
#define SWAPPED "..data"

struct config_watch {
	sd_event_source *folder;
	config_watch_fn *fn;
	void *ctx;
};

static int on_change(sd_event_source *, const struct inotify_event *e, void *userdata)
{
	struct config_watch *w = userdata;

	/* Lost events may have been about it. */
	if ((e->mask & IN_Q_OVERFLOW) || (e->len > 0 && strcmp(e->name, SWAPPED) == 0))
		w->fn(w->ctx);
	return 0;
}

int config_watch_new(sd_event *event, const char *file, config_watch_fn *fn, void *ctx,
		     struct config_watch **ret)
{
	OWN(drop_free) char *link = NULL;
	struct config_watch *w;
	const char *slash = strrchr(file, '/');
	int folder = slash != NULL ? (int)(slash - file) + 1 : 0, r;

	if (asprintf(&link, "%.*s" SWAPPED, folder, file) < 0) {
		link = NULL;
		return -ENOMEM;
	}
	if (access(link, F_OK) < 0)
		return -errno;
	link[folder] = '\0';
	w = calloc(1, sizeof *w);
	if (w == NULL)
		return -ENOMEM;
	*w = (struct config_watch){.fn = fn, .ctx = ctx};
	r = sd_event_add_inotify(event, &w->folder, folder > 0 ? link : ".",
				 IN_MOVED_TO | IN_CREATE | IN_ONLYDIR, on_change, w);
	if (r < 0) {
		free(w);
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
	free(w);
}
