// SPDX-License-Identifier: Apache-2.0
#include "agent/annotation/annotation.h"
#include "agent/base/file.h"
#include "agent/base/lock.h"
#include "agent/base/process.h"
#include "agent/ctl/client.h"
#include "agent/ctl/render.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- the commands that query the daemon and print its answer */

/* Prints the answer as it is, or for people; frees it. */
static int show(const struct ctl *c, int r, cJSON *answer,
		void (*render)(const struct ctl *c, const cJSON *answer))
{
	if (r == CTL_OK && (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML))
		return json_print(c, answer);
	if (r == CTL_OK)
		render(c, answer);
	cJSON_Delete(answer);
	return r;
}

int ctl_status(const struct ctl *c)
{
	cJSON *status = NULL;
	int r = client_call(c, "/v1/status", NULL, &status);

	return show(c, r, status, render_status);
}

int ctl_explain(const struct ctl *c)
{
	cJSON *unit = NULL;
	int r = client_call_name(c, "/v1/units/", c->arguments[0], &unit);

	return show(c, r, unit, render_explain);
}

int ctl_config_show(const struct ctl *c)
{
	struct ctl yaml = *c;
	cJSON *config = NULL;
	int r = client_call(c, "/v1/config", NULL, &config);

	/* The configuration is a YAML file: that is its table. */
	if (yaml.output == OUTPUT_TABLE)
		yaml.output = OUTPUT_YAML;
	return r == CTL_OK ? json_print(&yaml, config) : r;
}

/* Asks for all units, or for the one named. */
static int set_paused(const struct ctl *c, const char *path, const char *word)
{
	cJSON *body = cJSON_CreateObject();
	cJSON *answer = NULL;
	bool named = c->argument_count > 0;
	int r;

	if (named)
		cJSON_AddStringToObject(body, "name", c->arguments[0]);
	else
		cJSON_AddTrueToObject(body, "all");
	r = client_call(c, path, body, &answer);
	if (r == CTL_OK && named)
		fprintf(c->out, "%s %s\n", word, c->arguments[0]);
	else if (r == CTL_OK)
		fprintf(c->out, "%s all, %" PRIu64 " units\n", word, json_amount(answer, "units"));
	cJSON_Delete(answer);
	cJSON_Delete(body);
	return r;
}

int ctl_pause(const struct ctl *c)
{
	return set_paused(c, "/v1/pause", "paused");
}

int ctl_resume(const struct ctl *c)
{
	return set_paused(c, "/v1/resume", "resumed");
}

/* What the configuration takes from a unit that is sized now. NULL: nothing. */
static const char *taken(const struct config *config, const cJSON *unit)
{
	const struct policy_rule *rule = config_rule_for(config, json_text(unit, "name"));

	if (strcmp(json_text(unit, "kind"), unit_kind_names[UNIT_KIND_UNIT]) != 0 ||
	    strcmp(json_text(unit, "mode"), mode_name(MODE_OFF)) == 0 ||
	    strcmp(json_text(unit, "state"), unit_state_names[UNIT_UNMANAGED]) == 0)
		return NULL;
	if (rule == NULL)
		return "it is not named";
	if (rule->mode == MODE_OFF)
		return "its mode is Off";
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const char *blocked = json_text(json_object(unit, resource_names[r]), "hold");

		if (!(rule->resources & (1u << r)) &&
		    strcmp(blocked, blocked_reason_name(BLOCKED_NOT_CONTROLLED)) != 0)
			return r == RESOURCE_CPU ? "cpu is not among its resources"
						 : "memory is not among its resources";
	}
	return NULL;
}

/* Where the daemon runs. */
static void print_handed_back(const struct ctl *c, const struct config *config)
{
	cJSON *answer = NULL;
	const cJSON *unit;

	if (client_probe(c->socket) < 0 || client_call(c, "/v1/units", NULL, &answer) != CTL_OK)
		return;
	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units")) {
		const char *why = taken(config, unit);

		if (why != NULL)
			fprintf(c->out, "a reload hands back %s: %s\n", json_text(unit, "name"),
				why);
	}
	cJSON_Delete(answer);
}

int ctl_config_check(const struct ctl *c)
{
	const char *path = c->argument_count > 0 ? c->arguments[0] : c->config;
	OWN(drop_free) struct config_errors *errors = ctl_alloc(sizeof(*errors));
	OWN(config_free) struct config config = {0};
	int r = annotation_load_config(path, &config, errors);

	for (size_t i = 0; i < errors->count; i++)
		fprintf(c->err, "%s\n", errors->text[i]);
	if (errors->dropped > 0)
		fprintf(c->err, "%s: %zu more errors\n", path, errors->dropped);
	if (r < 0 && errors->count == 0)
		ctl_fail(c, CTL_ERROR, NULL, "%s cannot be loaded", path);
	if (r < 0)
		return CTL_ERROR;
	fprintf(c->out, "%s is valid; it names units in %zu rules", path, config.unit_count);
	if (config.pod_rule_count > 0)
		fprintf(c->out, " and pods in %zu", config.pod_rule_count);
	fputc('\n', c->out);
	print_handed_back(c, &config);
	return CTL_OK;
}

/* --- the table of commands */

#define BACKTEST "vscale-backtest"

/* The program stands beside this one, or on the path. It gets the words of this command line but
 * for "backtest": getopt_long() has moved the options to the front. */
static int start_backtest(const struct ctl *c)
{
	OWN(drop_free) char **words = ctl_alloc(((size_t)c->words_count + 1) * sizeof(*words));
	int options = (int)(c->arguments - c->words) - 1;
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - sizeof BACKTEST);
	char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;

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
	{"list",         "[FILE [POD...]]", "every unit and container that is sized, one per line", OPTION_OUTPUT | OPTION_WIDE | OPTION_NAMESPACE, 0, INT_MAX, ctl_list},
	{"top",          "",            "use inside limits, pressure and changes, live",         OPTION_TOP,                  0, 0, ctl_top},
	{"explain",      "NAME",        "why a unit or container has its limits, and what comes next", OPTION_OUTPUT,               1, 1, ctl_explain},
	{"report",       "[FILE...]",   "sizes by workload, now and recommended, what that saves, and what is at risk", OPTION_OUTPUT | OPTION_WIDE | OPTION_NAMESPACE | OPTION_SHEET | OPTION_PRICE, 0, INT_MAX, ctl_report},
	{"pause",        "[NAME]",      "stop changing the limits of one, or of all",       0,                           0, 1, ctl_pause},
	{"resume",       "[NAME]",      "change limits again, after pause or restore",                                0,                           0, 1, ctl_resume},
	{"restore",      "--all|NAME",  "restore the original limits, also without the daemon",  OPTION_ALL | OPTION_FORCE | OPTION_OUTPUT, 0, 1, ctl_restore},
	{"lift",         "",            "remove a memory.high that a killed daemon has left",   0,                           0, 0, ctl_lift},
	{"doctor",       "",            "what this host lacks, and how to provide it",             OPTION_OUTPUT,               0, 0, ctl_doctor},
	{"config check", "[FILE]",      "whether a configuration is valid",                     0,                           0, 1, ctl_config_check},
	{"config show",  "",            "the configuration in effect",                          OPTION_OUTPUT,               0, 0, ctl_config_show},
	{"backtest",     "FILE...",     "what each policy would have cost on recorded use: CSV, or answers of Prometheus", OPTION_OUTPUT | OPTION_BACKTEST | OPTION_PAGE, 1, INT_MAX, start_backtest},
	{"history",      "NAME",        "use and limits of the last hours as charts; --verify: check the stored history", OPTION_OUTPUT | OPTION_VERIFY | OPTION_RECORDING | OPTION_PAGE, 0, 1, ctl_history},
	{"record dump",  "[NAME]",      "contents of the flight recorder: all containers, or each record of one", OPTION_OUTPUT | OPTION_RECORDING | OPTION_CSV, 0, 1, ctl_record_dump},
	{"record replay", "[NAME]",     "repeat the recorded calls of the laws, and compare the decisions", OPTION_OUTPUT | OPTION_RECORDING, 0, 1, ctl_record_replay},
	{"import vpa",   "[FILE]",      "read the history of the Vertical Pod Autoscaler; the daemon must not run", OPTION_OUTPUT | OPTION_IMPORT | OPTION_FORCE, 0, 1, ctl_import_vpa},
	{"version",      "",            "the version of vscalectl",                             0,                           0, 0, ctl_version},
	{"help",         "",            "this text",                                            0,                           0, 0, ctl_help},
	{0},
};
/* clang-format on */

/* --- the command line */

/* Values of getopt_long() from here on are rows of option_infos. */
#define LETTERS 256

struct option_info {
	const char *name;
	char letter;          /* 0: none */
	const char *argument; /* "": it takes none */
	unsigned option;      /* of enum ctl_option_bit; 0: every command takes it */
	int (*take)(struct ctl *c, const struct option_info *o, const char *argument);
	size_t offset;              /* of what it sets, in struct ctl */
	uint64_t least, most, unit; /* of a number */
	const char *summary;
};

static const char *const output_names[OUTPUT_COUNT] = {
	[OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json",
	[OUTPUT_YAML] = "yaml",   [OUTPUT_CSV] = "csv",   [OUTPUT_PATCH] = "patch",
	[OUTPUT_HTML] = "html",
};

static void *option_target(struct ctl *c, const struct option_info *o)
{
	return (char *)c + o->offset;
}

static int take_text(struct ctl *c, const struct option_info *o, const char *argument)
{
	*(const char **)option_target(c, o) = argument;
	return CTL_OK;
}

static int take_flag(struct ctl *c, const struct option_info *o, const char *)
{
	*(bool *)option_target(c, o) = true;
	return CTL_OK;
}

/* Decimal digits within a range. */
static int take_number(struct ctl *c, const struct option_info *o, const char *argument)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(argument, &end, 10);
	if (argument[0] < '0' || argument[0] > '9' || *end != '\0' || errno != 0 || v < o->least ||
	    v > o->most)
		return ctl_fail(c, CTL_USAGE, NULL, "not a number from %llu to %llu: %s",
				(unsigned long long)o->least, (unsigned long long)o->most,
				argument);
	*(uint64_t *)option_target(c, o) = v * o->unit;
	return CTL_OK;
}

static int take_price(struct ctl *c, const struct option_info *o, const char *argument)
{
	char *end;
	double v = strtod(argument, &end);

	if (argument[strspn(argument, "0123456789.")] != '\0' || *end != '\0' || v <= 0 || v > 1e6)
		return ctl_fail(c, CTL_USAGE, "of an hour, such as 0.031", "not a price: %s",
				argument);
	*(double *)option_target(c, o) = v;
	return CTL_OK;
}

static int take_output(struct ctl *c, const struct option_info *, const char *argument)
{
	for (int i = 0; i < OUTPUT_COUNT; i++) {
		if (strcmp(output_names[i], argument) == 0) {
			c->output = (enum ctl_output)i;
			return CTL_OK;
		}
	}
	return ctl_fail(c, CTL_USAGE, "one of table, wide, json, yaml, csv, patch, html",
			"no such format: %s", argument);
}

#define TEXT(member)   take_text, offsetof(struct ctl, member), 0, 0, 0
#define FLAG(member)   take_flag, offsetof(struct ctl, member), 0, 0, 0
#define NUMBER(member) take_number, offsetof(struct ctl, member)

/* clang-format off */
static const struct option_info option_infos[] = {
	{"output",            'o', "FORMAT",  OPTION_OUTPUT,    take_output, 0, 0, 0, 0, "-o: table, wide, json or yaml; report: also csv or patch; record dump: csv; backtest, history: html"},
	{"output-dir",        0,   "DIR",     OPTION_SHEET,     TEXT(output_dir),     "report -o patch: a file for each workload there, and kustomization.yaml"},
	{"namespace",         'n', "NS",      OPTION_NAMESPACE, TEXT(namespace),      "-n: list only the containers of a namespace"},
	{"all-namespaces",    'A', "",        OPTION_NAMESPACE, FLAG(all_namespaces), "-A: list those of every namespace, and units (default)"},
	{"all",               0,   "",        OPTION_ALL,       FLAG(all),            "restore everything"},
	{"force",             0,   "",        OPTION_FORCE,     FLAG(force),          "restore: memory values below what is in use, too; import: replace newer history"},
	{"verify",            0,   "",        OPTION_VERIFY,    FLAG(verify),         "history: read the file, and report what is damaged"},
	{"recording",         0,   "FILE",    OPTION_RECORDING, TEXT(recording),      "record, history: another recording than the daemon's"},
	{"dry-run",           0,   "",        OPTION_IMPORT,    FLAG(dry_run),        "import: write nothing"},
	{"optional",          0,   "",        OPTION_IMPORT,    FLAG(optional),       "import: exit status 0 also when nothing can be imported; the reason is printed"},
	{"workload",          0,   "NAME",    OPTION_IMPORT,    TEXT(workload),       "import: the workload of checkpoints without a VerticalPodAutoscaler"},
	{"sort",              0,   "KEY",     OPTION_TOP,       TEXT(sort),           "top: order: cpu, memory, pressure, slack, age or name"},
	{"delay",             'd', "SECONDS", OPTION_TOP,       NUMBER(delay_msec), 1, 3600, 1000, "-d: top: seconds between frames, 1 by default"},
	{"count",             0,   "N",       OPTION_TOP,       NUMBER(frames), 1, UINT32_MAX, 1, "top: number of frames; without a terminal 1"},
	{"price-cpu",         0,   "PRICE",   OPTION_PRICE,     take_price, offsetof(struct ctl, price[RESOURCE_CPU]), 0, 0, 0, "report: of a core for an hour"},
	{"price-memory",      0,   "PRICE",   OPTION_PRICE,     take_price, offsetof(struct ctl, price[RESOURCE_MEMORY]), 0, 0, 0, "report: of a GiB for an hour"},
	{"cpus",              0,   "N",       OPTION_BACKTEST,  NUMBER(cpus), 1, CTL_CPUS_MAX, 1, "backtest: CPUs of the recorded machine, 1 to 16"},
	{"seed",              0,   "N",       OPTION_BACKTEST,  NUMBER(seed), 0, UINT64_MAX, 1, "backtest: seed of the demand model, 1 by default"},
	{"socket",            0,   "PATH",    0,                TEXT(socket),            "socket of the daemon"},
	{"state-directory",   0,   "DIR",     0,                TEXT(state_directory),   "directory of original limits and lock"},
	{"config",            0,   "FILE",    0,                TEXT(config),            "the daemon's configuration"},
	{"cgroup-root",       0,   "DIR",     0,                TEXT(cgroup_root),       "the cgroup v2 tree, if it is not the host's"},
	{"root",              0,   "DIR",     0,                TEXT(root),              "the host's file system, seen from a container"},
	{"no-color",          0,   "",        0,                FLAG(no_color),          "no colours, as with NO_COLOR in the environment"},
	{"help",              'h', "",        0,                FLAG(help),              "-h: this text"},
	{"version",           0,   "",        0,                FLAG(version),           "the version of vscalectl"},
};
/* clang-format on */

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

void *ctl_alloc(size_t size)
{
	void *memory = calloc(1, size);

	if (memory != NULL)
		return memory;
	fputs("vscalectl: out of memory\n", stderr);
	exit(CTL_ERROR);
}

int ctl_version(const struct ctl *c)
{
	fprintf(c->out, "vscalectl " VSCALED_VERSION " (%s)\n", vscaled_revision);
	return CTL_OK;
}

/* about: of this command; NULL: of all. */
static int print_help(const struct ctl *c, const struct ctl_command *about)
{
	char left[64];

	fprintf(c->out, "vscalectl %s %s%s[OPTIONS]\n\n", about ? about->name : "COMMAND",
		about ? about->arguments : "", about && about->arguments[0] != '\0' ? " " : "");
	if (about)
		fprintf(c->out, "  %s\n", about->summary);
	else
		fprintf(c->out, "Commands\n");
	for (const struct ctl_command *k = c->commands; !about && k->name != NULL; k++) {
		snprintf(left, sizeof(left), "%s %s", k->name, k->arguments);
		fprintf(c->out, "  %-24s %s\n", left, k->summary);
	}
	fprintf(c->out, "\nOptions\n");
	for (size_t i = 0; i < ARRAY_SIZE(option_infos); i++) {
		const struct option_info *o = &option_infos[i];

		if (about && o->option != 0 && !(about->options & o->option))
			continue;
		snprintf(left, sizeof(left), "--%s %s", o->name, o->argument);
		fprintf(c->out, "  %-24s %s\n", left, o->summary);
	}
	fprintf(c->out,
		"\nExit status: 0 done, 1 error, 2 usage, 3 not managed, 75 try again later.\n"
		"See vscalectl(1).\n");
	return CTL_OK;
}

int ctl_help(const struct ctl *c)
{
	return print_help(c, NULL);
}

usec_t ctl_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (usec_t)now.tv_sec * USEC_PER_SEC + (usec_t)now.tv_nsec / 1000;
}

void ctl_default(struct ctl *ret, const struct ctl_command *commands)
{
	const char *no_color = getenv("NO_COLOR");

	*ret = (struct ctl){
		.commands = commands,
		.config = CONFIG_PATH,
		.root = "",
		.seed = 1,
		.delay_msec = 1000,
		.color = isatty(STDOUT_FILENO) && !(no_color && no_color[0]),
		.now_realtime_usec = ctl_now(),
		.out = stdout,
		.err = stderr,
	};
}

/* The row of what getopt_long() returns: a letter, or the number of the row above all letters. */
static const struct option_info *option_of(int value)
{
	for (int i = 0; i < (int)ARRAY_SIZE(option_infos); i++)
		if (value == LETTERS + i || (value < LETTERS && value == option_infos[i].letter))
			return &option_infos[i];
	return NULL;
}

/* ret_seen collects the options that only some commands take. */
static int take_options(struct ctl *c, int argc, char **argv, unsigned *ret_seen)
{
	struct option options[ARRAY_SIZE(option_infos) + 1] = {0};
	int value, r = CTL_OK;

	for (int i = 0; i < (int)ARRAY_SIZE(option_infos); i++)
		options[i] = (struct option){
			.name = option_infos[i].name,
			.has_arg = option_infos[i].argument[0] != '\0' ? required_argument
								       : no_argument,
			.val = LETTERS + i,
		};
	optind = 0;
	while (r == CTL_OK && (value = getopt_long(argc, argv, "o:hn:Ad:", options, NULL)) != -1) {
		const struct option_info *o = option_of(value);

		if (o == NULL)
			return ctl_fail(c, CTL_USAGE, NULL, "see: vscalectl help");
		*ret_seen |= o->option;
		r = o->take(c, o, optarg);
	}
	c->words = argv;
	c->words_count = argc;
	c->arguments = argv + optind;
	c->argument_count = argc - optind;
	return r;
}

/* Finds the command that the first words name, and removes them from the arguments. */
static const struct ctl_command *take_command(struct ctl *c)
{
	for (const struct ctl_command *k = c->commands; k->name != NULL; k++) {
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

static bool has_format(const struct ctl_command *k, enum ctl_output output)
{
	static const unsigned needs[OUTPUT_COUNT] = {
		[OUTPUT_WIDE] = OPTION_WIDE,
		[OUTPUT_CSV] = OPTION_SHEET | OPTION_CSV,
		[OUTPUT_PATCH] = OPTION_SHEET,
		[OUTPUT_HTML] = OPTION_PAGE,
	};

	return needs[output] == 0 || (k->options & needs[output]);
}

static int no_such_format(const struct ctl *c, const struct ctl_command *k)
{
	char hint[128];
	size_t length = (size_t)snprintf(hint, sizeof hint, "one of");

	for (int i = 0; i < OUTPUT_COUNT; i++)
		if (has_format(k, (enum ctl_output)i))
			length += (size_t)snprintf(hint + length, sizeof hint - length, "%s %s",
						   i > 0 ? "," : "", output_names[i]);
	return ctl_fail(c, CTL_USAGE, hint, "%s has no format %s", k->name,
			output_names[c->output]);
}

/* Of a command with two words the first alone names those that there are. */
static int no_such_command(const struct ctl *c)
{
	const char *word = c->argument_count > 0 ? c->arguments[0] : NULL;
	char hint[128] = "see: vscalectl help";
	size_t length = 0;

	for (const struct ctl_command *k = c->commands; word != NULL && k->name != NULL; k++)
		if (strncmp(k->name, word, strlen(word)) == 0 && k->name[strlen(word)] == ' ')
			length += (size_t)snprintf(hint + length, sizeof hint - length, "%s%s",
						   length > 0 ? ", or: " : "say: ", k->name);
	if (word == NULL)
		return ctl_fail(c, CTL_USAGE, hint, "which command?");
	return ctl_fail(c, CTL_USAGE, hint, "no such command: %s%s%s", word,
			length > 0 && c->argument_count > 1 ? " " : "",
			length > 0 && c->argument_count > 1 ? c->arguments[1] : "");
}

/* NULL when the command takes the options and arguments as given. */
static const char *misuse(const struct ctl *c, const struct ctl_command *k, unsigned seen)
{
	if (seen & ~k->options)
		return "takes no such option";
	if (c->output_dir && c->output != OUTPUT_PATCH)
		return "takes --output-dir with -o patch alone";
	if (c->output_dir && !c->namespace)
		return "takes --output-dir for one namespace (-n) alone";
	if (c->namespace && c->all_namespaces)
		return "takes a namespace or all of them, not both";
	if (c->argument_count < k->argument_min)
		return "needs an argument";
	if (c->argument_count > k->argument_max)
		return "takes fewer arguments";
	return NULL;
}

/* The daemon's configuration holds for vscalectl too. One that cannot be read or is invalid is
 * ignored: the running daemon has an older one, and a restore must work nevertheless. */
static int load_config(const struct ctl *c, struct config *ret)
{
	OWN(drop_free) struct config_errors *errors = ctl_alloc(sizeof(*errors));
	int r = config_load_file(c->config, ret, errors);

	if (r == 0)
		return 0;
	r = config_default(ret);
	if (r == 0)
		r = config_set_paths(ret, getenv("STATE_DIRECTORY"), getenv("RUNTIME_DIRECTORY"));
	return r;
}

static int run_configured(const struct ctl *given, const struct ctl_command *k)
{
	OWN(config_free) struct config config = {0};
	struct ctl c = *given;
	int r = load_config(given, &config);

	if (r < 0)
		return ctl_fail(given, CTL_ERROR, NULL, "%s", strerror(-r));
	c.socket = c.socket ?: config.paths.socket;
	c.state_directory = c.state_directory ?: config.paths.state_dir;
	c.tuning = &config.tuning;
	return k->run(&c);
}

int ctl_parse(struct ctl *c, int argc, char **argv, const struct ctl_command **ret)
{
	const struct ctl_command *k;
	unsigned seen = 0;
	const char *wrong;
	int r = take_options(c, argc, argv, &seen);

	if (r != CTL_OK)
		return r;
	c->color = c->color && !c->no_color;
	if (c->version || (c->help && c->argument_count == 0)) {
		*ret = NULL;
		return CTL_OK;
	}
	k = take_command(c);
	if (!k)
		return no_such_command(c);
	wrong = c->help ? NULL : misuse(c, k, seen);
	if (wrong)
		return ctl_fail(c, CTL_USAGE, "see: vscalectl help", "%s %s", k->name, wrong);
	if (!has_format(k, c->output))
		return no_such_format(c, k);
	*ret = k;
	return CTL_OK;
}

int ctl_main(struct ctl *c, int argc, char **argv)
{
	const struct ctl_command *k;
	int r = ctl_parse(c, argc, argv, &k);

	if (r != CTL_OK)
		return r;
	cJSON_InitHooks(&(cJSON_Hooks){ctl_alloc, free});
	r = c->help ? print_help(c, k) : c->version ? ctl_version(c) : run_configured(c, k);
	if (fflush(c->out) != 0 && r == CTL_OK)
		return ctl_fail(c, CTL_ERROR, NULL, "the output could not be written: %s",
				strerror(errno));
	return r;
}

/* ---- files and the lock, as the commands without the daemon use them */

static int take_stream(FILE *f, char **ret, size_t *ret_size)
{
	*ret = f != NULL ? ctl_read_stream(f) : NULL;
	*ret_size = *ret != NULL ? strlen(*ret) : 0;
	return *ret != NULL ? 0 : -errno;
}

int ctl_read_file(const char *file, uint64_t max, char **ret, size_t *ret_size)
{
	bool standard = strcmp(file, "-") == 0;
	OWN(drop_fd) int fd = standard ? -1 : open(file, O_RDONLY | O_CLOEXEC);
	OWN(drop_free) char *text = NULL;
	struct stat st;
	FILE *f;
	int r;

	if (standard)
		return take_stream(stdin, ret, ret_size);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	/* <(COMMAND) of a shell is a pipe with a name. */
	if (!S_ISREG(st.st_mode)) {
		f = fdopen(fd, "r");
		r = take_stream(f, ret, ret_size);
		if (f != NULL && fclose(f) == 0)
			fd = -1;
		return r;
	}
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (text == NULL)
		return -ENOMEM;
	r = read_whole(fd, text, (size_t)st.st_size, ret_size);
	if (r == 0)
		*ret = STEAL(text);
	return r;
}

char *ctl_read_stream(FILE *f)
{
	char *text = NULL;
	size_t size;

	errno = 0;
	if (getdelim(&text, &size, '\0', f) >= 0)
		return text;
	free(text);
	/* Empty input: getdelim() has written nothing to the buffer. */
	return errno == 0 ? strdup("") : NULL;
}

int ctl_lock(const struct ctl *c, const char *hint, int *ret_fd)
{
	char holder[LOCK_HOLDER_MAX], other[LOCK_HOLDER_MAX];
	const struct lock_place at = {c->state_directory, holder};
	int r;

	snprintf(holder, sizeof holder, "vscalectl, process %d", (int)getpid());
	r = lock_take(&at, other);
	if (r == -EWOULDBLOCK)
		return ctl_fail(c, CTL_TRY_LATER, hint, "%s holds the lock in %s", other,
				c->state_directory);
	if (r < 0)
		return ctl_fail(c, CTL_ERROR, r == -EACCES ? "run vscalectl as root" : NULL,
				"%s: %s", c->state_directory, strerror(-r));
	*ret_fd = r;
	return CTL_OK;
}
