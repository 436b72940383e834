// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/inotify.h"
#include "agent/journal/event.h"
#include <errno.h>

/* A node full of containers may have none left. Reviews find the same, later. */
int inotify_without(struct inotify *i, int r)
{
	if (r != -EMFILE && r != -ENFILE && r != -ENOSPC && r != -ENOMEM)
		return r;
	if (!i->incomplete)
		event_tell(EVENT_INOTIFY_MISSING, .error = r);
	i->incomplete = true;
	return 0;
}

int inotify_open(struct inotify *i)
{
	int r = cg_watch_new(&i->watch);

	return r < 0 && i->watch != NULL ? inotify_without(i, r) : r;
}

void inotify_close(struct inotify *i)
{
	cg_watch_free(i->watch);
	i->watch = NULL;
}
