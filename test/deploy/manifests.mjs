// SPDX-License-Identifier: Apache-2.0
// manifests.mjs FILE.yaml OVERLAY: every object against the API's own schema, then
// what the agent may do and see. Prints one line per finding; the exit status is the verdict.
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

const [file, overlay] = process.argv.slice(2);
const actuates = overlay !== "recommend-only";
const systemd = actuates && !overlay.endsWith("-cgroupfs");
const openshift = overlay === "auto-openshift";
const objects = parseAllDocuments(readFileSync(file, "utf8")).map((d) => d.toJS());
let failed = 0;

function check(what, good, found) {
  if (good) return;
  failed++;
  console.log(`${overlay}: ${what}${found === undefined ? "" : ": " + JSON.stringify(found)}`);
}

function same(what, found, wanted) {
  const a = JSON.stringify([...found].sort());
  check(what, a === JSON.stringify([...wanted].sort()), found);
}

// --- schema: unknown fields too, which the validators below let pass
async function model(o) {
  const [group, version] = o.apiVersion.includes("/") ? o.apiVersion.split("/") : ["", o.apiVersion];
  const path = group ? `kubernetes-models/${group}/${version}/${o.kind}` : `kubernetes-models/${version}/${o.kind}`;
  return (await import(path))[o.kind];
}

// Of OpenShift and of the Prometheus operator, checked below.
const foreign = ["SecurityContextConstraints", "PodMonitor", "PrometheusRule"];
for (const o of objects.filter((o) => !foreign.includes(o.kind))) {
  const name = `${o.kind}/${o.metadata.name}`;
  try {
    const Model = await model(o);
    new Model(o).validate();
  } catch (e) {
    check(`${name} is not what the API takes`, false, e.message);
  }
}

// --- rights: these and no others
const find = (kind, name) => objects.find((o) => o.kind === kind && o.metadata.name === name);
const rights = objects
  .filter((o) => o.kind === "ClusterRole" || o.kind === "Role")
  .flatMap((o) => o.rules)
  .flatMap((r) => r.apiGroups.flatMap((g) => r.resources.flatMap((x) => r.verbs.map((v) => `${g}/${x}:${v}`))));
same("rights", rights, [
  "/pods:get", "/pods:list", "/pods:watch", "/pods:patch",
  "/limitranges:get", "/limitranges:list",
  "events.k8s.io/events:create", "events.k8s.io/events:patch",
  ...(actuates ? ["/pods/resize:patch", "/nodes:get", "autoscaling/horizontalpodautoscalers:list", "autoscaling.k8s.io/verticalpodautoscalers:list"] : []),
  ...(overlay === "auto-evict" ? ["/pods/eviction:create", ...["create", "get", "patch"].map((v) => `coordination.k8s.io/leases:${v}`)] : []),
  ...(overlay === "auto-namespaces" ? ["/namespaces:list"] : []),
]);
// Leases elsewhere hold other programs' elections.
same("namespaces of roles", [...new Set(objects.filter((o) => o.kind === "Role").map((o) => o.metadata.namespace))],
  overlay === "auto-evict" ? ["vscaled"] : []);
for (const b of objects.filter((o) => o.kind === "ClusterRoleBinding" || o.kind === "RoleBinding")) {
  check(`${b.metadata.name} binds a role that is not there`, find(b.roleRef.kind, b.roleRef.name));
  same(`${b.metadata.name} binds`, b.subjects.map((s) => `${s.namespace}/${s.name}`), ["vscaled/vscaled"]);
}

// --- the policy that pins the agent to its node
const policy = find("ValidatingAdmissionPolicy", "vscaled-own-node");
const account = find("ServiceAccount", "vscaled");
const user = `system:serviceaccount:${account.metadata.namespace}:${account.metadata.name}`;
check("the policy is for another user", policy.spec.matchConditions[0].expression.includes(`'${user}'`));
check("the policy is open when it fails", policy.spec.failurePolicy === "Fail");
same("the policy looks at", policy.spec.matchConstraints.resourceRules[0].resources, ["pods", "pods/resize"]);
same("the binding does", find("ValidatingAdmissionPolicyBinding", "vscaled-own-node").spec.validationActions, ["Deny"]);

// --- the pod
const set = find("DaemonSet", "vscaled");
const pod = set.spec.template.spec;
const agent = pod.containers[0];
same("containers", pod.containers.map((c) => c.name), ["vscaled"]);
const inits = pod.initContainers ?? [];
same("init containers", inits.map((c) => c.name), overlay === "auto-import-vpa" ? ["import-vpa"] : []);
for (const c of inits) {
  check("another image", c.image === agent.image, c.image);
  same(`${c.name} runs`, c.command.slice(0, 3), ["vscalectl", "import", "vpa"]);
  check("a failed import keeps the agent from starting", c.command.includes("--optional"), c.command);
  same("volumes that the agent cannot start without", pod.volumes.filter((v) => v.name === "vpa" && !v.configMap.optional), []);
  check("the import is no read-only container", c.securityContext.readOnlyRootFilesystem && c.securityContext.capabilities.drop[0] === "ALL");
}
for (const key of ["hostPID", "hostNetwork", "hostIPC"]) check(key, !pod[key]);
if (overlay === "auto-monitoring") {
  const monitor = find("PodMonitor", "vscaled").spec;
  const labels = set.spec.template.metadata.labels;
  check("the PodMonitor selects other pods", Object.entries(monitor.selector.matchLabels).every(([k, v]) => labels[k] === v));
  same("ports", monitor.podMetricsEndpoints.map((e) => e.port), agent.ports.map((p) => p.name));
  for (const rule of find("PrometheusRule", "vscaled").spec.groups.flatMap((g) => g.rules))
    check(`${rule.alert} does not say what to do`, rule.labels?.severity && rule.annotations.summary && rule.annotations.description && rule.annotations.runbook_url);
  check("no dashboard for Grafana's sidecar", find("ConfigMap", "vscaled-dashboard").metadata.labels.grafana_dashboard === "1");
  const policy = find("NetworkPolicy", "vscaled").spec;
  check("the NetworkPolicy selects other pods", Object.entries(policy.podSelector.matchLabels).every(([k, v]) => labels[k] === v));
  same("ports that it opens", policy.ingress.flatMap((i) => i.ports.map((e) => e.port)), agent.ports.map((p) => p.name));
}
// GKE admits the priority class only where a quota of that scope is; nothing else may bound the agent.
const quota = find("ResourceQuota", "vscaled");
same("scopes of quotas", objects.filter((o) => o.kind === "ResourceQuota").map((o) => JSON.stringify(o.spec.scopeSelector?.matchExpressions)),
  [JSON.stringify([{ operator: "In", scopeName: "PriorityClass", values: [pod.priorityClassName] }])]);
check("the quota is not for the agent's namespace", quota?.metadata.namespace === set.metadata.namespace);
check("the quota bounds the agent", quota && Object.keys(quota.spec.hard).join() === "pods" && quota.spec.hard.pods >= 100000, quota?.spec.hard);
same("what the image is built for", pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms,
  [{ matchExpressions: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64", "arm64"] }] }]);
check("privileged", !agent.securityContext.privileged);
check("privilege escalation", agent.securityContext.allowPrivilegeEscalation === false);
check("the root file system can be written", agent.securityContext.readOnlyRootFilesystem === true);
same("dropped capabilities", agent.securityContext.capabilities.drop, ["ALL"]);
same("added capabilities", agent.securityContext.capabilities.add ?? [], overlay === "auto-bpf" ? ["BPF", "PERFMON"] : []);
check("seccomp", pod.securityContext.seccompProfile.type === "RuntimeDefault");
check("the CPU request, which is its weight", agent.resources.requests.cpu === "100m", agent.resources.requests.cpu);
check("a CPU limit on the agent", agent.resources.limits.cpu === undefined);
same("host paths", pod.volumes.filter((v) => v.hostPath).map((v) => v.hostPath.path), [
  "/sys/fs/cgroup", "/var/lib/vscaled", "/run/vscaled", "/run/systemd/journal",
  ...(systemd ? ["/run/systemd"] : []),
]);
const readOnly = (name) => agent.volumeMounts.find((m) => m.name === name)?.readOnly ?? false;
check("the cgroup tree", readOnly("cgroup") === !actuates, readOnly("cgroup"));
check("systemd's folder can be written", !systemd || readOnly("systemd"));
check("the journal's folder can be written", readOnly("journal"));
check("subPath: such a file never changes", agent.volumeMounts.every((m) => !m.subPath));
const mounts = [agent, ...inits].flatMap((c) => c.volumeMounts.map((m) => m.name));
same("volumes without a mount", pod.volumes.map((v) => v.name).filter((n) => !mounts.includes(n)), []);
check("no rolling update in parts", set.spec.updateStrategy.rollingUpdate.maxUnavailable === "10%");
check("probes use different ports", new Set(["startupProbe", "livenessProbe", "readinessProbe"].map((p) => agent[p].httpGet.port)).size === 1);
for (const p of ["startupProbe", "livenessProbe", "readinessProbe"])
  check(`${p}: a starved node answers late`, agent[p].timeoutSeconds >= 10, agent[p].timeoutSeconds);
check("an agent without an answer lives for a minute", agent.livenessProbe.periodSeconds * agent.livenessProbe.failureThreshold >= 60);
check("secrets", !objects.some((o) => o.kind === "Secret"));
check("pod security of the namespace", find("Namespace", "vscaled").metadata.labels["pod-security.kubernetes.io/enforce"] === "privileged");

// --- OpenShift: no more than what the pod uses, and for no other user
check("the SELinux type", agent.securityContext.seLinuxOptions?.type === (openshift ? "spc_t" : undefined),
  agent.securityContext.seLinuxOptions);
same("constraints", objects.filter((o) => o.kind === "SecurityContextConstraints").map((o) => o.metadata.name),
  openshift ? ["vscaled"] : []);
if (openshift) {
  const scc = objects.find((o) => o.kind === "SecurityContextConstraints");
  const { apiVersion, kind, metadata, priority, ...rest } = scc;
  const wanted = {
    users: [user], groups: [],
    allowPrivilegedContainer: false, allowPrivilegeEscalation: false, allowHostDirVolumePlugin: true,
    allowHostIPC: false, allowHostNetwork: false, allowHostPID: false, allowHostPorts: false,
    allowedCapabilities: [], defaultAddCapabilities: [], requiredDropCapabilities: ["ALL"],
    readOnlyRootFilesystem: true, seccompProfiles: ["runtime/default"],
    runAsUser: { type: "RunAsAny" }, seLinuxContext: { type: "RunAsAny" },
    fsGroup: { type: "RunAsAny" }, supplementalGroups: { type: "RunAsAny" },
  };
  check("its version", apiVersion === "security.openshift.io/v1" && priority === null, apiVersion);
  const { volumes, ...constraints } = rest;
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(constraints)]))
    check(`constraints: ${key}`, JSON.stringify(constraints[key]) === JSON.stringify(wanted[key]), constraints[key]);
  const kinds = pod.volumes.map((v) => Object.keys(v).find((k) => k !== "name"));
  same("volumes that the constraints allow", volumes, [...new Set([...kinds, "projected"])]);
}
check("the image has no tag", /:[0-9]/.test(agent.image), agent.image);

process.exit(failed === 0 && objects.length > 0 ? 0 : 1);
