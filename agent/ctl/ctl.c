// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/ctl.h"
#include "agent/config/config.h"
#include "policy/backtest/backtest.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int ctl_version(const struct ctl *c);
static int ctl_help(const struct ctl *c);

/* clang-format off */
const struct ctl_command ctl_commands[CTL_COMMAND_COUNT] = {
	{"status",       "",            "the daemon itself: configuration, state, host, cost",  OPTION_OUTPUT,               0, 0, ctl_status},
	{"list",         "",            "every unit and container that is sized, one per line", OPTION_OUTPUT | OPTION_WIDE | OPTION_NAMESPACE, 0, 0, ctl_list},
	{"top",          "",            "use inside limits, pressure and changes, live",         OPTION_TOP,                  0, 0, ctl_top},
	{"explain",      "NAME",        "why a unit or container has the limits that it has, and what next", OPTION_OUTPUT,               1, 1, ctl_explain},
	{"report",       "[FILE...]",   "requests against use by workload, and what is reclaimable", OPTION_OUTPUT | OPTION_WIDE | OPTION_NAMESPACE | OPTION_SHEET, 0, INT_MAX, ctl_report},
	{"pause",        "[NAME]",      "change nothing any more, of one or of all",       0,                           0, 1, ctl_pause},
	{"resume",       "[NAME]",      "the opposite of pause",                                0,                           0, 1, ctl_resume},
	{"restore",      "--all|NAME",  "put the original limits back, also without a daemon",  OPTION_ALL | OPTION_FORCE | OPTION_OUTPUT, 0, 1, ctl_restore},
	{"lift",         "",            "put a memory.high back that a dead daemon left low",   0,                           0, 0, ctl_lift},
	{"doctor",       "",            "what this host lacks, and how to mend it",             OPTION_OUTPUT,               0, 0, ctl_doctor},
	{"config check", "[FILE]",      "whether a configuration is valid",                     0,                           0, 1, ctl_config_check},
	{"config show",  "",            "the configuration in effect",                          OPTION_OUTPUT,               0, 0, ctl_config_show},
	{"backtest",     "FILE...",     "what each policy would have cost on recorded use",     OPTION_OUTPUT | OPTION_BACKTEST | OPTION_PAGE, 1, INT_MAX, ctl_backtest},
	{"history",      "NAME",        "use and limits of the last hours as charts; --verify: is the stored history whole", OPTION_OUTPUT | OPTION_VERIFY | OPTION_RECORDING | OPTION_PAGE, 0, 1, ctl_history},
	{"record dump",  "[NAME]",      "what the flight recorder has: of all containers, or each record of one", OPTION_OUTPUT | OPTION_RECORDING | OPTION_CSV, 0, 1, ctl_record_dump},
	{"record replay", "[NAME]",     "whether the laws decide the same when the recorded calls are made again", OPTION_OUTPUT | OPTION_RECORDING, 0, 1, ctl_record_replay},
	{"import vpa",   "[FILE]",      "history of the Vertical Pod Autoscaler, before the daemon starts", OPTION_OUTPUT | OPTION_IMPORT | OPTION_FORCE, 0, 1, ctl_import_vpa},
	{"version",      "",            "the version of vscalectl",                             0,                           0, 0, ctl_version},
	{"help",         "",            "this text",                                            0,                           0, 0, ctl_help},
};
/* clang-format on */

enum option_value {
	VALUE_OUTPUT = 'o',
	VALUE_HELP = 'h',
	VALUE_NAMESPACE = 'n',
	VALUE_ALL_NAMESPACES = 'A',
	VALUE_ALL = 256,
	VALUE_FORCE,
	VALUE_NO_COLOR,
	VALUE_SOCKET,
	VALUE_STATE,
	VALUE_RUNTIME,
	VALUE_CONFIG,
	VALUE_CGROUP,
	VALUE_ROOT,
	VALUE_VERSION,
	VALUE_CPUS,
	VALUE_SEED,
	VALUE_VERIFY,
	VALUE_DRY_RUN,
	VALUE_WORKLOAD,
	VALUE_SORT,
	VALUE_COUNT,
	VALUE_RECORDING,
	VALUE_DELAY = 'd',
};

struct option_info {
	struct option option;
	const char *argument;
	const char *summary;
};

/* clang-format off */
static const struct option_info option_infos[] = {
	{{"output",            required_argument, NULL, VALUE_OUTPUT},   "FORMAT", "-o: table, wide, json or yaml; report: also csv or patch; record dump: csv; backtest, history: html"},
	{{"namespace",         required_argument, NULL, VALUE_NAMESPACE},      "NS", "-n: list the containers of a namespace alone"},
	{{"all-namespaces",    no_argument,       NULL, VALUE_ALL_NAMESPACES}, "",   "-A: list those of every namespace, and units: the default"},
	{{"all",               no_argument,       NULL, VALUE_ALL},      "",       "restore everything"},
	{{"force",             no_argument,       NULL, VALUE_FORCE},    "",       "restore: memory values below what is in use, too; import: replace newer history"},
	{{"verify",            no_argument,       NULL, VALUE_VERIFY},   "",       "history: read the file, and report what is damaged"},
	{{"recording",         required_argument, NULL, VALUE_RECORDING}, "FILE",  "record, history: in place of the daemon's recording"},
	{{"dry-run",           no_argument,       NULL, VALUE_DRY_RUN},  "",       "import: write nothing"},
	{{"workload",          required_argument, NULL, VALUE_WORKLOAD}, "NAME",   "import: the workload of checkpoints without their autoscaler"},
	{{"sort",              required_argument, NULL, VALUE_SORT},     "KEY",    "top: cpu, memory, pressure, slack, age or name"},
	{{"delay",             required_argument, NULL, VALUE_DELAY},    "SECONDS", "-d: top: between frames, 1 by default"},
	{{"count",             required_argument, NULL, VALUE_COUNT},    "N",      "top: so many frames; without a terminal 1"},
	{{"cpus",              required_argument, NULL, VALUE_CPUS},     "N",      "backtest: CPUs of the recorded machine, 1 to 16"},
	{{"seed",              required_argument, NULL, VALUE_SEED},     "N",      "backtest: of the demand model, 1 by default"},
	{{"socket",            required_argument, NULL, VALUE_SOCKET},   "PATH",   "where the daemon listens"},
	{{"state-directory",   required_argument, NULL, VALUE_STATE},    "DIR",    "where original limits and lock are kept"},
	{{"runtime-directory", required_argument, NULL, VALUE_RUNTIME},  "DIR",    "where the lock of earlier versions is"},
	{{"config",            required_argument, NULL, VALUE_CONFIG},   "FILE",   "the daemon's configuration"},
	{{"cgroup-root",       required_argument, NULL, VALUE_CGROUP},   "DIR",    "the cgroup v2 tree, when it is not the host's"},
	{{"root",              required_argument, NULL, VALUE_ROOT},     "DIR",    "the host's file system, seen from a container"},
	{{"no-color",          no_argument,       NULL, VALUE_NO_COLOR}, "",       "no colours, as with NO_COLOR in the environment"},
	{{"help",              no_argument,       NULL, VALUE_HELP},     "",       "-h: this text"},
	{{"version",           no_argument,       NULL, VALUE_VERSION},  "",       "the version of vscalectl"},
};
/* clang-format on */

static const char *const output_names[OUTPUT_COUNT] = {
	[OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json",
	[OUTPUT_YAML] = "yaml",   [OUTPUT_CSV] = "csv",   [OUTPUT_PATCH] = "patch",
	[OUTPUT_HTML] = "html",
};

int ctl_fail(const struct ctl *c, int code, const char *hint, const char *format, ...)
{
	va_list arguments;

	/* Keeps the order of both streams on a terminal. */
	fflush(c->out);
	fputs("vscalectl: ", c->err);
	va_start(arguments, format);
	vfprintf(c->err, format, arguments);
	va_end(arguments);
	fputc('\n', c->err);
	if (hint)
		fprintf(c->err, "  %s\n", hint);
	return code;
}

static int ctl_version(const struct ctl *c)
{
	fprintf(c->out, "vscalectl %s\n", VSCALED_VERSION);
	return CTL_OK;
}

static int ctl_help(const struct ctl *c)
{
	char left[64];

	fprintf(c->out, "vscalectl COMMAND [OPTIONS]\n\nCommands\n");
	for (size_t i = 0; i < CTL_COMMAND_COUNT; i++) {
		const struct ctl_command *k = &ctl_commands[i];

		snprintf(left, sizeof(left), "%s %s", k->name, k->arguments);
		fprintf(c->out, "  %-24s %s\n", left, k->summary);
	}
	fprintf(c->out, "\nOptions\n");
	for (size_t i = 0; i < ARRAY_SIZE(option_infos); i++) {
		const struct option_info *o = &option_infos[i];

		snprintf(left, sizeof(left), "--%s %s", o->option.name, o->argument);
		fprintf(c->out, "  %-24s %s\n", left, o->summary);
	}
	fprintf(c->out, "\nExit status: 0 done, 1 error, 2 usage, 3 not managed, 75 try later.\n"
			"See vscalectl(1).\n");
	return CTL_OK;
}

void ctl_default(struct ctl *ret)
{
	const char *no_color = getenv("NO_COLOR");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*ret = (struct ctl){
		.config = CONFIG_PATH,
		.root = "",
		.seed = 1,
		.delay_msec = 1000,
		.color = isatty(STDOUT_FILENO) && !(no_color && no_color[0]),
		.now_realtime_usec = (usec_t)now.tv_sec * USEC_PER_SEC + (usec_t)now.tv_nsec / 1000,
		.out = stdout,
		.err = stderr,
	};
}

static int set_output(struct ctl *c, const char *name)
{
	for (int i = 0; i < OUTPUT_COUNT; i++) {
		if (strcmp(output_names[i], name) == 0) {
			c->output = (enum ctl_output)i;
			return CTL_OK;
		}
	}
	return ctl_fail(c, CTL_USAGE, "one of table, wide, json, yaml, csv, patch, html",
			"no such format: %s", name);
}

/* Decimal digits within a range. */
static int set_number(const struct ctl *c, const char *text, uint64_t least, uint64_t most,
		      uint64_t *ret)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v < least || v > most)
		return ctl_fail(c, CTL_USAGE, NULL, "not a number from %llu to %llu: %s",
				(unsigned long long)least, (unsigned long long)most, text);
	*ret = v;
	return CTL_OK;
}

static int set_cpus(struct ctl *c, const char *text)
{
	uint64_t v = 0;
	int r = set_number(c, text, 1, BACKTEST_CPUS_MAX, &v);

	if (r == CTL_OK)
		c->cpus = (uint32_t)v;
	return r;
}

static int set_delay(struct ctl *c, const char *text)
{
	int r = set_number(c, text, 1, 3600, &c->delay_msec);

	c->delay_msec *= 1000;
	return r;
}

/* An option whose argument is taken as it is. */
static bool take_text(struct ctl *c, int value, const char *argument, unsigned *ret_seen)
{
	const struct {
		int value;
		const char **to;
		unsigned option;
	} texts[] = {
		{VALUE_SOCKET, &c->socket, 0},
		{VALUE_STATE, &c->state_directory, 0},
		{VALUE_RUNTIME, &c->runtime_directory, 0},
		{VALUE_CONFIG, &c->config, 0},
		{VALUE_CGROUP, &c->cgroup_root, 0},
		{VALUE_ROOT, &c->root, 0},
		{VALUE_NAMESPACE, &c->namespace, OPTION_NAMESPACE},
		{VALUE_SORT, &c->sort, OPTION_TOP},
		{VALUE_RECORDING, &c->recording, OPTION_RECORDING},
		{VALUE_WORKLOAD, &c->workload, OPTION_IMPORT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].value != value)
			continue;
		*texts[i].to = argument;
		*ret_seen |= texts[i].option;
		return true;
	}
	return false;
}

/* ret_seen collects the options that only some commands take. */
static int take_option(struct ctl *c, int value, const char *argument, unsigned *ret_seen)
{
	if (take_text(c, value, argument, ret_seen))
		return CTL_OK;
	switch (value) {
	case VALUE_OUTPUT:
		*ret_seen |= OPTION_OUTPUT;
		return set_output(c, argument);
	case VALUE_ALL_NAMESPACES:
		*ret_seen |= OPTION_NAMESPACE;
		c->all_namespaces = true;
		return CTL_OK;
	case VALUE_ALL:
		*ret_seen |= OPTION_ALL;
		c->all = true;
		return CTL_OK;
	case VALUE_FORCE:
		*ret_seen |= OPTION_FORCE;
		c->force = true;
		return CTL_OK;
	case VALUE_VERIFY:
		*ret_seen |= OPTION_VERIFY;
		c->verify = true;
		return CTL_OK;
	case VALUE_DRY_RUN:
		*ret_seen |= OPTION_IMPORT;
		c->dry_run = true;
		return CTL_OK;
	case VALUE_COUNT:
		*ret_seen |= OPTION_TOP;
		return set_number(c, argument, 1, UINT32_MAX, &c->frames);
	case VALUE_DELAY:
		*ret_seen |= OPTION_TOP;
		return set_delay(c, argument);
	case VALUE_CPUS:
		*ret_seen |= OPTION_BACKTEST;
		return set_cpus(c, argument);
	case VALUE_SEED:
		*ret_seen |= OPTION_BACKTEST;
		return set_number(c, argument, 0, UINT64_MAX, &c->seed);
	case VALUE_NO_COLOR:
		c->color = false;
		return CTL_OK;
	case VALUE_HELP:
		c->help = true;
		return CTL_OK;
	case VALUE_VERSION:
		c->version = true;
		return CTL_OK;
	default:
		return ctl_fail(c, CTL_USAGE, NULL, "see: vscalectl help");
	}
}

static int take_options(struct ctl *c, int argc, char **argv, unsigned *ret_seen)
{
	struct option options[ARRAY_SIZE(option_infos) + 1] = {0};
	int value, r = CTL_OK;

	for (size_t i = 0; i < ARRAY_SIZE(option_infos); i++)
		options[i] = option_infos[i].option;
	optind = 0;
	while (r == CTL_OK && (value = getopt_long(argc, argv, "o:hn:Ad:", options, NULL)) != -1)
		r = take_option(c, value, optarg, ret_seen);
	c->arguments = argv + optind;
	c->argument_count = argc - optind;
	return r;
}

/* Finds the command that the first words name, and removes them from the arguments. */
static const struct ctl_command *take_command(struct ctl *c)
{
	for (size_t i = 0; i < CTL_COMMAND_COUNT; i++) {
		const struct ctl_command *k = &ctl_commands[i];

		const char *space = strchr(k->name, ' ');
		size_t first = space ? (size_t)(space - k->name) : strlen(k->name);
		int words = space ? 2 : 1;

		if (c->argument_count < words || strlen(c->arguments[0]) != first ||
		    strncmp(c->arguments[0], k->name, first) != 0 ||
		    (space && strcmp(c->arguments[1], space + 1) != 0))
			continue;
		c->arguments += words;
		c->argument_count -= words;
		return k;
	}
	return NULL;
}

/* NULL when the command takes the options and arguments as given. */
static const char *misuse(const struct ctl *c, const struct ctl_command *k, unsigned seen)
{
	if (seen & ~k->options)
		return "takes no such option";
	if (c->output == OUTPUT_WIDE && !(k->options & OPTION_WIDE))
		return "has no wide format";
	if (c->output == OUTPUT_HTML && !(k->options & OPTION_PAGE))
		return "has no such format";
	if (c->output == OUTPUT_CSV && !(k->options & (OPTION_SHEET | OPTION_CSV)))
		return "has no such format";
	if (c->output == OUTPUT_PATCH && !(k->options & OPTION_SHEET))
		return "has no such format";
	if (c->namespace && c->all_namespaces)
		return "takes a namespace or all of them, not both";
	if (c->argument_count < k->argument_min)
		return "needs an argument";
	if (c->argument_count > k->argument_max)
		return "takes fewer arguments";
	return NULL;
}

/* Sets a path that no option has set. */
static void set_path(const char **path, const char *configured)
{
	if (!*path)
		*path = configured;
}

/* The daemon's configuration holds for vscalectl too. One that cannot be read or is invalid is
 * ignored: the running daemon has an older one, and a restore must work nevertheless. */
static int load_config(const struct ctl *c, struct config *ret)
{
	struct config_errors *errors = calloc(1, sizeof(*errors));
	int r = errors ? config_load_file(c->config, ret, errors) : -ENOMEM;

	free(errors);
	if (r == 0)
		return 0;
	r = config_default(ret);
	if (r == 0)
		r = config_set_paths(ret, getenv("STATE_DIRECTORY"), getenv("RUNTIME_DIRECTORY"));
	return r;
}

static int run_configured(struct ctl *c, const struct ctl_command *k)
{
	struct config config = {0};
	int r = load_config(c, &config);

	if (r < 0)
		return ctl_fail(c, CTL_ERROR, NULL, "%s", strerror(-r));
	set_path(&c->socket, config.paths.socket);
	set_path(&c->state_directory, config.paths.state_dir);
	set_path(&c->runtime_directory, config.paths.runtime_dir);
	c->algorithm = config.tuning.history.algorithm;
	c->margin_permille = config.tuning.memory.margin_permille;
	c->margin_min_bytes = config.tuning.memory.margin_min_bytes;
	r = k->run(c);
	config_free(&config);
	return r;
}

int ctl_parse(struct ctl *c, int argc, char **argv, const struct ctl_command **ret)
{
	const struct ctl_command *k;
	unsigned seen = 0;
	const char *wrong;
	int r = take_options(c, argc, argv, &seen);

	if (r != CTL_OK)
		return r;
	if (c->help || c->version) {
		*ret = NULL;
		return CTL_OK;
	}
	k = take_command(c);
	if (!k)
		return ctl_fail(c, CTL_USAGE, "see: vscalectl help",
				c->argument_count ? "no such command: %s" : "which command?%.0s",
				c->argument_count ? c->arguments[0] : "");
	wrong = misuse(c, k, seen);
	if (wrong)
		return ctl_fail(c, CTL_USAGE, "see: vscalectl help", "%s %s", k->name, wrong);
	*ret = k;
	return CTL_OK;
}

int ctl_main(struct ctl *c, int argc, char **argv)
{
	const struct ctl_command *k;
	int r = ctl_parse(c, argc, argv, &k);

	if (r != CTL_OK)
		return r;
	if (c->help)
		return ctl_help(c);
	if (c->version)
		return ctl_version(c);
	r = run_configured(c, k);
	if (fflush(c->out) != 0 && r == CTL_OK)
		return ctl_fail(c, CTL_ERROR, NULL, "the output could not be written: %s",
				strerror(errno));
	return r;
}
