// SPDX-License-Identifier: Apache-2.0
/* vscale-backtest, which vscalectl starts. */
#include "agent/backtest/backtest_cmd.h"
#include "agent/base/file.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	OWN(drop_free) char **words = calloc((size_t)argc + 2, sizeof(*words));
	struct ctl c;

	ctl_default(&c, backtest_commands);
	if (words == NULL)
		return CTL_ERROR;
	words[0] = argv[0];
	words[1] = (char *)"backtest";
	memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof(*words));
	return ctl_main(&c, argc + 1, words);
}
