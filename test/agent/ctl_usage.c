// SPDX-License-Identifier: Apache-2.0
/* ctl_usage ARG...: whether vscalectl takes these arguments (0, else 2); nothing is carried out. */
#include "agent/ctl/ctl.h"

int main(int argc, char **argv)
{
	const struct ctl_command *command;
	struct ctl c;

	ctl_default(&c, ctl_commands);
	return ctl_parse(&c, argc, argv, &command) == CTL_OK ? 0 : 2;
}
