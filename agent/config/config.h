/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of vscaled.yaml(5). Reference: docs/configuration.md. */
#pragma once

#include "agent/base/config_yaml.h"
#include "agent/journal/event_log.h"
#include "policy/report/report.h"
#include "policy/types/profile.h"
#include <cjson/cJSON.h>

#define CONFIG_API_VERSION "config.vscaled.dev/v1alpha1"
#define CONFIG_KIND        "VscaledConfiguration"
#define CONFIG_PATH        "/etc/vscaled/vscaled.yaml"

struct config_clocks {
	usec_t reflex_usec;
	usec_t sample_usec;
	usec_t review_usec;
	usec_t state_usec;
};

/* All set once config_set_paths() has been called; NULL before where the file says nothing. */
struct config_paths {
	char *state_dir;
	char *runtime_dir;
	char *socket;
	char *socket_group; /* NULL: root alone */
	char *cgroup_root;
};

enum config_reader {
	CONFIG_READER_AUTO, /* BPF where it loads, else text */
	CONFIG_READER_TEXT,
	CONFIG_READER_BPF, /* the same as auto, and an error is logged if it does not load */
};

/* The flight recorder. */
struct config_recorder {
	bool enabled;
	uint64_t size_bytes;
};

/* History of a new container from a Prometheus server. */
struct config_prometheus {
	char *url;        /* NULL: none is asked */
	char *token_file; /* NULL: no authorization */
	char *ca_file;    /* NULL: the system's */
	char *matchers;   /* of PromQL, in addition; NULL: none */
	usec_t range_usec, step_usec;
};

/* How cgroups are read. */
struct config_cgroup {
	enum config_reader reader;
	bool throttle_events; /* by BPF */
};

enum config_switch { CONFIG_AUTO, CONFIG_TRUE, CONFIG_FALSE };

enum config_observe { OBSERVE_OPTED_IN, OBSERVE_ALL, OBSERVE_NONE };

struct config_kubernetes {
	enum config_switch enabled; /* auto: in a pod, or when kubeconfig is set */
	char *kubeconfig;           /* NULL: the pod's service account */
	char *context;              /* of the kubeconfig; NULL: its current one */
	char *node;                 /* NULL: $NODE_NAME, else the host's name */
	char *cgroup_prefix;        /* the kubelet's --cgroup-root; NULL: none */
	usec_t start_jitter_usec;   /* the first list comes within this */
	usec_t write_interval_usec; /* writes to the API server: one in this time ... */
	uint32_t write_burst;       /* ... and this many at once */
	usec_t status_interval_usec;
	bool autoscalers;            /* HorizontalPodAutoscalers are read */
	bool namespace_annotations;  /* are defaults for the pods of the namespace */
	bool workload_history;       /* new containers start from the workload's other pods */
	enum config_observe observe; /* in mode Off: also pods without a mode, or none */
	uint32_t observed_containers;
	struct report_tuning report;
	enum mode highest_mode; /* the administrator's bounds: they always win */
	struct range cpu_milli;
	struct range mem_bytes;
	uint32_t unratified_permille; /* of the original: growth that cannot be ratified; 0: none */
};

/* Where metrics and probes are served. */
struct config_http {
	char *listen; /* "127.0.0.1:9753", "[::]:9753"; NULL: nowhere */
};

struct config_words {
	char **item;
	size_t count;
};

/* One entry of `units`. */
struct config_unit {
	struct config_words match; /* globs */
	struct policy_rule rule;   /* `defaults` with the entry's own keys on top */
	uint32_t line;
};

/* A key of an entry of `pods`: an annotation without its domain. agent/annotation reads values. */
struct config_pod_key {
	char *key;
	char *value;
	uint32_t line;
};

/* One entry of `pods`. An empty list matches every pod. */
struct config_pod_rule {
	struct config_words namespaces; /* globs; one must match */
	struct config_words labels;     /* "key=value"; all must be there */
	struct config_words owners;     /* kinds; one must be the pod's */
	struct config_pod_key *keys;
	size_t key_count;
	char *file;
	uint32_t line;
};

/* What an entry of `pods` selects by. */
struct config_pod {
	const char *namespace;
	const char *labels; /* "a=b,c=d"; NULL: none */
	const char *owner;  /* the kind of its controller, "Deployment"; NULL: it has none */
};

struct config {
	struct config_clocks clocks;
	struct config_paths paths;
	struct event_log_options log;
	struct config_recorder recorder;
	struct config_prometheus prometheus;
	struct config_cgroup cgroup;
	struct tuning tuning;
	struct policy_rule defaults;
	struct config_kubernetes kubernetes;
	struct config_http http;
	struct config_unit *units;
	size_t unit_count;
	struct config_pod_rule *pods;
	size_t pod_rule_count;
};

/* The file that the configuration in use was read from, and the result of the last try. */
struct config_source {
	const char *path;   /* borrowed */
	char result[256];   /* "ok", or the first error */
	usec_t loaded_real; /* realtime */
};

/* The built-in values, no units. -ENOMEM. */
int config_default(struct config *ret);
void config_free(struct config *c);

/* All errors go to errs (zeroed by the caller); if there is one: -EBADMSG, *ret untouched. */
int config_load_text(const char *name, const char *text, size_t len, struct config *ret,
		     struct config_errors *errs);
/* Fills the paths that the file left out: from the arguments ("a:b" counts as a; NULL or "" as
 * absent), else from the documented defaults. -ENOMEM; -ENAMETOOLONG: no room for a socket. */
int config_set_paths(struct config *c, const char *state_dir, const char *runtime_dir);
/* Reads and loads a file; the paths come from $STATE_DIRECTORY and $RUNTIME_DIRECTORY. A file that
 * cannot be read is said in errs too, and gives its -errno. */
int config_load_file(const char *path, struct config *ret, struct config_errors *errs);

/* After a reload: takes over from `old` what is read at the start only (paths, http, kubernetes).
 * Returns buf with those keys that the file has changed, "http.listen, kubernetes.context": they
 * take effect after a restart, which the caller logs; "" when there is none. */
const char *config_keep_restart_only(struct config *fresh, struct config *old, char *buf,
				     size_t size);

/* The rule of the first entry with a glob that matches; NULL: the unit is not managed. Borrowed. */
const struct policy_rule *config_rule_for(const struct config *c, const char *unit);

/* The first entry of `pods` that matches; NULL: none does. Borrowed. */
const struct config_pod_rule *config_pod_rule_for(const struct config *c,
						  const struct config_pod *pod);

/* The effective configuration, with the names and the units of the file, so that it loads again.
 * NULL and -ENOMEM: no memory. Owned by the caller. */
cJSON *config_dump_json(const struct config *c);
/* The node: as configured, NODE_NAME, or the host's name. Owned; NULL: no memory. */
char *config_node_name(const struct config_kubernetes *k);
/* Is Kubernetes switched on, or found? */
bool config_cluster_wanted(const struct config_kubernetes *k);
