# SPDX-License-Identifier: Apache-2.0
"""A container as an OCI runtime spec, as the runtime service makes it from a pod. Pure."""
from __future__ import annotations

import os

from . import model

DEFAULT_CAPABILITIES = """CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP
    SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE""".split()
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
          "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
          "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
NO_TRICKS = ["nosuid", "noexec", "nodev"]


def _mount(destination: str, kind: str, source: str, *options: str) -> dict:
    return {"destination": destination, "type": kind, "source": source, "options": list(options)}


def capabilities(security: dict) -> list[str]:
    desired = security.get("capabilities", {})
    drop, add = desired.get("drop", []), desired.get("add", [])
    base = [] if "ALL" in drop else [c for c in DEFAULT_CAPABILITIES if c not in drop]
    return [f"CAP_{c}" for c in dict.fromkeys(base + add)]


def environment(container: dict, pod: dict, extra: dict[str, str], host_ip: str) -> list[str]:
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
           "HOSTNAME": pod["metadata"]["name"], **extra}
    fields = {"spec.nodeName": pod["spec"].get("nodeName", ""), "status.hostIP": host_ip,
              "status.podIP": host_ip, "metadata.name": pod["metadata"]["name"],
              "metadata.namespace": pod["metadata"]["namespace"],
              "metadata.uid": pod["metadata"]["uid"]}
    for e in container.get("env", []):
        field = e.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        env[e["name"]] = fields[field] if field else e.get("value", "")
    return [f"{k}={v}" for k, v in env.items()]


def _mounts(container: dict, volumes: dict[str, str]) -> list[dict]:
    """volumes: name -> folder or file on the node."""
    mounts = [_mount("/proc", "proc", "proc", *NO_TRICKS),
              _mount("/dev", "tmpfs", "tmpfs", "nosuid", "mode=755", "size=65536k"),
              _mount("/dev/shm", "tmpfs", "shm", *NO_TRICKS, "mode=1777", "size=65536k"),
              _mount("/sys", "sysfs", "sysfs", *NO_TRICKS, "ro"),
              _mount("/sys/fs/cgroup", "cgroup", "cgroup", *NO_TRICKS, "ro")]
    for m in sorted(container.get("volumeMounts", []), key=lambda m: m["mountPath"].count("/")):
        source = volumes[m["name"]]
        if m.get("subPath"):
            source = os.path.join(source, m["subPath"])
        if m["mountPath"] == "/sys/fs/cgroup":
            mounts = [x for x in mounts if x["destination"] != "/sys/fs/cgroup"]
        mounts.append(_mount(m["mountPath"], "bind", source, "rbind", "rprivate",
                             "ro" if m.get("readOnly") else "rw"))
    return mounts


def _at_start(resources: model.Resources) -> dict:
    """Without a CPU limit no quota is named at all, nor a period for it: crun 1.21 makes 1 % of a
    CPU of -1."""
    oci = model.oci_resources(resources)
    if resources.cpu_limit is None:
        del oci["cpu"]["quota"], oci["cpu"]["period"]
    return oci


def make(pod: dict, container: dict, root: str, cgroups_path: str, resources: model.Resources,
         volumes: dict[str, str], extra_env: dict[str, str], host_ip: str) -> dict:
    spec = pod["spec"]
    security = {**spec.get("securityContext", {}), **container.get("securityContext", {})}
    caps = capabilities(security)
    namespaces = ["mount", "ipc", "uts", "cgroup"] + ([] if spec.get("hostPID") else ["pid"])
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": security.get("runAsUser", 0), "gid": security.get("runAsGroup", 0)},
            "args": container.get("command", []) + container.get("args", []),
            "env": environment(container, pod, extra_env, host_ip),
            "cwd": container.get("workingDir", "/"),
            "capabilities": {k: caps for k in ("bounding", "effective", "permitted")},
            "noNewPrivileges": not security.get("allowPrivilegeEscalation", True),
        },
        "root": {"path": root, "readonly": security.get("readOnlyRootFilesystem", False)},
        "hostname": pod["metadata"]["name"],
        "mounts": _mounts(container, volumes),
        "linux": {
            "cgroupsPath": cgroups_path,
            "resources": {**_at_start(resources),
                          "devices": [{"allow": False, "access": "rwm"}]},
            "namespaces": [{"type": n} for n in namespaces],
            "maskedPaths": MASKED,
            "readonlyPaths": READ_ONLY,
        },
    }


def pause(pod: dict, root: str, cgroups_path: str) -> dict:
    """The sandbox's container: no limit, the smallest weight."""
    container = {"command": ["/bin/hold"], "securityContext": {"readOnlyRootFilesystem": True}}
    return make({**pod, "spec": {}}, container, root, cgroups_path, model.Resources(), {}, {}, "")
