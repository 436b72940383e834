# SPDX-License-Identifier: Apache-2.0
"""Requests and questions of a scenario, answered by one process: a fork costs 50 ms there, a curl
half a second and a jq two. Reads lines of fields separated by \\x1f, answers each with one line
"RC TEXT":

  api METHOD PATH [BODY [CONTENT-TYPE]]    RC 0 for 2xx; TEXT is the answer
  ask PATH EXPRESSION                      RC 0 if the value is true; TEXT is the value

EXPRESSION is Python over the object: p (all of it), meta, spec, status, c (containers' statuses by
name), cond (conditions by type). Dots read keys; what is missing is an empty object, false.
"""
from __future__ import annotations

import http.client
import json
import sys

from kubelet.api import JSON, Api, Credentials, Refused


class Node(dict):
    def __getattr__(self, key: str):
        return self.get(key, NOTHING)

    def __missing__(self, key: str):
        return NOTHING


NOTHING = Node()


def names(p: Node) -> dict:
    status = p.status
    statuses = list(status.initContainerStatuses or []) + list(status.containerStatuses or [])
    return {"p": p, "meta": p.metadata, "spec": p.spec, "status": status,
            "c": Node({s["name"]: s for s in statuses}),
            "cond": Node({c["type"]: c for c in status.conditions or []})}


def shown(value) -> str:
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return str(value)


def answer(api: Api, fields: list[str]) -> tuple[int, str]:
    try:
        if fields[0] == "api":
            method, path, body, content = (fields[1:] + ["", ""])[:4]
            got = api.request(method, path, json.loads(body) if body else None, content or JSON)
            return 0, json.dumps(got)
        got = json.loads(json.dumps(api.request("GET", fields[1])), object_hook=Node)
        value = eval(fields[2], names(got))  # pylint: disable=eval-used  # the scenario's own text
        return (0 if value else 1), shown(value)
    except Refused as e:
        return 1, str(e)
    except (OSError, http.client.HTTPException, ArithmeticError, LookupError, TypeError,
            ValueError, AttributeError, SyntaxError, NameError) as e:
        return 2, f"{type(e).__name__}: {e}"


def main() -> None:
    api = Api(Credentials(sys.argv[1], "kubectl/v1.32.3"))
    for line in sys.stdin:
        rc, text = answer(api, line.rstrip("\n").split("\x1f"))
        print(rc, text.replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
