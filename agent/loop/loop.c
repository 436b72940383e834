// SPDX-License-Identifier: Apache-2.0
/* Set-up, timers, signals, reload and stop. */
#include "agent/loop/loop.h"
#include "agent/apply/apply.h"
#include "agent/base/file.h"
#include "agent/base/process.h"
#include "agent/config/config_watch.h"
#include "agent/drift/drift_events.h"
#include "agent/loop/tick.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "agent/recorder/recorder.h"
#include "agent/units/units.h"
#include "cgroup/writer.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* --- the state folder and the control socket */

/* holder: its room. The pid is the node's only where the process is not in a pod. */
static struct lock_place lock_place(const struct daemon *d, char holder[LOCK_HOLDER_MAX])
{
	if (d->host.own_pod[0] != '\0')
		snprintf(holder, LOCK_HOLDER_MAX, "the vscaled of pod %.60s/%.60s",
			 d->host.own_namespace, d->host.own_pod);
	else
		snprintf(holder, LOCK_HOLDER_MAX, "vscaled, process %d of the host", (int)getpid());
	return (struct lock_place){
		.directory = d->config.paths.state_dir,
		.holder = holder,
	};
}

/* systemd makes the folder for its service, and may remove it. A failure is reported when the
 * control socket cannot be opened. */
static void make_runtime_folder(const struct daemon *d)
{
	(void)mkdir(d->config.paths.runtime_dir, 0755);
}

/* -errno after having said why. */
static int folders_start(struct folders *f, struct daemon *d)
{
	char holder[LOCK_HOLDER_MAX], other[LOCK_HOLDER_MAX], what[LOCK_HOLDER_MAX + 64];
	const struct lock_place at = lock_place(d, holder);
	int r = directory_open(d->config.paths.state_dir, 0700);

	if (r < 0) {
		message_unsupported("the state folder cannot be opened", d->config.paths.state_dir,
				    r);
		return r;
	}
	persist_use_folder(&d->records, r);
	make_runtime_folder(d);
	r = f->lock_fd = lock_take(&at, other);
	if (r == -EWOULDBLOCK) {
		snprintf(what, sizeof what, "this node is already managed by %s", other);
		message_unsupported(what,
				    "run one agent per node: stop one of the two, or wait until a "
				    "running vscalectl has ended",
				    0);
	} else if (r < 0) {
		message_unsupported("the lock cannot be taken", d->config.paths.state_dir, r);
	}
	return MIN(r, 0);
}

/* What waited for its record need not wait for the next tick. */
static int on_saved(sd_event_source *, int fd, uint32_t, void *userdata)
{
	struct daemon *d = userdata;
	eventfd_t ended;

	daemon_wake(&d->wake);
	(void)eventfd_read(fd, &ended);
	if (persist_saved(&d->records))
		tick_reflex(&d->units);
	/* What was changed meanwhile. What failed is tried again by the clock. */
	if (!d->records.failed)
		persist_baselines(&d->records);
	return 0;
}

int folders_save_beside(struct daemon *d)
{
	/* Without the thread the loop waits for the disk. */
	if (saver_start(&d->records.saver) < 0)
		return 0;
	return sd_event_add_io(d->wake.event, NULL, d->records.saver.event_fd, EPOLLIN, on_saved,
			       d);
}

/* The directory was created again, or emptied: everything is written once more. */
static int reopen_state(struct daemon *d)
{
	int fd = directory_open(d->config.paths.state_dir, 0700);

	if (fd < 0)
		return fd;
	recorder_stop(&d->units);
	persist_use_folder(&d->records, fd);
	recorder_start(&d->units);
	return 0;
}

static void removed(const char *file, const char *what)
{
	event_tell(EVENT_FILE_REMOVED, .file = file, .detail = what);
}

/* An error that persists is reported once in this time. */
#define REPEAT_USEC USEC_PER_HOUR

static void cannot(const struct daemon *d, struct reported_error *t, const char *file,
		   const char *what, int error)
{
	char text[256];

	if (t->error == error && d->wake.now - t->at < REPEAT_USEC)
		return;
	*t = (struct reported_error){error, d->wake.now};
	snprintf(text, sizeof text, "%s (%s)", what, strerror(-error));
	removed(file, text);
}

static void check_lock(struct folders *f, struct daemon *d)
{
	char holder[LOCK_HOLDER_MAX], other[LOCK_HOLDER_MAX], what[LOCK_HOLDER_MAX + 64];
	const struct lock_place at = lock_place(d, holder);
	int r = lock_check(&at, &f->lock_fd, other);

	f->reopen_due |= r == LOCK_RETAKEN;
	if (r >= 0 && !f->reopen_due) {
		f->lock_reported.error = 0;
	} else if (r >= 0) {
		r = reopen_state(d);
		f->reopen_due = r < 0;
		if (r < 0)
			cannot(d, &f->lock_reported, d->config.paths.state_dir,
			       "and it cannot be opened again: nothing is saved", r);
		else
			removed("the lock", "vscaled took it again and saved the state again");
	} else if (r == -EWOULDBLOCK) {
		snprintf(what, sizeof what, "%s holds it now, this agent stops", other);
		removed("the lock", what);
		persist_abandon(&d->records);
		sd_event_exit(d->wake.event, FOLDERS_LOST);
	} else if (r < 0) {
		cannot(d, &f->lock_reported, "the lock",
		       "and it cannot be taken again: a second agent would not be detected", r);
	}
}

/* The file of the control socket, through which vscalectl finds the daemon. */
static void check_socket(struct folders *f, const struct daemon *d, struct serve *s)
{
	int r;

	if (serve_reachable(s))
		return;
	make_runtime_folder(d);
	r = serve_start(s);
	if (r < 0) {
		cannot(d, &f->socket_reported, d->config.paths.socket,
		       "and it cannot be created again: vscalectl cannot connect", r);
		return;
	}
	f->socket_reported.error = 0;
	removed(d->config.paths.socket, "vscaled created it again");
}

/* Takes the lock and opens the control socket again when another process removed their files. */
static void folders_check(struct loop *l)
{
	check_lock(&l->folders, &l->daemon);
	check_socket(&l->folders, &l->daemon, &l->serve);
}

/* --- the configuration */

/* The log as configured; before the configuration is read, events go where they go by default. */
static void log_start(struct daemon *d)
{
	event_log_open(&d->log, &d->config.log);
	event_log_time(&d->log, d->wake.now, d->wake.now_real);
	event_log_use(&d->log);
}

static void loaded(struct config_source *s, usec_t now_real)
{
	snprintf(s->result, sizeof s->result, "ok");
	s->loaded_real = now_real;
}

/* At the start. -errno after having said why. */
static int reload_first(struct reload *reload, const char *path)
{
	struct daemon *d = reload->daemon;
	struct config_errors errors = {0};
	int r = annotation_load_config(path, &d->config, &errors);

	reload->source.path = path;
	if (r < 0) {
		message_config_errors(path, &errors, false);
		return -EINVAL;
	}
	loaded(&reload->source, d->wake.now_real);
	return 0;
}

/* Another half life: every live history is read again under it. */
static void histories_follow(struct daemon *d)
{
	for (size_t i = 0; i < d->units.count; i++) {
		struct managed *m = d->units.items[i];

		if (m->control.history.samples == 0 ||
		    (usec_t)m->control.history.cpu.half_life_usec ==
			    d->config.tuning.history.half_life_usec)
			continue;
		persist_keep_history(m);
		persist_adopt_history(m);
	}
}

void reload_config(struct reload *reload)
{
	struct daemon *d = reload->daemon;
	struct config_errors errors = {0};
	struct config fresh;
	char later[256];
	int r;

	daemon_wake(&d->wake);
	/* Type=notify-reload wants the time; it does no harm with Type=notify. */
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, daemon_clock());
	r = annotation_load_config(reload->source.path, &fresh, &errors);
	if (r < 0) {
		snprintf(reload->source.result, sizeof reload->source.result, "%.*s",
			 (int)sizeof reload->source.result - 1,
			 errors.count > 0 ? errors.text[0] : strerror(-r));
		d->tally.reloads_failed++;
		message_config_errors(reload->source.path, &errors, true);
	} else {
		bool other_log = fresh.log.target != d->config.log.target ||
				 fresh.log.format != d->config.log.format;

		config_keep_restart_only(&fresh, &d->config, later, sizeof later);
		config_free(&d->config);
		d->config = fresh;
		loaded(&reload->source, d->wake.now_real);
		d->tally.reloads++;
		event_tell(EVENT_CONFIG_LOADED, .file = reload->source.path,
			   .count = d->config.unit_count, .detail = later);
		if (other_log)
			log_start(d);
		histories_follow(d);
		units_apply_rules(&d->units);
		/* Units that are not in the table may be named no longer. */
		reload->hand_back->strays_reported = false;
		reload->hand_back->strays_at = 0;
	}
	sd_notify(0, "READY=1");
}

static void on_config_changed(void *ctx)
{
	reload_config(ctx);
}

/* Reads it again when a kubelet replaces it. */
static int reload_watch(struct reload *reload)
{
	int r = config_watch_new(reload->daemon->wake.event, reload->source.path, on_config_changed,
				 reload, &reload->watch);

	return r == -ENOENT ? 0 : inotify_without(&reload->daemon->inotify, r);
}

/* --- the loop */

/* 12 descriptors a cgroup (cgroup/reader.h) for some 2,500 units and containers. */
#define FILES_MAX   32768
#define CGROUP_ROOT "/sys/fs/cgroup"
/* At the end PID 1 gets this long to take what is due; a second signal ends the wait. */
#define STOP_WAIT_USEC  (3 * USEC_PER_SEC)
#define STOP_CHECK_USEC (20 * USEC_PER_MSEC)
/* sd-event wakes as late as this allows; 0 stands for a quarter of a second. */
#define TICK_ACCURACY_USEC 1
/* Between wake-ups on a node that is not supported. */
#define CHECK_USEC USEC_PER_SEC
/* A wake-up this late is logged. */
#define LAG_WARN_USEC (5 * USEC_PER_SEC)

/* The timer may come a little early or late: no reflex pass is to be lost or gained by that. */
static bool sample_due(struct loop *l)
{
	const struct daemon *d = &l->daemon;
	const struct config_clocks *c = &d->config.clocks;

	if (d->wake.now + c->reflex_usec / 2 < l->timer.next_sample)
		return false;
	l->timer.next_sample =
		MAX(l->timer.next_sample + c->sample_usec, d->wake.now + c->sample_usec / 2);
	return true;
}

static bool review_due(struct loop *l)
{
	const struct daemon *d = &l->daemon;

	if (d->wake.now < l->timer.next_review)
		return false;
	l->timer.next_review = d->wake.now + d->config.clocks.review_usec;
	return true;
}

/* On a node that is not supported. */
static void tick_unsupported(struct loop *l)
{
	bool review = review_due(l);

	if (review)
		folders_check(l);
	if (l->cluster != NULL)
		cluster_tick(l->cluster, review);
}

void loop_tick(struct loop *l)
{
	struct daemon *d = &l->daemon;
	bool review;

	daemon_wake(&d->wake);
	d->wake.ticked_at = d->wake.now;
	if (d->host.unsupported != NULL) {
		tick_unsupported(l);
		return;
	}
	if (!sample_due(l)) {
		tick_reflex(&d->units);
		if (l->cluster != NULL)
			cluster_check(l->cluster);
		return;
	}
	review = review_due(l);
	pods_tick(&d->pods, review);
	lifecycle_tick(&l->hand_back);
	tick(&d->units, review);
	message_waiting(&d->units);
	if (review) {
		folders_check(l);
		persist_baselines(&d->records);
		units_forget(&d->units);
		d->pid1.list_due = true;
	}
	if (d->pid1.list_due)
		units_request_list(&d->units);
	if (l->cluster != NULL)
		cluster_tick(l->cluster, review);
	if (d->wake.now >= d->records.next_save)
		persist_save(&d->records);
}

static int on_tick(sd_event_source *s, uint64_t due, void *userdata)
{
	struct loop *l = userdata;
	struct daemon *d = &l->daemon;
	usec_t interval = MIN(d->config.clocks.reflex_usec, d->config.clocks.sample_usec);
	usec_t lag, begin = daemon_clock(), pause;

	d->wake.due = due;
	loop_tick(l);
	d->wake.due = 0;
	/* On a machine that is too slow for its clock, other event sources are served, too. */
	pause = MAX(interval / 2, daemon_clock() - begin + interval / 10);
	/* As of the wake-up, whatever was done since; a long tick makes the next one late. */
	lag = d->wake.ticked_at - MIN(d->wake.ticked_at, l->timer.wanted);
	counters_took(&d->tally.loop_lag, lag);
	if (lag > LAG_WARN_USEC)
		event_tell(EVENT_SLOW_LOOP, .span_usec = (int64_t)lag);
	/* Missed ticks are not made up for. */
	l->timer.wanted = MAX(due + interval, d->wake.ticked_at + interval / 2);
	sd_event_source_set_time(s, MAX(l->timer.wanted, d->wake.ticked_at + pause));
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* As sd-event wakes; the API server's own timers are not bound to it. */
static int on_check(sd_event_source *s, uint64_t due, void *userdata)
{
	loop_tick(userdata);
	sd_event_source_set_time(s, due + CHECK_USEC);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* A node without cgroup v2. Standalone, the start fails with -ENOTSUP. In a cluster the agent stays
 * up, ready, and reports it: a restart would not help. No limit file and no record is opened. */
static int unsupported_host(struct daemon *d)
{
	static const char *const words[CG_MODE_COUNT] = {
		[CG_MODE_V1] = "cgroup-v1",
		[CG_MODE_HYBRID] = "cgroup-hybrid",
	};
	char why[128];
	const char *hint = "boot with systemd.unified_cgroup_hierarchy=1; see vscalectl doctor";

	snprintf(why, sizeof why, "this host has cgroup %s, vscaled needs version 2 only",
		 cg_mode_name(d->host.cg.mode));
	if (!config_cluster_wanted(&d->config.kubernetes) || words[d->host.cg.mode] == NULL) {
		message_unsupported(why, hint, 0);
		return -ENOTSUP;
	}
	d->host.unsupported = words[d->host.cg.mode];
	event_tell(EVENT_NODE_UNSUPPORTED, .detail = why, .hint = hint);
	return 0;
}

static int host_start(struct loop *l, const struct loop_options *o)
{
	struct daemon *d = &l->daemon;
	const char *named = o->cgroup_root ? o->cgroup_root : d->config.paths.cgroup_root;
	/* The usual place is searched for, so that a hybrid host is reported as such. */
	const char *root = strcmp(named, CGROUP_ROOT) == 0 ? NULL : named;
	int r = cg_discover(root, o->trust_root, &d->host.cg);

	if (o->mode != CG_MODE_NONE)
		d->host.cg.mode = o->mode;
	if (r == 0 && d->host.cg.mode != CG_MODE_UNIFIED)
		return unsupported_host(d);
	if (r < 0) {
		message_unsupported("the cgroup tree cannot be read", root, r);
		return r;
	}
	if (d->host.cg.kernel_old)
		event_tell(EVENT_KERNEL_OLD, .detail = d->host.cg.kernel);
	if (!d->host.cg.psi)
		event_tell(EVENT_PSI_MISSING);
	r = host_open(&d->host);
	if (r < 0)
		return r;
	if (d->config.kubernetes.cgroup_prefix != NULL)
		snprintf(d->host.kubelet_root, sizeof d->host.kubelet_root, "%s",
			 d->config.kubernetes.cgroup_prefix);
	node_memory_start(&d->memory, o->proc_root);
	return 0;
}

/* Before vscaled ends, systemd must store the cgroups' limits: a reload would undo them. */
static int on_stop_timer(sd_event_source *s, uint64_t due, void *userdata)
{
	struct loop *l = userdata;
	struct daemon *d = &l->daemon;

	daemon_wake(&d->wake);
	if (!properties_pending(&d->units) || d->wake.now >= l->stop_by)
		return sd_event_exit(d->wake.event, 0);
	properties_send(&d->units);
	sd_event_source_set_time(s, due + STOP_CHECK_USEC);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int on_stop(sd_event_source *, const struct signalfd_siginfo *si, void *userdata)
{
	struct loop *l = userdata;
	struct daemon *d = &l->daemon;

	daemon_wake(&d->wake);
	if (l->stop_by != 0)
		return sd_event_exit(d->wake.event, 0);
	event_tell(EVENT_STOPPING, .detail = strsignal((int)si->ssi_signo));
	sd_notify(0, "STOPPING=1");
	release_stopping(&d->units);
	l->stop_by = d->wake.now + STOP_WAIT_USEC;
	return sd_event_add_time(d->wake.event, NULL, CLOCK_BOOTTIME, d->wake.now, 0, on_stop_timer,
				 l);
}

static int on_hangup(sd_event_source *, const struct signalfd_siginfo *, void *userdata)
{
	struct loop *l = userdata;

	reload_config(&l->reload);
	return 0;
}

static int loop_part(int r)
{
	if (r < 0)
		message_unsupported("the event loop cannot be set up", NULL, r);
	return r;
}

static int signals_start(struct loop *l)
{
	sd_event *event = l->daemon.wake.event;
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_add_signal(event, NULL, SIGTERM, on_stop, l);
	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGINT, on_stop, l);
	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGHUP, on_hangup, l);
	if (r >= 0)
		r = sd_event_set_watchdog(event, true);
	return loop_part(r);
}

static int loop_serve(struct loop *l)
{
	struct daemon *d = &l->daemon;
	int r = serve_start(&l->serve);

	if (r < 0) {
		message_unsupported("the control socket cannot be opened", d->config.paths.socket,
				    r);
		return r;
	}
	r = serve_metrics_start(&l->serve);
	if (r >= 0)
		r = loop_part(reload_watch(&l->reload));
	return r < 0 ? r : cluster_start(&d->pods, &l->cluster);
}

static int timer_start(struct loop *l)
{
	const struct daemon *d = &l->daemon;
	int r = sd_event_add_time(d->wake.event, &l->timer.source, CLOCK_BOOTTIME, d->wake.now,
				  TICK_ACCURACY_USEC, on_tick, l);

	l->timer.next_review = d->wake.now;
	if (r >= 0)
		sd_event_source_set_priority(l->timer.source, DAEMON_PRIORITY_REFLEX);
	return r;
}

/* The loop of a node that is not supported: probes, metrics, the control socket, and Events. */
static int unsupported_start(struct loop *l)
{
	const struct daemon *d = &l->daemon;
	int r = sd_event_add_time(d->wake.event, &l->timer.source, CLOCK_BOOTTIME, d->wake.now, 0,
				  on_check, l);

	return loop_part(r) < 0 ? r : loop_serve(l);
}

static int parts_start(struct loop *l, const struct loop_options *o)
{
	struct daemon *d = &l->daemon;
	int r = timer_start(l);

	if (r >= 0)
		r = drift_start(&d->units);
	if (loop_part(r) < 0)
		return r;
	cg_thaw_pid1(d->host.root);
	reader_start(&d->reader);
	r = bus_start(&d->units, o->port, &l->bus);
	return r < 0 ? r : loop_serve(l);
}

static int work_start(struct loop *l, const struct loop_options *o)
{
	struct daemon *d = &l->daemon;
	int r = persist_load(&d->records);

	if (r < 0)
		return r;
	pods_rollouts_load(&d->pods);
	recorder_start(&d->units);
	lift_start(&d->records, d->config.paths.runtime_dir, d->host.root);
	lift_all(&d->records, d->host.root);
	return parts_start(l, o);
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

/* Every part gets the parts that it uses. */
static void parts_init(struct daemon *d)
{
	d->units = (struct unit_table){
		.wake = &d->wake,
		.config = &d->config,
		.host = &d->host,
		.inotify = &d->inotify,
		.reader = &d->reader,
		.memory = &d->memory,
		.pid1 = &d->pid1,
		.records = &d->records,
		.tally = &d->tally,
		.pods = &d->pods,
		.on_memory_event = tick_unit,
		.on_throttled = tick_throttled,
	};
	d->memory =
		(struct node_memory){.units = &d->units, .fd = -1, .to = {LIMIT_MAX, LIMIT_MAX}};
	persist_init(&d->records, &d->units);
	d->reader.units = &d->units;
	d->pods = (struct pods){
		.units = &d->units,
		.wake = &d->wake,
		.config = &d->config,
		.host = &d->host,
		.inotify = &d->inotify,
		.records = &d->records,
	};
}

static struct loop *loop_alloc(const struct loop_options *o)
{
	struct loop *l = calloc(1, sizeof *l);
	struct daemon *d;

	if (l == NULL)
		return NULL;
	d = &l->daemon;
	host_init(&d->host);
	parts_init(d);
	d->wake = (struct wakeup){
		.units = &d->units,
		.log = &d->log,
		.clock = o->clock != NULL ? o->clock : daemon_host_clock,
		.clock_ctx = o->clock_ctx,
	};
	l->folders.lock_fd = -1;
	l->reload.daemon = d;
	l->reload.hand_back = &l->hand_back;
	l->hand_back.units = &d->units;
	l->serve = (struct serve){.units = &d->units,
				  .pods = &d->pods,
				  .cluster = &l->cluster,
				  .wake = &d->wake,
				  .config = &d->config,
				  .host = &d->host,
				  .hand_back = &l->hand_back,
				  .source = &l->reload.source};
	return l;
}

int loop_new(const struct loop_options *o, struct loop **ret)
{
	struct loop *l;
	struct daemon *d;
	int r;

	footprint_start();
	l = loop_alloc(o);
	if (l == NULL)
		return -ENOMEM;
	d = &l->daemon;
	daemon_wake(&d->wake);
	files_allow();
	log_start(d);
	r = loop_part(sd_event_new(&d->wake.event));
	if (r >= 0)
		r = reload_first(&l->reload, o->config_path);
	if (r >= 0) {
		log_start(d);
		r = signals_start(l);
	}
	if (r >= 0)
		r = host_start(l, o);
	if (r >= 0)
		r = folders_start(&l->folders, d);
	if (r >= 0)
		r = d->host.unsupported != NULL ? unsupported_start(l) : work_start(l, o);
	if (r < 0) {
		loop_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

int loop_run(struct loop *l)
{
	struct daemon *d = &l->daemon;
	int r;

	event_tell(EVENT_STARTED, .version = VSCALED_VERSION, .file = l->reload.source.path,
		   .who.cgroup = d->host.cg.mount);
	sd_notify(0, "READY=1");
	/* The clock begins now: the time of the start does not count as lag of the loop. */
	daemon_wake(&d->wake);
	l->timer.wanted = d->wake.now;
	r = sd_event_source_set_time(l->timer.source, d->wake.now);
	if (r >= 0)
		r = loop_part(folders_save_beside(d));
	if (r < 0)
		return r;
	r = sd_event_loop(d->wake.event);
	if ((r < 0 && r != FOLDERS_LOST) || d->host.unsupported != NULL)
		return r;
	daemon_wake(&d->wake);
	lift_all(&d->records, d->host.root);
	/* The state files are another process's now. */
	if (r < 0)
		return r;
	for (size_t i = 0; i < d->units.count; i++)
		message_summed(d->units.items[i], true);
	persist_end(&d->records);
	return 0;
}

static void daemon_drop(struct daemon *d)
{
	pods_free(&d->pods);
	recorder_stop(&d->units);
	managed_free_all(&d->units);
	reader_stop(&d->reader);
	cg_watch_free(d->inotify.watch);
	node_memory_stop(&d->memory);
	event_log_use(NULL);
}

void loop_free(struct loop *l)
{
	struct daemon *d;

	if (l == NULL)
		return;
	d = &l->daemon;
	serve_stop(&l->serve);
	config_watch_free(l->reload.watch);
	cluster_free(l->cluster);
	unit_bus_free(l->bus);
	daemon_drop(d);
	sd_event_source_disable_unref(l->timer.source);
	sd_event_unref(d->wake.event);
	config_free(&d->config);
	host_close(&d->host);
	persist_free(&d->records);
	drop_fd(&l->folders.lock_fd);
	free(l);
}
