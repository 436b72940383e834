/* SPDX-License-Identifier: Apache-2.0 */
/* The originals of a unit or container: the values before vscaled's first write, for a restore.
 * Keys: "unit:web.service", "pod:UID/CONTAINER", and "pod:UID" for the pod's own cgroup. */
#pragma once

#include "agent/state/state_file.h"
#include "policy/types/limits.h"
#include "systemd/unit_props.h"

/* Does memory.high hold the owner's value now? */
enum baseline_high {
	BASELINE_HIGH_KEPT,
	BASELINE_HIGH_LIFTED,  /* set to max */
	BASELINE_HIGH_LOWERED, /* by a shrink trial or the brake */
	BASELINE_HIGH_COUNT,
};

struct baseline {
	char *key;
	struct limits limits;    /* of the kernel */
	struct unit_props props; /* of systemd; all UINT64_MAX where systemd does not manage it */
	uint32_t dropins;     /* UNIT_PROP_*: had a runtime drop-in before vscaled's first write */
	uint32_t high;        /* enum baseline_high */
	uint64_t high_before; /* bytes: memory.high before it was lifted or lowered */
	char boot_id[RECORD_ID_SIZE]; /* of a unit: of what was sent */
	uint64_t cgroup_inode;
	usec_t saved_realtime_usec;
	/* What a restore needs without the daemon and the API server; NULL for units. */
	char *cgroup;      /* path below the root, as last known */
	char *unit;        /* systemd's name of its slice or scope; NULL: cgroupfs driver */
	char *shown;       /* "NAMESPACE/POD/CONTAINER", "NAMESPACE/POD" */
	uint32_t ratified; /* 0, 1: the pod's spec holds values of vscaled */
	uint64_t request[RESOURCE_COUNT]; /* of the spec before vscaled; 0: none, or not known */
	/* Limits of vscaled's last resize, and of the spec it was made from; 0: none, or not known.
	 * Of a pod: of its spec.resources, and those before vscaled. Of a unit: of the property,
	 * the newest that was sent, what systemd stored, and (below) what it may be storing; 0: not
	 * known. */
	uint64_t sent[RESOURCE_COUNT];
	uint64_t sent_over[RESOURCE_COUNT];
	/* Of the resize before the last, which may still be stored when it had no answer; 0: none.
	 */
	uint64_t sent_before[RESOURCE_COUNT];
	uint64_t boost_base_milli; /* the limit to return to after the startup boost in force; 0: no
				    * boost
				    */
	/* Not stored. What points to it, and follows it: records move when others come and go. */
	struct baseline **holder;
	uint64_t cpu_stood_usec; /* quota before the first write, in this run; 0: not known */
};

#define BASELINE_UNIT_PREFIX "unit:"
#define BASELINE_POD_PREFIX  "pod:"
/* "web.service"; "UID/CONTAINER" or "UID". NULL for keys of the other kind. */
const char *baseline_unit(const struct baseline *b);
const char *baseline_pod(const struct baseline *b);

/* Sorted by key. Zero is the empty set. */
struct baseline_set {
	struct baseline *items;
	size_t count;
};

#define BASELINE_COUNT_MAX 10000

extern const struct state_kind baseline_state;
/* A second copy, because the originals cannot be measured again. */
extern const struct state_kind baseline_copy;
/* In the runtime folder: where memory.high may stand lowered. */
extern const struct state_kind baseline_lift;

void baseline_set_free(struct baseline_set *s);

/* Borrowed until the set changes; NULL when there is none. */
struct baseline *baseline_find(const struct baseline_set *s, const char *key);
/* Adds or replaces; b stays the caller's, its texts are copied. A holder stays the record's.
 * -EINVAL for a key that is empty or longer than RECORD_NAME_MAX, -ENOSPC beyond
 * BASELINE_COUNT_MAX, -ENOMEM. */
int baseline_put(struct baseline_set *s, const struct baseline *b);
/* Of the set; its holder is NULL then. */
void baseline_remove(struct baseline_set *s, struct baseline *b);

/* The body of the state file; *ret is owned. -ENOMEM. */
int baseline_encode(const struct baseline_set *s, char **ret, size_t *ret_len);
/* Adds a line of it to a set, strictly. -EBADMSG, -ENOMEM. */
record_line_fn baseline_line;

int baseline_save(int dir, const struct baseline_set *s);
/* Like state_file_load(), into an empty set; a body that cannot be decoded is set aside as well. In
 * both cases the copy is read instead: 0 with a name in aside. */
int baseline_load(int dir, char *aside, struct baseline_set *ret);
/* One of the three files. */
int baseline_load_kind(int dir, const struct state_kind *k, char *aside, struct baseline_set *ret);
