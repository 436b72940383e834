// SPDX-License-Identifier: Apache-2.0
/*
 * The configuration loader. What it takes over, it must be able to write and to read again with
 * the same result; what it refuses, it must say why, in printable text.
 */
#include "agent/config/config.h"
#include "test/fuzz/fuzz.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void require_of(int truth, const char *what, const char *text)
{
	if (truth)
		return;
	fprintf(stderr, "%s: %s\n", what, text);
	abort();
}

static void check_messages(const struct config_errors *errs)
{
	for (size_t i = 0; i < errs->count; i++)
		for (const char *p = errs->text[i]; *p != '\0'; p++)
			require_of(!iscntrl((unsigned char)*p), "control byte", errs->text[i]);
}

static char *dump(const struct config *c)
{
	cJSON *tree = config_dump_json(c);
	char *text = tree != NULL ? cJSON_PrintUnformatted(tree) : NULL;

	cJSON_Delete(tree);
	return text;
}

static void check_dump(const struct config *c)
{
	OWN(drop_free) char *first = NULL, *second = NULL;
	struct config_errors errs = {0};
	struct config again;

	first = dump(c);
	if (first == NULL)
		return;
	require_of(config_load_text("dump", first, strlen(first), &again, &errs) == 0, errs.text[0],
		   first);
	second = dump(&again);
	if (second != NULL)
		require_of(strcmp(first, second) == 0, "another dump", second);
	config_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_errors errs = {0};
	struct config c;
	int r = config_load_text("fuzz", (const char *)data, size, &c, &errs);

	check_messages(&errs);
	if (r < 0) {
		require_of(r == -ENOMEM || errs.count > 0, "refused", "without a word");
		return 0;
	}
	require_of(errs.count == 0, "accepted in spite of", errs.text[0]);
	config_rule_for(&c, "web-1.service");
	config_pod_rule_for(&c, &(struct config_pod){"team-a", "app=web,tier=", "Deployment"});
	check_dump(&c);
	config_free(&c);
	return 0;
}
