// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/ctl.h"

int main(int argc, char **argv)
{
	struct ctl c;

	ctl_default(&c, ctl_commands);
	return ctl_main(&c, argc, argv);
}
