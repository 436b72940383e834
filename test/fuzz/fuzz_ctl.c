// SPDX-License-Identifier: Apache-2.0
/* vscalectl shows whatever a daemon answers, of another version or none: it takes the place of
 * client.c. The first byte of the input chooses command and output, the rest is the answer. */
#include "agent/ctl/client.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

static const char *answer;
static size_t answer_size;

int client_probe(const char *)
{
	return 0;
}

bool client_no_daemon(int)
{
	return false;
}

int client_call(const struct ctl *c, const char *, const cJSON *, cJSON **ret)
{
	*ret = cJSON_ParseWithLengthOpts(answer, answer_size, NULL, false);
	return *ret != NULL ? CTL_OK : ctl_fail(c, CTL_ERROR, NULL, "the answer is not valid");
}

int client_call_name(const struct ctl *c, const char *path, const char *, cJSON **ret)
{
	return client_call(c, path, NULL, ret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const commands[][3] = {
		{"status"},  {"list"},           {"list", "-A"},     {"explain", "a/b/c"},
		{"report"},  {"config"},         {"pause", "a/b/c"}, {"top", "--count=1"},
		{"history"}, {"restore", "a/b"},
	};
	static char *const outputs[] = {"-otable", "-owide", "-ojson",
					"-oyaml",  "-ocsv",  "-opatch"};
	char *argv[8] = {"vscalectl"};
	struct ctl c;
	int argc = 1;

	if (size == 0)
		return 0;
	for (char *const *word = commands[data[0] % ARRAY_SIZE(commands)]; *word != NULL; word++)
		argv[argc++] = *word;
	argv[argc++] = outputs[data[0] / 16 % ARRAY_SIZE(outputs)];
	argv[argc++] = "--state-directory=/nonexistent";
	/* A copy of exactly this size, so that one byte too far is seen. */
	answer_size = size - 1;
	answer = memcpy(malloc(size), data + 1, answer_size);
	ctl_default(&c, ctl_commands);
	c.out = c.err = fopen("/dev/null", "we");
	c.color = (data[0] & 8) != 0;
	if (c.out == NULL)
		abort();
	(void)ctl_main(&c, argc, argv);
	fclose(c.out);
	free((char *)answer);
	return 0;
}
