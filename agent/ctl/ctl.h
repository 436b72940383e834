/* SPDX-License-Identifier: Apache-2.0 */
/* vscalectl: the command line and the commands. */
#pragma once

#include "policy/types/profile.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

struct ctl_command;
struct restore_units;

enum ctl_exit {
	CTL_OK = 0,
	CTL_ERROR = 1,
	CTL_USAGE = 2,
	CTL_NOT_MANAGED = 3,
	CTL_TRY_LATER = 75, /* EX_TEMPFAIL of sysexits.h */
};

enum ctl_output {
	OUTPUT_TABLE,
	OUTPUT_WIDE,
	OUTPUT_JSON,
	OUTPUT_YAML,
	OUTPUT_CSV,
	OUTPUT_PATCH,
	OUTPUT_HTML,
	OUTPUT_COUNT
};

struct ctl {
	const struct ctl_command *commands;
	char **words; /* the command line, options first */
	int words_count;
	const char *socket;
	const char *state_directory;
	const char *config;
	const char *cgroup_root; /* NULL: discovered */
	const char *root;        /* prefix of every host path that doctor checks; "" */
	const char *namespace;   /* list: of this one alone; NULL: everything */
	enum ctl_output output;
	const char *output_dir; /* of report -o patch; NULL: the patches are printed */
	bool all;
	bool all_namespaces;
	bool force;
	bool verify;          /* of history */
	bool dry_run;         /* of import */
	bool optional;        /* of import: what keeps it from importing is no failure */
	const char *workload; /* of import; NULL: not given */
	bool color;
	bool no_color; /* the option */
	bool help;
	bool version;
	bool missing_ok;                   /* client_call: CTL_NOT_MANAGED without a text */
	bool trust_cgroup_root;            /* tests: it is a tree of plain files */
	const struct restore_units *units; /* NULL: the systemd of this host */
	const struct tuning *tuning;       /* as configured */
	uint64_t cpus;                     /* of backtest; 0: not given */
	uint64_t seed;                     /* of backtest */
	double price[RESOURCE_COUNT];      /* of report: a core, a GiB, for an hour; 0: not given */
	const char *recording;             /* a file; NULL: the daemon's */
	const char *sort;                  /* of top; NULL: cpu */
	uint64_t delay_msec;
	uint64_t frames;  /* of top; 0: until q, or one without a terminal */
	char **arguments; /* after the command's name */
	int argument_count;
	usec_t now_realtime_usec;
	FILE *out;
	FILE *err;
};

/* The result is one of enum ctl_exit. */
typedef int ctl_run_fn(const struct ctl *c);

struct ctl_command {
	const char *name; /* one or two words */
	const char *arguments;
	const char *summary;
	unsigned options; /* enum ctl_option_bit that it takes beside the common ones */
	int argument_min;
	int argument_max;
	ctl_run_fn *run;
};

enum ctl_option_bit {
	OPTION_ALL = 1 << 0,
	OPTION_FORCE = 1 << 1,
	OPTION_OUTPUT = 1 << 2, /* table, json and yaml ... */
	OPTION_WIDE = 1 << 3,   /* ... and wide */
	OPTION_NAMESPACE = 1 << 4,
	OPTION_BACKTEST = 1 << 5, /* cpus and seed */
	OPTION_SHEET = 1 << 6,    /* csv and patch, output-dir */
	OPTION_VERIFY = 1 << 7,
	OPTION_TOP = 1 << 8,  /* sort, delay, count */
	OPTION_PAGE = 1 << 9, /* html */
	OPTION_CSV = 1 << 10,
	OPTION_RECORDING = 1 << 11,
	OPTION_IMPORT = 1 << 12, /* dry-run, optional, workload */
	OPTION_PRICE = 1 << 13,
};

/* The largest machine that backtest models. */
#define CTL_CPUS_MAX 16

/* Of vscalectl. A table ends with an empty row. */
extern const struct ctl_command ctl_commands[];

/* The values without any option: streams, clock, the environment's folders. */
void ctl_default(struct ctl *ret, const struct ctl_command *commands);
/* CTL_USAGE: the error has been printed to c->err; *ret is NULL for help and version. */
int ctl_parse(struct ctl *c, int argc, char **argv, const struct ctl_command **ret);
/* The same, and runs the command. */
int ctl_main(struct ctl *c, int argc, char **argv);

ctl_run_fn ctl_status, ctl_list, ctl_explain, ctl_report, ctl_pause, ctl_resume, ctl_restore,
	ctl_lift, ctl_doctor, ctl_config_check, ctl_config_show, ctl_history, ctl_top,
	ctl_record_dump, ctl_record_replay, ctl_import_vpa, ctl_version, ctl_help;

/* The whole of a file or pipe, owned, or of "-", standard input. There is room for a byte behind
 * it. -EISDIR, -EFBIG: a file of more than max bytes. */
int ctl_read_file(const char *file, uint64_t max, char **ret, size_t *ret_size);
/* The rest of a text, owned; NULL with errno. */
char *ctl_read_stream(FILE *f);

/* The daemon's lock; hint: what to do where another process has it. CTL_OK, or another exit status.
 */
int ctl_lock(const struct ctl *c, const char *hint, int *ret_fd);

/* Realtime. */
usec_t ctl_now(void);

/* Zeroed memory, owned by the caller. If there is none, prints an error and exits with CTL_ERROR;
 * cJSON allocates by it too. */
void *ctl_alloc(size_t size);

/* "vscalectl: ..." to c->err, and a second line with what to do (may be NULL). Returns code. */
int ctl_fail(const struct ctl *c, int code, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
