/* SPDX-License-Identifier: Apache-2.0 */
/* History and originals on disk, per managed unit. */
#pragma once

#include "agent/manage/parts.h"
#include "agent/restore/restore.h"
#include "agent/state/history_file.h"
#include "agent/state/saver.h"

struct kube_container;
struct kube_pod;
struct pod;

/* The records, and what of them is still to be written. */
struct records {
	struct unit_table *units;
	int dir; /* the state folder; -1: not open */
	struct baseline_set baselines;
	struct history_store histories; /* as of the last save */
	/* Changes of the baselines since the start: all, those given to the saver, those on disk.
	 */
	uint64_t changes;
	uint64_t given;
	uint64_t on_disk;
	usec_t given_at;
	struct saver saver;
	bool rollouts_failed;     /* the newest save of the rollouts */
	unsigned rollouts_folder; /* the folder that it went to */
	bool failed;              /* the newest save of the baselines */
	bool abandoned;           /* the folder is another process's */
	/* How often the folder was replaced: now, and when the save under way began. */
	unsigned folder, given_folder;
	bool loaded;         /* at the start their file was there, and whole */
	bool originals_lost; /* it was not, in a cluster */
	bool lost_mark_due;  /* the mark of that is not on disk yet */
	bool lost_mark_ends; /* all were found: it goes once they are on disk */
	int lost_mark_error; /* reported already */
	bool lift_copy_due;  /* to the runtime folder */
	int lift_copy_error; /* reported already */
	bool history_full;   /* reported already */
	usec_t next_save;
	char result[128]; /* of the last save */
	int save_error;   /* reported already */
	usec_t saved_real;
};

struct arrival;
struct managed;
struct unit_table;

void persist_init(struct records *r, struct unit_table *units);
void persist_free(struct records *r);
/* They were changed: persist_baselines() saves them. */
void persist_changed(struct records *r);
bool persist_is_dirty(const struct records *r);
/* Adds a record: baseline_put(). What is alike in all is filled in. Written by persist_baselines().
 */
int persist_put(struct records *r, struct baseline *b);
/* restore_set() with these records, which are written after it. */
int persist_restore(struct records *records, const struct restore *how, const char *name,
		    restore_each_fn *each, void *arg);
/* The state folder is this one from now on; takes fd. Everything is written to it once more. */
void persist_use_folder(struct records *records, int fd);
int persist_load(struct records *records);
void persist_save(struct records *records);
/* Gives the stopped rollouts to the saver; -EBUSY: it is not done with the last ones. -errno. */
int persist_rollouts(struct records *records, const struct rollout_stops *stops);
/* The last ones are not on disk, or not in this folder. */
bool persist_rollouts_lost(const struct records *records);
/* Those that were saved; none if there is no good file. */
void persist_load_rollouts(struct records *records, struct rollout_stops *ret);
/* The saver has ended a save. True: something that waited for its record may be written now. */
bool persist_saved(struct records *records);
/* Waits until all is on disk, and goes on without the saver's thread. */
void persist_end(struct records *records);
/* The folder is another process's: nothing is saved any more. A write under way ends. */
void persist_abandon(struct records *records);
/* All lost originals are known again, or their pods are gone. The mark of the loss is removed once
 * the originals are on disk; else nothing changes. */
void persist_originals_found(struct records *records);
/* It was attached to its cgroup: its record, if any, names that cgroup. */
void persist_follow(const struct managed *m, uint64_t period_usec);
/* Records the originals of a pod level that come from another source than its cgroup. */
void persist_level(struct managed *m, const struct limits *was);
/* Records the originals of a unit that may be written to. */
void persist_baseline(struct managed *m, const struct arrival *a);
/* systemd has reported what it held before vscaled: corrects originals that were recorded on a
 * guess. */
void persist_stored(const struct managed *m);
/* Gives changed records to the saver; until they are on disk, new units are not written to. When it
 * returns the runtime folder has them: nothing is sent that a restart would take for another's. */
void persist_baselines(struct records *records);
/* Copies changed records to the runtime folder alone. */
void persist_lift_copy(struct records *records);
/* Records what PID 1 was asked to store for a unit, and stores. */
void persist_property(const struct managed *m);
/* Does PID 1 store a limit for a unit with a record that is neither the original nor vscaled's? */
bool persist_property_external(const struct managed *m, enum resource r,
			       const struct unit_props *stored);
/* Records whether the pod's spec holds values that vscaled sent. */
void persist_ratified(const struct managed *m, bool ratified);
/* Records what is sent to the API server, and what the spec has at that time. What was sent before
 * stays on record until persist_none_late(): another value that is found there later is the
 * owner's. */
void persist_sent(const struct managed *m, enum resource r, uint64_t sent, uint64_t over);
/* The spec has what was sent, and nothing that was sent before can come any more. */
void persist_none_late(const struct managed *m);
/* What the container requested before vscaled; `present` where nothing is on record. */
uint64_t persist_original_request(const struct managed *m, enum resource r, uint64_t present);
/* Its limit before vscaled, likewise. */
uint64_t persist_original_limit(const struct managed *m, enum resource r, uint64_t present);
/* The originals of a unit that will not come back. */
void persist_forget(const struct managed *m);
/* Does a record name the pod or a container of it? Then an earlier run of vscaled sized it. */
bool persist_has_pod(const struct records *records, const char *uid);
/* The record of a container, whether that is managed or not; NULL: none. */
struct baseline *persist_container(const struct pod *p, const struct kube_container *c);
/* The originals of a pod that is not in the table. */
void persist_forget_pod(struct records *records, const char *uid);
/* The cgroup on record turned out to be another container's. */
void persist_left_cgroup(const struct managed *m);
/* Records memory.high of an external writer while the laws are suspended, or the original once they
 * are not: no less is lifted to it as ours. */
void persist_external_high(const struct managed *m, uint64_t mem_high);
/* Records the CPU limit to restore after a startup boost, in millicores; 0: no boost. True: a new
 * limit was recorded. */
bool persist_boost_base(struct managed *m, uint64_t milli);
/* That limit is on disk: the boost may be written. */
bool persist_has_boost_base(const struct managed *m);
/* The owner's new value has become the original (adopted). */
void persist_adopted(const struct managed *m, enum resource r);
/* The same of a limit that stands in its file, also of one that was not started yet. */
void persist_owners(const struct managed *m, enum resource r, const struct limits *now);
/* The same of the request: millicores, bytes. */
void persist_adopted_request(const struct managed *m, enum resource r, uint64_t value);
/* Loads the unit's history from the store. */
void persist_adopt_history(struct managed *m);
/* Writes the unit's history to the store. */
void persist_keep_history(const struct managed *m);
/* The key of a container's history: RECORD_NAME_MAX bytes. */
void persist_history_key(const struct kube_pod *pod, const char *container, char *ret);
/* The running entry with the longest history of this key, but for that one; NULL: there is none. */
const struct managed *persist_best_live(const struct unit_table *t, const char *history_key,
					const struct managed *but);
/* What the stored history of this key recommends. -ENOENT, -ENOMEM. */
int persist_recommend(const struct records *records, const char *history_key,
		      struct recommendation *ret, uint64_t *ret_samples);

/* --- what is known of the original limits of one entry */

/* The first time in this run. record: of an earlier run, or NULL; touched: that wrote to it. */
void originals_begin(struct managed *m, const struct baseline *record, bool touched);
/* It is not managed any more, or was attached to a cgroup that is another one's. */
void originals_forget(struct managed *m);
/* true: vscaled has written to it, or another process will write what it sent; false: the originals
 * stand in the cgroup again. */
void originals_set_touched(struct managed *m, bool touched);
void originals_set_trust(struct managed *m, enum originals_trust trust);

/* --- a memory.high that a trial or the brake lowered: set back at the start and at the end */

/* Sets back each memory.high that a record names. root: of the cgroups. */
void lift_all(struct records *r, int root);
/* At the start: the runtime folder may have records that were lost, and what was sent last. */
void lift_start(struct records *r, const char *runtime_dir, int root);
