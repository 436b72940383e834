// SPDX-License-Identifier: Apache-2.0
/* The commands of vscalectl. */
#include "agent/base/file.h"
#include "agent/ctl/ctl.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKTEST "vscale-backtest"

/* The program stands beside this one, or on the path. It gets the words of this command line but
 * for "backtest": getopt_long() has moved the options to the front. */
static int start_backtest(const struct ctl *c)
{
	OWN(drop_free) char **words = calloc((size_t)c->words_count + 1, sizeof(*words));
	int options = (int)(c->arguments - c->words) - 1;
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - sizeof BACKTEST);
	char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;

	if (words == NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "%s", strerror(ENOMEM));
	memcpy(words, c->words, (size_t)options * sizeof(*words));
	memcpy(words + options, c->arguments, (size_t)c->argument_count * sizeof(*words));
	words[0] = (char *)BACKTEST;
	fflush(c->out);
	if (slash != NULL) {
		memcpy(slash + 1, BACKTEST, sizeof BACKTEST);
		execv(self, words);
	}
	execvp(BACKTEST, words);
	return ctl_fail(c, CTL_ERROR, "install it beside vscalectl", BACKTEST ": %s",
			strerror(errno));
}

/* clang-format off */
const struct ctl_command ctl_commands[] = {
	{"status",       "",            "the daemon itself: configuration, state, host, cost",  OPTION_OUTPUT,               0, 0, ctl_status},
	{"list",         "",            "every unit and container that is sized, one per line", OPTION_OUTPUT | OPTION_WIDE | OPTION_NAMESPACE, 0, 0, ctl_list},
	{"top",          "",            "use inside limits, pressure and changes, live",         OPTION_TOP,                  0, 0, ctl_top},
	{"explain",      "NAME",        "why a unit or container has its limits, and what comes next", OPTION_OUTPUT,               1, 1, ctl_explain},
	{"report",       "[FILE...]",   "requests against use by workload, and what is reclaimable", OPTION_OUTPUT | OPTION_WIDE | OPTION_NAMESPACE | OPTION_SHEET, 0, INT_MAX, ctl_report},
	{"pause",        "[NAME]",      "stop changing the limits of one, or of all",       0,                           0, 1, ctl_pause},
	{"resume",       "[NAME]",      "change limits again, after pause or restore",                                0,                           0, 1, ctl_resume},
	{"restore",      "--all|NAME",  "restore the original limits, also without the daemon",  OPTION_ALL | OPTION_FORCE | OPTION_OUTPUT, 0, 1, ctl_restore},
	{"lift",         "",            "remove a memory.high that a killed daemon has left",   0,                           0, 0, ctl_lift},
	{"doctor",       "",            "what this host lacks, and how to provide it",             OPTION_OUTPUT,               0, 0, ctl_doctor},
	{"config check", "[FILE]",      "whether a configuration is valid",                     0,                           0, 1, ctl_config_check},
	{"config show",  "",            "the configuration in effect",                          OPTION_OUTPUT,               0, 0, ctl_config_show},
	{"backtest",     "FILE...",     "what each policy would have cost on recorded use",     OPTION_OUTPUT | OPTION_BACKTEST | OPTION_PAGE, 1, INT_MAX, start_backtest},
	{"history",      "NAME",        "use and limits of the last hours as charts; --verify: check the stored history", OPTION_OUTPUT | OPTION_VERIFY | OPTION_RECORDING | OPTION_PAGE, 0, 1, ctl_history},
	{"record dump",  "[NAME]",      "contents of the flight recorder: all containers, or each record of one", OPTION_OUTPUT | OPTION_RECORDING | OPTION_CSV, 0, 1, ctl_record_dump},
	{"record replay", "[NAME]",     "repeat the recorded calls of the laws, and compare the decisions", OPTION_OUTPUT | OPTION_RECORDING, 0, 1, ctl_record_replay},
	{"import vpa",   "[FILE]",      "read the history of the Vertical Pod Autoscaler; the daemon must not run", OPTION_OUTPUT | OPTION_IMPORT | OPTION_FORCE, 0, 1, ctl_import_vpa},
	{"version",      "",            "the version of vscalectl",                             0,                           0, 0, ctl_version},
	{"help",         "",            "this text",                                            0,                           0, 0, ctl_help},
	{0},
};
/* clang-format on */
