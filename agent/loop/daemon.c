// SPDX-License-Identifier: Apache-2.0
/* Set-up, timers, signals, reload and stop. */
#include "agent/loop/daemon.h"
#include "agent/apply/properties.h"
#include "agent/base/footprint.h"
#include "agent/base/lock.h"
#include "agent/cluster/cluster.h"
#include "agent/config/config_watch.h"
#include "agent/drift/guard.h"
#include "agent/http/http.h"
#include "agent/loop/folders.h"
#include "agent/loop/look.h"
#include "agent/loop/reload.h"
#include "agent/loop/tick.h"
#include "agent/loop/unsupported.h"
#include "agent/manage/lift.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/reader.h"
#include "agent/manage/report.h"
#include "agent/manage/shared.h"
#include "agent/manage/wake.h"
#include "agent/metrics/metrics_server.h"
#include "agent/pod/pods.h"
#include "agent/serve/serve.h"
#include "agent/serve/serve_metrics.h"
#include "agent/units/bus.h"
#include "agent/units/hold.h"
#include "agent/units/units.h"
#include "cgroup/stuck.h"
#include "systemd/notify.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* 12 descriptors a cgroup (cgroup/reader.h) for some 2,500 units and containers. */
#define FILES_MAX   32768
#define CGROUP_ROOT "/sys/fs/cgroup"
/* At the end PID 1 gets this long to take what is due; a second signal ends the wait. */
#define STOP_WAIT_USEC (3 * USEC_PER_SEC)
#define STOP_LOOK_USEC (20 * USEC_PER_MSEC)
/* sd-event wakes as late as this allows; 0 stands for a quarter of a second. */
#define TICK_ACCURACY_USEC 1
/* A wake-up this late is logged. */
#define LAG_WARN_USEC (5 * USEC_PER_SEC)

/* The timer may come a little early or late: no reflex pass is to be lost or gained by that. */
static bool sample_due(struct daemon *d)
{
	const struct config_clocks *c = &d->config.clocks;

	if (d->wake.now + c->reflex_usec / 2 < d->next_sample)
		return false;
	d->next_sample = MAX(d->next_sample + c->sample_usec, d->wake.now + c->sample_usec / 2);
	return true;
}

void daemon_tick(struct daemon *d)
{
	bool review;

	daemon_wake(d);
	d->last_tick = d->wake.now;
	if (unsupported_tick(d))
		return;
	if (!sample_due(d)) {
		tick_look(d);
		if (d->cluster != NULL)
			cluster_look(d->cluster);
		return;
	}
	pods_tick(d);
	hold_tick(d);
	review = tick(d);
	if (review) {
		folders_check(d);
		persist_baselines(d);
		units_forget(d);
		d->pid1.list_due = true;
	}
	if (d->pid1.list_due)
		units_request_list(d);
	if (d->cluster != NULL)
		cluster_tick(d->cluster, review);
	if (d->wake.now >= d->records.next_save)
		persist_save(d);
}

static int on_tick(sd_event_source *s, uint64_t due, void *userdata)
{
	struct daemon *d = userdata;
	usec_t interval = MIN(d->config.clocks.reflex_usec, d->config.clocks.sample_usec);
	usec_t lag, begin = daemon_clock(), pause;

	d->wake.due = due;
	daemon_tick(d);
	d->wake.due = 0;
	/* On a machine that is too slow for its clock, other event sources are served, too. */
	pause = MAX(interval / 2, daemon_clock() - begin + interval / 10);
	/* As of the wake-up, whatever was done since. */
	lag = d->last_tick > due ? d->last_tick - due : 0;
	d->counters.lag_max_usec = MAX(d->counters.lag_max_usec, lag);
	counters_took(&d->tally.loop_lag, lag);
	if (lag > LAG_WARN_USEC)
		event_slow_loop(&(struct daemon_event){.span_usec = (int64_t)lag});
	/* Missed ticks are not made up for. */
	sd_event_source_set_time(s, MAX(due + interval, d->last_tick + pause));
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int host_start(struct daemon *d, const struct daemon_options *o)
{
	const char *named = o->cgroup_root ? o->cgroup_root : d->config.paths.cgroup_root;
	/* The usual place is searched for, so that a hybrid host is reported as such. */
	const char *root = strcmp(named, CGROUP_ROOT) == 0 ? NULL : named;
	int r = cg_discover(root, o->trust_root, &d->host.cg);

	if (o->mode != CG_MODE_NONE)
		d->host.cg.mode = o->mode;
	if (r == 0 && d->host.cg.mode != CG_MODE_UNIFIED)
		return unsupported_host(d);
	if (r < 0) {
		report_unsupported("the cgroup tree cannot be read", root, r);
		return r;
	}
	if (!d->host.cg.psi)
		event_psi_missing(&(struct daemon_event){0});
	d->host.root = open(d->host.cg.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->host.root < 0)
		return -errno;
	snprintf(d->host.controllers, sizeof d->host.controllers, "%s%s",
		 d->host.cg.enabled & CG_CPU ? "cpu " : "",
		 d->host.cg.enabled & CG_MEMORY ? "memory" : "");
	node_memory_start(d, o->proc_root);
	d->host.cpu_milli = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000;
	return 0;
}

/* "0::/system.slice/vscaled.service" of /proc/self/cgroup. */
static void read_own_cgroup(struct daemon *d)
{
	char line[sizeof d->host.own_cgroup + 8];
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "0::", 3) == 0)
			snprintf(d->host.own_cgroup, sizeof d->host.own_cgroup, "%.*s",
				 (int)strcspn(line + 3, "\n"), line + 3);
	if (f != NULL)
		fclose(f);
}

/* Inside a container the cgroup says nothing: its namespace begins right there. */
static void read_own_pod(struct daemon *d)
{
	const char *namespace = getenv("POD_NAMESPACE"), *pod = getenv("POD_NAME");

	if (namespace == NULL || pod == NULL)
		return;
	snprintf(d->host.own_namespace, sizeof d->host.own_namespace, "%s", namespace);
	snprintf(d->host.own_pod, sizeof d->host.own_pod, "%s", pod);
}

/* Before vscaled ends, systemd must store the limits that the cgroups have: a reload would undo
 * them. */
static int on_stop_timer(sd_event_source *s, uint64_t due, void *userdata)
{
	struct daemon *d = userdata;

	daemon_wake(d);
	if (!properties_pending(d) || d->wake.now >= d->stop_by)
		return sd_event_exit(d->event, 0);
	properties_send(d);
	sd_event_source_set_time(s, due + STOP_LOOK_USEC);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int on_stop(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	struct daemon *d = userdata;

	(void)s;
	daemon_wake(d);
	if (d->stop_by != 0)
		return sd_event_exit(d->event, 0);
	event_stopping(&(struct daemon_event){.detail = strsignal((int)si->ssi_signo)});
	notify_send(NOTIFY_STOPPING, NULL, 0);
	d->stop_by = d->wake.now + STOP_WAIT_USEC;
	return sd_event_add_time(d->event, NULL, CLOCK_BOOTTIME, d->wake.now, 0, on_stop_timer, d);
}

static int on_hangup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
	(void)s;
	(void)si;
	daemon_wake(userdata);
	daemon_reload(userdata);
	return 0;
}

int daemon_loop_part(int r)
{
	if (r < 0)
		report_unsupported("the event loop cannot be set up", NULL, r);
	return r;
}

static int signals_start(struct daemon *d)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_add_signal(d->event, NULL, SIGTERM, on_stop, d);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGINT, on_stop, d);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGHUP, on_hangup, d);
	if (r >= 0)
		r = sd_event_set_watchdog(d->event, true);
	return daemon_loop_part(r);
}

/* Before the configuration is read, events go where they go by default. */
void daemon_log_start(struct daemon *d)
{
	const struct event_log_options o = {
		.target = (enum event_target)d->config.log.target,
		.format = (enum event_format)d->config.log.format,
	};

	event_log_open(&d->log, &o);
	event_log_time(&d->log, d->wake.now, d->wake.now_real);
	event_log_use(&d->log);
}

static int config_start(struct daemon *d, const char *path)
{
	struct config_errors errors = {0};
	int r = config_load_file(path, &d->config, &errors);

	d->config_path = path;
	if (r < 0) {
		report_config_errors(path, &errors, false);
		return -EINVAL;
	}
	snprintf(d->config_result, sizeof d->config_result, "ok");
	d->config_loaded_real = d->wake.now_real;
	return 0;
}

int daemon_serve(struct daemon *d)
{
	int r = serve_start(d);

	if (r < 0) {
		report_unsupported("the control socket cannot be opened", d->config.paths.socket,
				   r);
		return r;
	}
	r = serve_metrics_start(d);
	if (r >= 0)
		r = daemon_loop_part(daemon_watch_config(d));
	return r < 0 ? r : cluster_start(d);
}

static int loop_start(struct daemon *d, const struct daemon_options *o)
{
	int r;

	d->next_review = d->wake.now;
	d->records.next_save = d->wake.now + d->config.clocks.state_usec;
	r = sd_event_add_time(d->event, &d->tick_source, CLOCK_BOOTTIME, d->wake.now,
			      TICK_ACCURACY_USEC, on_tick, d);
	if (r >= 0) {
		sd_event_source_set_priority(d->tick_source, DAEMON_PRIORITY_REFLEX);
		r = guard_start(d);
	}
	if (daemon_loop_part(r) < 0)
		return r;
	cg_thaw_pid1(d->host.root);
	reader_start(d, pods_look);
	r = bus_start(d, o->port);
	return r < 0 ? r : daemon_serve(d);
}

static int work_start(struct daemon *d, const struct daemon_options *o)
{
	int r = persist_load(d);

	if (r < 0)
		return r;
	lift_lost(d);
	lift_all(d);
	return loop_start(d, o);
}

/* Not fatal: fewer units can be watched then, and opening one says so. */
static void files_allow(void)
{
	struct rlimit files = {FILES_MAX, FILES_MAX};

	/* Without the right to raise the hard limit, as much as it allows. */
	if (setrlimit(RLIMIT_NOFILE, &files) == 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int daemon_new(const struct daemon_options *o, struct daemon **ret)
{
	struct daemon *d;
	int r;

	footprint_start();
	d = calloc(1, sizeof *d);
	if (d == NULL)
		return -ENOMEM;
	d->host.root = d->records.dir = d->memory.fd = -1;
	d->lock = (struct lock)LOCK_NONE;
	d->wake.clock = o->clock != NULL ? o->clock : daemon_host_clock;
	d->wake.clock_ctx = o->clock_ctx;
	d->units.memory_heard = tick_unit;
	daemon_wake(d);
	d->wake.started_at = d->last_tick = d->wake.now;
	d->wake.started_monotonic = daemon_clock();
	read_own_cgroup(d);
	read_own_pod(d);
	files_allow();
	daemon_log_start(d);
	r = daemon_loop_part(sd_event_new(&d->event));
	if (r >= 0)
		r = config_start(d, o->config_path);
	if (r >= 0) {
		daemon_log_start(d);
		r = signals_start(d);
	}
	if (r >= 0)
		r = host_start(d, o);
	if (r >= 0)
		r = folders_start(d);
	if (r >= 0)
		r = d->host.unsupported != NULL ? unsupported_start(d) : work_start(d, o);
	if (r < 0) {
		daemon_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

int daemon_run(struct daemon *d)
{
	int r;

	event_started(&(struct daemon_event){
		.version = VSCALED_VERSION, .file = d->config_path, .cgroup = d->host.cg.mount});
	notify_send(NOTIFY_READY, NULL, 0);
	/* The clock begins now: the time of the start does not count as lag of the loop. */
	daemon_wake(d);
	r = sd_event_source_set_time(d->tick_source, d->wake.now);
	if (r < 0)
		return r;
	r = sd_event_loop(d->event);
	if ((r < 0 && r != FOLDERS_LOST) || d->host.unsupported != NULL)
		return r;
	daemon_wake(d);
	lift_all(d);
	/* The state files are another process's now. */
	if (r < 0)
		return r;
	for (size_t i = 0; i < d->units.count; i++)
		report_summed(d->units.items[i], true);
	persist_save(d);
	return 0;
}

static void drop_descriptor(int fd)
{
	if (fd >= 0)
		close(fd);
}

void daemon_free(struct daemon *d)
{
	if (d == NULL)
		return;
	http_server_free(d->server);
	metrics_server_free(d->metrics);
	config_watch_free(d->config_watch);
	cluster_free(d->cluster);
	unit_bus_free(d->bus);
	pods_free(d);
	managed_free_all(d);
	reader_stop(d);
	cg_watch_free(d->inotify.watch);
	baseline_set_free(&d->records.baselines);
	history_store_free(&d->records.histories);
	node_memory_stop(d);
	free(d->plans.steps);
	event_log_use(NULL);
	sd_event_source_disable_unref(d->tick_source);
	sd_event_unref(d->event);
	config_free(&d->config);
	drop_descriptor(d->host.root);
	drop_descriptor(d->records.dir);
	lock_drop(&d->lock);
	free(d);
}
