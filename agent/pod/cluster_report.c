// SPDX-License-Identifier: Apache-2.0
/* Reports: the facts of one (the held limits, beside the pod object), what follows from the
 * reporter's outcomes, and the hooks through which the pods query it. */
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/metrics/counters.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "policy/base/base.h"
#include "policy/base/quantity.h"
#include "policy/base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* After an outage the reports of all nodes are spread over this. */
#define SPREAD_USEC USEC_PER_MIN
/* Growth this long ago has ended: a later pass would have seen more. */
#define SETTLED_USEC (10 * USEC_PER_SEC)

/* --- the facts --- */

/* What a new container was given from history need not prove itself: 0. */
static usec_t held_since(const struct control *c, enum resource r, usec_t now)
{
	usec_t changed = r == RESOURCE_CPU ? c->cpu.held_since : c->mem.last_change;
	enum reason reason = c->resource[r].last.reason;
	bool by_history = changed != 0 && (reason == REASON_INITIAL || reason == REASON_HISTORY);

	return by_history && control_known_at_birth(c, r, now) ? 0 : MAX(changed, c->started_at);
}

/* Not before its originals are on disk: they could not be told from what is sent. */
static bool may_report(const struct managed *m)
{
	/* Where one limit is contested the other one is still sized. */
	bool sized = managed_state(m) == UNIT_MANAGED || managed_state(m) == UNIT_GAVE_WAY;

	return m->container.annotated && m->control.rule.mode != MODE_OFF && !m->control.paused &&
	       sized && m->originals.saved;
}

/* A ratified value is restored in the spec also when the container is no longer sized. */
static bool is_reported(const struct managed *m, enum resource r, bool back)
{
	const struct control *c = &m->control;

	if (c->gave_way & (1u << r))
		return false;
	return back || ((c->resource[r].managed || control_sizes_request(c, r)) && may_report(m));
}

static bool is_given_back(const struct managed *m)
{
	return (!m->container.annotated || m->container.rule.rule.mode == MODE_OFF ||
		managed_state(m) == UNIT_RESTORED) &&
	       m->record != NULL;
}

/* Its cgroup has not been restored yet, not even as far as use allows. */
static bool is_untouched(const struct managed *m)
{
	return m->hand_back.due && !m->hand_back.reported;
}

/* A startup boost is never reported: the limit counts as if the boost had ended. */
static uint64_t actual_of(const struct control *c, enum resource r)
{
	if (r == RESOURCE_MEMORY)
		return c->kernel.mem_max;
	if (c->boost.written)
		return control_lasting(c, r);
	/* A quota is 1 ms at least: what the kubelet writes for the held limit. */
	if (cpu_quota_of(c->resource[r].limit, c->kernel.cpu_period_usec) ==
	    c->kernel.cpu_quota_usec)
		return c->resource[r].limit;
	return cpu_milli_of(c->kernel.cpu_quota_usec, c->kernel.cpu_period_usec);
}

/* The spec follows the cgroup: while that has another limit than the original, because more memory
 * is in use, the spec keeps its own. Later on it is the spec that the kubelet writes there. */
static bool limit_stays(const struct managed *m, enum resource r)
{
	uint64_t actual = actual_of(&m->control, r);

	if (!is_given_back(m) || (!m->hand_back.due && managed_state(m) != UNIT_RESTORED))
		return false;
	return m->cgroup.cg != NULL
		       ? !limit_same_file(r, actual, persist_original_limit(m, r, actual),
					  m->control.kernel.cpu_period_usec)
		       : m->hand_back.due;
}

/* Restores the originals in the spec where it holds values of vscaled. all: vscaled wrote the whole
 * spec. Else an external writer has changed it since, and the record of sent values shows which are
 * still vscaled's; of requests, where their owner is not known, those that vscaled changes. */
static void fill_back(const struct managed *m, enum resource r, bool all,
		      struct report_resource *ret)
{
	bool sent = all || spec_sent_by_us(m, r, ret->spec_limit);
	bool moves = all || m->container.rule.controlled != CONTROLLED_LIMITS;

	/* The laws no longer know the original of a container that was handed back. */
	ret->original_limit =
		sent ? persist_original_limit(m, r, ret->spec_limit) : ret->spec_limit;
	/* Beside one of vscaled's an owner, or admission, may set more than the original limit. */
	if (ret->spec_request <= ret->original_limit &&
	    (ret->request_owner == OWNER_OTHER ||
	     (ret->request_owner == OWNER_UNKNOWN && !(sent && moves))))
		ret->original_request = ret->spec_request;
	if (!ret->limit_stays)
		ret->held = ret->original_limit;
}

static void fill_resource(const struct managed *m, enum resource r, bool back,
			  struct report_resource *ret)
{
	const struct control *c = &m->control;
	const struct control_resource *res = &c->resource[r];
	/* Mode Initial raises nothing after the start. */
	uint64_t ceiling = c->rule.mode == MODE_INITIAL
				   ? control_lasting(c, r)
				   : control_ceiling(c, &m->config->tuning, r, m->host->cpu_milli);

	ret->managed = is_reported(m, r, back);
	ret->limit_stays = !m->pod->ending && limit_stays(m, r);
	ret->original_limit = res->original;
	ret->held = control_lasting(c, r);
	ret->held_since = held_since(c, r, m->wake->now);
	if (r == RESOURCE_CPU)
		ret->startup_until = control_startup_raise(c, &m->config->tuning);
	ret->actual = actual_of(c, r);
	ret->ceiling = ceiling == LIMIT_MAX ? 0 : ceiling;
	ret->original_request = persist_original_request(m, r, ret->spec_request);
	ret->request = control_request(c, r);
	/* One of vscaled's, from before controlled-values left the requests out. */
	ret->request_back =
		m->container.annotated && m->container.rule.controlled == CONTROLLED_LIMITS &&
		ret->request_owner == OWNER_VSCALED && ret->spec_request != ret->original_request;
	ret->ratio_permille = ret->request != 0 ? c->pod.resource[r].ratio_permille : 0;
	ret->request_since = control_request_since(c, r, m->wake->now);
	ret->external = !spec_sent_by_us(m, r, ret->spec_limit);
	ret->unstored = m->record != NULL && m->record->sent[r] > ret->spec_limit &&
			m->record->sent_over[r] == ret->spec_limit;
	/* Without a cgroup the last value read is out of date. */
	if (m->cgroup.cg == NULL)
		ret->actual = 0;
}

static uint64_t restart_to(const struct managed *m)
{
	const struct control *c = &m->control;
	bool killed = c->resource[RESOURCE_MEMORY].counters.oom_kills > m->restart.oom_kills;

	if (!m->container.rule.allow_restart || c->rule.mode != MODE_AUTO || m->cgroup.cg == NULL)
		return 0;
	return control_restart_limit(c, &m->config->tuning, killed);
}

/* A container that is being handed back is not sampled. */
static uint64_t use_of(const struct managed *m)
{
	struct usage u = {0};

	if (managed_state(m) == UNIT_UNMANAGED && m->cgroup.cg != NULL &&
	    cg_read(m->cgroup.cg, USAGE_MEM_STAT, &u) == 0)
		return mem_unreclaimable(&u.stat);
	return mem_unreclaimable(&m->control.last.stat);
}

/* A cgroup that was handed back is closed: opened to read, until the spec has the originals. */
static void read_closed(const struct managed *m, struct report_container *ret)
{
	const struct kube_container *k = pod_spec_of(m);
	OWN(drop_cg) struct cg *cg = NULL;
	struct usage u = {0};

	if (k != NULL && !k->running)
		ret->use_bytes = 0;
	if (m->cgroup.path == NULL || cg_open(m->host->root, m->cgroup.path, &cg) < 0 ||
	    cg_read(cg, USAGE_MEM_STAT | USAGE_MEM_LIMIT, &u) != 0)
		return;
	ret->use_bytes = mem_unreclaimable(&u.stat);
	ret->resource[RESOURCE_MEMORY].actual = u.limits.mem_max;
}

/* The headroom of every memory limit that is sent covers slow growth. */
static bool grows(const struct managed *m, uint64_t use_bytes)
{
	const struct report_tuning *t = &m->config->kubernetes.report;
	const struct mem_law *mem = &m->control.mem;
	uint64_t margin = MAX(scale_permille(use_bytes, t->margin_permille), t->margin_min_bytes);

	return mul_div(mem->slope_bps, t->ahead_usec, USEC_PER_SEC) > margin ||
	       (mem->last_growth != 0 && m->wake->now - mem->last_growth < SETTLED_USEC);
}

/* A HorizontalPodAutoscaler that depends on a request of a Guaranteed pod holds both values. */
static enum controlled_values controlled_now(const struct managed *m)
{
	const struct pod_bounds *b = &m->control.pod;
	enum controlled_values named = m->container.rule.controlled;

	/* A limit that is left out may still be sized (start.c). */
	if (named == CONTROLLED_REQUESTS && m->control.rule.resources != 0)
		named = CONTROLLED_REQUESTS_AND_LIMITS;
	return b->pod_requests || (b->guaranteed && b->requests_stay != 0) ? CONTROLLED_LIMITS
									   : named;
}

/* Its limit is no longer sized, and the spec still has another value than the original. */
static bool is_dropped(const struct managed *m, enum resource r, const struct report_resource *x)
{
	const struct policy_rule *rule = &m->container.rule.rule;
	uint32_t sized = rule->resources | m->control.rule.resources;

	return m->container.annotated && !(sized & (1u << r)) && m->record != NULL &&
	       m->record->ratified && !m->hand_back.due &&
	       ((x->spec_limit != LIMIT_MAX &&
		 x->spec_limit != persist_original_limit(m, r, x->spec_limit)) ||
		(!(rule->requests & (1u << r)) &&
		 x->spec_request != persist_original_request(m, r, x->spec_request)));
}

/* all: vscaled wrote the whole spec. */
static void fill_container(const struct managed *m, bool restoring, bool all,
			   struct report_container *ret)
{
	const struct control *c = &m->control;
	struct report_resource *memory = &ret->resource[RESOURCE_MEMORY];
	/* A container of a pod in which others stay managed: its spec follows its cgroup. */
	bool back = restoring || (is_given_back(m) && !is_untouched(m) && !m->pod->ending &&
				  m->record->ratified);
	bool watched = managed_state(m) != UNIT_UNMANAGED;

	ret->limits_only = controlled_now(m) == CONTROLLED_LIMITS;
	ret->use_bytes = use_of(m);
	ret->slope_bps = watched ? c->mem.slope_bps : 0;
	ret->growing = watched && grows(m, ret->use_bytes);
	ret->grew_at = MAX(c->mem.last_growth, c->started_at);
	ret->replayed = m->host->cpu_manager;
	ret->swaps = c->pod.swaps;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct report_resource *x = &ret->resource[r];
		bool goes = back || is_dropped(m, r, x);

		fill_resource(m, r, goes, x);
		if (goes)
			fill_back(m, r, all, x);
		if (goes && !back && (c->rule.requests & (1u << r)))
			x->original_request = x->request ?: x->spec_request;
		x->back = goes && !restoring;
	}
	if ((back || m->hand_back.due) && m->cgroup.cg == NULL)
		read_closed(m, ret);
	if (!back && !memory->back) {
		/* With systemd's headroom in the file use can pass the held limit; the spec must
		 * not stay below. */
		uint64_t used = round_up(ret->use_bytes, c->page_bytes);
		uint64_t needed = MIN(used, memory->actual);

		memory->held = MAX(memory->held, needed);
		memory->restart_to = restart_to(m);
	} else if (memory->actual == memory->original_limit) {
		/* Use cannot exceed the limit in the cgroup: the spec needs no more. */
		memory->ceiling = memory->original_limit;
	}
}

/* A pod's requests are changed if those of one of its containers are. */
static enum controlled_values controlled_of(const struct pod *p)
{
	enum controlled_values widest = CONTROLLED_LIMITS;
	bool only_requests = true, any = false;

	POD_FOREACH (m, p) {
		if (!m->container.annotated)
			continue;
		any = true;
		only_requests &= controlled_now(m) == CONTROLLED_REQUESTS;
		if (controlled_now(m) != CONTROLLED_LIMITS)
			widest = CONTROLLED_REQUESTS_AND_LIMITS;
	}
	return any && only_requests ? CONTROLLED_REQUESTS : widest;
}

/* A managed container that runs and has no open cgroup, nor one that can be read: its use and its
 * limit are not known, and a resize of another container makes the kubelet write the spec's values
 * into it too. */
static bool any_unseen(const struct pod *p)
{
	POD_FOREACH (m, p)
		if (m->cgroup.cg == NULL && pod_spec_of(m)->running && m->record != NULL &&
		    (m->container.annotated || (m->hand_back.due && m->cgroup.path == NULL)))
			return true;
	return false;
}

static bool is_active(const struct pod *p)
{
	return p->why == STATE_SIZING && !p->ending && pod_is_sized(p) && !p->pods->units->paused &&
	       !any_unseen(p);
}

/* The spec is restored after the cgroups. */
static bool is_restoring(const struct pod *p)
{
	bool given_back = false;

	if (p->ending || p->adopting || pod_is_sized(p))
		return false;
	POD_FOREACH (m, p) {
		if (is_untouched(m))
			return false;
		given_back |= is_given_back(m);
	}
	return given_back;
}

/* Limits that were sent before the last ones leave the record, unless the reporter still waits for
 * them. */
static void forget_late(struct cluster *c, const struct pod *p)
{
	if (reporter_late(p->report, c->wake->now))
		return;
	POD_FOREACH (m, p)
		persist_none_late(m);
}

static bool holds_any_sent(const struct pod *p)
{
	POD_FOREACH (m, p)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			if (spec_sent_by_us(m, r, pod_spec_of(m)->spec.limit[r]) ||
			    kube_owner(pod_spec_of(m), KUBE_LEAF_REQUEST(r)) == OWNER_VSCALED)
				return true;
	return p->backs != 0;
}

static void fill_level(const struct pod *p, struct report_level *ret)
{
	uint64_t stands = ret->spec.limit[RESOURCE_MEMORY];

	ret->follows = p->follows;
	ret->backs = p->backs;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		ret->original[r] = pod_level_original(p, r) ?: ret->original[r];
		ret->least[r] = MAX(ret->least[r], kube_pod_start(p->spec, r, KUBE_COUNT_LIMIT));
	}
	/* Its cgroup is lowered first, as far as use allows. Once that has its original, the
	 * kubelet may still write what the spec has. */
	if (p->level != NULL && p->level->cgroup.cg != NULL)
		stands = pod_is_sized(p) || p->level->hand_back.due
				 ? MIN(stands, sub_sat(p->level->control.kernel.mem_max,
						       p->spec->overhead[RESOURCE_MEMORY]))
				 : 0;
	ret->least[RESOURCE_MEMORY] = MAX(ret->least[RESOURCE_MEMORY], stands);
}

static usec_t changed_real(const struct pod *p)
{
	usec_t newest = 0;

	POD_FOREACH (m, p)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			newest = MAX(newest, m->control.resource[r].last.at_real);
	return newest;
}

static const char *mode_shown(const struct pod *p)
{
	enum mode highest = MODE_OFF;
	bool recreate = false;

	if (p->why != STATE_SIZING || p->leaving || p->observed)
		return NULL;
	POD_FOREACH (m, p) {
		if (!m->container.annotated)
			continue;
		highest = MAX(highest, m->container.rule.rule.mode);
		recreate |= m->container.rule.in_place_or_recreate;
	}
	if (highest == MODE_OFF && p->pods->config->kubernetes.observe == OBSERVE_NONE)
		return NULL;
	return recreate && highest == MODE_AUTO ? "InPlaceOrRecreate" : mode_name(highest);
}

/* Without what is known of other pods: what an agent learnt from another must not come back. */
static void fill_published(const struct managed *m, const struct report_container *container,
			   struct kube_published *ret)
{
	const struct control *c = &m->control;
	const uint64_t node[RESOURCE_COUNT] = {m->host->cpu_milli, m->table->memory->read.total};
	usec_t newest = 0;

	*ret = (struct kube_published){.own = c->own, .samples = c->history.samples};
	control_bound_upper(c, node, &ret->own);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct decision *last = &c->resource[r].last;

		ret->request[r] = container->resource[r].spec_request;
		ret->limit[r] = container->resource[r].spec_limit == LIMIT_MAX
					? LIMIT_MAX
					: container->resource[r].held;
		if (last->at_real <= newest)
			continue;
		newest = last->at_real;
		ret->reason = reason_name(last->reason);
		ret->reason_resource = r;
	}
}

int cluster_facts(void *ctx, struct pod *p, struct reporter_view *ret)
{
	struct cluster *c = ctx;
	bool all;

	/* The annotation is the only copy of the originals: it must not be replaced. */
	if (pod_in_doubt(p))
		return -ENOENT;
	reporter_fill(p->spec, ret);
	fill_level(p, &ret->facts.level);
	ret->level = p->resizes | p->follows | p->backs;
	ret->facts.active = is_active(p);
	/* A value of the owner in the spec that is not adopted yet must not be replaced. */
	ret->facts.adopting = p->adopting;
	/* Values that an external writer has set since stay. */
	all = report_expects(reporter_state(p->report));
	ret->facts.restoring = is_restoring(p) && (all || holds_any_sent(p));
	ret->facts.controlled = controlled_of(p);
	if (p->spec->pending_real != 0 && p->spec->pending_real < c->wake->now_real)
		ret->facts.pending_usec = c->wake->now_real - p->spec->pending_real;
	ret->facts.room_counted = true;
	ret->facts.room_unknown = cluster_node_of(c) == NULL;
	ret->facts.not_resized = !cluster_resizes(c, p->spec);
	ret->facts.no_decrease = !cluster_node_decreases(c);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		ret->facts.room[r] = cluster_room_left(c, p, r);
	ret->mode = mode_shown(p);
	ret->invalid = p->error;
	ret->changed_real = changed_real(p);
	for (size_t i = 0; i < ret->facts.container_count; i++) {
		const struct managed *m = p->members[i].managed;

		ret->published[i] = (struct kube_published){0};
		if (m == NULL)
			continue;
		fill_container(m, ret->facts.restoring, all, &ret->containers[i]);
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			ret->target[i][r] = m->control.recommendation.resource[r].target;
		fill_published(m, &ret->containers[i], &ret->published[i]);
	}
	return 0;
}

/* --- the reporter's outcomes --- */

static const char *text_of(const struct report_outcome *o)
{
	return o->text != NULL ? o->text : "vscaled has no memory for the reason";
}

static void on_refused(struct cluster *c, struct pod *p, const struct report_outcome *o)
{
	c->units->tally->apply_failed[BACKEND_API]++;
	pod_warn(p, "ResizeRefused", "Resize", "%s", text_of(o));
	for (size_t i = 0; i < MIN(p->spec->container_count, (size_t)REPORT_CONTAINERS_MAX); i++)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
			const struct managed *m = p->members[i].managed;

			if (m != NULL && (o->refused[r] >> i & 1))
				event_tell(EVENT_REPORT_REFUSED, .who = message_who(m),
					   .resource = r, .from = m->control.resource[r].limit,
					   .detail = text_of(o));
		}
}

/* The kubelet may have written, or a cgroup does not hold what spec and checkpoint do: the next
 * tick reads the cgroups, and raises what is too low. */
static void on_verify(struct cluster *, struct pod *p, const struct report_outcome *)
{
	POD_FOREACH (m, p)
		drift_request_check(m);
}

#define CHANGES_MAX 512

/* ", app cpu 200m -> 840m": the original, and what the spec has now. what: behind the resource. */
static void add_change(const char *name, const char *what, enum resource r, uint64_t from,
		       uint64_t to, char text[static CHANGES_MAX])
{
	const char *(*format)(uint64_t, char *, size_t) =
		r == RESOURCE_CPU ? quantity_format_cpu : quantity_format_bytes;
	char was[QUANTITY_TEXT_SIZE], is[QUANTITY_TEXT_SIZE];

	if (from != to && from != LIMIT_MAX && to != LIMIT_MAX)
		message_add(text, CHANGES_MAX, "%s%s %s%s %s -> %s", text[0] != '\0' ? ", " : "",
			    name, resource_names[r], what, format(from, was, sizeof was),
			    format(to, is, sizeof is));
}

static void add_changes(const struct managed *m, const struct kube_container *k,
			char text[static CHANGES_MAX])
{
	for (enum resource r = 0; m != NULL && r < RESOURCE_COUNT; r++) {
		add_change(k->name, "", r, persist_original_limit(m, r, k->spec.limit[r]),
			   k->spec.limit[r], text);
		if (m->container.rule.controlled != CONTROLLED_LIMITS)
			add_change(k->name, " request", r,
				   persist_original_request(m, r, k->spec.request[r]),
				   k->spec.request[r], text);
	}
}

/* What the spec has now in the place of the originals. The Event of the first time has it too;
 * those that follow are one series with that. */
static void tell_ratified(struct cluster *c, const struct pod *p, uint64_t generation, bool sent)
{
	const struct kube_pod *s = p->spec;
	char text[CHANGES_MAX] = "";
	bool restored;

	for (size_t i = 0; i < s->container_count; i++)
		add_changes(p->members[i].managed, &s->containers[i], text);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (pod_level_original(p, r) != 0)
			add_change("the pod's", "", r, pod_level_original(p, r), s->level_limit[r],
				   text);
	restored = text[0] == '\0' && !pod_is_sized(p);
	if (text[0] == '\0')
		strcpy(text, restored ? "the original limits are restored"
				      : "the spec has its original values; sizing goes on");
	event_tell(EVENT_REPORT_RATIFIED, .who = message_pod(s), .count = generation,
		   .detail = text);
	/* A resize that a former run of the daemon sent gets no Event. */
	if (!sent)
		return;
	recorder_note(c->recorder, s, "Normal", restored ? "Restored" : "Resized", "Resize", text,
		      c->wake->now, c->wake->now_real);
}

/* Does the spec hold another limit than the original? */
static bool has_our_values(const struct managed *m, const struct kube_container *c)
{
	bool other = false;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		other |= c->spec.limit[r] != persist_original_limit(m, r, c->spec.limit[r]) ||
			 c->spec.request[r] != persist_original_request(m, r, c->spec.request[r]);
	return other;
}

static bool restarts(const struct kube_container *k, const struct report_item *item)
{
	return (k->restart_on_resize & RESOURCES_MEMORY) && (item->limits & RESOURCES_MEMORY) &&
	       item->limit[RESOURCE_MEMORY] > k->spec.limit[RESOURCE_MEMORY];
}

/* Before the first request: a limit in the spec other than the original is an external writer's. */
static void record_first(struct managed *m)
{
	if (m->record == NULL || m->record->ratified)
		return;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		uint64_t original = limit_amount(&m->record->limits, r);

		persist_sent(m, r, original, original);
	}
	persist_ratified(m, true);
}

/* Puts the values on record, then sends them; the step saves the record before the first byte. */
static void on_sending(struct cluster *c, struct pod *p, const struct report_outcome *o)
{
	const struct report_patch *patch = o->patch;
	/* Or its originals go back. */
	bool sized = pod_is_sized(p);

	cluster_room_sent(c, p, patch);
	POD_FOREACH (m, p) {
		if (sized && m->container.annotated)
			record_first(m);
		m->restart.oom_kills_before = m->restart.oom_kills;
	}
	for (size_t i = 0; i < patch->count; i++) {
		const struct report_item *item = &patch->item[i];
		const struct kube_container *k = &p->spec->containers[item->container];
		struct managed *m = p->members[item->container].managed;

		if (m == NULL)
			continue;
		/* The OOM kills so far are answered by this restart. */
		if (restarts(k, item))
			m->restart.oom_kills =
				m->control.resource[RESOURCE_MEMORY].counters.oom_kills;
		/* What the request does not change keeps its record: it may be an external
		 * writer's. */
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			if ((item->limits & (1u << r)) && item->limit[r] != k->spec.limit[r])
				persist_sent(m, r, item->limit[r], k->spec.limit[r]);
		/* The spec leads: the kubelet may write it before we have written anything. */
		if (sized)
			originals_set_touched(m, true);
	}
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (patch->level.limits & (1u << r))
			persist_sent(p->level, r, patch->level.limit[r],
				     pod_level_original(p, r) ?: p->spec->level_limit[r]);
	reporter_send(p->report);
}

/* The container was not restarted: its OOM kills are not answered yet. */
static void on_undone(struct cluster *, struct pod *p, const struct report_outcome *)
{
	POD_FOREACH (m, p)
		m->restart.oom_kills = m->restart.oom_kills_before;
}

static void on_ratified(struct cluster *c, struct pod *p, const struct report_outcome *o)
{
	usec_t sent_at = reporter_state(p->report)->sent_at;

	tell_ratified(c, p, o->generation, sent_at != 0);
	if (sent_at != 0)
		counters_took(&c->units->tally->apply[BACKEND_API], c->wake->now - sent_at);
	POD_FOREACH (m, p) {
		const struct kube_container *k = pod_spec_of(m);

		persist_ratified(m, has_our_values(m, k));
		/* Admission may have made another value of it. */
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			persist_sent(m, r, k->spec.limit[r], k->spec.limit[r]);
	}
	forget_late(c, p);
}

static void on_contested(struct cluster *, struct pod *p, const struct report_outcome *o)
{
	event_tell(EVENT_MEMORY_CONTESTED, .who = message_pod(p->spec), .detail = text_of(o));
	pod_warn(p, "MemoryLimitContested", "Resize", "%s", text_of(o));
}

/* In this order. */
static const struct {
	uint32_t change;
	void (*act)(struct cluster *c, struct pod *p, const struct report_outcome *o);
} acts[] = {
	{REPORTER_UNDONE, on_undone},
	{REPORT_CHANGE_REFUSED, on_refused},
	{REPORT_CHANGE_RATIFIED, on_ratified},
	{REPORT_CHANGE_VERIFY, on_verify},
	{REPORT_CHANGE_CONTESTED, on_contested},
	{REPORTER_SENDING, on_sending},
};

void cluster_outcomes(void *ctx)
{
	struct cluster *c = ctx;
	struct report_outcome o;

	while (reporter_next(c->reporter, &o)) {
		if (o.pod == NULL && reporter_trouble(c->reporter)[0] != '\0')
			event_tell(EVENT_API_REFUSES, .detail = reporter_trouble(c->reporter));
		for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
			if (o.changes & acts[i].change)
				acts[i].act(c, o.pod, &o);
		/* New refusals hold, or no earlier one does. */
		if (o.pod != NULL)
			pod_bound_all(o.pod);
		free(o.text);
	}
}

/* --- hooks of the pods --- */

static void hook_warn(const struct pod *p, const char *reason, const char *action, const char *text)
{
	const struct cluster *c = p->pods->cluster;

	recorder_note(c->recorder, p->spec, "Warning", reason, action, text, c->wake->now,
		      c->wake->now_real);
}

/* Can the API server accept a higher memory limit of this pod now? */
static bool ratifies(const struct cluster *c, const struct pod *p,
		     const struct namespace_entry *range)
{
	return !p->spec->deleting && cluster_resizes(c, p->spec) && c->watch != NULL &&
	       kube_watch_state(c->watch)->healthy && range != NULL && range->ask.known &&
	       reporter_ratifies(c->reporter, p->report, c->wake->now);
}

static uint32_t unratified_permille(const struct cluster *c, const struct kube_container *k,
				    bool ratifies)
{
	return ratifies && !(k->restart_on_resize & RESOURCES_MEMORY)
		       ? 0
		       : c->config->kubernetes.unratified_permille;
}

void cluster_bounds_tick(struct cluster *c, bool review)
{
	if (!review && !c->bounds_due)
		return;
	c->bounds_due = false;
	PODS_FOREACH (p, c->pods) {
		pod_bound_all(p);
		if (review)
			forget_late(c, p);
	}
}

static void hook_bounds(const struct pod *p, const struct kube_container *k, struct pod_bounds *b)
{
	struct cluster *c = p->pods->cluster;
	/* NULL: without effect, or no memory. */
	const struct namespace_entry *range =
		p->observed ? NULL : cluster_ranges_of(c, p->spec->namespace);
	size_t i = (size_t)(k - p->spec->containers);

	cluster_autoscalers_bound(c, p, b);
	b->unratified_permille = unratified_permille(c, k, ratifies(c, p, range));
	b->ranges_unknown = range != NULL && !range->ask.known;
	b->requests_unknown |= b->ranges_unknown && (b->requests_move || b->limits_stay);
	b->growth_held = !(k->restart_on_resize & RESOURCES_MEMORY) &&
			 report_lead_tried(reporter_state(p->report), c->wake->now);
	if (range != NULL)
		cluster_range_bound(&range->range, p, k, b);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct pod_resource_bounds *x = &b->resource[r];
		usec_t until = 0;
		uint64_t allowed =
			report_allows(reporter_state(p->report), i, r, c->wake->now, &until);

		if (allowed == LIMIT_MAX)
			continue;
		x->refused = allowed;
		x->refused_until = until;
		if (r == RESOURCE_MEMORY)
			b->unratified_permille = unratified_permille(c, k, false);
	}
}

/* --- start --- */

int cluster_report_start(struct cluster *c)
{
	const struct config_kubernetes *k = &c->config->kubernetes;
	struct reporter_options options = {
		.facts = cluster_facts,
		.ctx = c,
		.tuning = k->report,
		.rate =
			{
				.interval_usec = k->write_interval_usec,
				.burst = k->write_burst,
				.spread_usec = SPREAD_USEC,
			},
		.status_interval_usec = k->status_interval_usec,
		.seed = (uint64_t)c->wake->now_real,
		.tally = &c->units->tally->reports,
	};
	int r = recorder_new(&c->port, c->node, &c->recorder);

	options.tuning.decrease_phase_usec = text_hash(TEXT_HASH_FIRST, c->node);
	if (r == 0)
		r = reporter_new(&c->port, c->recorder, &options, &c->reporter);
	if (r < 0)
		return r;
	c->pods->reporter = c->reporter;
	c->pods->cluster = c;
	c->pods->hooks = (struct pod_hooks){hook_warn, hook_bounds};
	return 0;
}
