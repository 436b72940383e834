// SPDX-License-Identifier: Apache-2.0
/* A node without cgroup v2. Standalone, the start fails. In a cluster the agent stays up, ready,
 * and reports it: a restart would not help. No limit file and no record is opened. */
#include "agent/loop/unsupported.h"
#include "agent/loop/daemon_state.h"
#include "agent/manage/messages.h"
#include <errno.h>

static const char *const words[CG_MODE_COUNT] = {
	[CG_MODE_V1] = "cgroup-v1",
	[CG_MODE_HYBRID] = "cgroup-hybrid",
};

int unsupported_host(struct daemon *d)
{
	char why[128];
	const char *hint = "boot with systemd.unified_cgroup_hierarchy=1; "
			   "see vscalectl doctor";

	snprintf(why, sizeof why, "this host has cgroup %s, vscaled needs version 2 only",
		 cg_mode_name(d->host.cg.mode));
	if (!config_cluster_wanted(&d->config.kubernetes) || words[d->host.cg.mode] == NULL) {
		message_unsupported(why, hint, 0);
		return -ENOTSUP;
	}
	host_set_unsupported(&d->host, words[d->host.cg.mode]);
	event_tell(EVENT_NODE_UNSUPPORTED, .detail = why, .hint = hint);
	return 0;
}
