/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what vscaled needs of a host; works without the daemon. */
#pragma once

#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor_kube.h"
#include "cgroup/discover.h"

enum finding {
	FINDING_OK,
	FINDING_MISSING, /* essential: vscaled cannot work */
	FINDING_WARN,    /* it works with less */
	FINDING_SKIPPED, /* another finding makes the check pointless */
	FINDING_COUNT,
};

extern const char *const finding_names[FINDING_COUNT];

#define DOCTOR_TEXT_MAX 800

/* The host as the checks see it. Fill it, then doctor_run(). */
struct doctor {
	const struct ctl *ctl;
	struct cg_host host;
	int host_error;
	struct doctor_cluster cluster;
	char *cgroup_prefix;   /* of the kubelet; NULL: none */
	char *node;            /* the node whose pods are managed; NULL: not known */
	bool systemd_optional; /* only pods are managed, and systemd holds no limits of them */
};

struct doctor_check {
	const char *name; /* stable, in JSON */
	/* text (DOCTOR_TEXT_MAX) says what was found, in words. */
	enum finding (*run)(const struct doctor *d, char *text);
	const char *remedy;
};

#define DOCTOR_CHECK_COUNT 22
extern const struct doctor_check doctor_checks[DOCTOR_CHECK_COUNT];

/* Runs every check and prints what it found. CTL_ERROR: something essential is missing. */
int doctor_run(struct doctor *d);

/* ctl->root + path into ret; false when it does not fit. */
bool doctor_path(const struct doctor *d, const char *path, char *ret, size_t size);

/* The checks, grouped by what they check. */
enum finding check_cgroup_version(const struct doctor *d, char *text);
enum finding check_controllers(const struct doctor *d, char *text);
enum finding check_enabled(const struct doctor *d, char *text);
enum finding check_files(const struct doctor *d, char *text);
enum finding check_psi(const struct doctor *d, char *text);
enum finding check_inotify(const struct doctor *d, char *text);
enum finding check_bpf(const struct doctor *d, char *text);
enum finding check_privilege(const struct doctor *d, char *text);
enum finding check_systemd(const struct doctor *d, char *text);
enum finding check_bus(const struct doctor *d, char *text);
enum finding check_journal(const struct doctor *d, char *text);
enum finding check_state(const struct doctor *d, char *text);
enum finding check_config(const struct doctor *d, char *text);
enum finding check_writers(const struct doctor *d, char *text);
enum finding check_dropins(const struct doctor *d, char *text);
enum finding check_kube_account(const struct doctor *d, char *text);
enum finding check_kube_api(const struct doctor *d, char *text);
enum finding check_kube_rights(const struct doctor *d, char *text);
enum finding check_kube_resize(const struct doctor *d, char *text);
enum finding check_kube_node(const struct doctor *d, char *text);
enum finding check_cgroup_driver(const struct doctor *d, char *text);
enum finding check_daemon(const struct doctor *d, char *text);
