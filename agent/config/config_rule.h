/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the configuration loader. For agent/config*.c alone. */
#pragma once

#include "agent/config/config_table.h"

/* Room for "units[19999].some-key" and for "section." + the longest key. */
#define CONFIG_KEY_TEXT 160
/* Room for a value as shown in a message. */
#define CONFIG_SHOWN_TEXT 48

struct config_load {
	const char *file;
	struct config_errors *errs;
};

void config_say(const struct config_load *l, uint32_t line, const char *key, const char *format,
		...) __attribute__((__format__(__printf__, 4, 5)));
/* The value shortened, or what it is when it is no single value; buf: CONFIG_SHOWN_TEXT bytes. */
const char *config_shown(const struct node *n, char *buf);

/* Loads one value into base + offset. An invalid one goes to errs; the only failure is -ENOMEM. */
int config_load_value(const struct config_load *l, const struct node *n, const struct config_key *k,
		      const char *path, void *base);
int config_load_defaults(const struct config_load *l, const struct node *section,
			 struct policy_rule *rule);
int config_load_units(const struct config_load *l, const struct node *list, struct config *c);
void config_units_free(struct config *c);

/* What an entry is selected by: a word, or a list of them. */
struct config_selector {
	const char *key;
	size_t offset; /* of the words, in struct config_pod_rule */
	bool (*valid)(const char *word);
	const char *allowed;
	bool pairs; /* "key=value", or a section with key: value */
};
int config_load_words(const struct config_load *l, const struct node *n, const char *path,
		      const struct config_selector *s, struct config_words *ret);
void config_words_free(struct config_words *w);
bool config_words_match(const struct config_words *globs, const char *name);
/* How many sections a list of them has; anything else is said in errs, and counts as none. */
size_t config_sections(const struct config_load *l, const struct node *list);
/* config_pods.c */
int config_load_pods(const struct config_load *l, const struct node *list, struct config *c);
void config_pods_free(struct config *c);
