/* SPDX-License-Identifier: Apache-2.0 */
/* One row per key, for the loader, the dump, the reference page and the man page. */
#pragma once

#include "agent/config/config.h"

enum config_type {
	CONFIG_DURATION,  /* usec_t */
	CONFIG_PERMILLE,  /* uint32_t */
	CONFIG_PPM,       /* uint32_t */
	CONFIG_COUNT,     /* uint32_t */
	CONFIG_BYTES,     /* uint64_t */
	CONFIG_AMOUNT,    /* uint64_t, bytes or AMOUNT_SHARE | permille */
	CONFIG_CPU,       /* uint64_t, millicores */
	CONFIG_BOOL,      /* bool */
	CONFIG_CHOICE,    /* an enum, by names */
	CONFIG_RESOURCES, /* uint32_t, RESOURCES_* */
	CONFIG_FILE,      /* char *, owned; an absolute path */
	CONFIG_PREFIX,    /* char *, owned; a kubelet's --cgroup-root */
	CONFIG_NAME,      /* char *, owned; one word */
	CONFIG_WORD,      /* char *, owned; printable, without blanks */
	CONFIG_LISTEN,    /* char *, owned; address:port, see agent/base/listen.h */
	CONFIG_TYPE_COUNT,
};

/* Room for a value as written in the file, but for paths and names. */
#define CONFIG_VALUE_TEXT 64

struct config_key {
	const char *path; /* "cpu.throttleTarget"; of a rule, the key alone */
	enum config_type type;
	size_t offset;            /* in struct config; of a rule, in struct policy_rule */
	uint64_t min;             /* of the stored number; for a path or a name: min.. */
	uint64_t max;             /* ..max bytes */
	const char *fallback;     /* the default as written in a file; NULL: `builtin` says it */
	const char *builtin;      /* the default in words, where it is no plain value */
	const char *const *names; /* CONFIG_CHOICE, NULL-terminated */
	bool or_none;             /* "none" (0) may stand there, though it is not the default */
	bool at_start;            /* read at the start only: a reload keeps what is in force */
	const char *doc;
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;
/* Of `defaults` and of an entry of `units`. A CPU or memory bound may also be "none" (0). */
extern const struct config_key config_rule_keys[];
extern const size_t config_rule_key_count;
/* Annotations that exist for pods and mean nothing for a unit; NULL-terminated. */
extern const char *const config_pod_keys[];

/* The left one must not be larger than the right one. */
struct config_order {
	const char *low;
	const char *high;
};
extern const struct config_order config_orders[];
extern const size_t config_order_count;

const struct config_key *config_key_find(const struct config_key *keys, size_t count,
					 const char *path);
/* The number in a field of any width; not for paths and names. */
uint64_t config_value_number(const struct config_key *k, const void *base);

/* Text into base + offset. -EINVAL: not of the type; -ERANGE; -ENOMEM. The field keeps its value
 * then. A string that was there is freed. */
int config_value_set(const struct config_key *k, const char *text, void *base);
/* The value as it would stand in a file; a path or name is copied too, "" for none. */
const char *config_value_text(const struct config_key *k, const void *base, char *buf, size_t size);
/* True where "none" may stand and does. */
bool config_value_none(const struct config_key *k, const void *base);
/* What may stand there, in words: "a duration from 10ms to 1m". */
const char *config_value_allowed(const struct config_key *k, char *buf, size_t size);
