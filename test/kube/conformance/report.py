# SPDX-License-Identifier: Apache-2.0
"""python3 -m conformance.report PLUGIN VSCALECTL: kubectl vscaled report and list, of many agents through the API server.

With VSCALED_FULL of 1,000.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .kubectl import unfit
from .rig import Rig, check

AGENTS = 1000 if os.environ.get("VSCALED_FULL") else 100
AWAY, CONTAINERS = 3, 5
LABELS = {"app.kubernetes.io/name": "vscaled"}


class Agents(ThreadingHTTPServer):
    """All agents at one address: each answer is that of another node."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.lock, self.answers = threading.Lock(), 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Agents)
        with server.lock:
            server.answers += 1
            node = server.answers
        amounts = {"request": 500, "target": 100, "upper": 200}
        containers = [{"namespace": "shop", "workload": f"web-{n}", "owner": "Deployment",
                       "pod": f"web-{n}-{node}", "container": "app", "mode": "Off", "cpu": amounts,
                       "memory": {}} for n in range(CONTAINERS)]
        units = [{"name": f"shop/web-{n}-{node}/app", "namespace": "shop"} for n in range(CONTAINERS)]
        text = json.dumps({"units": units} if self.path == "/v1/units" else
                          {"version": 1, "node": f"n-{node}", "containers": containers}) + "\n"
        self.send_response(200 if self.path in ("/v1/report", "/v1/units") else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


def asked(r: Rig, command: str, agents: Agents) -> str:
    plugin, program = sys.argv[1:3]
    env = dict(os.environ, HOME=str(r.folder), KUBECONFIG=str(r.folder / "admin.kubeconfig"),
               VSCALED_PORT=str(agents.server_port),
               PATH=f"{Path(program).parent}:{os.environ['PATH']}")
    begun = time.monotonic()
    done = subprocess.run([plugin, command, "-A", "-o", "json"], env=env, text=True,
                          capture_output=True, check=False, timeout=1200)
    print(f"{command}: {AGENTS} agents in {time.monotonic() - begun:.1f} s")
    check(done.returncode == 1, f"exit status {done.returncode}: {done.stderr}")
    lines = done.stderr.splitlines()
    check(len(lines) == AWAY and all(f"no {command} of node lost: " in x for x in lines), done.stderr)
    return done.stdout


def main() -> int:
    why = unfit()
    if why:
        print(f"skipped: {why}")
        return 1 if os.environ.get("VSCALED_MUST_RUN") == "1" else 77
    agents = Agents()
    with Rig() as r:
        pods = {"namespace": "vscaled", "labels": LABELS}
        r.debug("pods", {**pods, "count": AGENTS, "prefix": "agent", "ip": "127.0.0.1"})
        # Nothing listens there.
        r.debug("pods", {**pods, "count": AWAY, "prefix": "away", "ip": "127.0.0.2", "node": "lost"})
        report = json.loads(asked(r, "report", agents))
        total = report["total"]
        check(total["nodes"] == AGENTS and total["containers"] == AGENTS * CONTAINERS, total)
        check(total["cpu"]["over_target"] == 400 * AGENTS * CONTAINERS, total)
        check([x["pods"] for x in report["rows"]] == [AGENTS] * CONTAINERS, report["rows"])
        units = json.loads(asked(r, "list", agents))["units"]
        check(len({x["name"] for x in units}) == AGENTS * CONTAINERS and units[0]["node"] != "", units[:2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
