/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what vscaled needs of a host; works without the daemon. */
#pragma once

#include "agent/ctl/ctl.h"
#include "agent/kube/client/client.h"
#include "agent/kube/model/decode.h"
#include "cgroup/discover.h"

/* The API server: queried once, used by several checks. */
struct doctor_cluster {
	bool wanted;      /* by the configuration, or because vscalectl runs in a pod */
	int config_error; /* of finding its address and credentials */
	struct kube_config_error why;
	struct kube_config config;
	sd_event *event;
	struct kube_client *client; /* NULL: it cannot be reached */
	unsigned status;            /* of GET /api/v1; 0: no answer */
	char detail[256];           /* why there was no answer, or the server's message */
	bool resize_offered;
};

/* Where a pod finds its API server; tests name another place. */
struct doctor_place {
	const char *host; /* NULL: in no pod */
	const char *port;
	const char *account; /* folder of the service account */
};
extern const struct doctor_place *doctor_place; /* NULL: as the environment says */

struct config_kubernetes;

/* Must be closed also after a failure. Waits for the server's answer, 10 s at most. */
void doctor_cluster_open(const struct config_kubernetes *config, struct doctor_cluster *ret);
void doctor_cluster_close(struct doctor_cluster *k);
/* Every pod of the node, as the server's cache has it. each takes the pod. -errno: no answer. */
int doctor_cluster_pods(const struct doctor_cluster *k, const char *node, kube_pod_fn *each,
			void *arg);
/* Sends a SelfSubjectAccessReview. -errno: no answer. */
int doctor_cluster_may(const struct doctor_cluster *k, const char *verb, const char *group,
		       const char *resource, const char *subresource, bool *ret);

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
	bool namespaces;       /* their annotations are defaults of pods */
	bool observes;         /* no limit is to be written here, and none can be */
	bool systemd_optional; /* only pods are managed, and systemd holds no limits of them */
};

/* text (DOCTOR_TEXT_MAX) says what was found, in words. */
typedef enum finding doctor_check_fn(const struct doctor *d, char *text);

struct doctor_check {
	const char *name; /* stable, in JSON */
	doctor_check_fn *run;
	const char *remedy;
};

#define DOCTOR_CHECK_COUNT 22
extern const struct doctor_check doctor_checks[DOCTOR_CHECK_COUNT];

/* Runs every check and prints what it found. CTL_ERROR: something essential is missing. */
int doctor_run(struct doctor *d);

/* ctl->root + path into ret; false when it does not fit. */
bool doctor_path(const struct doctor *d, const char *path, char *ret, size_t size);

/* Fills the text of a check; returns f. */
enum finding doctor_say(char *text, enum finding f, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "not checked: WHY"; returns FINDING_SKIPPED. */
enum finding doctor_skip(char *text, const char *why);
/* There is a tree to manage; where there is none, most checks are skipped because of that. */
bool doctor_has_tree(const struct doctor *d);
#define DOCTOR_NO_TREE "there is no cgroup v2 tree to manage"

doctor_check_fn check_cgroup_version, check_controllers, check_enabled, check_files, check_psi,
	check_inotify, check_bpf, check_privilege;
doctor_check_fn check_systemd, check_bus, check_journal, check_state, check_config, check_writers,
	check_dropins, check_daemon;
doctor_check_fn check_kube_account, check_kube_api, check_kube_rights, check_kube_resize,
	check_kube_node, check_cgroup_driver;
