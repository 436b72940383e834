/* SPDX-License-Identifier: Apache-2.0 */
/* The annotations vscaled.dev/... of a pod, one row per key. Tenants' input: the administrator's
 * bounds always win. A mistake freezes what is sized, and nothing else of the pod is sized. */
#pragma once

#include "agent/config/config.h"
#include "agent/kube/model/decode.h"
#include "policy/report/report.h"
#include "policy/report/rollout.h"

/* What is wrong with them and what is allowed, for the Event and `explain`. Printable ASCII. */
struct annotation_error {
	char text[256];
};

struct pod_settings;

/* One row of docs/annotations.md. */
struct annotation_key {
	const char *key;      /* without the domain */
	const char *values;   /* in words */
	const char *fallback; /* the default in words */
	const char *doc;
	size_t offset, size; /* of the value in struct container_rule; 0, 0: a list of its own */
	/* Reads the value. -EINVAL: not one of the values, or err says more. NULL: written by
	 * vscaled, never read. */
	int (*take)(const struct annotation_key *key, const char *value,
		    struct pod_settings *settings, struct annotation_error *err);
};
extern const struct annotation_key annotation_keys[];
extern const size_t annotation_key_count;
/* The values of controlled-values. */
extern const char *const controlled_names[CONTROLLED_COUNT];

/* How one container of a pod is to be treated. */
struct container_rule {
	struct policy_rule rule;
	enum mode
		frozen_mode; /* after -EINVAL: of what is sized already; Off: it is not any more */
	bool named;          /* by `containers` and `policy`: else not managed */
	enum controlled_values controlled;
	bool allow_restart;        /* of a container whose memory resize takes one */
	bool not_autoscaled;       /* no autoscaler above its owner is the pod's */
	bool in_place_or_recreate; /* beside mode Auto: may be evicted */
	bool has_rollout;          /* a mode other than Off is for a share of the workload's pods */
	uint32_t rollout_percent;  /* 100: of all */
	enum rollout_part rollout; /* what it makes of the pod: agent/pod/pod_rollout.c */
};

/* What sets a pod's values. */
struct annotation_input {
	const struct config *config;
	const struct kube_pod *pod;
	const struct kube_namespace *namespace; /* its namespace's annotations; NULL: none */
	bool sized;    /* already: a misspelt key of its mode is no removal of that */
	bool recovers; /* its originals are to be read back first: it is watched until then */
};

/* Has the pod a mode, by its annotation, its namespace's or a rule of the configuration (`pods`)?
 */
bool annotation_opted_in(const struct annotation_input *in);

/* Has it none, and is it watched nevertheless (kubernetes.observe All)? */
bool annotation_observed(const struct annotation_input *in);

/* What all sources set for a pod, read once for all its containers. */
struct annotation_settings;

/* 0 and -EINVAL, err says what is wrong: *ret is owned, and without that. -ENOENT: the pod has no
 * mode; -ENOMEM. */
int annotation_read(const struct annotation_input *in, struct annotation_settings **ret,
		    struct annotation_error *err);
void annotation_drop(struct annotation_settings **s);
/* The rule of one container: configuration defaults, the first matching rule of `pods`, the
 * namespace's annotations, the pod's, each of which wins over those before it, and the
 * administrator's bounds, which win over all. After a mistake it is mode Off. */
void annotation_apply(const struct annotation_settings *s, const char *container,
		      struct container_rule *ret);

/* One setting in force, borrowed. */
struct annotation_source {
	const char *key;
	const char *value;
	const struct kube_namespace *namespace; /* whose annotation it is; NULL: another source */
	const struct config_pod_rule *rule;     /* that has it; both NULL: the pod's annotation */
};
/* The settings of a pod, each from the strongest source that has it; at most max. */
size_t annotation_sources(const struct annotation_input *in, struct annotation_source *ret,
			  size_t max);

/* The values of `pods` by the rules of the annotations; -EBADMSG: errs says what is wrong. */
int annotation_check_config(const struct config *config, const char *file,
			    struct config_errors *errs);
/* config_load_file(), and that check. */
int annotation_load_config(const char *path, struct config *ret, struct config_errors *errs);
