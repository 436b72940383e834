# SPDX-License-Identifier: Apache-2.0
"""commands.py CTL_USAGE VSCALED ROOT: every command that a document names is one that the program takes.
commands.py --list ROOT: prints these commands, each once; --list-others: those of kubectl and journalctl.

Looked for in docs, README, man pages, catalog, manifests, unit file and the hints of the program: in
code spans, code blocks and after a word such as "see:". vscalectl's are given to its own parser (the
program CTL_USAGE, which parses and does nothing), vscaled's to vscaled with --version, those of
kubectl vscaled to the script, with a kubectl that knows nothing.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = r"(?:kubectl vscaled|vscalectl|vscaled)"
OTHERS = r"(?:kubectl(?! vscaled)|journalctl)"


def begin(programs: str) -> re.Pattern[str]:
    """Where a command may begin."""
    return re.compile(rf"(?:^|[;|&(]|\s--\s|\bsudo |\$ |/|\bexec )\s*({programs}(?=\s|$))(.*)", re.S)


BEGIN = begin(PROGRAMS)
# Where it ends.
END = re.compile(r"\s*(?:[|;<>#&()]|…|\.\.\.|$)")
SPANS = {".md": r"`([^`]+)`", ".scd": r"\*([^*]+)\*", ".catalog": r"`([^`]+)`",
         ".c": r"`([^`\n]+)`|(?:see:|\bby|\bwith|\bit with) (vscalectl [^\"`;,)]+)"}
BLOCKS = {".md": r"^ *```[a-z]*\n(.*?)^ *```", ".scd": r"((?:^\t.+\n)+)"}
LINES = {".in": r"^Exec\w+=-?(.*)$", ".yaml": r"^\s*args: \[(.*)\]$|^# (.*)$|`([^`]+)`"}
SOURCES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/*.scd",
           "systemd/vscaled.catalog", "systemd/*.in", "agent/vscaled.yaml",
           "agent/deploy/**/*.yaml", "agent/**/*.c")

PLANTED = (
    ("x.catalog", "`vscalectl config dump` shows it"), ("x.md", "see `vscalectl\nlist --wide`"),
    ("x.md", "```\n$ sudo vscalectl restore --every\n```\n"), ("x.md", "`kubectl vscaled lift`"),
    ("x.md", "`kubectl -n vscaled exec x -- vscalectl explain`"), ("x.md", "`vscaled --socket x`"),
    ("x.scd", "*vscalectl\nrestart*"), ("x.scd", "\tvscalectl list -o json --force | jq .\n"),
    ("x.in", "ExecStopPost=-@BIN@/vscalectl raise\n"), ("x.c", '"see: vscalectl usage"'),
    ("x.yaml", "          args: [--configuration=/etc/x]\n"),
    ("x.md", "- x\n  ```\n  ls\n  vscalectl lift --all\n  ```\n"), ("x.md", "`vscalectl pause a b`"), ("x.md", "`kubectl vscaled list --all`"))


def texts(name: str, text: str) -> list[str]:
    """What is set as code in a text."""
    kind = Path(name).suffix
    out = []
    if kind in BLOCKS:
        for block in re.findall(BLOCKS[kind], text, re.M | re.S):
            out += block.splitlines()
        if kind == ".md":
            text = re.sub(BLOCKS[kind], "", text, flags=re.M | re.S)
    for pattern in filter(None, (SPANS.get(kind), LINES.get(kind))):
        for match in re.finditer(pattern, text, re.M):
            out.append(next(g for g in match.groups() if g is not None))
    if kind == ".yaml":
        out = [f"vscaled {t.replace(',', ' ')}" if t.startswith("--") else t for t in out]
    return out


def command(text: str, start: re.Pattern[str] = BEGIN) -> list[str] | None:
    """The words of the command in a piece of code; None: there is none."""
    match = start.search(" ".join(text.split()))
    if not match:
        return None
    rest = match.group(2)
    cut = END.search(rest)
    rest = rest[:cut.start()] if cut else rest
    # [NAME] may be left out or not; of --all|NAME the first.
    words = re.sub(r"[\[\]]", "", rest.split("|")[0]).split()
    if not words or re.match(r"[a-z]+:$", words[0]):  # its own name, or an output line
        return None
    return [*match.group(1).split(), *words]


class Programs:
    def __init__(self, usage: str, vscaled: str, root: Path, folder: Path) -> None:
        self.usage, self.vscaled = usage, vscaled
        self.plugin = root / "agent/ctl/kubectl-vscaled"
        program = folder / "kubectl"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        self.path = f"{folder}:{os.environ['PATH']}"

    def refuses(self, words: list[str]) -> str | None:
        if words[0] == "vscalectl":
            run = [self.usage, *words[1:]]
        elif words[0] == "vscaled":
            run = [self.vscaled, *words[1:], "--version"]
        else:
            run = [str(self.plugin), *words[2:]]
        done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=30,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, PATH=self.path))
        return done.stderr.strip() or "usage" if done.returncode == 2 else None


def show(root: Path, programs: str) -> int:
    start = begin(programs)
    files = [file for pattern in SOURCES for file in root.glob(pattern)]
    found = [command(text, start) for file in files for text in texts(file.name, file.read_text())]
    print("\n".join(sorted({" ".join(words) for words in found if words})))
    return 0


def main() -> int:
    if sys.argv[1] in ("--list", "--list-others"):
        return show(Path(sys.argv[2]), PROGRAMS if sys.argv[1] == "--list" else OTHERS)
    usage, vscaled, root = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        return check(Programs(usage, vscaled, root, Path(folder)), root)


def check(programs: Programs, root: Path) -> int:
    failed, seen = 0, 0
    for pattern in SOURCES:
        found = 0
        files = sorted(root.glob(pattern))
        for file in files:
            for text in texts(file.name, file.read_text()):
                words = command(text)
                if words is None:
                    continue
                found += 1
                why = programs.refuses(words)
                if why is not None:
                    print(f"{file.relative_to(root)}: {' '.join(words)}: {why}")
                    failed = 1
        if not files:
            print(f"{pattern}: no such file")
            failed = 1
        print(f"{pattern}: {found} commands")
        seen += found
    for name, text in PLANTED:
        got = [command(t) for t in texts(name, text)]
        if not any(words and programs.refuses(words) for words in got):
            print(f"not found: {text!r} in {name}: {got}")
            failed = 1
    if seen < 50:
        print(f"only {seen} commands were found")
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
