// SPDX-License-Identifier: Apache-2.0
/* A configuration that was read again, unit by unit. */
#include "agent/apply/rules.h"
#include "agent/apply/apply.h"
#include "agent/apply/release.h"
#include "agent/apply/start.h"
#include "agent/manage/attach.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/wake.h"
#include "policy/control/control.h"
#include <string.h>

/* A resource that was managed is not managed by the new rule. */
static bool takes_away(const struct policy_rule *old, const struct policy_rule *rule)
{
	if (old->mode == MODE_OFF)
		return false;
	return rule->mode == MODE_OFF || (old->resources & ~rule->resources) != 0;
}

static const char *takes_away_text(const struct managed *m)
{
	if (m->pod == NULL)
		return "the configuration no longer sizes it";
	switch (m->container.rule.rollout) {
	case ROLLOUT_STOPPED:
		return "its rollout was stopped";
	case ROLLOUT_UNSIZED:
		return "it is not in the share of its rollout";
	default:
		return "its annotations no longer size it";
	}
}

void rule_apply(struct managed *m, const struct policy_rule *rule)
{
	struct policy_rule old = m->control.rule;
	bool back = m->state == UNIT_UNMANAGED;

	if (m->control.started_at == 0 || back) {
		release_end(m);
		managed_set_state(m, UNIT_WAITING, m->state_reason);
		managed_reattach(m);
		return;
	}
	if (m->state == UNIT_RESTORED) {
		control_set_rule(&m->control, rule);
		return;
	}
	if (policy_rule_equal(&old, rule))
		return;
	if (m->state == UNIT_GAVE_WAY && !rule->freeze) {
		managed_set_state(m, UNIT_MANAGED, NULL);
		control_end_suspension(&m->control);
		drift_forget_writers(m);
	}
	control_set_rule(&m->control, rule);
	if (rule->mode == MODE_INITIAL && old.mode != MODE_INITIAL)
		control_set_sized(&m->control);
	/* It must not stay below the owner's value. */
	if (old.mode == MODE_AUTO && rule->mode == MODE_INITIAL && m->cgroup.cg != NULL)
		release_put_back(m, RESOURCE_MEMORY, m->control.resource[RESOURCE_MEMORY].original,
				 REASON_RESTORE);
	if (takes_away(&old, rule))
		lifecycle_release(m, takes_away_text(m));
	else if (rule->mode != MODE_OFF && m->cgroup.cg != NULL &&
		 (!m->originals.saved || scope_out_of_reach(m->pid1, m->cgroup.path)))
		managed_reattach(m);
}
