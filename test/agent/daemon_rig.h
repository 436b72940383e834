/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole daemon on a fake tree: plain files for cgroups, a scripted PID 1, a clock that the test
 * moves. The kernel's side of memory is played: use cannot pass memory.max for longer than a
 * second, and a memory.max below use kills.
 */
#pragma once

#include "agent/loop/loop.h"
#include "systemd/unit_queue.h"
#include "test/fake.h"
#include "test/fake_page.h"

#define RIG_TICK_USEC      USEC_PER_SEC
#define RIG_REFLEX_USEC    (100 * USEC_PER_MSEC)
#define RIG_UNITS_MAX      256
#define RIG_CALLS_MAX      64
#define RIG_PATH_MAX       384
#define RIG_PODS_MAX       20
#define RIG_CONTAINERS_MAX 4

struct rig_unit {
	char name[160];   /* "" where no unit of systemd holds it */
	char cgroup[320]; /* "system.slice/a.service" */
	bool running;
	bool waits;    /* PID 1 carries out no call for it, yet */
	bool creating; /* the container runtime is at work: a property call breaks the start */
	usec_t active_enter_usec; /* CLOCK_MONOTONIC */
	usec_t asked_at;          /* unit_get(); 0: not requested */
	struct unit_props props;
	uint64_t usage_usec, nr_periods, nr_throttled, throttled_usec;
	uint64_t anon_bytes, file_bytes;
	uint64_t max_events, oom_kills, oom_events;
	uint64_t inner_ooms; /* of cgroups in it */
	/* Growth that memory.max stopped: a kill unless the daemon's next tick raises it. */
	uint64_t blocked_bytes;
	bool blocked_seen;
};

#define RIG_LINUX_5_10                                                                             \
	"cpu.stat:nr_bursts cpu.stat:burst_usec cpu.max.burst cpu.pressure memory.pressure "       \
	"memory.peak memory.reclaim memory.stat:kernel memory.events:oom_group_kill"

/* A SetUnitProperties call that PID 1 has received. */
struct rig_call {
	struct rig_unit *unit;
	struct unit_props props;
	uint32_t mask;
	usec_t sent_at;
	bool done;     /* carried out, not yet answered */
	bool orphaned; /* the caller no longer waits for the answer */
};

/* One container of a pod: what the spec says, and its cgroup. */
struct rig_container {
	const char *name;
	enum container_kind kind;
	struct kube_resources spec;
	struct rig_unit *unit; /* of the present or the last cgroup */
	char id[65];
	bool reported; /* the API server knows the id */
	bool unready;
	bool claimed;        /* the API server says that it runs, cgroup or not */
	usec_t started_real; /* as the API server reports it; 0: not reported */
	unsigned oom_run;    /* the run of it that was OOM-killed last, from 1 on */
	unsigned restarts;
};

/* A pod as kubelet and API server have it; a test changes it and calls rig_pod_put(). */
struct rig_pod {
	enum cgroup_driver driver;
	char uid[40];
	const char *name;
	const char *workload;
	const char *owner;      /* its kind; NULL: none */
	const char *mode;       /* NULL: not annotated */
	const char *containers; /* the annotation; NULL: not there */
	const char *extra_key, *extra_value;
	const char *phase;
	const char *qos_class; /* of the path: "", "burstable" */
	enum qos_class qos;
	bool deleting, mirror, windows, once, claims, vpa, started_long_ago;
	bool resize_ours;  /* managedFields name vscaled for the resize */
	usec_t ready_real; /* since when all containers are ready; 0: they are not */
	uint64_t generation;
	int32_t priority;
	/* spec.resources.limits; 0: none. Containers without a limit have these in their cgroups.
	 */
	uint64_t budget[RESOURCE_COUNT];
	struct rig_unit *level;
	struct rig_container container[RIG_CONTAINERS_MAX];
	size_t count;
};

/* What the kubelet writes with memory.max, by its MemoryQoS. */
enum rig_memory_qos {
	RIG_QOS_OFF,    /* memory.high: max */
	RIG_QOS_NONE,   /* nothing */
	RIG_QOS_FACTOR, /* memory.high, by qos_permille */
	RIG_QOS_TIERED, /* memory.low */
};

struct rig {
	enum rig_memory_qos memory_qos;
	uint32_t qos_permille;
	usec_t cfs_period; /* the kubelet's cpuCFSQuotaPeriod; 0: the default */
	struct fake tree;
	char folder[64]; /* config, state, runtime */
	char config[128];
	const char *proc;   /* NULL: what rig_meminfo() says */
	enum cg_mode mode;  /* CG_MODE_NONE: version 2 */
	const char *reader; /* NULL: text */
	struct loop *loop;
	struct daemon *daemon; /* of the loop */
	usec_t boot, real;
	usec_t tick_usec;
	usec_t own_cpu_usec; /* of all ticks */
	unsigned replayed;   /* recorded calls, made once more at the end */
	bool counters_stand; /* no counter that is read changes */
	/* What the kernel does not show: "memory.peak memory.stat:kernel", files, and lines of
	 * files. RIG_LINUX_5_10: and booted with psi=0. NULL: nothing. */
	const char *lacks;
	bool bus; /* PID 1 is reached by D-Bus, unit_bus_new(), and the rig plays none */
	/* In place of virtual time, both or none: the time, and what goes on for a second of it. */
	daemon_clock_fn *clock;
	void (*pump)(struct rig *r);
	void (*reported)(struct rig *r, const struct event_record *e, const char *message);
	void (*step)(struct rig *r); /* of the rig_run() under way */
	const char *above;           /* folders of other names above kubepods, "a/b/"; NULL: none */
	const char *nested; /* what its slices begin with then: "kubelet-"; NULL: nothing */
	struct rig_unit unit[RIG_UNITS_MAX];
	size_t unit_count;
	struct rig_pod pod[RIG_PODS_MAX];
	size_t pod_count;
	unsigned ids;           /* handed out */
	bool below;             /* a pod level was seen below the sum of its containers */
	bool silent;            /* PID 1 takes calls and never answers */
	unsigned lag_seconds;   /* PID 1 does and answers everything this late */
	bool answers_late;      /* PID 1 answers in the turn after that in which it wrote */
	bool overtakes;         /* a restore's calls are done before those that came first */
	unsigned set_calls;     /* requested of the queue; silent: none is answered */
	unsigned sent_calls;    /* SetUnitProperties that went out */
	unsigned again_calls;   /* those that sent the stored value again */
	unsigned broken_starts; /* those that were carried out while a runtime was creating */
	unsigned restore_calls; /* and those that a restore waited for */
	struct unit_queue *queue;
	struct rig_call call[RIG_CALLS_MAX];
	size_t call_count;
	usec_t list_asked_at; /* 0: no list is on its way */
	struct restore_units restore;
	unsigned kills; /* a limit below use, or growth without a raise in time */
	struct unit_props last_set;
	uint32_t last_mask;
	char last_unit[160];
	unsigned events[EVENT_KIND_COUNT];
	char last_message[EVENT_MESSAGE_SIZE];
	char moved[4][EVENT_MESSAGE_SIZE]; /* the first limits raised or lowered */
	unsigned moved_count;
};

/* A test that is given a rig, which is closed after it. */
#define TEST_RIG(name)                                                                             \
	static void with_rig_##name(struct rig *r);                                                \
	TEST(name)                                                                                 \
	{                                                                                          \
		OWN(rig_close) struct rig r;                                                       \
		with_rig_##name(&r);                                                               \
	}                                                                                          \
	static void with_rig_##name(struct rig *r)

#define TEST_RIG_EACH(name, type, parameter, count)                                                \
	static void with_rig_##name(struct rig *r, type parameter);                                \
	TEST_EACH(name, type, parameter, count)                                                    \
	{                                                                                          \
		OWN(rig_close) struct rig r;                                                       \
		with_rig_##name(&r, parameter);                                                    \
	}                                                                                          \
	static void with_rig_##name(struct rig *r, type parameter)

#define TEST_RIG_BOTH(name, parameter) TEST_RIG_EACH(name, bool, parameter, 2)

/* A test with `driver`, for each of them; and with a rig. */
#define TEST_DRIVERS(name)     TEST_EACH(name, enum cgroup_driver, driver, DRIVER_COUNT)
#define TEST_RIG_DRIVERS(name) TEST_RIG_EACH(name, enum cgroup_driver, driver, DRIVER_COUNT)

/* units: the flow text of the configuration's `units` list. */
void rig_open(struct rig *r, const char *config_body);
void rig_close(struct rig *r);
void rig_write_config(struct rig *r, const char *config_body);
/* A configuration with clocks of seconds and these units; valid until the next call. */
char *rig_config(const char *units);
/* rig_write_config(), and SIGHUP. */
void rig_reload(struct rig *r, const char *config_body);
struct rig_unit *rig_add(struct rig *r, const char *name, uint64_t quota_milli, uint64_t mem_max);
/* The same at another path, and without a CPU limit. */
struct rig_unit *rig_add_at(struct rig *r, const char *name, const char *cgroup, uint64_t mem_max);
/* Ends the unit; and starts it again, with what systemd holds and a new cgroup. */
void rig_unit_stop(struct rig *r, struct rig_unit *u);
void rig_unit_start(struct rig *r, struct rig_unit *u);
/* The node's memory, in place of /proc/meminfo; without a call before the start, there is none. */
void rig_meminfo(struct rig *r, uint64_t total, uint64_t available);
/* The same with the kubelet's memory.available: lower by the active page cache. */
void rig_meminfo_active(struct rig *r, uint64_t total, uint64_t available, uint64_t kubelet);
/* Starts the daemon; 0 or the error of loop_new(). */
int rig_start(struct rig *r);
/* Opens the rig and starts the daemon, with a.service that has anon bytes in use. */
struct rig_unit *rig_begin(struct rig *r, const char *config_body, uint64_t quota_milli,
			   uint64_t mem_max, uint64_t anon);
/* The first unit or pod that the daemon manages. */
struct managed *rig_first(const struct rig *r);
void rig_stop(struct rig *r);
void rig_restart(struct rig *r);
/* rig_stop() after SIGTERM, and the time that the daemon takes. */
void rig_terminate(struct rig *r, void (*step)(struct rig *r));
/* Virtual time passes in ticks of a second, each a sample; step (may be NULL) moves the counters
 * before each. */
void rig_run(struct rig *r, unsigned seconds, void (*step)(struct rig *r));
/* The same in passes of a tenth of a second: every tenth is a sample. */
void rig_reflex(struct rig *r, unsigned passes, void (*step)(struct rig *r));
/* An event of memory.events: the daemon reads the unit at once. */
void rig_wake(struct rig *r, struct rig_unit *u);
/* It has used its quota, and the kernel reports it within the period. */
void rig_throttle(struct rig *r, struct rig_unit *u);
/* A tick of load: threads that want demand_milli, cut off at the present quota. */
void rig_burn(struct rig *r, struct rig_unit *u, uint64_t demand_milli);
/* Steps in which the first unit wants 800m or 50m. */
void rig_busy(struct rig *r);
void rig_idle(struct rig *r);
/* More memory that cannot be reclaimed. */
void rig_grow(struct rig *r, struct rig_unit *u, uint64_t bytes);
uint64_t rig_cpu_milli(struct rig *r, const struct rig_unit *u);
uint64_t rig_bytes(struct rig *r, const struct rig_unit *u, const char *file);
/* An external writer writes a limit file. */
void rig_put(struct rig *r, struct rig_unit *u, const char *file, const char *text);
/* What systemd does when it realises a unit: its stored properties go to the files. */
void rig_realise(struct rig *r, struct rig_unit *u);
/* The kernel enforces every limit: a limit below use kills. */
void rig_settle(struct rig *r);

/* --- rig_pods.c */
/* A pod that is there for the kubelet, with its cgroup and the pause container in it; without a
 * mode annotation. */
struct rig_pod *rig_pod_add(struct rig *r, enum cgroup_driver driver, const char *name);
/* One more container, started. CPU in millicores, memory in bytes, LIMIT_MAX: no limit. */
struct rig_container *rig_container_add(struct rig *r, struct rig_pod *p, const char *name,
					uint64_t milli, uint64_t bytes);
/* Its cgroup appears with a new id; unset: without its limits, which rig_realise() brings. */
void rig_container_start(struct rig *r, struct rig_pod *p, struct rig_container *c, bool unset);
/* Its cgroup is removed. */
void rig_container_stop(struct rig *r, struct rig_container *c);
/* The kubelet writes what it does for a pod: level and every container, from the spec. */
void rig_pod_realise(struct rig *r, struct rig_pod *p);
/* Its cgroup and the pause container, after rig_pod_remove(). */
void rig_pod_make(struct rig *r, struct rig_pod *p);
void rig_pod_remove(struct rig *r, struct rig_pod *p);
/* Its pod object as of the API server; owned by the caller. */
struct kube_pod *rig_pod_spec(const struct rig *r, const struct rig_pod *p);
/* A watch event with it; and rig_run() after that. */
void rig_pod_put(struct rig *r, struct rig_pod *p);
void rig_pod_run(struct rig *r, struct rig_pod *p, unsigned seconds, void (*step)(struct rig *r));
/* A whole list with this pod; NULL: with none. */
void rig_pod_list(struct rig *r, struct rig_pod *p);
/* Sets the pod's use to the sum of its containers', and `below` if its limits are below their sum.
 */
void rig_pods_turn(struct rig *r);

/* --- rig_pid1.c */
extern const struct unit_port rig_port; /* ctx is set by rig_start() */
void rig_pid1_start(struct rig *r);
void rig_pid1_stop(struct rig *r);
/* PID 1 does and answers what is due by now. */
void rig_pid1_turn(struct rig *r);
