/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what vscaled needs of a host; works without the daemon. */
#pragma once

#include "agent/config/config.h"
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

enum finding {
	FINDING_OK,
	FINDING_MISSING, /* essential: vscaled cannot work */
	FINDING_WARN,    /* it works with less */
	FINDING_SKIPPED, /* another finding makes the check pointless */
	FINDING_COUNT,
};

#define DOCTOR_TEXT_MAX 800

/* The host as the checks see it. Fill it, then doctor_run(). */
struct doctor {
	const struct ctl *ctl;
	struct cg_host host;
	int host_error;
	struct doctor_cluster cluster;
	struct config config;  /* as in its file, or the defaults */
	char *node;            /* the node whose pods are managed; NULL: not known */
	bool observes;         /* no limit is to be written here, and none can be */
	bool systemd_optional; /* only pods are managed, and systemd holds no limits of them */
};

/* text (DOCTOR_TEXT_MAX) says what was found, in words. */
typedef enum finding doctor_check_fn(const struct doctor *d, char *text);

enum doctor_need {
	NEED_TREE = 1 << 0,    /* a cgroup v2 tree */
	NEED_CLUSTER = 1 << 1, /* configured, or this is a pod */
	NEED_CLIENT = 1 << 2,  /* its API server is known ... */
	NEED_API = 1 << 3,     /* ... and answers */
	NEED_NODE = 1 << 4,
	NEED_SYSTEMD = 1 << 5,
};

struct doctor_check {
	const char *name; /* stable, in JSON */
	doctor_check_fn *run;
	unsigned needs; /* enum doctor_need: it is skipped without */
	const char *remedy;
};

#define DOCTOR_CHECK_COUNT 22
extern const struct doctor_check doctor_checks[DOCTOR_CHECK_COUNT];

/* Runs every check and prints what it found. CTL_ERROR: something essential is missing. */
int doctor_run(struct doctor *d);
/* The one of that name. */
enum finding doctor_check(const struct doctor *d, const char *name, char *text);
