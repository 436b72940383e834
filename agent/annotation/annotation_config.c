// SPDX-License-Identifier: Apache-2.0
/* The rules for pods in a configuration, checked as annotations are. */
#include "agent/annotation/annotation_impl.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* "vscaled.dev/mode: what is wrong" without what the place says already. */
static const char *without_key(const char *text, const char *key)
{
	char prefix[64];
	int n = snprintf(prefix, sizeof prefix, ANNOTATION_DOMAIN "%.32s: ", key);

	return strncmp(text, prefix, (size_t)n) == 0 ? text + n : text;
}

/* The keys one by one, each into the same settings. */
static int check_rule(const struct config_pod_rule *rule, size_t index, const char *file,
		      struct config_errors *errs)
{
	OWN(drop_free) struct pod_settings *w = calloc(1, sizeof *w);
	struct annotation_error err = {""};
	char path[64];
	int r = 0;

	if (w == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < rule->key_count; i++) {
		const struct config_pod_key *k = &rule->keys[i];
		const struct kube_annotation a = {k->key, k->value};
		const struct annotation_key *known = annotation_find(k->key);

		err.text[0] = '\0';
		r = annotation_take(&a, w, &err);
		if (r == -ENOMEM)
			return r;
		snprintf(path, sizeof path, "pods[%zu].%.32s", index, k->key);
		if (r < 0)
			config_error(errs, &(struct config_place){file, k->line, path}, "%s",
				     without_key(err.text, k->key));
		else if (known->take == NULL)
			config_error(errs, &(struct config_place){file, k->line, path},
				     "is written by vscaled; allowed: remove it");
	}
	snprintf(path, sizeof path, "pods[%zu]", index);
	err.text[0] = '\0';
	r = settings_check(w, &err);
	if (r < 0)
		config_error(errs, &(struct config_place){file, rule->line, path}, "%s", err.text);
	return 0;
}

int annotation_check_config(const struct config *config, const char *file,
			    struct config_errors *errs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < config->pod_rule_count; i++)
		r = check_rule(&config->pods[i], i, file, errs);
	return r < 0 ? r : errs->count > 0 ? -EBADMSG : 0;
}

int annotation_load_config(const char *path, struct config *ret, struct config_errors *errs)
{
	struct config fresh;
	int r = config_load_file(path, &fresh, errs);

	if (r < 0)
		return r;
	r = annotation_check_config(&fresh, path, errs);
	if (r < 0)
		config_free(&fresh);
	else
		*ret = fresh;
	return r;
}
