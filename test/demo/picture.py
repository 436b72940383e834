# SPDX-License-Identifier: Apache-2.0
"""picture.py "WHERE AND WHEN" <OUTPUT >SVG: draws the seconds that test/demo.sh printed.

CPU of the starved unit and memory of the oversized one: use, limit, and the original limit. A bar of
the output has 14 characters: use is drawn at the lower edge of its step.
"""
from __future__ import annotations

import re
import sys
from html import escape

STEPS, CPU_FULL, MEMORY_FULL = 14, 110, 270
BAR = r"\[(#*)[-| ]*\] +(\d+)"
SECOND = re.compile(rf"^ *(\d+)s  {BAR}%\s+{BAR}M\s+{BAR}%\s+{BAR}M\s*$")
VPA_FIRST_RAISE = "VPA's loop on such a unit: first raise after 827 s"  # docs/performance.md, reflex
LEFT, TOP, WIDTH, HEIGHT, PANEL = 46, 52, 310, 160, 390


def panel(x: int, title: str, unit: str, full: int, first: int, rows: list[tuple[int, int]],
          note: str) -> list[str]:
    """One diagram: rows are (use in steps, limit) of each second, first is the original limit."""
    def up(value: float) -> float:
        return round(TOP + HEIGHT * (1 - value / full), 1)

    step = WIDTH / len(rows)
    left = x + LEFT
    out = [f'<text x="{left}" y="{TOP - 26}" class="t">{escape(title)}</text>']
    for value in range(0, full, 50):
        out.append(f'<path class="g" d="M{left} {up(value)}h{WIDTH}"/>'
                   f'<text x="{left - 6}" y="{up(value) + 4}" class="e">{value}{unit}</text>')
    for second in range(0, len(rows) + 1, 5):
        out.append(f'<text x="{left + second * step:.1f}" y="{TOP + HEIGHT + 16}" class="m">{second} s</text>')
    for i, (used, _) in enumerate(rows):
        top = up(used * full / STEPS)
        if used > 0:
            out.append(f'<rect class="u" x="{left + i * step + 1:.1f}" y="{top}" '
                       f'width="{step - 2:.1f}" height="{TOP + HEIGHT - top:.1f}"/>')
    path = f"M{left} {up(first)}"
    for i, (_, limit) in enumerate(rows):
        path += f"H{left + (i + 1) * step - step / 2:.1f}V{up(limit)}"
    out.append(f'<path class="l" d="{path}H{left + WIDTH}"/>')
    out.append(f'<path class="o" d="M{left} {up(first)}h{WIDTH}"/>')
    below = 14 if first < full / 2 else -6
    out.append(f'<text x="{left + WIDTH}" y="{up(first) + below}" class="e">{escape(note)}</text>')
    return out


def main() -> int:
    rows = [tuple(len(g) if set(g) <= {"#"} else int(g) for g in m.groups()[1:])
            for m in map(SECOND.match, sys.stdin) if m]
    text = sys.argv[1] if len(sys.argv) == 2 else ""
    if len(rows) < 5 or not text:
        print(__doc__, file=sys.stderr)
        return 2
    cpu = [(r[0], r[1]) for r in rows]
    memory = [(r[6], r[7]) for r in rows]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * PANEL} 258" role="img">',
           '<!-- SPDX-License-Identifier: Apache-2.0; made by test/demo/picture.py -->',
           f'<title>{escape("Use and limit in the demonstration")}</title>',
           '<style>text{font:11px sans-serif;fill:#333}.t{font-weight:bold;font-size:13px}'
           '.e{text-anchor:end}.m{text-anchor:middle}.g{stroke:#ddd}.u{fill:#9ec5e8}'
           '.l{stroke:#c0392b;stroke-width:2.5;fill:none}'
           '.o{stroke:#666;stroke-dasharray:5 4;fill:none}</style>',
           '<rect width="100%" height="100%" fill="#fff"/>',
           *panel(0, "CPU: wants 80 %, limited to 20 %", "%", CPU_FULL, 20, cpu, VPA_FIRST_RAISE),
           *panel(PANEL, "Memory: needs 60 MiB, limited to 256 MiB", "M", MEMORY_FULL, 256, memory,
                  "original limit"),
           f'<rect class="u" x="{LEFT}" y="238" width="14" height="9"/>'
           f'<text x="{LEFT + 20}" y="247">in use</text>'
           f'<path class="l" d="M{LEFT + 70} 243h18"/><text x="{LEFT + 94}" y="247">limit</text>'
           f'<path class="o" d="M{LEFT + 134} 243h18"/>'
           f'<text x="{LEFT + 158}" y="247">original limit</text>'
           f'<text x="{2 * PANEL - 34}" y="247" class="e">{escape(text)}</text>', '</svg>']
    print("\n".join(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
