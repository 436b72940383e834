# SPDX-License-Identifier: Apache-2.0
"""A pod's volumes as folders on the node: hostPath, emptyDir, configMap, projected."""
from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

from .api import Refused

if TYPE_CHECKING:
    from .kubelet import Kubelet

# hostPath.type: what must be there, and whether it is made. "" asks for nothing.
HOST_TYPES = {"Directory": (stat.S_ISDIR, "a directory"), "File": (stat.S_ISREG, "a file"),
              "Socket": (stat.S_ISSOCK, "a socket file"),
              "CharDevice": (stat.S_ISCHR, "a character device"),
              "BlockDevice": (stat.S_ISBLK, "a block device")}


def host_path(source: dict) -> str:
    """The path on the node, checked as the kubelet does. It is bound as it is then: of a file the
    inode, which stays when another file takes its name; of a folder whatever comes to be in it."""
    path, kind = source["path"], source.get("type") or ""
    if kind == "DirectoryOrCreate":
        os.makedirs(path, mode=0o755, exist_ok=True)
    elif kind == "FileOrCreate" and not os.path.exists(path):
        with open(path, "w", encoding="utf-8"):
            pass
    if kind:
        test, name = HOST_TYPES[kind.removesuffix("OrCreate")]
        if not os.path.exists(path) or not test(os.stat(path).st_mode):
            raise RuntimeError(f"hostPath type check failed: {path} is not {name}")
    return path


ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class Volumes:
    """sources: volume name -> path on the node."""

    def __init__(self, kubelet: Kubelet, pod: dict):
        self.kubelet, self.pod = kubelet, pod
        self.folder = f"{kubelet.options.root}/pods/{pod['metadata']['uid']}/volumes"
        self.sources = {v["name"]: self._make(v) for v in pod["spec"].get("volumes", [])}

    def remove(self) -> None:
        shutil.rmtree(os.path.dirname(self.folder), ignore_errors=True)

    def _make(self, volume: dict) -> str:
        if "hostPath" in volume:
            return host_path(volume["hostPath"])
        folder = f"{self.folder}/{volume['name']}"
        os.makedirs(folder, exist_ok=True)
        if "configMap" in volume:
            self._publish(folder, self._config_map(volume["configMap"]["name"]))
        elif "projected" in volume:
            files: dict[str, str] = {}
            for source in volume["projected"]["sources"]:
                files.update(self._projected(source))
            self._publish(folder, files)
        return folder

    def _config_map(self, name: str) -> dict[str, str]:
        namespace = self.pod["metadata"]["namespace"]
        if name == "kube-root-ca.crt":  # a controller's work, which there is not
            return {"ca.crt": self.kubelet.ca}
        try:
            return self.kubelet.api.request(
                "GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}").get("data", {})
        except Refused as e:
            print(f"config map {name}: {e}", flush=True)
            return {}

    def _projected(self, source: dict) -> dict[str, str]:
        meta, spec = self.pod["metadata"], self.pod["spec"]
        if "serviceAccountToken" in source:
            desired = source["serviceAccountToken"]
            account = spec.get("serviceAccountName", "default")
            answer = self.kubelet.api.request(
                "POST", f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{account}/token",
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                 "spec": {"expirationSeconds": desired.get("expirationSeconds", 3600),
                          "audiences": [desired["audience"]] if "audience" in desired else [],
                          "boundObjectRef": {"kind": "Pod", "apiVersion": "v1",
                                             "name": meta["name"], "uid": meta["uid"]}}})
            return {desired["path"]: answer["status"]["token"]}
        if "configMap" in source:
            data = self._config_map(source["configMap"]["name"])
            return {i["path"]: data[i["key"]] for i in source["configMap"].get("items", [])
                    if i["key"] in data}
        return {i["path"]: meta["namespace"] for i in source.get("downwardAPI", {}).get("items", [])
                if i["fieldRef"]["fieldPath"] == "metadata.namespace"}

    @staticmethod
    def _publish(folder: str, files: dict[str, str]) -> None:
        """As the kubelet does: a folder, the link ..data to it, links to the files in there."""
        shutil.rmtree(folder)
        os.makedirs(f"{folder}/..1")
        for name, text in files.items():
            with open(f"{folder}/..1/{name}", "w", encoding="utf-8") as f:
                f.write(text)
            os.symlink(f"..data/{name}", f"{folder}/{name}")
        os.symlink("..1", f"{folder}/..data")
