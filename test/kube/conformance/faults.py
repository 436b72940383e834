# SPDX-License-Identifier: Apache-2.0
"""python3 -m conformance.faults: every fault does what its name says, and a storm arrives whole."""
from __future__ import annotations

import http.client
import json
import ssl
import sys
import threading
import time
from typing import Any, Callable

from .rig import Failed, Rig, check

LIST = "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1"
WATCH = LIST + "&watch=1&timeoutSeconds=2&resourceVersion="
STORM = 10000
PODS = 250


def _get(r: Rig, path: str = LIST, **more: Any) -> tuple[int, Any, bytes]:
    return r.ask("GET", path, **more)


def _cut(r: Rig, path: str = LIST) -> bool:
    try:
        _get(r, path)
    except (http.client.HTTPException, ConnectionError, ssl.SSLError):
        return True
    return False


def answers(r: Rig) -> None:
    for kind, after in (("429", "7"), ("500", None), ("503", "7"), ("504", "7"), ("410", None),
                        ("422", None)):
        r.debug("faults", {"kind": kind, "match": "GET .*pods", "count": 1, "retry_after": 7})
        code, headers, body = _get(r)
        check(code == int(kind) and headers["Retry-After"] == after, f"{kind}: {code} {headers}")
        check(kind != "429" or headers["Content-Type"] == "text/plain; charset=utf-8", "429 type")
        check(_get(r)[0] == 200, f"{kind} was to hit once")
    r.debug("faults", {"kind": "500", "match": "PATCH .*resize", "count": 1})
    check(_get(r)[0] == 200, "a fault for PATCH must not hit a GET")
    r.debug("faults", None, "DELETE")
    r.debug("faults", {"kind": "500", "count": 1, "after": 2})
    check([_get(r)[0] for _ in range(4)] == [200, 200, 500, 200], "after: two pass first")


def connections(r: Rig) -> None:
    for kind in ("cut-before", "cut-inside", "half-line"):
        r.debug("faults", {"kind": kind, "count": 1})
        check(_cut(r), f"{kind}: the answer came whole")
        check(not _cut(r), f"after {kind}")
    r.debug("faults", {"kind": "garbage", "count": 1})
    try:
        json.loads(_get(r)[2])
        raise Failed("garbage was JSON")
    except ValueError:
        pass
    r.debug("faults", {"kind": "hang", "count": 1})
    started = time.monotonic()
    try:
        _get(r, timeout=1)
        raise Failed("hang answered")
    except TimeoutError:
        check(time.monotonic() - started >= 0.9, "hang ended early")
    r.debug("faults", None, "DELETE")
    r.debug("faults", {"kind": "drip", "rate": 2000, "count": 1})
    started = time.monotonic()
    size = len(_get(r, "/version")[2])
    check(time.monotonic() - started > size / 2000 * 0.5, "drip was fast")


def objects(r: Rig) -> None:
    r.debug("faults", {"kind": "huge", "count": 1})
    check(len(_get(r)[2]) > 3 << 20, "huge is not huge")
    r.debug("faults", {"kind": "dupkeys", "count": 1})
    seen: list[list[str]] = []
    json.loads(_get(r)[2], object_pairs_hook=lambda p: seen.append([k for k, _ in p]))
    check(any(len(keys) != len(set(keys)) for keys in seen), "no key twice")
    check(any("NodeName" in keys and "nodeName" in keys for keys in seen), "no key in two cases")
    r.debug("faults", {"kind": "bigint", "count": 1})
    pod = json.loads(_get(r)[2])["items"][0]
    check(pod["metadata"]["generation"] > 2 ** 53, "bigint is small")


def watches(r: Rig) -> None:
    rv = json.loads(_get(r)[2])["metadata"]["resourceVersion"]
    r.debug("faults", {"kind": "stale", "match": "watch=1", "count": 1})
    code, _, body = _get(r, WATCH + rv)
    event = json.loads(body)
    check(code == 200 and event["type"] == "ERROR" and event["object"]["code"] == 410, "stale")
    r.debug("faults", {"kind": "stream-error", "code": 504, "match": "watch=1", "count": 1})
    event = json.loads(_get(r, WATCH + rv)[2])
    check(event["type"] == "ERROR" and event["object"]["code"] == 504, "stream-error")
    r.debug("bookmarks", {"seconds": 0.5})
    lines = _get(r, WATCH + rv + "&allowWatchBookmarks=true")[2].splitlines()
    check(lines and all(json.loads(x)["type"] == "BOOKMARK" for x in lines), "bookmarks")
    r.debug("bookmarks", {"seconds": 60})
    r.debug("faults", {"kind": "end-at-once", "match": "watch=1", "count": 1})
    started = time.monotonic()
    check(_get(r, WATCH + rv)[2] == b"" and time.monotonic() - started < 1, "end-at-once")
    r.debug("faults", {"kind": "silent", "match": "watch=1", "count": 1})
    check(_get(r, WATCH + "0")[2] == b"", "silent watch said something")
    r.debug("faults", {"kind": "half-line", "match": "watch=1", "count": 1})
    half = _get(r, WATCH + "0")[2]
    check(half and not half.endswith(b"\n"), "half-line ended its line")
    r.debug("faults", {"kind": "cut-inside", "match": "watch=1", "count": 1})
    check(_cut(r, WATCH + "0"), "cut-inside a watch")
    r.debug("compact", {})
    r.debug("restart", {})
    event = json.loads(_get(r, WATCH + "1")[2])
    check(event["object"]["reason"] == "Expired", "restart: an old watch goes on")
    check(_get(r, LIST + "&resourceVersion=1&resourceVersionMatch=Exact")[0] == 410, "410 by HTTP")


def identities(r: Rig) -> None:
    old = r.token("agent")
    r.debug("rotate", {"identity": "agent"})
    check(_get(r, token=old)[0] == 401, "the old token is still good")
    check(_get(r)[0] == 200, "the new token is not")
    for kind in ("expired", "wrong-host"):
        r.debug("certificate", {"kind": kind})
        try:
            _get(r)
            raise Failed(f"{kind}: no TLS error")
        except ssl.SSLCertVerificationError as e:
            wanted = "expired" if kind == "expired" else "match"
            check(wanted in str(e), f"{kind}: {e}")
    r.debug("certificate", {"kind": "good"})
    check(_get(r)[0] == 200, "the good certificate again")
    r.debug("listen", {"on": False})
    try:
        _get(r)
        raise Failed("the port still accepts connections")
    except ConnectionRefusedError:
        pass
    r.debug("listen", {"on": True})
    check(_get(r)[0] == 200, "listening again")
    r.debug("without", {"names": ["pods/resize"]})
    names = [x["name"] for x in json.loads(_get(r, "/api/v1")[2])["resources"]]
    check("pods" in names and "pods/resize" not in names, "discovery without pods/resize")
    check(r.ask("PATCH", "/api/v1/namespaces/default/pods/pod-0/resize", {})[0] == 404, "404")
    r.debug("without", {"names": []})


def counting(r: Rig) -> None:
    r.debug("log", None, "DELETE")
    for _ in range(3):
        _get(r)
    _get(r, token="wrong")
    rows = r.debug("log")
    check([x["status"] for x in rows] == [200, 200, 200, 401], f"log: {rows}")
    check({x["user_agent"] for x in rows} == {"rig/1"}, "user agents")
    check(rows[0]["identity"] == "system:serviceaccount:vscaled:vscaled", rows[0]["identity"])
    counted = r.debug("counters")
    check(counted["requests"] == 4 and counted["status"] == {"200": 3, "401": 1}, str(counted))


def storm(r: Rig) -> None:
    """Every event of a storm arrives, once and in order, while lists go on."""
    r.debug("pods", {"count": PODS, "prefix": "storm"})
    rv = json.loads(_get(r)[2])["metadata"]["resourceVersion"]
    revisions: list[int] = []

    def watch() -> None:
        connection = r.connect(60)
        connection.request("GET", LIST + f"&watch=1&timeoutSeconds=60&resourceVersion={rv}",
                           headers={"Authorization": f"Bearer {r.token('agent')}"})
        for line in connection.getresponse():
            revisions.append(int(json.loads(line)["object"]["metadata"]["resourceVersion"]))
            if len(revisions) == STORM:
                break
        connection.close()

    thread = threading.Thread(target=watch)
    thread.start()
    started = time.monotonic()
    done = r.debug("storm", {"count": STORM})
    thread.join(60)
    seconds = time.monotonic() - started
    check(len(revisions) == STORM, f"{len(revisions)} events of {STORM}")
    check(revisions == sorted(set(revisions)), "out of order or twice")
    check(len(json.loads(_get(r)[2])["items"]) >= PODS, "the list after the storm")
    print(f"storm: {STORM} changes made in {done['seconds']} s, all at the watcher after "
          f"{seconds:.2f} s, with {PODS} pods")


TESTS: list[Callable[[Rig], None]] = [answers, connections, objects, watches, identities,
                                      counting, storm]


def main() -> int:
    bad = 0
    with Rig() as r:
        r.debug("pods", {"count": 3})
        for test in TESTS:
            try:
                test(r)
                print(f"ok {test.__name__}")
            except (Failed, OSError, http.client.HTTPException, ValueError) as e:
                print(f"FAILED {test.__name__}: {type(e).__name__}: {e}")
                bad += 1
            r.debug("faults", None, "DELETE")
        check(r.process.poll() is None, "the server died")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
