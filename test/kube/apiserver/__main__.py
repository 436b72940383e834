# SPDX-License-Identifier: Apache-2.0
"""python3 -m apiserver --port 0 --data-dir DIR [--version 1.36] [--plain]"""
from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from .control import Control


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="apiserver", description="A Kubernetes API server for "
                                     "tests. Writes kubeconfigs, tokens and its URLs into DIR.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--admin-port", type=int, default=0, help="plain HTTP, /debug/...")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--name", action="append", default=[], metavar="DNS:x|IP:y",
                        help="one more name in the certificate")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--version", default="1.36", help="1.36 or 1.33 (others: between them)")
    parser.add_argument("--plain", action="store_true", help="HTTP without TLS")
    parser.add_argument("--tls", action="store_true", help="HTTPS (the default)")
    parser.add_argument("--agent", default="vscaled/vscaled", metavar="NAMESPACE/NAME",
                        help="the service account of the identity agent")
    parser.add_argument("--node", default="node-1", help="of the identities agent and node")
    parser.add_argument("--bare", action="store_true",
                        help="no account or rights for the agent yet")
    parser.add_argument("--own-node-policy", action="store_true",
                        help="the policy that pins the agent to its node")
    parser.add_argument("--reap", type=float, default=-1, metavar="SECONDS",
                        help="pods being deleted vanish by themselves after this")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="containers' logs, POD/CONTAINER.log: "
                        "pods/log is served from them")
    parser.add_argument("--fault", action="append", default=[], metavar="JSON",
                        help="a fault from the start, as for POST /debug/faults")
    return parser.parse_args()


def main() -> int:
    args = _options()
    major, _, minor = args.version.partition(".")
    if major != "1" or not minor.isdigit() or (args.plain and args.tls):
        print("apiserver: --version is 1.x, and --plain excludes --tls", file=sys.stderr)
        return 2
    namespace, _, name = args.agent.partition("/")
    control = Control(args.data_dir, int(minor), not args.plain, args.host, args.name, args.logs)
    for desired in args.fault:
        control.faults.add(json.loads(desired))
    control.app.rest.default_account = not args.bare
    control.start(args.port, args.admin_port)
    control.seed((namespace, name), args.node, args.bare, args.own_node_policy)
    if args.reap >= 0:
        threading.Thread(target=control.reap, args=(args.reap,), daemon=True).start()
    print(f"admin {control.admin_url}", flush=True)
    print(f"listening {control.url}", flush=True)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    control.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
