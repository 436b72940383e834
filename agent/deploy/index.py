# SPDX-License-Identifier: Apache-2.0
"""index.py LAYOUT TAG: the images of an OCI layout, each tagged by its architecture, become one image TAG."""
import hashlib
import json
import pathlib
import sys

INDEX = "application/vnd.oci.image.index.v1+json"
NAME = "org.opencontainers.image.ref.name"


def main():
    layout, tag = pathlib.Path(sys.argv[1]), sys.argv[2]
    index = json.loads((layout / "index.json").read_text())
    images = sorted(index["manifests"], key=lambda image: image["annotations"][NAME])
    for image in images:
        image["platform"] = {"architecture": image.pop("annotations")[NAME], "os": "linux"}
    if len(images) > 1:
        text = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": images}).encode()
        digest = hashlib.sha256(text).hexdigest()
        (layout / "blobs/sha256" / digest).write_bytes(text)
        images = [{"mediaType": INDEX, "digest": f"sha256:{digest}", "size": len(text)}]
    index["manifests"] = [{**images[0], "annotations": {NAME: tag}}]
    (layout / "index.json").write_text(json.dumps(index))


main()
