# SPDX-License-Identifier: Apache-2.0
"""GET pods/NAME:PORT/proxy/PATH, handed on to the pod's own address."""
from __future__ import annotations

import re
import urllib.error
import urllib.request
from dataclasses import dataclass

from .status import ApiError
from .store import Store

PATH = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/:]+):(\d+)/proxy(/.*)$")


@dataclass
class Way:
    namespace: str
    name: str
    port: int
    path: str


def way(path: str) -> Way | None:
    m = PATH.match(path)
    return Way(m[1], m[2], int(m[3]), m[4]) if m else None


def _unreachable(why: object) -> ApiError:
    return ApiError(503, "ServiceUnavailable", f"error trying to reach service: {why}", {})


def fetch(store: Store, w: Way) -> tuple[int, str, bytes]:
    """Status, content type and body of the pod's answer."""
    pod = store.get("pods", (w.namespace, w.name))
    if pod is None:
        raise ApiError(404, "NotFound", f'pods "{w.name}" not found',
                       {"name": w.name, "kind": "pods"})
    address = pod.get("status", {}).get("podIP")
    if not address:
        raise _unreachable("no endpoints available")
    try:
        with urllib.request.urlopen(f"http://{address}:{w.port}{w.path}", timeout=10) as answer:
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers.get("Content-Type", ""), e.read()
    except OSError as e:
        raise _unreachable(e) from e
