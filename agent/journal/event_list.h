/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of events, in the order of docs/journal.md and systemd/vscaled.catalog:
 * EVENT(kind, name, priority, burst, values, message id, message), as struct event_info has them.
 * Included where enum event_kind and the table are made of it. */
/* clang-format off */

EVENT(STARTED, "started", LOG_INFO, 0, F(VERSION) | F(FILE) | F(CGROUP),
      SD_ID128_MAKE(92,33,92,26,82,f9,4d,d0,ad,be,f1,d6,cd,59,86,c4),
      "vscaled {version} started, configuration {file}[, cgroups at {cgroup}]")
EVENT(READY, "ready", LOG_INFO, 0, F(COUNT_OF),
      SD_ID128_MAKE(de,6c,01,9e,bd,89,4e,b8,a4,d3,ba,69,6e,ac,4d,c3),
      "ready, managed units: {count}")
EVENT(STOPPING, "stopping", LOG_INFO, 0, F(DETAIL),
      SD_ID128_MAKE(0c,af,07,91,a1,40,47,85,a7,5d,7d,aa,34,aa,17,98),
      "stopping[ ({detail})], no limit is lowered")
EVENT(CONFIG_LOADED, "config-loaded", LOG_INFO, 0, F(FILE) | F(COUNT_OF) | F(DETAIL),
      SD_ID128_MAKE(95,ee,7a,06,6d,59,42,fa,a3,d8,fd,6f,04,86,1d,c5),
      "configuration loaded from {file}, entries under units: {count}[; takes effect after a restart: {detail}]")
EVENT(CONFIG_INVALID, "config-invalid", LOG_ERR, 0, F(FILE) | F(DETAIL) | F(OUTCOME),
      SD_ID128_MAKE(0f,02,4c,87,18,86,43,83,b3,0c,52,7d,b6,68,90,48),
      "invalid configuration: {detail}; {outcome}")
EVENT(HOST_UNSUPPORTED, "host-unsupported", LOG_ERR, 0, F(DETAIL) | F(ERROR) | F(HINT),
      SD_ID128_MAKE(1a,44,4d,c9,80,7b,48,f3,b6,13,a6,7e,e7,54,44,ed),
      "cannot manage this host: {detail}[: {error}][; {hint}]")
EVENT(NODE_UNSUPPORTED, "node-unsupported", LOG_ERR, 0, F(DETAIL) | F(HINT),
      SD_ID128_MAKE(04,99,8d,e9,1f,e1,4f,8f,9f,4c,96,ba,90,c0,66,43),
      "nothing on this node is managed: {detail}[; {hint}]")
EVENT(KERNEL_OLD, "kernel-old", LOG_WARNING, 0, F(DETAIL), /* detail: its release */
      SD_ID128_MAKE(af,38,06,0a,58,32,4a,16,b8,e4,11,96,10,65,98,cf),
      "Linux {detail} is older than any that is tested, limits are managed: see vscalectl doctor")
EVENT(KERNEL_LACKS, "kernel-lacks", LOG_NOTICE, 0, F(DETAIL), /* detail: files and lines */
      SD_ID128_MAKE(e3,28,c3,90,df,e8,4c,55,a6,4e,c1,90,86,a5,bd,b8),
      "this kernel does not show {detail}: what it carries is unknown")
EVENT(PSI_MISSING, "psi-missing", LOG_WARNING, 0, 0,
      SD_ID128_MAKE(2f,fe,ba,91,5f,98,44,ec,9c,19,b1,d7,6f,89,ca,00),
      "pressure information (PSI) is not available, decreases are watched without it: boot with psi=1")
EVENT(INOTIFY_MISSING, "inotify-missing", LOG_WARNING, 0, F(ERROR),
      SD_ID128_MAKE(40,3a,45,68,f8,ed,61,a8,0e,fc,c3,d4,d2,ee,be,96),
      "inotify unavailable: {error}; external writes are noticed at the next review, a new configuration on reload: raise fs.inotify.max_user_instances")
/* detail: "bpf (scan: loaded, ...)", "text (why)" */
EVENT(READER_CHOSEN, "reader-chosen", LOG_INFO, 0, F(DETAIL),
      SD_ID128_MAKE(36,e7,af,18,72,17,46,1a,ae,52,0e,7f,d0,b6,4a,04),
      "reading cgroups with {detail}")
/* It was configured, or in use until now */
EVENT(READER_FAILED, "reader-failed", LOG_ERR, 0, F(DETAIL),
      SD_ID128_MAKE(6a,53,15,d7,88,3a,44,56,b7,d7,02,31,16,22,21,b4),
      "BPF unavailable, using the text reader: {detail}")
EVENT(NODE_MEMORY_UNREAD, "node-memory-unread", LOG_WARNING, 0, F(ERROR),
      SD_ID128_MAKE(17,39,63,cb,3d,ae,4a,ee,86,c4,87,22,98,5e,f2,58),
      "cannot read /proc/meminfo[ ({error})]: memory limits are raised without checking the node's memory")
EVENT(UNIT_MANAGED, "unit-managed", LOG_INFO, 0, WHO | F(MODE) | F(DETAIL),
      SD_ID128_MAKE(3d,4b,bb,57,e5,3e,4c,75,a9,26,6e,40,69,65,da,07),
      "managing {who}, mode {mode}[, original {detail}]")
EVENT(UNIT_GONE, "unit-gone", LOG_INFO, 0, WHO,
      SD_ID128_MAKE(12,bd,9e,c0,ad,9f,4e,98,90,77,1f,00,dc,15,c0,bf),
      "{who} has stopped, its history is kept")
EVENT(UNIT_UNMANAGED, "unit-unmanaged", LOG_NOTICE, 0, WHO | F(DETAIL),
      SD_ID128_MAKE(90,6c,b2,39,0d,cd,4d,af,84,f5,68,8c,b2,fe,14,9f),
      "not managing {who}[ ({detail})]")
/* detail: why, and what to do */
EVENT(UNIT_WAITING, "unit-waiting", LOG_WARNING, 0, WHO | F(DETAIL),
      SD_ID128_MAKE(a3,19,c5,39,19,ff,46,b8,b6,00,10,4b,39,46,2c,03),
      "{who} has not been sized for 30 s: {detail}")
/* who: as it was taken; detail: whose it is */
EVENT(CGROUP_RELEASED, "cgroup-released", LOG_WARNING, 3, WHO | F(DETAIL),
      SD_ID128_MAKE(18,b3,7e,2b,0b,df,4c,63,a9,52,44,16,c3,c0,8c,bd),
      "released {cgroup}: it belongs to {detail} and not to {who}; its limits are restored")
EVENT(ORIGINALS_RECOVERED, "originals-recovered", LOG_NOTICE, 0, WHO | F(DETAIL),
      SD_ID128_MAKE(d9,f0,ea,75,13,8a,45,f3,95,93,30,5a,a3,29,55,9b), /* detail: the annotation */
      "the saved original limits of {who} are lost, using those of its annotation vscaled.dev/status[: {detail}]")
EVENT(ORIGINALS_UNKNOWN, "originals-unknown", LOG_WARNING, 0, WHO | F(DETAIL), /* detail: why */
      SD_ID128_MAKE(4e,71,18,08,7d,55,41,98,b6,a2,c5,a6,b5,af,eb,0d),
      "not managing {who}: {detail}")
/* who: the pod; detail: the annotation, what is allowed */
EVENT(ANNOTATION_INVALID, "annotation-invalid", LOG_WARNING, 3, WHO | F(DETAIL),
      SD_ID128_MAKE(5b,1d,0c,7e,9a,3f,4e,6c,8d,2b,71,f0,a4,c6,3e,95),
      "invalid annotation, {who} stays as it is until it is corrected: {detail}")
EVENT(LIMIT_RAISED, "limit-raised", LOG_INFO, 0, WHO | CHANGE | TOOK,
      SD_ID128_MAKE(cb,4c,3f,dc,b8,f8,4c,f9,9b,0a,39,75,0e,cd,22,3a),
      "raised {who} {resource} {from} -> {to}[ ({why})]")
EVENT(LIMIT_LOWERED, "limit-lowered", LOG_INFO, 0, WHO | CHANGE,
      SD_ID128_MAKE(32,ad,6d,52,19,f1,47,d8,84,bd,a1,aa,95,4e,45,45),
      "lowered {who} {resource} {from} -> {to}[ ({why})]")
EVENT(LIMIT_UNDONE, "limit-undone", LOG_NOTICE, 0, WHO | CHANGE | TOOK,
      SD_ID128_MAKE(a1,d1,ef,f2,22,77,43,95,b7,ae,dd,6b,b5,c3,94,04),
      "undid the decrease of {who} {resource} {from} -> {to}[ ({why})]")
/* from stays, to was not written */
EVENT(LIMIT_REFUSED, "limit-refused", LOG_NOTICE, 3, WHO | CHANGE,
      SD_ID128_MAKE(3d,f6,5a,32,48,0e,4d,8d,ad,ca,be,9c,92,2e,c1,71),
      "kept {who} {resource} at {from} instead of {to}[ ({why})]")
EVENT(LIMIT_FAILED, "limit-failed", LOG_WARNING, 3, WHO | CHANGE | F(ERROR),
      SD_ID128_MAKE(eb,a6,ad,4e,a2,93,4a,fe,aa,19,ea,78,0a,c8,12,9b),
      "could not write {who} {resource} {from} -> {to}: {error}")
EVENT(CEILING_REACHED, "ceiling-reached", LOG_WARNING, 3,
      WHO | F(RESOURCE) | F(TO) | F(REASON) | F(DETAIL),
      SD_ID128_MAKE(17,c8,44,06,ab,b6,47,fa,8d,73,2f,23,7b,f7,e6,a5), /* to: the ceiling */
      "{who} {resource} has reached its upper bound {to} and needs more[ ({why})]")
/* from: what the node has memory for; to: what it asked for */
EVENT(MEMORY_DENIED, "memory-denied", LOG_WARNING, 3,
      WHO | F(RESOURCE) | F(FROM) | F(TO) | F(DETAIL),
      SD_ID128_MAKE(e7,68,f8,60,9f,d8,48,1a,97,41,d6,e4,c8,3e,97,8f),
      "not enough memory for {who}: it needs {to}, there is memory for {from}[ ({why})]")
EVENT(OOM_KILL, "oom-kill", LOG_WARNING, 10, WHO | F(FROM) | F(COUNT_OF) | F(DETAIL),
      SD_ID128_MAKE(08,30,39,46,8f,8d,4d,30,af,45,46,e4,27,d5,6f,6c),
      "OOM-killed in {who}[ at the limit {from}], processes: {count}[ ({detail})]")
/* from: memory.max now; error: PID 1 could not be woken */
EVENT(WRITER_STUCK, "writer-stuck", LOG_WARNING, 10, WHO | F(FROM) | F(ERROR),
      SD_ID128_MAKE(b4,0e,71,5c,2f,96,4d,0a,9a,13,c8,5b,e7,62,3d,41),
      "a process that lowered memory.max of {who} is blocked in the kernel: memory.max is {from} again, PID 1 is unblocked in case it is that process[: {error}]")
/* from: the external writer's value; to: the held limit */
EVENT(DRIFT_REASSERTED, "drift-reasserted", LOG_NOTICE, 6,
      WHO | F(RESOURCE) | F(FROM) | F(TO) | F(BY),
      SD_ID128_MAKE(97,c9,da,5f,2d,aa,4b,17,89,36,9a,0c,80,d7,73,ac),
      "external change of {who} {resource} to {from}[ by {by}], reset to {to}")
/* from: the held limit; to: the external writer's value */
EVENT(DRIFT_ADOPTED, "drift-adopted", LOG_NOTICE, 6, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(BY),
      SD_ID128_MAKE(0a,b6,4b,81,43,e0,48,5c,88,0d,c2,0d,eb,e5,16,c6),
      "external change of {who} {resource} {from} -> {to}[ by {by}], adopted as its new original")
EVENT(DRIFT_GAVE_WAY, "drift-gave-way", LOG_WARNING, 0, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(BY),
      SD_ID128_MAKE(0b,19,6b,d9,da,27,46,ff,be,a0,84,89,91,ff,05,85), /* likewise */
      "external writer conflict: {who} {resource} is changed repeatedly[ by {by}], now {to}; management suspended: stop the writer, then run vscalectl resume")
EVENT(PROPERTY_FAILED, "property-failed", LOG_WARNING, 3, WHO | F(ERROR) | F(SPAN),
      SD_ID128_MAKE(0a,bd,b1,c5,66,0c,4e,66,86,f5,01,fc,e7,34,d9,33),
      "systemd did not accept the limits of {who}: {error}[ after {span}]; they are set in the cgroup only")
/* from: in the cgroup; to: what systemd stores */
EVENT(PROPERTY_HEADROOM, "property-headroom", LOG_INFO, 3, WHO | CHANGE,
      SD_ID128_MAKE(4c,0a,19,64,33,15,49,30,81,63,60,5e,70,d5,46,fc),
      "systemd stores {who} {resource} {to}, the cgroup has {from}[ ({why})]")
/* who: the pod; count: the generation of its spec; detail: what it has in the place of the originals */
EVENT(REPORT_RATIFIED, "report-ratified", LOG_INFO, 0, WHO | F(COUNT_OF) | F(DETAIL),
      SD_ID128_MAKE(76,14,66,b0,a2,e8,48,6c,a4,82,24,d0,5f,5a,65,84),
      "{who} resized: the kubelet has carried out generation {count} of its spec[: {detail}]")
/* from: in the cgroup; detail: what the API server said */
EVENT(REPORT_REFUSED, "report-refused", LOG_WARNING, 3, WHO | F(RESOURCE) | F(FROM) | F(DETAIL),
      SD_ID128_MAKE(d5,5d,2e,dc,4c,79,40,af,95,e9,e9,ab,60,78,c6,6f),
      "resize of {who} {resource} {from} refused[: {detail}]")
/* from: what the spec allows; to: what is in use; detail: why */
EVENT(MEMORY_ABOVE_SPEC, "memory-above-spec", LOG_WARNING, 3,
      WHO | F(RESOURCE) | F(FROM) | F(TO) | F(DETAIL),
      SD_ID128_MAKE(ae,0b,67,c4,81,f6,4f,04,8b,38,19,77,90,7a,d2,30),
      "{who} uses {to} of memory, its spec allows {from}[ ({detail})]: any resize of the pod can end in an OOM kill")
EVENT(MEMORY_CONTESTED, "memory-contested", LOG_WARNING, 3, WHO | F(DETAIL),
      SD_ID128_MAKE(ba,a4,fd,fe,37,92,40,a3,a5,e9,c9,dc,c7,b1,28,4c),
      "another writer keeps lowering the memory limit in the spec of {who} ({detail}): it is raised again after a pause that doubles up to 10 min")
EVENT(POD_EVICTED, "pod-evicted", LOG_NOTICE, 0, WHO | F(DETAIL), /* who: the pod; detail: why */
      SD_ID128_MAKE(c6,90,98,25,af,2d,46,9f,b0,02,f5,bc,76,9c,46,95),
      "{who} evicted[: {detail}]; its successor is sized when it starts")
EVENT(EVICTION_REFUSED, "eviction-refused", LOG_WARNING, 0, WHO | F(DETAIL),
      SD_ID128_MAKE(30,e1,42,6d,7e,f1,48,f2,8c,4b,17,03,84,e8,5c,b6),
      "{who} cannot be sized in place and is not evicted[: {detail}]")
/* who: a sized pod; detail: the workload, the share, why */
EVENT(ROLLOUT_STOPPED, "rollout-stopped", LOG_WARNING, 0, WHO | F(DETAIL),
      SD_ID128_MAKE(34,45,46,07,b3,94,45,79,9a,2d,23,fb,a1,6e,a1,d2),
      "{who}: its rollout is stopped on this node[: {detail}]; the original limits return")
EVENT(API_INSECURE, "api-insecure", LOG_WARNING, 0, F(FILE), /* file: the kubeconfig */
      SD_ID128_MAKE(3f,a6,1c,94,d7,0b,45,2e,b8,13,6a,e5,90,2d,7c,f8),
      "the API server's certificate is not verified: insecure-skip-tls-verify is set in {file}")
EVENT(API_LOST, "api-lost", LOG_WARNING, 5, F(DETAIL) | F(ERROR),
      SD_ID128_MAKE(11,e5,47,6e,11,ee,44,7f,8e,a5,b0,bc,b8,c7,e6,bd),
      "lost the connection to the API server[: {detail}]; sizing continues, vscaled reconnects")
EVENT(API_BACK, "api-back", LOG_NOTICE, 5, F(COUNT_OF), /* count: annotated pods */
      SD_ID128_MAKE(c0,d8,9e,89,5c,87,44,ec,b9,50,28,b9,44,f8,02,e5),
      "connected to the API server again, annotated pods: {count}")
EVENT(NAMESPACES_DENIED, "namespaces-denied", LOG_WARNING, 0, 0,
      SD_ID128_MAKE(7d,2b,e9,40,5c,1f,4a,63,9e,07,c4,8b,d1,36,f2,5a),
      "new annotations of namespaces have no effect: vscaled may not list namespaces (role vscaled-namespaces)")
EVENT(LIST_DENIED, "list-denied", LOG_WARNING, 0, F(DETAIL), /* detail: what, and what follows */
      SD_ID128_MAKE(50,e1,dc,f7,86,53,4c,ec,b5,2b,f7,bf,22,f0,7e,be),
      "vscaled may not read {detail}")
EVENT(EVICTIONS_DENIED, "evictions-denied", LOG_WARNING, 0, 0,
      SD_ID128_MAKE(13,5c,a4,6b,d2,99,47,15,84,2b,3c,b4,0d,ee,8c,11),
      "InPlaceOrRecreate behaves as Auto: vscaled may not evict pods (role vscaled-evict)")
/* count: the most containers */
EVENT(OBSERVATION_FULL, "observation-full", LOG_WARNING, 1, F(COUNT_OF),
      SD_ID128_MAKE(ca,62,03,53,97,1f,42,e6,b8,c2,df,34,ac,6c,7f,15),
      "some pods of this node are not observed: kubernetes.observedContainers is {count}, raise it")
/* count: the most descriptors */
EVENT(DESCRIPTORS_LOW, "descriptors-low", LOG_WARNING, 1, F(COUNT_OF),
      SD_ID128_MAKE(b7,4e,19,c8,53,d0,4f,2a,9c,61,e8,0d,75,3b,a2,46),
      "80 % of the {count} file descriptors of vscaled are open: no new container is attached; raise LimitNOFILE")
EVENT(API_REFUSES, "api-refuses", LOG_WARNING, 5, F(DETAIL),
      SD_ID128_MAKE(4e,96,eb,29,6b,e9,4e,40,86,61,10,8e,52,23,22,ed),
      "the API server rejects resizes and annotations[: {detail}]: run vscalectl doctor")
EVENT(API_OBJECT_BAD, "api-object-bad", LOG_WARNING, 3, F(DETAIL),
      SD_ID128_MAKE(9c,87,a4,42,55,ea,45,48,b0,bf,f0,00,a2,f8,9f,41),
      "skipped a pod that cannot be read[: {detail}]")
EVENT(NODE_NAME_WRONG, "node-name-wrong", LOG_ERR, 0, F(DETAIL), /* detail: the name */
      SD_ID128_MAKE(d2,c0,64,9f,2e,23,4c,1e,84,e0,9c,78,0d,7a,ed,6d),
      "the node's name is wrong: the API server has no pod of node {detail} that runs here; nothing is sized and nothing is put back, set kubernetes.nodeName or NODE_NAME")
EVENT(BUS_ABSENT, "bus-absent", LOG_NOTICE, 0, F(ERROR),
      SD_ID128_MAKE(b2,51,9f,6c,0d,e4,47,1a,9c,38,f7,25,6e,81,d0,4b),
      "systemd is not available: limits of pods are set in their cgroups only")
EVENT(BUS_LOST, "bus-lost", LOG_WARNING, 5, F(ERROR),
      SD_ID128_MAKE(e8,15,a3,35,9d,c8,4a,ff,a7,70,31,dc,ca,e8,3f,cc),
      "lost the connection to systemd: {error}; limits are set in the cgroups only")
EVENT(BUS_BACK, "bus-back", LOG_NOTICE, 5, F(SPAN),
      SD_ID128_MAKE(27,0c,6b,ef,69,c5,44,8a,81,f5,e6,14,ad,81,47,03),
      "connected to systemd again[ after {span}]")
/* file: the lock or the control socket; detail: what follows */
EVENT(FILE_REMOVED, "file-removed", LOG_WARNING, 2, F(FILE) | F(DETAIL),
      SD_ID128_MAKE(e1,3b,ca,73,30,fa,46,3f,b6,ad,8e,9e,72,7f,fa,5e),
      "{file} was removed or replaced by another process, {detail}")
EVENT(STATE_UNSAVED, "state-unsaved", LOG_WARNING, 2, F(FILE) | F(ERROR),
      SD_ID128_MAKE(6b,78,16,12,f8,6f,43,4f,9f,63,51,cd,f2,3a,94,a1),
      "could not save {file}: {error}; the last good copy stays")
EVENT(HISTORY_FULL, "history-full", LOG_NOTICE, 0, F(COUNT_OF),
      SD_ID128_MAKE(7d,e2,41,9a,0c,b8,4e,63,95,d1,2f,68,a7,53,0e,bc),
      "the history of {count} workloads that do not run here is kept, that of those unseen for longest is dropped")
EVENT(STATE_DAMAGED, "state-damaged", LOG_WARNING, 0, F(FILE) | F(DETAIL),
      SD_ID128_MAKE(d1,b5,97,c0,05,4a,4a,ed,a4,30,ee,04,34,8b,d1,be),
      "{file} is damaged[ ({detail})]: set aside, what only it recorded is lost")
EVENT(BASELINE_UNSAVED, "baseline-unsaved", LOG_WARNING, 2, WHO | F(FILE) | F(ERROR),
      SD_ID128_MAKE(07,72,a0,36,6b,53,47,45,b2,24,1c,e9,40,a4,a6,7d),
      "not managing {who} yet, its original limits cannot be saved: {error}")
EVENT(CLOCK_JUMPED, "clock-jumped", LOG_NOTICE, 5, F(SPAN),
      SD_ID128_MAKE(03,82,3e,07,69,df,42,de,bc,d7,e1,f4,3e,eb,c6,c3),
      "the wall clock jumped by {span}, history is adjusted")
EVENT(RESTORED, "restored", LOG_NOTICE, 0, WHO | F(RESOURCE) | F(FROM) | F(TO),
      SD_ID128_MAKE(b0,6d,62,8c,a7,1c,4d,74,93,97,cc,06,52,b4,c4,7c),
      "restored {who} {resource} {from} -> {to}")
/* from stays; to: the original */
EVENT(RESTORE_LEFT, "restore-left", LOG_WARNING, 0, WHO | F(RESOURCE) | F(FROM) | F(TO) | F(DETAIL),
      SD_ID128_MAKE(83,e0,44,f1,62,6a,44,4e,9b,1c,c4,49,df,f6,5c,45),
      "kept {who} {resource} at {from}: its original {to} is below its use[ ({detail})]")
EVENT(PAUSED, "paused", LOG_NOTICE, 0, WHO | F(BY), /* who empty: everything */
      SD_ID128_MAKE(30,91,a5,f3,ef,92,40,a6,9f,3a,4e,66,81,d9,7a,1e),
      "paused[ {who}][ by {by}], limits stay as they are")
EVENT(RESUMED, "resumed", LOG_NOTICE, 0, WHO | F(BY), /* likewise */
      SD_ID128_MAKE(f9,e7,42,b8,58,31,40,eb,97,2c,dd,f8,fc,19,21,6a),
      "resumed[ {who}][ by {by}]")
EVENT(SLOW_LOOP, "slow-loop", LOG_WARNING, 3, F(SPAN) | F(DETAIL),
      SD_ID128_MAKE(a2,f2,15,10,1c,69,48,c9,a1,0e,1a,72,02,4c,75,bf),
      "one pass took {span}[ ({detail})], limits may be raised late")
/* detail: how many samples, of which time */
EVENT(PAST_ADDED, "past-added", LOG_NOTICE, 0, WHO | F(DETAIL),
      SD_ID128_MAKE(78,47,90,08,7d,75,4f,20,9d,a5,de,b6,fd,8a,6b,1d),
      "history of {who} from Prometheus: {detail}")
EVENT(PAST_FAILED, "past-failed", LOG_WARNING, 0, F(FILE) | F(DETAIL), /* file: the server */
      SD_ID128_MAKE(2a,87,84,69,67,61,47,7f,98,00,aa,2d,ec,ad,69,df),
      "no history from Prometheus ({file}): {detail}; the query is repeated later")
