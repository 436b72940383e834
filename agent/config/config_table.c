// SPDX-License-Identifier: Apache-2.0
/* The keys of the configuration, and their values: text to field, field to text, what is allowed,
 * what a reload keeps. */
#include "agent/config/config_table.h"
#include "agent/base/listen.h"
#include "cgroup/kubepods.h"
#include "policy/base/quantity.h"
#include "policy/base/text.h"
#include "policy/history/histogram.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

/* In the order of their values: ALGORITHM_DEFAULT.. */
static const char *const algorithms[] = {"default", "vpa", "threshold", NULL};
static const char *const observed[] = {"OptedIn", "All", "None", NULL};
static const char *const log_targets[] = {"auto", "journal", "stderr", NULL};
static const char *const switches[] = {"auto", "true", "false", NULL};
static const char *const readers[] = {"auto", "text", "bpf", NULL};
static const char *const log_formats[] = {"logfmt", "json", NULL};

#define MS     USEC_PER_MSEC
#define SEC    USEC_PER_SEC
#define MINUTE USEC_PER_MIN
#define HOUR   USEC_PER_HOUR
#define DAY    USEC_PER_DAY
/* Percent and parts of a percent in permille and ppm. */
#define PCT     10u
#define PCT_PPM 10000u
/* Bounds of limits. */
#define CPU_LOW  CPU_QUANTUM_MILLI
#define CPU_HIGH 100000000
#define MEM_LOW  MIB
#define MEM_HIGH (1024 * 1024 * GIB)

/* clang-format off */
/* key, type, member, smallest, largest, default, meaning */
#define KEY(key, type_, of, member, doc_, ...)                                                     \
	{.path = key, .type = type_, .offset = offsetof(of, member), .doc = doc_, __VA_ARGS__}
#define ROW(key, type_, member, low, high, default_, doc_)                                         \
	KEY(key, type_, struct config, member, doc_, .min = low, .max = high, .fallback = default_)
/* The same, read at the start only. */
#define FIXED(key, type_, member, low, high, default_, doc_)                                       \
	KEY(key, type_, struct config, member, doc_, .min = low, .max = high, .fallback = default_, \
	    .at_start = true)
#define CHOICE(key, member, list, default_, doc_, ...)                                             \
	KEY(key, CONFIG_CHOICE, struct config, member, doc_, .max = ARRAY_SIZE(list) - 2,          \
	    .fallback = default_, .names = list, ##__VA_ARGS__)
/* A path or a name: the longest, and the default in words. All are read at the start only. */
#define WHERE(key, type_, member, high, words, doc_)                                               \
	KEY(key, type_, struct config, member, doc_, .min = 1, .max = high, .builtin = words,      \
	    .at_start = true)

const struct config_key config_keys[] = {
	ROW("clocks.reflexInterval", CONFIG_DURATION, clocks.reflex_usec, 10 * MS, MINUTE, "100ms",
	    "Reflex pass: reads throttling and memory growth, raises limits"),
	ROW("clocks.sampleInterval", CONFIG_DURATION, clocks.sample_usec, 100 * MS, 10 * MINUTE, "1s",
	    "Sample: records use, reads memory.stat and pressure"),
	ROW("clocks.reviewInterval", CONFIG_DURATION, clocks.review_usec, 100 * MS, HOUR, "10s",
	    "Review: makes recommendations, lowers limits"),
	ROW("clocks.stateInterval", CONFIG_DURATION, clocks.state_usec, SEC, DAY, "5m",
	    "Save of the history; also at the end"),

	WHERE("paths.stateDirectory", CONFIG_FILE, paths.state_dir, PATH_MAX - 64,
	      "`$STATE_DIRECTORY`, else `/var/lib/vscaled`",
	    "History, original values, lock"),
	WHERE("paths.runtimeDirectory", CONFIG_FILE, paths.runtime_dir, PATH_MAX - 64,
	      "`$RUNTIME_DIRECTORY`, else `/run/vscaled`",
	    "Control socket"),
	WHERE("paths.socket", CONFIG_FILE, paths.socket, sizeof((struct sockaddr_un *)0)->sun_path - 1,
	      "`control.sock` in the runtime directory",
	    "Control socket of vscalectl"),
	WHERE("paths.socketGroup", CONFIG_NAME, paths.socket_group, 32, "none, root alone",
	    "Group that may use the control socket"),
	WHERE("paths.cgroupRoot", CONFIG_FILE, paths.cgroup_root, PATH_MAX - 64, "`/sys/fs/cgroup`",
	    "Where cgroup v2 is mounted"),

	CHOICE("log.target", log.target, log_targets, "auto",
	    "`auto`: the journal if its socket answers, and stderr unless that is the journal"),
	CHOICE("log.format", log.format, log_formats, "logfmt",
	    "Lines on stderr"),

	FIXED("recorder.enabled", CONFIG_BOOL, recorder.enabled, 0, 1, "true",
	    "Flight recorder, for `vscalectl record dump` and `history`"),
	FIXED("recorder.size", CONFIG_BYTES, recorder.size_bytes, MIB, GIB, "16Mi",
	    "Files `recording` to `recording.3` in the state directory; an hour of a busy container takes about 0.5 MiB"),

	WHERE("prometheus.url", CONFIG_WORD, prometheus.url, 512, "none",
	    "Server that is queried for the past use of containers without history: "
	    "`https://prometheus.monitoring:9090`"),
	WHERE("prometheus.tokenFile", CONFIG_FILE, prometheus.token_file, PATH_MAX - 64, "none",
	    "Bearer token for it"),
	WHERE("prometheus.caFile", CONFIG_FILE, prometheus.ca_file, PATH_MAX - 64, "the system's",
	    "CA certificates (PEM) that verify the server"),
	WHERE("prometheus.matchers", CONFIG_WORD, prometheus.matchers, 256, "none",
	    "Label matchers beside namespace, pod and container: `cluster=\"a\"`"),
	FIXED("prometheus.range", CONFIG_DURATION, prometheus.range_usec, HOUR, 31 * DAY, "8d",
	    "How far back; as far as the server has it"),
	FIXED("prometheus.step", CONFIG_DURATION, prometheus.step_usec, MINUTE, HOUR, "5m",
	    "Between two samples"),

	CHOICE("cgroup.reader", cgroup.reader, readers, "auto",
	    "`auto`: BPF where kernel and capabilities allow it, else files (`text`); "
	    "`bpf`: as `auto`, but a failure is an error in the journal", .at_start = true),
	FIXED("bpf.throttleEvents", CONFIG_BOOL, cgroup.throttle_events, 0, 1, "true",
	    "Where BPF loads: throttling is answered within its period, not at the next reflex pass"),

	WHERE("http.listen", CONFIG_LISTEN, http.listen, 64, "none",
	    "Serves `/metrics`, `/livez` and `/readyz`"),

	CHOICE("kubernetes.enabled", kubernetes.enabled, switches, "auto",
	    "Sizes pods of this node; `auto`: in a pod, or with `kubernetes.kubeconfig`", .at_start = true),
	WHERE("kubernetes.kubeconfig", CONFIG_FILE, kubernetes.kubeconfig, PATH_MAX - 64,
	      "the pod's service account",
	    "Reaches the API server from outside a pod: a file, or a list as `$KUBECONFIG`, merged as kubectl does; `server` has a scheme"),
	WHERE("kubernetes.context", CONFIG_WORD, kubernetes.context, 253,
	      "its current context",
	    "Context of the kubeconfig"),
	WHERE("kubernetes.nodeName", CONFIG_NAME, kubernetes.node, 253,
	      "`$NODE_NAME`, else the host's name",
	    "This node in the cluster"),
	WHERE("kubernetes.cgroupPrefix", CONFIG_PREFIX, kubernetes.cgroup_prefix, 310,
	      "searched for",
	    "The kubelet's `--cgroup-root`"),
	FIXED("kubernetes.startJitter", CONFIG_DURATION, kubernetes.start_jitter_usec, 0, HOUR, "10s",
	    "The first list is sent at a random time within this"),
	FIXED("kubernetes.writeInterval", CONFIG_DURATION, kubernetes.write_interval_usec,
	      10 * MS, HOUR, "10s",
	    "Average interval of writes to the API server"),
	FIXED("kubernetes.writeBurst", CONFIG_COUNT, kubernetes.write_burst, 1, 1000, "20",
	    "Most writes at once"),
	FIXED("kubernetes.statusInterval", CONFIG_DURATION, kubernetes.status_interval_usec,
	      100 * MS, DAY, "10m",
	    "Least interval of writes of a pod's status annotation"),
	CHOICE("kubernetes.observe", kubernetes.observe, observed, "OptedIn",
	       "`All`: also recommends for pods without a mode, of which nothing is written; `None`: pods "
	    "in mode Off have no status annotation"),
	ROW("kubernetes.observedContainers", CONFIG_COUNT, kubernetes.observed_containers, 1, 5000,
	    "500", "Most containers of pods without a mode; the oldest pods first"),
	FIXED("kubernetes.workloadHistory", CONFIG_BOOL, kubernetes.workload_history, 0, 1, "true",
	    "A container with little history also counts the status annotations of its workload's pods "
	    "on other nodes"),
	FIXED("kubernetes.autoscalers", CONFIG_BOOL, kubernetes.autoscalers, 0, 1, "true",
	    "Leaves alone requests that a HorizontalPodAutoscaler scales by, and pods that a "
	    "VerticalPodAutoscaler sizes"),
	FIXED("kubernetes.namespaceAnnotations", CONFIG_BOOL, kubernetes.namespace_annotations, 0,
	      1, "false",
	    "Annotations of a Namespace are defaults for its pods; needs the role "
	    "`vscaled-namespaces`"),
	FIXED("kubernetes.leaseTime", CONFIG_DURATION, kubernetes.report.lease_usec,
	      100 * MS, HOUR, "1m",
	    "A new limit that has held this long is sent to the API server"),
	FIXED("kubernetes.memoryLeaseTime", CONFIG_DURATION, kubernetes.report.memory_lease_usec,
	      100 * MS, HOUR, "1m",
	    "A new memory limit that has held this long is sent; the spec is lowered once growth has ended for 30 s"),
	FIXED("kubernetes.startupAfterReady", CONFIG_DURATION, tuning.startup.ready_usec, 0, HOUR, "30s",
	    "Start-up ends this long after the container was first Ready; its CPU use is "
	    "not recorded (except with `algorithm: vpa`) and holds up no limit"),
	FIXED("kubernetes.startupTime", CONFIG_DURATION, tuning.startup.unprobed_usec, 0, HOUR, "1m",
	    "Start-up without a readiness or startup probe ends this long after the start"),
	FIXED("kubernetes.requestUpTime", CONFIG_DURATION, kubernetes.report.request_up_usec,
	      0, DAY, "10m",
	    "A request alone is raised once it should have been 10 % higher for this long"),
	FIXED("kubernetes.requestDownTime", CONFIG_DURATION, kubernetes.report.request_down_usec,
	      0, DAY, "30m",
	    "A request alone is lowered once it should have been 10 % lower for this long"),
	FIXED("kubernetes.decreaseInterval", CONFIG_DURATION, kubernetes.report.decrease_every_usec,
	      0, DAY, "4h",
	    "Requests and CPU limits in the spec are lowered during 15 min once in this time, at another moment on each node; 0: at any time"),
	FIXED("kubernetes.startupLeaseTime", CONFIG_DURATION, kubernetes.report.startup_lease_usec,
	      0, DAY, "5m",
	    "A CPU limit raised in start-up is sent if it still holds this long after it"),
	FIXED("kubernetes.slopeAhead", CONFIG_DURATION, kubernetes.report.ahead_usec, 0, HOUR, "1m",
	    "A memory limit in a resize covers this much growth"),
	FIXED("kubernetes.firstSlopeAhead", CONFIG_DURATION, kubernetes.report.first_ahead_usec,
	      0, HOUR, "20s",
	    "It covers at most this until a raise for the same growth was accepted"),
	FIXED("kubernetes.margin", CONFIG_PERMILLE, kubernetes.report.margin_permille,
	      0, 1000 * PCT, "10%",
	    "A memory limit in a resize is at least this share above use"),
	FIXED("kubernetes.marginMin", CONFIG_BYTES, kubernetes.report.margin_min_bytes,
	      0, 1024 * GIB, "16Mi",
	    "A memory limit in a resize is at least this much above use"),
	FIXED("kubernetes.atOnce", CONFIG_PERMILLE, kubernetes.report.at_once_permille,
	      0, 100 * PCT, "10%",
	    "Changes of at least this share do not wait for `smallInterval`"),
	FIXED("kubernetes.smallInterval", CONFIG_DURATION, kubernetes.report.small_usec, 0, DAY, "10m",
	    "Between resizes of a pod for smaller changes"),
	FIXED("kubernetes.upInterval", CONFIG_DURATION, kubernetes.report.up_interval_usec,
	      0, DAY, "10s",
	    "Between resizes of a pod if the second raises"),
	FIXED("kubernetes.downInterval", CONFIG_DURATION, kubernetes.report.down_interval_usec,
	      0, DAY, "5m",
	    "Between resizes of a pod if the second only lowers"),
	FIXED("kubernetes.deferredTime", CONFIG_DURATION, kubernetes.report.deferred_usec,
	      SEC, DAY, "5m",
	    "A resize that the kubelet defers for this long is withdrawn and counts as refused"),
	FIXED("kubernetes.refusalTime", CONFIG_DURATION, kubernetes.report.refusal_usec,
	      SEC, DAY, "1h",
	    "What was refused is not requested again for this long"),
	FIXED("kubernetes.settleMax", CONFIG_DURATION, kubernetes.report.settle_max_usec,
	      SEC, DAY, "5m",
	    "Longest wait for the kubelet to carry out a resize"),
	FIXED("kubernetes.restartInterval", CONFIG_DURATION, kubernetes.report.restart_every_usec,
	      60 * SEC, 365 * DAY, "1h",
	    "Between restarts of a container for memory (`allow-restart`)"),
	CHOICE("kubernetes.highestMode", kubernetes.highest_mode, mode_names, "Auto",
	    "Highest mode; overrides annotations; `Off`: originals are written back, then "
	    "nothing"),
	ROW("kubernetes.minCpu", CONFIG_CPU, kubernetes.cpu_milli.min, CPU_LOW, CPU_HIGH, "none",
	    "Lowest CPU limit; overrides annotations"),
	ROW("kubernetes.maxCpu", CONFIG_CPU, kubernetes.cpu_milli.max, CPU_LOW, CPU_HIGH, "none",
	    "Highest CPU limit; overrides annotations"),
	ROW("kubernetes.minMemory", CONFIG_BYTES, kubernetes.mem_bytes.min, MEM_LOW, MEM_HIGH, "none",
	    "Lowest memory limit; overrides annotations"),
	ROW("kubernetes.maxMemory", CONFIG_BYTES, kubernetes.mem_bytes.max, MEM_LOW, MEM_HIGH, "none",
	    "Highest memory limit; overrides annotations"),
	{.path = "kubernetes.unratifiedCeiling", .type = CONFIG_PERMILLE,
	 .offset = offsetof(struct config, kubernetes.unratified_permille), .min = 100 * PCT,
	 .max = 100000 * PCT, .fallback = "200%", .or_none = true,
	 .doc = "While the API server cannot accept a higher memory limit, it rises at most to that of the "
	    "spec or this share of the original; overrides `max-memory`; not with `maxMemory`"},

	ROW("node.ledger", CONFIG_BOOL, tuning.node.count, 0, 1, "true",
	    "`false`: the node's memory does not bound memory limits; cgroups above still do"),
	ROW("node.reserve", CONFIG_PERMILLE, tuning.node.reserve_permille, 0, 50 * PCT, "5%",
	    "Share of the node's memory that is never granted"),
	ROW("node.reserveMin", CONFIG_BYTES, tuning.node.reserve_min_bytes,
	    0, 1024 * GIB, "256Mi",
	    "Smallest reserve"),
	ROW("node.evictionThreshold", CONFIG_AMOUNT, tuning.node.eviction,
	    0, 1024 * GIB, "100Mi",
	    "The kubelet's `--eviction-hard` for `memory.available`; smallest reserve; no increase "
	    "brings the kubelet's figure below this and half of the reserve"),

	CHOICE("history.algorithm", tuning.history.algorithm, algorithms, "default",
	    "`vpa`: the numbers of the Vertical Pod Autoscaler to the integer (requests of CPU in steps "
	    "of 10m); `threshold`: the rule under `threshold`; limits never fall"),
	ROW("history.halfLife", CONFIG_DURATION, tuning.history.half_life_usec,
	    MINUTE, HISTOGRAM_HALF_LIFE_MAX_USEC, "1d",
	    "A sample this old weighs half"),
	ROW("history.confidenceAfter", CONFIG_DURATION, tuning.history.confidence_usec,
	    SEC, 365 * DAY, "1d",
	    "With less history a share of the original limit is a lower bound"),
	ROW("history.lowerPercentile", CONFIG_PERMILLE, tuning.history.lower_permille,
	    0, 100 * PCT, "50%",
	    "Of use: lower bound"),
	ROW("history.targetPercentile", CONFIG_PERMILLE, tuning.history.target_permille,
	    0, 100 * PCT, "90%",
	    "Of use: target, which requests follow"),
	ROW("history.upperPercentile", CONFIG_PERMILLE, tuning.history.upper_permille,
	    0, 100 * PCT, "95%",
	    "Of use: upper bound"),
	ROW("history.peakPercentile", CONFIG_PERMILLE, tuning.history.peak_permille,
	    0, 100 * PCT, "99%",
	    "Of CPU demand: peak, which limits follow"),
	ROW("history.margin", CONFIG_PERMILLE, tuning.history.margin_permille,
	    0, 1000 * PCT, "15%",
	    "Added to every percentile"),
	ROW("history.memoryWindow", CONFIG_DURATION, tuning.history.mem_window_usec,
	    SEC, 30 * DAY, "1d",
	    "One memory peak is kept per window"),

	ROW("cpu.throttleTarget", CONFIG_PPM, tuning.cpu.throttle_target_ppm, 1, 33 * PCT_PPM, "0.2%",
	    "Share of throttled scheduling periods that goal `balanced` holds"),
	ROW("cpu.raiseMax", CONFIG_PERMILLE, tuning.cpu.step_max_permille,
	    101 * PCT, 1000 * PCT, "200%",
	    "A raise goes at most to this share of the limit"),
	ROW("cpu.evidenceMax", CONFIG_PERMILLE, tuning.cpu.evidence_permille,
	    100 * PCT, 1000 * PCT, "110%",
	    "A raise goes at most to this share of the CPU time that was used and waited for"),
	ROW("cpu.raiseInterval", CONFIG_DURATION, tuning.cpu.raise_interval_usec,
	    10 * MS, MINUTE, "100ms",
	    "Between raises of the reflex pass"),
	ROW("cpu.recentWindow", CONFIG_DURATION, tuning.cpu.recent_usec, SEC, DAY, "10m",
	    "Before a decrease demand is watched for this long; it halves in weight every six of these; "
	    "its maximum holds the limit up (not with goal `savings`)"),
	ROW("cpu.shrinkBelow", CONFIG_PERMILLE, tuning.cpu.shrink_below_permille,
	    1, 100 * PCT, "90%",
	    "The limit falls only if it can fall below this share of itself"),
	ROW("cpu.shrinkKeep", CONFIG_PERMILLE, tuning.cpu.shrink_step_permille,
	    1, 100 * PCT, "50%",
	    "A decrease keeps at least this share"),
	ROW("cpu.shrinkInterval", CONFIG_DURATION, tuning.cpu.shrink_interval_usec,
	    100 * MS, DAY, "1m",
	    "Between decreases"),
	ROW("cpu.verdictPeriods", CONFIG_COUNT, tuning.cpu.verdict_periods, 1, 100000, "20",
	    "A decrease has held after this many scheduling periods without throttling"),
	ROW("cpu.floorHalfLife", CONFIG_DURATION, tuning.cpu.floor_half_life_usec,
	    SEC, 365 * DAY, "6h",
	    "A value that proved too low is avoided; half-life of that effect"),
	ROW("cpu.regretWindow", CONFIG_DURATION, tuning.cpu.regret_usec,
	    0, DAY, "1h",
	    "Throttled this soon after a decrease that held: the value was too low"),

	ROW("memory.timeToLimit", CONFIG_DURATION, tuning.memory.time_to_limit_usec,
	    10 * MS, HOUR, "1s",
	    "The limit rises if growing use would reach it sooner"),
	ROW("memory.slopeAhead", CONFIG_DURATION, tuning.memory.slope_ahead_usec,
	    0, HOUR, "3s",
	    "A raise covers this much further growth"),
	ROW("memory.raiseMin", CONFIG_PERMILLE, tuning.memory.raise_permille,
	    101 * PCT, 1000 * PCT, "115%",
	    "A raise goes at least to this share of the limit"),
	ROW("memory.ceiling", CONFIG_PERMILLE, tuning.memory.ceiling_permille,
	    100 * PCT, 100000 * PCT, "400%",
	    "Without `max-memory`: highest limit, share of the original"),
	ROW("memory.propertyAhead", CONFIG_DURATION, tuning.memory.property_ahead_usec,
	    0, HOUR, "30s",
	    "The value given to systemd covers this much growth"),
	ROW("memory.propertyRoom", CONFIG_PERMILLE, tuning.memory.property_room_permille,
	    0, 1000 * PCT, "25%",
	    "The value that systemd stores is at least this share above use"),
	ROW("memory.propertyRoomMin", CONFIG_BYTES, tuning.memory.property_room_min_bytes,
	    0, 1024 * GIB, "256Mi",
	    "The value that systemd stores is at least this much above use"),
	ROW("memory.gap", CONFIG_PERMILLE, tuning.memory.gap_permille,
	    0, 50 * PCT, "5%",
	    "Distance of memory.high below memory.max, share of it"),
	ROW("memory.gapMin", CONFIG_BYTES, tuning.memory.gap_min_bytes,
	    4 * KIB, GIB, "8Mi",
	    "Smallest gap"),
	ROW("memory.oomRaise", CONFIG_PERMILLE, tuning.memory.oom_permille,
	    100 * PCT, 1000 * PCT, "120%",
	    "After an OOM kill: required memory, share of the use at the kill"),
	ROW("memory.oomRaiseMin", CONFIG_BYTES, tuning.memory.oom_min_bytes,
	    0, 1024 * GIB, "100Mi",
	    "At least this much above that use"),
	ROW("memory.margin", CONFIG_PERMILLE, tuning.memory.margin_permille,
	    0, 1000 * PCT, "10%",
	    "The limit never falls below use plus this share"),
	ROW("memory.marginMin", CONFIG_BYTES, tuning.memory.margin_min_bytes,
	    4 * KIB, 1024 * GIB, "8Mi",
	    "Smallest margin"),
	ROW("memory.workingSet", CONFIG_PERMILLE, tuning.memory.working_set_permille,
	    100 * PCT, 1000 * PCT, "110%",
	    "The limit does not fall below this share of the working set"),
	ROW("memory.shrinkHistory", CONFIG_DURATION, tuning.memory.shrink_history_usec,
	    0, 365 * DAY, "1d",
	    "No decrease with less history"),
	ROW("memory.shrinkQuiet", CONFIG_DURATION, tuning.memory.shrink_quiet_usec,
	    0, 30 * DAY, "5m",
	    "No decrease this soon after growth"),
	ROW("memory.shrinkStep", CONFIG_PERMILLE, tuning.memory.shrink_step_permille,
	    1, 50 * PCT, "10%",
	    "Largest decrease, share of the limit"),
	ROW("memory.shrinkInterval", CONFIG_DURATION, tuning.memory.shrink_interval_usec,
	    100 * MS, DAY, "1m",
	    "Between decreases"),
	ROW("memory.highWatch", CONFIG_DURATION, tuning.memory.high_watch_usec,
	    0, HOUR, "10s",
	    "A decrease lowers memory.high this long before memory.max"),
	ROW("memory.verdictWindow", CONFIG_DURATION, tuning.memory.verdict_usec,
	    SEC, DAY, "1m",
	    "A decrease has held after this time without harm"),
	ROW("memory.pressureMax", CONFIG_PPM, tuning.memory.psi_ppm, 1, 100 * PCT_PPM, "0.1%",
	    "A decrease is undone if memory pressure rises by more"),
	ROW("memory.backoffFirst", CONFIG_DURATION, tuning.memory.backoff_first_usec,
	    SEC, DAY, "2m",
	    "Wait after a failed decrease"),
	ROW("memory.backoffMax", CONFIG_DURATION, tuning.memory.backoff_max_usec,
	    SEC, 365 * DAY, "1d",
	    "Longest such wait; each further failure doubles it"),
	ROW("memory.refaults", CONFIG_COUNT, tuning.memory.refault_ps, 1, 1000000, "256",
	    "More refaulted pages per second are harm"),
	ROW("memory.cachePressure", CONFIG_PPM, tuning.memory.cache_psi_ppm,
	    1, 100 * PCT_PPM, "5%",
	    "Page cache raises the limit only above this memory pressure"),
	ROW("memory.cacheAfter", CONFIG_DURATION, tuning.memory.cache_after_usec,
	    0, HOUR, "3s",
	    "Page cache raises the limit only after this time under pressure"),
	ROW("memory.cacheCeiling", CONFIG_PERMILLE, tuning.memory.cache_ceiling_permille,
	    100 * PCT, 100000 * PCT, "150%",
	    "Page cache raises the limit at most to this share of the original"),
	ROW("memory.settleAfter", CONFIG_DURATION, tuning.memory.settle_usec,
	    0, DAY, "1m",
	    "Headroom that systemd wrote is taken back this long after growth"),

	ROW("threshold.above", CONFIG_PERMILLE, tuning.threshold.above_permille,
	    10 * PCT, 100 * PCT, "80%",
	    "`algorithm: threshold`: use above this share of the limit, of CPU or memory, ..."),
	ROW("threshold.for", CONFIG_DURATION, tuning.threshold.for_usec,
	    SEC, DAY, "2m",
	    "... for this long ..."),
	ROW("threshold.factor", CONFIG_PERMILLE, tuning.threshold.factor_permille,
	    110 * PCT, 1000 * PCT, "200%",
	    "... multiplies the limit by this, ..."),
	ROW("threshold.ceiling", CONFIG_PERMILLE, tuning.threshold.ceiling_permille,
	    100 * PCT, 100000 * PCT, "800%",
	    "... at most to this share of the original limit"),

	ROW("common.startQuiet", CONFIG_DURATION, tuning.common.start_quiet_usec,
	    0, DAY, "5m",
	    "No decrease this soon after a start"),
	ROW("common.deadbandUp", CONFIG_PERMILLE, tuning.common.deadband_up_permille,
	    0, 100 * PCT, "5%",
	    "Smaller raises are left out, share of the limit"),
	ROW("common.deadbandDown", CONFIG_PERMILLE, tuning.common.deadband_down_permille,
	    0, 100 * PCT, "10%",
	    "Smaller decreases are left out, share of the limit"),
	ROW("common.foreignMax", CONFIG_COUNT, tuning.common.foreign_max, 1, 1000, "3",
	    "After more writes than this by an external writer management is suspended"),
	ROW("common.foreignWindow", CONFIG_DURATION, tuning.common.foreign_window_usec,
	    SEC, DAY, "10m",
	    "Window of `foreignMax`"),
};
const size_t config_key_count = ARRAY_SIZE(config_keys);

#define RULE(key, type_, member, low, high, default_, doc_, ...)                                   \
	KEY(key, type_, struct policy_rule, member, doc_, .min = low, .max = high,                 \
	    .fallback = default_, ##__VA_ARGS__)

const struct config_key config_rule_keys[] = {
	RULE("mode", CONFIG_CHOICE, mode, 0, MODE_COUNT - 1, "Auto",
	    "`Off`: computes and shows only; `Initial`: sizes once at the start; `Auto`: "
	    "keeps sizing", .names = mode_names),
	RULE("goal", CONFIG_CHOICE, goal, 0, GOAL_COUNT - 1, "balanced",
	    "Throttled periods that a CPU limit may cause: `savings` 2 %, `balanced` "
	    "`cpu.throttleTarget`, `latency` 0.01 %", .names = goal_names),
	RULE("priority", CONFIG_COUNT, priority, 0, 1000000000, "0",
	    "Higher ones get memory of a full node first, as with pods"),
	RULE("resources", CONFIG_RESOURCES, resources, 1, RESOURCES_BOTH, "cpu,memory",
	    "What is sized"),
	RULE("min-cpu", CONFIG_CPU, cpu_milli.min, CPU_LOW, CPU_HIGH, "none",
	    "Lowest CPU limit"),
	RULE("max-cpu", CONFIG_CPU, cpu_milli.max, CPU_LOW, CPU_HIGH, "none",
	    "Highest CPU limit; `none`: CPUs of the machine"),
	RULE("min-memory", CONFIG_BYTES, mem_bytes.min, MEM_LOW, MEM_HIGH, "none",
	    "Lowest memory limit"),
	RULE("max-memory", CONFIG_BYTES, mem_bytes.max, MEM_LOW, MEM_HIGH, "none",
	    "Highest memory limit; `none`: `memory.ceiling`"),
	RULE("cpu-percentile", CONFIG_PERMILLE, cpu_percentile_permille, 50 * PCT, 100 * PCT, "none",
	    "Percentile of CPU use that the request follows, and of the demand that the limit stays "
	    "above, in place of `history.targetPercentile` and the goal's"),
	RULE("memory-margin", CONFIG_PERMILLE, mem_margin_permille, 1, 1000 * PCT, "none",
	    "Added to the memory recommendation in place of `history.margin`; `memory.margin` above "
	    "use stays"),
	RULE("scale-down", CONFIG_BOOL, scale_down, 0, 1, "true",
	    "`false`: limits only rise"),
};
const size_t config_rule_key_count = ARRAY_SIZE(config_rule_keys);
/* clang-format on */

const char *const config_pod_keys[] = {
	"controlled-values", "containers", "policy",     "rollout", "startup-boost", "status",
	"allow-restart",     "autoscaled", "pod-budget", NULL};

const struct config_order config_orders[] = {
	{"clocks.reflexInterval", "clocks.sampleInterval"},
	{"clocks.sampleInterval", "clocks.reviewInterval"},
	{"history.lowerPercentile", "history.targetPercentile"},
	{"history.targetPercentile", "history.upperPercentile"},
	{"history.targetPercentile", "history.peakPercentile"},
	{"cpu.shrinkKeep", "cpu.shrinkBelow"},
	{"memory.timeToLimit", "memory.slopeAhead"},
	{"memory.gap", "memory.margin"},
	{"memory.gapMin", "memory.marginMin"},
	{"memory.highWatch", "memory.verdictWindow"},
	{"memory.shrinkInterval", "memory.backoffMax"},
	{"kubernetes.upInterval", "kubernetes.downInterval"},
	{"kubernetes.minCpu", "kubernetes.maxCpu"},
	{"kubernetes.minMemory", "kubernetes.maxMemory"},
};
const size_t config_order_count = ARRAY_SIZE(config_orders);

const struct config_key *config_key_find(const struct config_key *keys, size_t count,
					 const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(keys[i].path, path) == 0)
			return &keys[i];
	return NULL;
}

/* --- values --- */

_Static_assert(sizeof(enum mode) == sizeof(uint32_t), "choices are stored as 32 bits");

#define NONE "none"

struct value_type {
	const char *what;
	size_t width;                                  /* of the field; 0: a string */
	int (*parse)(const char *text, uint64_t *ret); /* NULL: the type has no numbers ... */
	const char *(*format)(uint64_t value, char *buf, size_t size); /* ... of its own */
};

/* "12.5%" in ppm: at most seven digits before the point and four after it. */
static int parse_ppm(const char *text, uint64_t *ret)
{
	size_t whole = strspn(text, "0123456789"), part = 0;
	const char *p = text + whole;
	uint64_t ppm = 0, unit = 10000;

	if (*p == '.') {
		part = strspn(++p, "0123456789");
		if (part == 0 || part > 4)
			return -EINVAL;
		p += part;
	}
	if (whole == 0 || whole > 7 || strcmp(p, "%") != 0)
		return -EINVAL;
	for (size_t i = 0; i < whole; i++)
		ppm = ppm * 10 + (uint64_t)(text[i] - '0');
	ppm *= unit;
	for (size_t i = 0; i < part; i++) {
		unit /= 10;
		ppm += (uint64_t)(text[whole + 1 + i] - '0') * unit;
	}
	*ret = ppm;
	return 0;
}

static int parse_permille(const char *text, uint64_t *ret)
{
	uint64_t ppm;
	int r = parse_ppm(text, &ppm);

	if (r < 0)
		return r;
	if (ppm % 1000 != 0)
		return -EINVAL;
	*ret = ppm / 1000;
	return 0;
}

static const char *format_ppm(uint64_t value, char *buf, size_t size)
{
	uint64_t part = value % 10000;
	int digits = 4;

	while (digits > 0 && part % 10 == 0) {
		part /= 10;
		digits--;
	}
	if (digits == 0)
		snprintf(buf, size, "%llu%%", (unsigned long long)value / 10000);
	else
		snprintf(buf, size, "%llu.%0*llu%%", (unsigned long long)value / 10000, digits,
			 (unsigned long long)part);
	return buf;
}

static const char *format_permille(uint64_t value, char *buf, size_t size)
{
	return format_ppm(value * 1000, buf, size);
}

static int parse_count(const char *text, uint64_t *ret)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || text[n] != '\0' || (n > 1 && text[0] == '0'))
		return -EINVAL;
	return text_number(text, ret) != NULL ? 0 : -ERANGE;
}

static const char *format_count(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%llu", (unsigned long long)value);
	return buf;
}

/* A share of the whole is no more than all of it. */
static int parse_amount(const char *text, uint64_t *ret)
{
	uint64_t permille;
	int r;

	if (strchr(text, '%') == NULL)
		return quantity_parse_bytes(text, ret);
	r = parse_permille(text, &permille);
	if (r < 0)
		return r;
	if (permille > 1000)
		return -ERANGE;
	*ret = AMOUNT_SHARE | permille;
	return 0;
}

static const char *format_amount(uint64_t value, char *buf, size_t size)
{
	if (value & AMOUNT_SHARE)
		return format_permille(value & ~AMOUNT_SHARE, buf, size);
	return quantity_format_bytes(value, buf, size);
}

static int parse_bool(const char *text, uint64_t *ret)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return -EINVAL;
	*ret = text[0] == 't';
	return 0;
}

static const char *format_bool(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", value ? "true" : "false");
	return buf;
}

static int parse_choice(const char *const *names, const char *text, uint64_t *ret)
{
	for (uint64_t i = 0; names[i] != NULL; i++) {
		if (strcasecmp(names[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct {
	const char *name;
	uint32_t mask;
} resource_words[] = {
	{"cpu,memory", RESOURCES_BOTH}, {"memory,cpu", RESOURCES_BOTH}, {"both", RESOURCES_BOTH},
	{"cpu", RESOURCES_CPU},         {"memory", RESOURCES_MEMORY},
};

static int parse_resources(const char *text, uint64_t *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(resource_words); i++) {
		if (strcmp(resource_words[i].name, text) == 0) {
			*ret = resource_words[i].mask;
			return 0;
		}
	}
	return -EINVAL;
}

static const char *format_resources(uint64_t value, char *buf, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(resource_words); i++) {
		if (resource_words[i].mask == value) {
			snprintf(buf, size, "%s", resource_words[i].name);
			break;
		}
	}
	return buf;
}

/* clang-format off */
static const struct value_type types[CONFIG_TYPE_COUNT] = {
	[CONFIG_DURATION]  = {"a duration",   8, duration_parse,  duration_format},
	[CONFIG_PERMILLE]  = {"a percentage with at most one decimal", 4, parse_permille, format_permille},
	[CONFIG_PPM]       = {"a percentage", 4, parse_ppm,       format_ppm},
	[CONFIG_COUNT]     = {"a number",     4, parse_count,     format_count},
	[CONFIG_BYTES]     = {"an amount of memory", 8, quantity_parse_bytes, quantity_format_bytes},
	[CONFIG_AMOUNT]    = {"an amount of memory", 8, parse_amount, format_amount},
	[CONFIG_CPU]       = {"an amount of CPU", 8, quantity_parse_cpu, quantity_format_cpu},
	[CONFIG_BOOL]      = {"true or false", 1, parse_bool,     format_bool},
	[CONFIG_CHOICE]    = {NULL,           4, NULL,            NULL},
	[CONFIG_RESOURCES] = {"cpu, memory, or both as cpu,memory", 4, parse_resources, format_resources},
	[CONFIG_FILE]      = {"an absolute path", 0, NULL,        NULL},
	[CONFIG_PREFIX]    = {"an absolute path below the cgroup mount, without the mount and without kubepods,", 0, NULL, NULL},
	[CONFIG_NAME]      = {"a name of letters, digits, . _ and -", 0, NULL, NULL},
	[CONFIG_WORD]      = {"a name without blanks", 0, NULL, NULL},
	[CONFIG_LISTEN]    = {"an address and a port from 1 to 65535, as 127.0.0.1:9753, [::1]:9753 or"
			      " :9753", 0, NULL, NULL},
};
/* clang-format on */

static bool may_be_none(const struct config_key *k)
{
	return k->or_none || (k->fallback != NULL && strcmp(k->fallback, NONE) == 0);
}

static bool string_fits(const struct config_key *k, const char *text)
{
	if ((k->type == CONFIG_FILE || k->type == CONFIG_PREFIX) && text[0] != '/')
		return false;
	if (k->type == CONFIG_PREFIX && !kubepods_prefix_fits(text))
		return false;
	for (const char *p = text; *p != '\0'; p++) {
		if (iscntrl((unsigned char)*p))
			return false;
		if (k->type == CONFIG_NAME && !isalnum((unsigned char)*p) &&
		    strchr("._-", *p) == NULL)
			return false;
		if (k->type == CONFIG_WORD && !isgraph((unsigned char)*p))
			return false;
	}
	return true;
}

static int set_string(const struct config_key *k, const char *text, char **field)
{
	size_t len = strlen(text);
	char *copy;
	int r = k->type == CONFIG_LISTEN ? listen_parse(text, &(struct listen_address){0}) : 0;

	if (r < 0)
		return r;
	if (!string_fits(k, text))
		return -EINVAL;
	if (len < k->min || len > k->max)
		return -ERANGE;
	copy = strdup(text);
	if (copy == NULL)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static void store(void *field, size_t width, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	bool truth = value != 0;

	if (width == sizeof value)
		memcpy(field, &value, sizeof value);
	else if (width == sizeof narrow)
		memcpy(field, &narrow, sizeof narrow);
	else
		memcpy(field, &truth, sizeof truth);
}

int config_value_set(const struct config_key *k, const char *text, void *base)
{
	void *field = (char *)base + k->offset;
	uint64_t value;
	int r;

	if (types[k->type].width == 0)
		return set_string(k, text, field);
	if (may_be_none(k) && strcmp(text, NONE) == 0) {
		store(field, types[k->type].width, 0);
		return 0;
	}
	r = k->type == CONFIG_CHOICE ? parse_choice(k->names, text, &value)
				     : types[k->type].parse(text, &value);
	if (r < 0)
		return r;
	/* The parser has checked shares. */
	if ((k->type != CONFIG_AMOUNT || !(value & AMOUNT_SHARE)) &&
	    (value < k->min || value > k->max))
		return -ERANGE;
	store(field, types[k->type].width, value);
	return 0;
}

uint64_t config_value_number(const struct config_key *k, const void *base)
{
	const void *field = (const char *)base + k->offset;
	uint64_t value = 0;
	uint32_t narrow;
	bool truth;

	switch (types[k->type].width) {
	case sizeof value:
		memcpy(&value, field, sizeof value);
		return value;
	case sizeof narrow:
		memcpy(&narrow, field, sizeof narrow);
		return narrow;
	case sizeof truth:
		memcpy(&truth, field, sizeof truth);
		return truth;
	default:
		return 0;
	}
}

bool config_value_none(const struct config_key *k, const void *base)
{
	return may_be_none(k) && config_value_number(k, base) == 0;
}

const char *config_value_text(const struct config_key *k, const void *base, char *buf, size_t size)
{
	uint64_t value = config_value_number(k, base);

	if (types[k->type].width == 0) {
		const char *text = *(char *const *)((const char *)base + k->offset);

		snprintf(buf, size, "%s", text != NULL ? text : "");
	} else if (config_value_none(k, base)) {
		snprintf(buf, size, NONE);
	} else if (k->type == CONFIG_CHOICE) {
		snprintf(buf, size, "%s", k->names[value]);
	} else {
		types[k->type].format(value, buf, size);
	}
	return buf;
}

const char *config_value_allowed(const struct config_key *k, char *buf, size_t size)
{
	const struct value_type *t = &types[k->type];
	struct text text = text_over(buf, size);
	char low[CONFIG_VALUE_TEXT], high[CONFIG_VALUE_TEXT];

	if (k->type == CONFIG_CHOICE) {
		for (size_t i = 0; k->names[i] != NULL; i++)
			text_join(&text, k->names[i]);
	} else if (k->type == CONFIG_BOOL || k->type == CONFIG_RESOURCES ||
		   k->type == CONFIG_LISTEN) {
		snprintf(buf, size, "%s", t->what);
	} else if (t->width == 0) {
		snprintf(buf, size, "%s of at most %llu bytes", t->what,
			 (unsigned long long)k->max);
	} else {
		t->format(k->min, low, sizeof low);
		t->format(k->max, high, sizeof high);
		snprintf(buf, size, "%s from %s to %s%s%s", t->what, low, high,
			 k->type == CONFIG_AMOUNT ? ", or a percentage of the node's" : "",
			 may_be_none(k) ? ", or none" : "");
	}
	return buf;
}

/* Exchanges the row's field of two structs. */
static void config_value_swap(const struct config_key *k, void *base, void *other)
{
	size_t width = types[k->type].width > 0 ? types[k->type].width : sizeof(char *);
	char *a = (char *)base + k->offset, *b = (char *)other + k->offset;
	char keep[sizeof(uint64_t)];

	memcpy(keep, a, width);
	memcpy(a, b, width);
	memcpy(b, keep, width);
}

const char *config_keep_restart_only(struct config *fresh, struct config *old, char *buf,
				     size_t size)
{
	char one[PATH_MAX], other[PATH_MAX];
	struct text t = text_over(buf, size);

	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];

		if (!k->at_start)
			continue;
		config_value_text(k, fresh, one, sizeof one);
		config_value_text(k, old, other, sizeof other);
		if (strcmp(one, other) != 0)
			text_join(&t, k->path);
		config_value_swap(k, fresh, old);
	}
	return buf;
}
