# SPDX-License-Identifier: Apache-2.0
"""config_man.py PAGE.md >PAGE.scd: docs/configuration.md as the source of the man page vscaled.yaml(5).

The page is the only source of both. Of Markdown it has headings, paragraphs and list items of one
line, keys (- `key` (default, allowed): meaning), tables whose last column is the text, code blocks,
`code`, **bold** and [links](target). Anything else is an error.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

HEAD = """vscaled.yaml(5)

# NAME

vscaled.yaml - configuration of the vertical scaling daemon

# SYNOPSIS

_/etc/vscaled/vscaled.yaml_

# DESCRIPTION
"""
TAIL = """
# FILES

_/etc/vscaled/vscaled.yaml_
	The configuration.

# SEE ALSO

*vscaled*(8), *vscalectl*(1), *systemd.resource-control*(5)
"""


def inline(text: str) -> str:
    """Marks of Markdown to those of scdoc; _ and * of the text itself are escaped."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("**", "`")
    return re.sub(r"[_*\\]", r"\\\g<0>", text).replace("`", "*")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def row(names: list[str], values: list[str]) -> str:
    """The first cell is the term, the last one says what it means, those between follow it."""
    text = inline(values[-1])
    for name, value in list(zip(names, values))[-2:0:-1]:
        text += f" {name}: {inline(value)}."
    return f"\n*{inline(values[0].strip('`'))}*\n\t{text}\n"


def key(line: str) -> str:
    """An item of the reference: - `key` (default, allowed): meaning."""
    found = re.fullmatch(r"- `([^`]*)`(†?) \((.*?)\): (.*)", line)
    if not found:
        raise ValueError(f"no key: {line}")
    term, mark, allowed, text = found.groups()
    return f"\n*{inline(term)}*{mark}\n\t{inline(text)}. Default, allowed: {inline(allowed)}.\n"


def convert(lines: list[str]) -> str:
    out, names, code = [HEAD], [], False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            out.append("```\n" if code else "\n```\n")
            code = not code
        elif code:
            out.append(line + "\n")
        elif line.startswith("|"):
            if not names:
                names = cells(line)
            elif not line.startswith("|---"):
                if len(cells(line)) != len(names):
                    raise ValueError(f"line {number}: {len(cells(line))} cells, not {len(names)}")
                out.append(row(names, cells(line)))
            continue
        elif line.startswith("### "):
            out.append(f"\n## {line[4:].replace('`', '')}\n")
        elif line.startswith("## "):
            out.append(f"\n# {line[3:].upper()}\n")
        elif line.startswith("- `"):
            out.append(key(line))
        elif line.startswith(("* ", "- ")):
            out.append(f"\n- {inline(line[2:])}\n")
        elif line and not line.startswith(("<!--", "# ")):
            if not re.match(r"[A-Za-z`]", line):
                raise ValueError(f"line {number}: not understood: {line}")
            out.append(f"\n{inline(line)}\n")
        names = []
    return "".join(out) + TAIL


if __name__ == "__main__":
    sys.stdout.write(convert(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
