# SPDX-License-Identifier: Apache-2.0
"""python3 -m kubelet --kubeconfig FILE --images DIR [--driver systemd|cgroupfs]
[--runtime runc|crun] [--lag SECONDS]"""
from __future__ import annotations

import argparse

from . import eviction
from .kubelet import Kubelet


def version(text: str) -> tuple[int, ...]:
    return tuple(int(x) for x in text.split("."))


def main() -> None:
    p = argparse.ArgumentParser(prog="kubelet", description=__doc__)
    p.add_argument("--kubeconfig", required=True)
    p.add_argument("--images", required=True, help="folder of root file systems, by image name")
    p.add_argument("--node", default="node-1")
    p.add_argument("--driver", choices=("systemd", "cgroupfs"), default="systemd")
    p.add_argument("--runtime", choices=("runc", "crun"), default="runc",
                   help="containerd's BinaryName of io.containerd.runc.v2")
    p.add_argument("--lag", type=float, default=1.0, help="from allocation to the cgroup, seconds")
    p.add_argument("--jitter", metavar="LOW-HIGH", default="",
                   help="in place of --lag: a random time between these, in seconds")
    p.add_argument("--seed", type=int, default=1, help="of --jitter")
    p.add_argument("--cpus", type=int, default=0, help="of the node: the static CPU manager is on")
    p.add_argument("--cpu-reconcile", type=float, default=0.0,
                   help="cpuset updates of every container this often, in seconds")
    p.add_argument("--memory-qos", default="old", metavar="old|off|on[,FACTOR][,tiered]",
                   help="what an update writes: nothing (1.36), memory.high max (gate off), by the "
                   "throttling factor, memory.min and low")
    p.add_argument("--backoff", type=float, default=10.0, help="before the second restart, seconds")
    p.add_argument("--cpu", default="3800m", help="allocatable")
    p.add_argument("--memory", default="7Gi", help="allocatable")
    p.add_argument("--eviction-hard", metavar="AMOUNT|PERCENT", help="evict a pod when "
                   "memory.available is below this (a kubelet's default: 100Mi); without: never")
    p.add_argument("--eviction-interval", type=float, default=10.0, help="between two looks, seconds")
    p.add_argument("--pods-memory", metavar="AMOUNT", help="memory.max of all pods, the allocatable "
                   "memory and the threshold, as reserved memory leaves it; without: no limit")
    p.add_argument("--root-usage", choices=eviction.USAGES, default="stat", help="usage of the root "
                   "cgroup: anon + file, or as in older kubelets MemTotal - MemFree")
    p.add_argument("--ip", default="127.0.0.1")
    p.add_argument("--version", type=version, default=(1, 36), help="1.33 or 1.36")
    p.add_argument("--root", default="/var/lib/kubelet", help="checkpoints and volumes")
    p.add_argument("--control", default="/run/kubelet", help="files defer, infeasible, error, "
                   "unready, lag, runtime-lag (an update is under way for so long, with the values "
                   "of its begin), cpus, cpu-reconcile: lines of POD [WORDS], * is every pod")
    Kubelet(p.parse_args()).run()


main()
