// SPDX-License-Identifier: Apache-2.0
/* A node without cgroup v2. Standalone, the start fails. In a cluster the agent stays up, ready,
 * and reports it: a restart would not help. No limit file and no record is opened. */
#include "agent/loop/unsupported.h"
#include "agent/cluster/cluster.h"
#include "agent/loop/folders.h"
#include "agent/loop/loop.h"
#include "agent/manage/messages.h"
#include <errno.h>

/* As sd-event wakes; the API server's own timers are not bound to it. */
#define CHECK_USEC USEC_PER_SEC

static const char *const words[CG_MODE_COUNT] = {
	[CG_MODE_V1] = "cgroup-v1",
	[CG_MODE_HYBRID] = "cgroup-hybrid",
};

int unsupported_host(struct loop *l)
{
	struct daemon *d = &l->daemon;
	char why[128];
	const char *hint = "boot with systemd.unified_cgroup_hierarchy=1; "
			   "`vscalectl doctor` tells more";

	snprintf(why, sizeof why, "this host has cgroup %s, vscaled needs version 2 alone",
		 cg_mode_name(d->host.cg.mode));
	if (!config_cluster_wanted(&d->config.kubernetes) || words[d->host.cg.mode] == NULL) {
		message_unsupported(why, hint, 0);
		return -ENOTSUP;
	}
	host_set_unsupported(&d->host, words[d->host.cg.mode]);
	event_node_unsupported(&(struct daemon_event){.detail = why, .hint = hint});
	return 0;
}

bool unsupported_tick(struct loop *l)
{
	bool review;

	if (l->daemon.host.unsupported == NULL)
		return false;
	review = loop_review_due(l);
	if (review)
		folders_check(l);
	if (l->cluster != NULL)
		cluster_tick(l->cluster, review);
	return true;
}

static int on_check(sd_event_source *s, uint64_t due, void *userdata)
{
	loop_tick(userdata);
	sd_event_source_set_time(s, due + CHECK_USEC);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

int unsupported_start(struct loop *l)
{
	const struct daemon *d = &l->daemon;
	int r = sd_event_add_time(d->wake.event, &l->timer.source, CLOCK_BOOTTIME, d->wake.now, 0,
				  on_check, l);

	return loop_part(r) < 0 ? r : loop_serve(l);
}
