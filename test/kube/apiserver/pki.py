# SPDX-License-Identifier: Apache-2.0
"""Certificates by the openssl command, and the files a client is given."""
from __future__ import annotations

import os
import ssl
import subprocess
from pathlib import Path

SERVING = """basicConstraints=CA:FALSE
keyUsage=digitalSignature,keyEncipherment
extendedKeyUsage=serverAuth
subjectAltName={names}
"""
NAMES = ("IP:127.0.0.1,IP:::1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,"
         "DNS:kubernetes.default.svc")
KINDS = {"good": ("good", NAMES, ["-days", "3650"]),
         "wrong-host": ("wrong-host", "DNS:elsewhere.example", ["-days", "3650"]),
         "expired": ("expired", NAMES, [])}


def _openssl(*args: str, cwd: Path) -> None:
    done = subprocess.run(["openssl", *args], cwd=cwd, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {args[0]}: {done.stderr.strip()}")


class Authority:
    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder = folder / "pki"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.names = ",".join([NAMES] + names)
        if not (self.folder / "ca.crt").exists():
            self._authority("ca")

    def _authority(self, name: str) -> None:
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt", "-days", "3650",
                 "-subj", "/CN=test-ca", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                 cwd=self.folder)

    def serving(self, kind: str) -> ssl.SSLContext:
        """A TLS context with a good, expired or foreign certificate, made when first asked."""
        name, alt, days = KINDS[kind]
        if kind != "wrong-host":
            alt = self.names
        if not (self.folder / f"{name}.crt").exists():
            (self.folder / f"{name}.ext").write_text(SERVING.format(names=alt))
            _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                     "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                     "/CN=kube-apiserver", cwd=self.folder)
            if kind == "expired":
                self._expired(name)
            else:
                _openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey",
                         "ca.key", "-CAcreateserial", "-out", f"{name}.crt", "-extfile",
                         f"{name}.ext", *days, cwd=self.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _expired(self, name: str) -> None:
        """x509 -days takes no past dates everywhere; ca does."""
        (self.folder / "ca.cnf").write_text(
            "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=serial.txt\nnew_certs_dir=.\n"
            "default_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n")
        (self.folder / "index.txt").touch()
        (self.folder / "serial.txt").write_text("1000\n")
        _openssl("ca", "-batch", "-config", "ca.cnf", "-in", f"{name}.csr", "-cert", "ca.crt",
                 "-keyfile", "ca.key", "-out", f"{name}.crt", "-startdate", "20200101000000Z",
                 "-enddate", "20200102000000Z", "-extfile", f"{name}.ext", "-notext",
                 cwd=self.folder)


def replace(path: Path, text: str) -> None:
    """As the kubelet renews a token: a reader sees the old or the new one, never half."""
    temporary = path.with_name(path.name + ".new")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
              encoding="utf-8") as out:
        out.write(text)
    os.replace(temporary, path)


def kubeconfig(url: str, ca: Path | None, token_file: Path) -> str:
    trust = f"\n    certificate-authority: {ca}" if ca else ""
    return f"""apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: {url}{trust}
users:
- name: user
  user:
    tokenFile: {token_file}
contexts:
- name: test
  context:
    cluster: test
    user: user
current-context: test
"""
