# SPDX-License-Identifier: Apache-2.0
"""spdx.py NAME VERSION REVISION CREATED: SPDX 2.3 as JSON of an image with the program NAME. Standard
input: a line for each Debian package, its name, version, architecture, source package and SHA-256."""
import json
import sys


def package(spdx_id, name, version, **more):
    return {"SPDXID": spdx_id, "name": name, "versionInfo": version, "filesAnalyzed": False,
            "downloadLocation": "NOASSERTION", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **more}


def debian(line):
    name, version, arch, source, digest = line.split()
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={arch}"
    return package(f"SPDXRef-deb-{name.replace('+', '-')}", name, version,
                   supplier="Organization: Debian", sourceInfo=f"built from {source}",
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}],
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": purl}])


def main():
    name, version, revision, created = sys.argv[1:]
    own = package(f"SPDXRef-{name}", name, version, licenseConcluded="Apache-2.0",
                  licenseDeclared="Apache-2.0", sourceInfo=f"commit {revision}")
    packages = sorted((debian(line) for line in sys.stdin), key=lambda p: p["name"])
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://vscaled.dev/spdx/{name}-{version}-{revision}",
        "creationInfo": {"created": created, "creators": [f"Organization: {name} authors"]},
        "packages": [own, *packages],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": own["SPDXID"]},
            *({"spdxElementId": own["SPDXID"], "relationshipType": "DEPENDS_ON",
               "relatedSpdxElement": p["SPDXID"]} for p in packages)],
    }, sys.stdout, indent=1)
    print()


main()
