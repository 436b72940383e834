// SPDX-License-Identifier: Apache-2.0
/* vscaled(8): options and exit codes. */
#include "agent/base/process.h"
#include "agent/loop/loop.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

enum { EXIT_USAGE = 2 };

static const char help[] =
	"vscaled [OPTION...]\n"
	"\n"
	"Keeps the CPU and memory limits of pods and of systemd units the right size, in place.\n"
	"Pods opt in by annotation, units are named in the configuration.\n"
	"\n"
	"  -c, --config FILE       configuration (" CONFIG_PATH ")\n"
	"      --cgroup-root DIR   the cgroup version 2 tree, e.g. /host/sys/fs/cgroup\n"
	"  -h, --help              this text\n"
	"  -V, --version           the version\n"
	"\n"
	"Exit status: 0 stopped by a signal, 1 failed, 2 wrong usage or configuration.\n"
	"See vscaled(8), vscaled.yaml(5), vscalectl(1).\n";

enum { OPTION_CGROUP_ROOT = 256 };

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"cgroup-root", required_argument, NULL, OPTION_CGROUP_ROOT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

/* 0: go on; 1: done; -EINVAL: usage. */
static int parse_options(int argc, char **argv, struct loop_options *ret)
{
	int c;

	while ((c = getopt_long(argc, argv, "c:hV", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			ret->config_path = optarg;
			break;
		case OPTION_CGROUP_ROOT:
			ret->cgroup_root = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 1;
		case 'V':
			printf("vscaled " VSCALED_VERSION " (%s)\n", vscaled_revision);
			return 1;
		default:
			return -EINVAL;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "vscaled: unexpected argument '%s'; see vscaled --help\n", argv[optind]);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct loop_options o = {.config_path = CONFIG_PATH};
	struct loop *l = NULL;
	int r = parse_options(argc, argv, &o);

	if (r != 0)
		return r > 0 ? EXIT_SUCCESS : EXIT_USAGE;
	r = loop_new(&o, &l);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	r = loop_run(l);
	loop_free(l);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
