/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole daemon between a test API server (a process of its own, with TLS) and the fake tree of
 * daemon_rig.h. The loop is the real one; its clock runs CRIG_FASTER times as fast, so that a lease
 * of a minute takes seconds: every time in a test is the daemon's. The kubelet is played by the
 * test: crig_kubelet().
 */
#pragma once

#include "agent/pod/cluster.h"
#include "test/agent/daemon_rig.h"
#include <cjson/cJSON.h>
#include <sys/types.h>

#define CRIG_FASTER    80
#define CRIG_LINES_MAX 512

/* The daemon's wall clock is so far ahead of the server's, from the next start on. */
extern int64_t crig_clock_ahead;
/* More keys of the section kubernetes: ", observe: All"; "": none. Until it is changed. */
extern const char *crig_kubernetes;
/* kubernetes.refusalTime, decreaseInterval. */
extern const char *crig_refusal_time, *crig_decrease_interval;

/* One line of the journal. */
struct crig_line {
	enum event_kind kind;
	char text[EVENT_MESSAGE_SIZE];
};

struct crig {
	struct rig rig; /* first: its callbacks find us by it */
	char folder[64];
	pid_t server;
	unsigned admin_port, http_port;
	struct crig_line line[CRIG_LINES_MAX];
	size_t line_count;
	int fds;         /* open before the server was asked for anything */
	usec_t began_at; /* of crig_forget_log(), for what is counted per minute */
	bool silent;     /* the server let a request wait */
};

/* Starts a server with these options (ended by NULL), and a tree without pods. extra: further
 * configuration, or NULL; a history: in it replaces the rig's. What a test before it has opened is
 * closed first. Skips the program where there is no python3. */
void crig_open(struct crig *c, const char *const *options, const char *extra);
/* Starts the daemon; the API server need not answer. */
void crig_start(struct crig *c);
/* Another `extra` in the configuration, and SIGHUP. */
void crig_reload(struct crig *c, const char *extra);
/* At the latest at the end of the program; nothing was killed. */
void crig_close(struct crig *c);

/* default/NAME on the server and in the tree, its containers running: app, with 200m and 64Mi, and
 * log, with 300m and 32Mi. annotations: JSON, {"vscaled.dev/mode":"Auto"}; NULL: none. */
struct rig_pod *crig_pod(struct crig *c, enum cgroup_driver driver, const char *name,
			 const char *annotations);
/* The same with what the spec says besides: JSON to lay over it. */
struct rig_pod *crig_pod_with(struct crig *c, enum cgroup_driver driver, const char *name,
			      const char *annotations, const char *spec);
/* As the kubelet does: the spec's values go to the cgroups, and into the status. conditions: JSON
 * to add to the pod's ("{...},{...}"); then nothing is carried out. NULL: none. */
void crig_kubelet(struct crig *c, struct rig_pod *p, const char *conditions);
/* The annotation's key without its domain; value NULL: removes it. */
void crig_annotate(struct crig *c, const struct rig_pod *p, const char *key, const char *value);
/* The user's own resize of app; quantities, NULL: leave it. */
void crig_user_resizes(struct crig *c, const struct rig_pod *p, const char *cpu,
		       const char *memory);

/* --- the server's two doors; both end the test when the answer is no 2xx */
/* The administrator's request; body NULL: none. A PATCH with "&force=" is a server-side apply. */
cJSON *crig_ask(struct crig *c, const char *method, const char *path, const char *body);
/* "faults", body NULL: GET. */
void crig_debug(struct crig *c, const char *door, const char *body);
void crig_fault(struct crig *c, const char *kind, const char *more);
void crig_heal(struct crig *c);
/* Requests of the daemon whose "METHOD path" contains text; status 0: whatever it was, but for
 * conflicts: what had just changed is asked again. */
unsigned crig_requests(struct crig *c, const char *text, int status);
/* What the log holds is dropped; requests per minute count from now on. */
void crig_forget_log(struct crig *c);
/* Of the daemon, per minute of its time. */
double crig_per_minute(struct crig *c);
/* The pod as the server has it. */
struct kube_pod *crig_read(struct crig *c, const struct rig_pod *p);
/* Its limit of a container by the spec. */
uint64_t crig_spec(struct crig *c, const struct rig_pod *p, const char *container, enum resource r);
bool crig_has_status(struct crig *c, const struct rig_pod *p);
/* Events of events.k8s.io with this reason. */
unsigned crig_events(struct crig *c, const char *reason);

/* --- the daemon */
/* Until it holds, for at most so many seconds; load as of rig_run(). False: it never did. */
bool crig_until(struct crig *c, unsigned seconds, void (*load)(struct rig *r),
		bool (*holds)(struct crig *c));
/* Lines of the journal of this kind that contain text. */
unsigned crig_lines(const struct crig *c, enum event_kind kind, const char *text);
/* GET of /livez, /readyz, /metrics while the loop goes on; the status, the body in *ret, owned. */
unsigned crig_http(struct crig *c, const char *path, char **ret);
/* The same over the control socket. */
unsigned crig_control(struct crig *c, const char *path, char **ret);
/* With a body; "": GET. */
unsigned crig_control_post(struct crig *c, const char *path, const char *body, char **ret);
