# SPDX-License-Identifier: Apache-2.0
"""GET pods/NAME/log: a container's output as the node keeps it, FOLDER/POD/CONTAINER.log."""
from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Iterator

from .status import ApiError, bad_request
from .store import Store

LOOK_SEC = 0.2  # for more of a log that is followed


def path(folder: Path, pod: dict[str, Any], wanted: str) -> Path:
    """Of the container that is named, or of the only one."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    all_names = [c["name"] for c in spec.get("initContainers", []) + spec["containers"]]
    if not wanted and len(all_names) > 1:
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: "
                          f"[{' '.join(c['name'] for c in spec['containers'])}]")
    if wanted and wanted not in all_names:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    found = folder / name / f"{wanted or all_names[0]}.log"
    if not found.exists():
        raise bad_request(f'container "{wanted or all_names[0]}" in pod "{name}" is waiting to '
                          "start: ContainerCreating")
    return found


def lines(store: Store, key: tuple[str, str], file: Path, tail: int | None,
          follow: bool) -> Iterator[bytes]:
    """Its text, and with follow what comes until the pod is gone."""
    with file.open("rb") as f:
        text = f.read()
        if tail is not None:
            text = b"".join(text.splitlines(keepends=True)[max(len(text.splitlines()) - tail, 0):])
        yield text
        while follow and store.get("pods", key) is not None:
            text = f.read()
            yield text  # b"": the sender looks whether its client is there
            if not text:
                time.sleep(LOOK_SEC)


def answer(store: Store, folder: Path | None, key: tuple[str, str],
           query: dict[str, str]) -> Iterator[bytes]:
    pod = store.get("pods", key)
    if pod is None:
        raise ApiError(404, "NotFound", f'pods "{key[1]}" not found',
                       {"name": key[1], "kind": "pods"})
    assert folder and os.path.isabs(folder)
    tail = query.get("tailLines")
    return lines(store, key, path(folder, pod, query.get("container", "")),
                 int(tail) if tail else None, query.get("follow") in ("1", "true"))
