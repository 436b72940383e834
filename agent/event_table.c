// SPDX-License-Identifier: Apache-2.0
#include "agent/event_table.h"
#include <syslog.h>

const struct event_value_info event_values[EVENT_VALUE_COUNT] = {
	[VALUE_NAMESPACE] = {"VSCALED_NAMESPACE", "namespace"},
	[VALUE_POD] = {"VSCALED_POD", "pod"},
	[VALUE_CONTAINER] = {"VSCALED_CONTAINER", "container"},
	[VALUE_UNIT] = {"VSCALED_UNIT", "unit"},
	[VALUE_CGROUP] = {"VSCALED_CGROUP", "cgroup"},
	[VALUE_RESOURCE] = {"VSCALED_RESOURCE", "resource"},
	[VALUE_FROM] = {"VSCALED_FROM", "from"},
	[VALUE_TO] = {"VSCALED_TO", "to"},
	[VALUE_REASON] = {"VSCALED_REASON", "reason"},
	[VALUE_BY] = {"VSCALED_BY", "by"},
	[VALUE_MODE] = {"VSCALED_MODE", "mode"},
	[VALUE_FILE] = {"VSCALED_FILE", "file"},
	[VALUE_COUNT_OF] = {"VSCALED_COUNT", "count"},
	[VALUE_SPAN] = {"VSCALED_SPAN_USEC", "span"},
	[VALUE_OWN] = {"VSCALED_OWN_USEC", "own"},
	[VALUE_ERROR] = {"ERRNO", "error"},
	[VALUE_DETAIL] = {"VSCALED_DETAIL", "detail"},
	[VALUE_VERSION] = {"VSCALED_VERSION", "version"},
	[VALUE_HINT] = {"VSCALED_HINT", "hint"},
	[VALUE_OUTCOME] = {"VSCALED_OUTCOME", "outcome"},
	[VALUE_REPEATED] = {"VSCALED_REPEATED", "repeated"},
};

#define F(value) (1u << VALUE_##value)
#define WHO      (F(NAMESPACE) | F(POD) | F(CONTAINER) | F(UNIT) | F(CGROUP))
#define CHANGE   (F(RESOURCE) | F(FROM) | F(TO) | F(REASON) | F(DETAIL))
#define TOOK     (F(SPAN) | F(OWN))

/* clang-format off */
const struct event_info event_table[EVENT_KIND_COUNT] = {
	[EVENT_STARTED] = {
		"started", SD_ID128_MAKE(92,33,92,26,82,f9,4d,d0,ad,be,f1,d6,cd,59,86,c4),
		LOG_INFO, F(VERSION) | F(FILE) | F(CGROUP), 0,
		"vscaled {version} started, configuration {file}[, cgroups at {cgroup}]",
		"vscaled has started",
	},
	[EVENT_READY] = {
		"ready", SD_ID128_MAKE(de,6c,01,9e,bd,89,4e,b8,a4,d3,ba,69,6e,ac,4d,c3),
		LOG_INFO, F(COUNT_OF), 0,
		"ready, managed units: {count}",
		"vscaled manages its units now",
	},
	[EVENT_STOPPING] = {
		"stopping", SD_ID128_MAKE(0c,af,07,91,a1,40,47,85,a7,5d,7d,aa,34,aa,17,98),
		LOG_INFO, F(DETAIL), 0,
		"stopping[ ({detail})], limits stay as they are",
		"vscaled stops",
	},
	[EVENT_CONFIG_LOADED] = {
		"config-loaded", SD_ID128_MAKE(95,ee,7a,06,6d,59,42,fa,a3,d8,fd,6f,04,86,1d,c5),
		LOG_INFO, F(FILE) | F(COUNT_OF) | F(DETAIL), 0,
		"{file} is in force, entries under units: {count}[; only after a restart: {detail}]",
		"The configuration was loaded",
	},
	[EVENT_CONFIG_INVALID] = {
		"config-invalid", SD_ID128_MAKE(0f,02,4c,87,18,86,43,83,b3,0c,52,7d,b6,68,90,48),
		LOG_ERR, F(FILE) | F(DETAIL) | F(OUTCOME), 0,
		"{detail}; {outcome}",
		"The configuration has a mistake",
	},
	[EVENT_HOST_UNSUPPORTED] = {
		"host-unsupported", SD_ID128_MAKE(1a,44,4d,c9,80,7b,48,f3,b6,13,a6,7e,e7,54,44,ed),
		LOG_ERR, F(DETAIL) | F(ERROR) | F(HINT), 0,
		"cannot manage this host: {detail}[: {error}][; {hint}]",
		"vscaled cannot work on this host",
	},
	[EVENT_PSI_MISSING] = {
		"psi-missing", SD_ID128_MAKE(2f,fe,ba,91,5f,98,44,ec,9c,19,b1,d7,6f,89,ca,00),
		LOG_WARNING, 0, 0,
		"the kernel shows no pressure (psi=1 on its command line turns it on), shrinks are judged without it",
		"The kernel shows no pressure information",
	},
	[EVENT_READER_CHOSEN] = {
		"reader-chosen", SD_ID128_MAKE(36,e7,af,18,72,17,46,1a,ae,52,0e,7f,d0,b6,4a,04),
		LOG_INFO, F(DETAIL), 0,
		"cgroups are read by {detail}",
		"How vscaled reads cgroups",
	},
	[EVENT_READER_FAILED] = {
		"reader-failed", SD_ID128_MAKE(6a,53,15,d7,88,3a,44,56,b7,d7,02,31,16,22,21,b4),
		LOG_ERR, F(DETAIL), 0,
		"the BPF reader does not serve, the text reader does: {detail}",
		"The BPF reader does not serve",
	},
	[EVENT_NODE_MEMORY_UNREAD] = {
		"node-memory-unread", SD_ID128_MAKE(17,39,63,cb,3d,ae,4a,ee,86,c4,87,22,98,5e,f2,58),
		LOG_WARNING, F(ERROR), 0,
		"/proc/meminfo cannot be read[ ({error})]: memory limits rise without regard to what the node has",
		"The node's memory cannot be read",
	},
	[EVENT_UNIT_MANAGED] = {
		"unit-managed", SD_ID128_MAKE(3d,4b,bb,57,e5,3e,4c,75,a9,26,6e,40,69,65,da,07),
		LOG_INFO, WHO | F(MODE) | F(DETAIL), 0,
		"managing {who}, mode {mode}[, original {detail}]",
		"@VSCALED_UNIT@ is managed",
	},
	[EVENT_UNIT_GONE] = {
		"unit-gone", SD_ID128_MAKE(12,bd,9e,c0,ad,9f,4e,98,90,77,1f,00,dc,15,c0,bf),
		LOG_INFO, WHO, 0,
		"{who} is gone, its history is kept",
		"@VSCALED_UNIT@ has ended",
	},
	[EVENT_UNIT_UNMANAGED] = {
		"unit-unmanaged", SD_ID128_MAKE(90,6c,b2,39,0d,cd,4d,af,84,f5,68,8c,b2,fe,14,9f),
		LOG_NOTICE, WHO | F(DETAIL), 0,
		"no longer managing {who}[ ({detail})]",
		"@VSCALED_UNIT@ is no longer managed",
	},
	[EVENT_ANNOTATION_INVALID] = {
		"annotation-invalid", SD_ID128_MAKE(5b,1d,0c,7e,9a,3f,4e,6c,8d,2b,71,f0,a4,c6,3e,95),
		LOG_WARNING, WHO | F(DETAIL), 3,
		"{who} is treated as Off: {detail}",
		"The annotations of @VSCALED_POD@ cannot be understood",
	},
	[EVENT_LIMIT_RAISED] = {
		"limit-raised", SD_ID128_MAKE(cb,4c,3f,dc,b8,f8,4c,f9,9b,0a,39,75,0e,cd,22,3a),
		LOG_INFO, WHO | CHANGE | TOOK, 0,
		"raised {who} {resource} {from} -> {to}[ ({why})]",
		"A limit of @VSCALED_UNIT@ was raised",
	},
	[EVENT_LIMIT_LOWERED] = {
		"limit-lowered", SD_ID128_MAKE(32,ad,6d,52,19,f1,47,d8,84,bd,a1,aa,95,4e,45,45),
		LOG_INFO, WHO | CHANGE, 0,
		"lowered {who} {resource} {from} -> {to}[ ({why})]",
		"A limit of @VSCALED_UNIT@ was lowered",
	},
	[EVENT_LIMIT_UNDONE] = {
		"limit-undone", SD_ID128_MAKE(a1,d1,ef,f2,22,77,43,95,b7,ae,dd,6b,b5,c3,94,04),
		LOG_NOTICE, WHO | CHANGE | TOOK, 0,
		"took back the shrink of {who} {resource} {from} -> {to}[ ({why})]",
		"A shrink of @VSCALED_UNIT@ hurt and was taken back",
	},
	[EVENT_LIMIT_REFUSED] = {
		"limit-refused", SD_ID128_MAKE(3d,f6,5a,32,48,0e,4d,8d,ad,ca,be,9c,92,2e,c1,71),
		LOG_NOTICE, WHO | CHANGE, 3,
		"left {who} {resource} at {from}, not {to}[ ({why})]",
		"A limit of @VSCALED_UNIT@ was not written",
	},
	[EVENT_LIMIT_FAILED] = {
		"limit-failed", SD_ID128_MAKE(eb,a6,ad,4e,a2,93,4a,fe,aa,19,ea,78,0a,c8,12,9b),
		LOG_WARNING, WHO | CHANGE | F(ERROR), 3,
		"could not write {who} {resource} {from} -> {to}: {error}",
		"A limit of @VSCALED_UNIT@ could not be written",
	},
	[EVENT_CEILING_REACHED] = {
		"ceiling-reached", SD_ID128_MAKE(17,c8,44,06,ab,b6,47,fa,8d,73,2f,23,7b,f7,e6,a5),
		LOG_WARNING, WHO | F(RESOURCE) | F(TO) | F(REASON) | F(DETAIL), 3,
		"{who} {resource} is at its ceiling {to} and wants more[ ({why})]",
		"@VSCALED_UNIT@ is at its ceiling",
	},
	[EVENT_MEMORY_DENIED] = {
		"memory-denied", SD_ID128_MAKE(e7,68,f8,60,9f,d8,48,1a,97,41,d6,e4,c8,3e,97,8f),
		LOG_WARNING, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(DETAIL), 3,
		"{who} memory needs {to}, the node has it for {from}[ ({why})]",
		"The node has no memory for @VSCALED_UNIT@",
	},
	[EVENT_OOM_KILL] = {
		"oom-kill", SD_ID128_MAKE(08,30,39,46,8f,8d,4d,30,af,45,46,e4,27,d5,6f,6c),
		LOG_WARNING, WHO | F(FROM) | F(COUNT_OF) | F(DETAIL), 10,
		"OOM kills in {who} at the limit {from}: {count}[ ({detail})]",
		"A process of @VSCALED_UNIT@ was killed for want of memory",
	},
	[EVENT_WRITER_STUCK] = {
		"writer-stuck", SD_ID128_MAKE(b4,0e,71,5c,2f,96,4d,0a,9a,13,c8,5b,e7,62,3d,41),
		LOG_WARNING, WHO | F(FROM) | F(ERROR), 10,
		"somebody who lowered memory.max of {who} is stuck in the kernel, it is {from} again; PID 1 is set free, should it be the one[: {error}]",
		"Somebody who lowered the memory limit of @VSCALED_UNIT@ is stuck",
	},
	[EVENT_DRIFT_REASSERTED] = {
		"drift-reasserted", SD_ID128_MAKE(97,c9,da,5f,2d,aa,4b,17,89,36,9a,0c,80,d7,73,ac),
		LOG_NOTICE, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(BY), 6,
		"{who} {resource} was changed to {from}[ by {by}], set to {to} again",
		"A limit of @VSCALED_UNIT@ was changed by another writer and set again",
	},
	[EVENT_DRIFT_ADOPTED] = {
		"drift-adopted", SD_ID128_MAKE(0a,b6,4b,81,43,e0,48,5c,88,0d,c2,0d,eb,e5,16,c6),
		LOG_NOTICE, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(BY), 6,
		"{who} {resource} was changed {from} -> {to}[ by {by}], taken as its new original",
		"A new limit of @VSCALED_UNIT@ was adopted",
	},
	[EVENT_DRIFT_GAVE_WAY] = {
		"drift-gave-way", SD_ID128_MAKE(0b,19,6b,d9,da,27,46,ff,be,a0,84,89,91,ff,05,85),
		LOG_WARNING, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(BY), 0,
		"{who} {resource} is changed again and again[ by {by}], now {to}: giving way, not managed until its unit or rule changes",
		"Another writer insists on a limit of @VSCALED_UNIT@",
	},
	[EVENT_PROPERTY_FAILED] = {
		"property-failed", SD_ID128_MAKE(0a,bd,b1,c5,66,0c,4e,66,86,f5,01,fc,e7,34,d9,33),
		LOG_WARNING, WHO | F(ERROR) | F(SPAN), 3,
		"systemd did not take the limits of {who}: {error}[ after {span}], they stand in the cgroup alone",
		"systemd did not take the limits of @VSCALED_UNIT@",
	},
	[EVENT_PROPERTY_HEADROOM] = {
		"property-headroom", SD_ID128_MAKE(4c,0a,19,64,33,15,49,30,81,63,60,5e,70,d5,46,fc),
		LOG_INFO, WHO | CHANGE, 3,
		"systemd stores {who} {resource} {to}, the cgroup has {from}[ ({why})]",
		"systemd stores a limit with headroom for @VSCALED_UNIT@",
	},
	[EVENT_REPORT_RATIFIED] = {
		"report-ratified", SD_ID128_MAKE(76,14,66,b0,a2,e8,48,6c,a4,82,24,d0,5f,5a,65,84),
		LOG_INFO, WHO | F(COUNT_OF), 0,
		"the spec of {who} has the sizes of its cgroups, generation {count}",
		"The API server knows the sizes of @VSCALED_POD@",
	},
	[EVENT_REPORT_REFUSED] = {
		"report-refused", SD_ID128_MAKE(d5,5d,2e,dc,4c,79,40,af,95,e9,e9,ab,60,78,c6,6f),
		LOG_WARNING, WHO | F(RESOURCE) | F(FROM) | F(DETAIL), 3,
		"the API server does not take {who} {resource} {from}[: {detail}]",
		"A size of @VSCALED_POD@ was refused",
	},
	[EVENT_API_INSECURE] = {
		"api-insecure", SD_ID128_MAKE(3f,a6,1c,94,d7,0b,45,2e,b8,13,6a,e5,90,2d,7c,f8),
		LOG_WARNING, F(FILE), 0,
		"the API server's certificate is not checked: {file} says insecure-skip-tls-verify",
		"The API server's certificate is not checked",
	},
	[EVENT_API_LOST] = {
		"api-lost", SD_ID128_MAKE(11,e5,47,6e,11,ee,44,7f,8e,a5,b0,bc,b8,c7,e6,bd),
		LOG_WARNING, F(DETAIL) | F(ERROR), 5,
		"the API server does not answer as it should[: {detail}], sizing goes on",
		"The API server cannot be watched",
	},
	[EVENT_API_BACK] = {
		"api-back", SD_ID128_MAKE(c0,d8,9e,89,5c,87,44,ec,b9,50,28,b9,44,f8,02,e5),
		LOG_NOTICE, F(COUNT_OF), 5,
		"the API server is watched again, annotated pods: {count}",
		"The watch of the API server is back",
	},
	[EVENT_API_REFUSES] = {
		"api-refuses", SD_ID128_MAKE(4e,96,eb,29,6b,e9,4e,40,86,61,10,8e,52,23,22,ed),
		LOG_WARNING, F(DETAIL), 5,
		"the API server takes no reports[: {detail}]",
		"Reports to the API server are refused",
	},
	[EVENT_API_OBJECT_BAD] = {
		"api-object-bad", SD_ID128_MAKE(9c,87,a4,42,55,ea,45,48,b0,bf,f0,00,a2,f8,9f,41),
		LOG_WARNING, F(DETAIL), 3,
		"an object of the API server was left out[: {detail}]",
		"An object of the API server cannot be understood",
	},
	[EVENT_BUS_ABSENT] = {
		"bus-absent", SD_ID128_MAKE(b2,51,9f,6c,0d,e4,47,1a,9c,38,f7,25,6e,81,d0,4b),
		LOG_NOTICE, F(ERROR), 0,
		"there is no systemd to speak to: limits of pods stand in the cgroups alone",
		"Limits are not told to systemd",
	},
	[EVENT_BUS_LOST] = {
		"bus-lost", SD_ID128_MAKE(e8,15,a3,35,9d,c8,4a,ff,a7,70,31,dc,ca,e8,3f,cc),
		LOG_WARNING, F(ERROR), 5,
		"lost systemd: {error}; limits go on in the cgroups",
		"The connection to systemd is lost",
	},
	[EVENT_BUS_BACK] = {
		"bus-back", SD_ID128_MAKE(27,0c,6b,ef,69,c5,44,8a,81,f5,e6,14,ad,81,47,03),
		LOG_NOTICE, F(SPAN), 5,
		"systemd answers again[ after {span}]",
		"The connection to systemd is back",
	},
	[EVENT_STATE_UNSAVED] = {
		"state-unsaved", SD_ID128_MAKE(6b,78,16,12,f8,6f,43,4f,9f,63,51,cd,f2,3a,94,a1),
		LOG_WARNING, F(FILE) | F(ERROR), 2,
		"could not save {file}: {error}; the last good copy stays",
		"The state could not be saved",
	},
	[EVENT_STATE_DAMAGED] = {
		"state-damaged", SD_ID128_MAKE(d1,b5,97,c0,05,4a,4a,ed,a4,30,ee,04,34,8b,d1,be),
		LOG_WARNING, F(FILE) | F(DETAIL), 0,
		"{file} is damaged[ ({detail})]: set aside, starting without it",
		"A state file is damaged",
	},
	[EVENT_BASELINE_UNSAVED] = {
		"baseline-unsaved", SD_ID128_MAKE(07,72,a0,36,6b,53,47,45,b2,24,1c,e9,40,a4,a6,7d),
		LOG_WARNING, WHO | F(FILE) | F(ERROR), 2,
		"not managing {who} yet, its original limits cannot be saved: {error}",
		"The original limits of @VSCALED_UNIT@ cannot be saved",
	},
	[EVENT_CLOCK_JUMPED] = {
		"clock-jumped", SD_ID128_MAKE(03,82,3e,07,69,df,42,de,bc,d7,e1,f4,3e,eb,c6,c3),
		LOG_NOTICE, F(SPAN), 5,
		"the wall clock jumped by {span}, history goes on as if it had not",
		"The wall clock jumped",
	},
	[EVENT_RESTORED] = {
		"restored", SD_ID128_MAKE(b0,6d,62,8c,a7,1c,4d,74,93,97,cc,06,52,b4,c4,7c),
		LOG_NOTICE, WHO | F(RESOURCE) | F(FROM) | F(TO), 0,
		"restored {who} {resource} {from} -> {to}",
		"An original limit of @VSCALED_UNIT@ is back",
	},
	[EVENT_RESTORE_LEFT] = {
		"restore-left", SD_ID128_MAKE(83,e0,44,f1,62,6a,44,4e,9b,1c,c4,49,df,f6,5c,45),
		LOG_WARNING, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(DETAIL), 0,
		"left {who} {resource} at {from}, its original {to} is below its use[ ({detail})]",
		"An original limit of @VSCALED_UNIT@ could not be put back",
	},
	[EVENT_PAUSED] = {
		"paused", SD_ID128_MAKE(30,91,a5,f3,ef,92,40,a6,9f,3a,4e,66,81,d9,7a,1e),
		LOG_NOTICE, WHO | F(BY), 0,
		"paused[ {who}][ by {by}], nothing is written",
		"vscaled is paused",
	},
	[EVENT_RESUMED] = {
		"resumed", SD_ID128_MAKE(f9,e7,42,b8,58,31,40,eb,97,2c,dd,f8,fc,19,21,6a),
		LOG_NOTICE, WHO | F(BY), 0,
		"resumed[ {who}][ by {by}]",
		"vscaled goes on",
	},
	[EVENT_SLOW_LOOP] = {
		"slow-loop", SD_ID128_MAKE(a2,f2,15,10,1c,69,48,c9,a1,0e,1a,72,02,4c,75,bf),
		LOG_WARNING, F(SPAN) | F(DETAIL), 3,
		"one wake-up took {span}[ ({detail})], limits may come late",
		"vscaled was slow",
	},
};
/* clang-format on */
