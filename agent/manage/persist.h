/* SPDX-License-Identifier: Apache-2.0 */
/* History and originals on disk, per managed unit. */
#pragma once

#include "policy/types/limits.h"

struct arrival;
struct daemon;
struct managed;

int persist_load(struct daemon *d);
void persist_save(struct daemon *d);
/* Originals that were lost: all of them are known again, or gone. Once they are on disk, the mark
 * of that goes; else nothing changes. */
void persist_originals_found(struct daemon *d);
/* It was attached to its cgroup: a record of it names that one. */
void persist_follow(struct daemon *d, const struct managed *m);
/* The originals of a pod level that were found out otherwise. */
void persist_level(struct daemon *d, const struct managed *m, const struct limits *was);
/* Notes the originals of a unit that may be written to. */
void persist_baseline(struct daemon *d, struct managed *m, const struct arrival *a);
/* systemd has said what it held before us: the originals were written down on a guess. */
void persist_stored(struct daemon *d, const struct managed *m);
/* Puts what was noted on disk; until that is done, the units concerned are left alone. */
void persist_baselines(struct daemon *d);
bool persist_has(const struct daemon *d, const struct managed *m);
/* The pod's spec holds values of ours now, or does not any more. */
void persist_ratified(struct daemon *d, const struct managed *m, bool ratified);
/* What goes to the API server, and what its spec has by now: what is found there later and is none
 * of them is its owner's. */
void persist_sent(struct daemon *d, const struct managed *m, const uint64_t sent[RESOURCE_COUNT],
		  const uint64_t over[RESOURCE_COUNT]);
bool persist_is_ratified(const struct daemon *d, const struct managed *m);
/* What the container requested before us; present, where nothing is on record. */
uint64_t persist_original_request(const struct managed *m, enum resource r, uint64_t present);
/* Its limit before us, likewise. */
uint64_t persist_original_limit(const struct managed *m, enum resource r, uint64_t present);
/* The originals of a unit that will not come back. */
void persist_forget(struct daemon *d, const struct managed *m);
/* The cgroup on record turned out to be another container's. */
void persist_left_cgroup(struct daemon *d, const struct managed *m);
/* memory.high of a writer who insists: not to be lifted for ours. */
void persist_his_high(struct daemon *d, const struct managed *m, uint64_t mem_high);
/* The CPU limit that comes back after a boost, millicores; 0: none is lent. True: that is news. */
bool persist_lent(struct daemon *d, struct managed *m, uint64_t milli);
/* The owner's own new value is the original from now on. */
void persist_adopted(struct daemon *d, const struct managed *m, enum resource r);
/* The same of the request: millicores, bytes. */
void persist_adopted_request(struct daemon *d, const struct managed *m, enum resource r,
			     uint64_t value);
/* What is remembered of a unit becomes its history. */
void persist_adopt_history(struct daemon *d, struct managed *m);
/* And back into the store. */
void persist_keep_history(struct daemon *d, const struct managed *m);
