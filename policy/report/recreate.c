// SPDX-License-Identifier: Apache-2.0
#include "policy/report/recreate.h"

const char *const recreate_texts[RECREATE_ANSWER_COUNT] = {
	[RECREATE_EVICT] = "to be evicted",
	[RECREATE_NOT_WANTED] = "its mode is not InPlaceOrRecreate",
	[RECREATE_NOT_NEEDED] = "it is sized in place",
	[RECREATE_NOT_REPLICATED] = "its controller starts no other pod in its place",
	[RECREATE_NO_LABELS] = "it has no labels that are those of its whole workload",
	[RECREATE_NODE_WAITS] = "another pod of this node was evicted less than 10 min ago",
	[RECREATE_REFUSED] = "the API server has refused the eviction",
	[RECREATE_ALONE] = "no other pod of its workload is ready",
	[RECREATE_YOUNG] = "a pod of its workload is less than an hour old",
	[RECREATE_LEASED] = "another pod of its workload was to be evicted less than an hour ago",
};

static bool lasts(usec_t since, usec_t now)
{
	return since != 0 && now - since >= RECREATE_AFTER_USEC;
}

const char *recreate_why(const struct recreate_pod *p, usec_t now)
{
	return lasts(p->infeasible_since, now)
		       ? "the node has had no room for its resize for 10 min"
		       : "it keeps being OOM-killed, and the node has no memory for it";
}

enum recreate_answer recreate_needed(const struct recreate_pod *p, usec_t now, usec_t *ret_again)
{
	bool needed = p->oom_kills >= RECREATE_OOM_KILLS || lasts(p->infeasible_since, now);

	*ret_again = 0;
	if (!p->wanted)
		return RECREATE_NOT_WANTED;
	if (!needed) {
		*ret_again = p->infeasible_since ? p->infeasible_since + RECREATE_AFTER_USEC : 0;
		return RECREATE_NOT_NEEDED;
	}
	if (!p->replicated)
		return RECREATE_NOT_REPLICATED;
	if (now < p->retry_at) {
		*ret_again = p->retry_at;
		return RECREATE_REFUSED;
	}
	if (p->evicted_on_node != 0 && now - p->evicted_on_node < RECREATE_NODE_USEC) {
		*ret_again = p->evicted_on_node + RECREATE_NODE_USEC;
		return RECREATE_NODE_WAITS;
	}
	return RECREATE_EVICT;
}

enum recreate_answer recreate_allowed(const struct recreate_workload *w)
{
	if (w->ready < 2)
		return RECREATE_ALONE;
	return w->youngest_usec < RECREATE_WORKLOAD_USEC ? RECREATE_YOUNG : RECREATE_EVICT;
}

enum recreate_answer recreate_leased(bool by_this_pod, usec_t renewed_real, usec_t now_real)
{
	if (by_this_pod)
		return RECREATE_EVICT;
	return now_real < renewed_real + RECREATE_WORKLOAD_USEC ? RECREATE_LEASED : RECREATE_EVICT;
}
