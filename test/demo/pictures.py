# SPDX-License-Identifier: Apache-2.0
"""pictures.py make|check VSCALE_BACKTEST BENCH_REFLEX [OUT]: the pictures of the documents.

make OUT: keeps what a run of test/demo.sh left in OUT (docs/pictures/run.txt). make and check
compute all pictures from these, from the programs of the build and from the figures of the documents: demo.svg and
its description in README.md, the blocks of docs/pictures.md, backtest.svg, burst.svg, tuning.svg. check only compares,
and fails if the run is of another version of vscaled.
"""
from __future__ import annotations

import datetime
import math
import random
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS, PICTURES = ROOT / "docs", ROOT / "docs/pictures"
sys.path.insert(0, str(ROOT / "test/bench"))
import goals_table  # noqa: E402

STEPS, CPU_FULL, MEMORY_FULL = 14, 130, 270
BAR = r"\[(#*)[-| ]*\] +(\d+)"
SECOND = re.compile(rf"^ *(\d+)s  {BAR}%\s+{BAR}M\s+{BAR}%\s+{BAR}M\s*$")
LEFT, TOP, WIDTH, HEIGHT, PANEL = 46, 52, 310, 160, 390
CHARTS = ["vscaled-balanced", "vpa"]
SPDX = "<!-- SPDX-License-Identifier: Apache-2.0; made by test/demo/pictures.py -->"


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


def seconds(run: str) -> list[tuple[int, ...]]:
    """Of each second: use in steps and limit of the starved unit's CPU, its memory, the other's CPU, its memory."""
    rows = [tuple(len(g) if set(g) <= {"#"} else int(g) for g in m.groups()[1:])
            for m in map(SECOND.match, run.splitlines()) if m]
    if len(rows) < 20:
        raise SystemExit(f"pictures: only {len(rows)} seconds in the run")
    return rows


def demo(run: str) -> str:
    """CPU of the starved unit and memory of the oversized one: use, limit, and the original limit."""
    rows = seconds(run)
    vpa = re.search(r"^\| VPA, \d+ \| ([\d,]+ s) ", (DOCS / "performance.md").read_text(), re.M)
    if not vpa:
        raise SystemExit("pictures: docs/performance.md has no row of VPA")
    note = f"VPA's loop on such a unit: first raise after {vpa[1]}"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * PANEL} 258" role="img">', SPDX,
           f'<title>{escape("Use and limit in the demonstration")}</title>',
           '<style>text{font:11px sans-serif;fill:#333}.t{font-weight:bold;font-size:13px}'
           '.e{text-anchor:end}.m{text-anchor:middle}.g{stroke:#ddd}.u{fill:#9ec5e8}'
           '.l{stroke:#c0392b;stroke-width:2.5;fill:none}'
           '.o{stroke:#666;stroke-dasharray:5 4;fill:none}</style>',
           '<rect width="100%" height="100%" fill="#fff"/>',
           *panel(0, "CPU: wants 80 %, limited to 20 %", "%", CPU_FULL, 20, [(r[0], r[1]) for r in rows], note),
           *panel(PANEL, "Memory: needs 60 MiB, limited to 256 MiB", "M", MEMORY_FULL, 256,
                  [(r[6], r[7]) for r in rows], "original limit"),
           f'<rect class="u" x="{LEFT}" y="238" width="14" height="9"/>'
           f'<text x="{LEFT + 20}" y="247">in use</text>'
           f'<path class="l" d="M{LEFT + 70} 243h18"/><text x="{LEFT + 94}" y="247">limit</text>'
           f'<path class="o" d="M{LEFT + 134} 243h18"/>'
           f'<text x="{LEFT + 158}" y="247">original limit</text>'
           f'<text x="{2 * PANEL - 34}" y="247" class="e">{escape(run.splitlines()[0])}</text>', '</svg>']
    return "\n".join(out) + "\n"


def described(run: str) -> str:
    """The description of demo.svg for who does not see it."""
    rows = seconds(run)
    reached = next(i for i, r in enumerate(rows, 1) if r[1] >= 80)
    return (f"![CPU: the limit rises from 20 % to {rows[reached - 1][1]} % within {reached} s. Memory: the limit falls "
            f"from 256 to {rows[-1][7]} MiB in {len(rows)} s.](docs/demo.svg)")


def section(run: str, title: str) -> str:
    """What the run printed below a title."""
    found = re.search(rf"^=== {re.escape(title)}\n(.*?)\n*(?=^===|\Z)", run, re.M | re.S)
    if not found:
        raise SystemExit(f"pictures: the run has no {title}")
    return found[1] + "\n"


def between(text: str, name: str, block: str) -> str:
    mark = rf"(<!-- {name} -->\n)(.*?)(<!-- end of {name} -->)"
    if not re.search(mark, text, re.S):
        raise SystemExit(f"pictures: docs/pictures.md has no {name}")
    return re.sub(mark, lambda m: f"{m[1]}```text\n{block}```\n{m[3]}", text, flags=re.S)


def charts(page: str, style: str, titles: list[str]) -> str:
    """The charts of a page with these titles (none: all), one below the other, as one SVG, in the light colours that
    the page `style` has."""
    colours = dict(re.findall(r"--(\w+): (#\w+)", style.split("@media")[0]))
    found = re.findall(r'<h3>([^<]*)</h3>\n<svg viewBox="0 0 (\d+) (\d+)" role="img">(.*?)</svg>', page, re.S)
    chosen = [f for f in found if not titles or f[0] in titles]
    if not chosen or len(chosen) < len(titles):
        raise SystemExit(f"pictures: the page has no chart {titles}: {[f[0] for f in found]}")
    width, height = int(chosen[0][1]), int(chosen[0][2]) + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height * len(chosen)}" role="img" '
           'font-family="sans-serif" font-size="11" fill="var(--text)">', SPDX,
           '<rect width="100%" height="100%" fill="var(--back)"/>']
    for i, (title, _, _, body) in enumerate(chosen):
        body = re.sub(r"<title>.*?</title>\n?", "", body, flags=re.S)
        out += [f'<g transform="translate(0 {i * height + 20})">',
                f'<text x="0" y="-4" font-weight="bold">{title}</text>', body.strip(), "</g>"]
    return re.sub(r"var\(--(\w+)\)", lambda m: colours[m[1]], "\n".join([*out, "</svg>"]) + "\n")


def burst(bench_reflex: str) -> str:
    """Limits of four laws after one step of demand, from 10 ms to a day, on a logarithmic scale."""
    laws = {"events": ("vscaled, throttle events", "#c0392b"), "reflex": ("vscaled, polling", "#d68910"),
            "autothrottle": ("Captain", "#2471a3"), "vpa": ("VPA", "#555")}
    left, right, top, bottom, full = 56, 740, 16, 216, 2000

    def across(ms: float) -> float:
        return round(left + (right - left) * (math.log10(ms) - 1) / 7, 1)

    def up(milli: float) -> float:
        return round(bottom - (bottom - top) * milli / full, 1)

    printed = subprocess.run([bench_reflex, "burst"], check=True, capture_output=True, text=True, timeout=100).stdout
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 20} {bottom + 46}" role="img">', SPDX,
           '<title>Limits after a step of demand from 0 to 800m under a limit of 100m</title>',
           '<style>text{font:11px sans-serif;fill:#333}.e{text-anchor:end}.m{text-anchor:middle}'
           '.g{stroke:#ddd}.o{stroke:#666;stroke-dasharray:5 4}</style>',
           '<rect width="100%" height="100%" fill="#fff"/>']
    for milli in range(0, full + 1, 400):
        out.append(f'<path class="g" d="M{left} {up(milli)}H{right}"/>'
                   f'<text class="e" x="{left - 6}" y="{up(milli) + 4}">{milli}m</text>')
    for i, name in enumerate(["10 ms", "100 ms", "1 s", "10 s", "100 s", "17 min", "2.8 h", "28 h"], 1):
        out.append(f'<text class="m" x="{across(10 ** i)}" y="{bottom + 16}">{name}</text>')
    out.append(f'<path class="o" d="M{left} {up(800)}H{right}"/>')
    for i, (law, (name, colour)) in enumerate(laws.items()):
        path = f"M{left} {up(100)}"
        for row in printed.splitlines():
            of, ms, milli = row.split()
            if of == law:
                path += f"H{across(float(ms))}V{up(float(milli))}"
        out.append(f'<path d="{path}H{right}" fill="none" stroke="{colour}" stroke-width="2"/>'
                   f'<path d="M{left + i * 170} {bottom + 34}h18" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{left + i * 170 + 24}" y="{bottom + 38}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def series() -> str:
    """Three days of a load that follows the day and doubles on the third, a sample in 5 min."""
    rng = random.Random(1)
    out = ["time,cpu_cores"]
    for i in range(3 * 288):
        cores = (0.55 - 0.35 * math.cos(i / 288 * 2 * math.pi)) * (2 if i >= 2 * 288 else 1)
        out.append(f"{i * 300},{cores * (0.9 + 0.2 * rng.random()):.3f}")
    return "\n".join(out) + "\n"


def made(backtest: str, bench_reflex: str) -> dict[Path, str]:
    """Every picture and page as it has to be, from what is kept."""
    run = (PICTURES / "run.txt").read_text()
    readme, page = (ROOT / "README.md").read_text(), (DOCS / "pictures.md").read_text()
    page = between(page, "top", section(run, "vscalectl top"))
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(series())
        file.flush()
        html = subprocess.run([backtest, "--cpus", "4", "-o", "html", file.name], check=True, capture_output=True,
                              text=True, timeout=100).stdout
    goals = PICTURES / "goals.txt"
    return {DOCS / "demo.svg": demo(run),
            ROOT / "README.md": re.sub(r"!\[[^]]*\]\(docs/demo\.svg\)", lambda _: described(run), readme),
            DOCS / "pictures.md": page,
            PICTURES / "backtest.svg": charts(html, html, CHARTS),
            PICTURES / "burst.svg": burst(bench_reflex),
            DOCS / "tuning.svg": goals_table.plot(goals_table.read_table(goals.read_text())),
            PICTURES / "history.svg": charts(section(run, "vscalectl history"), html, [])}


def keep(out: Path) -> None:
    """Keeps the parts of a run that pictures are made of."""
    log = (out / "log").read_text().replace("\r", "")
    begin = log.index("=== vscaled")
    head = re.search(r"^demo: (.*)$", log, re.M)
    if not head:
        raise SystemExit("pictures: the run does not say which systemd and kernel it had")
    today = datetime.datetime.now(datetime.timezone.utc).date()
    lines = [f"test/demo.sh, {head[1]}, emulated, {today}", ""]
    lines += [line for line in log[begin:].splitlines() if SECOND.match(line)]
    lines += ["", "=== vscalectl top", section(log, "vscalectl top")]
    page = (out / "out/history.html").read_text()
    lines += ["=== vscalectl history", page[page.index("<h3>"):page.index("</body>")]]
    (PICTURES / "run.txt").write_text("\n".join(lines))


def main() -> int:
    if len(sys.argv) < 4 or sys.argv[1] not in ("make", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "make" and len(sys.argv) == 5:
        keep(Path(sys.argv[4]))
    files = made(*sys.argv[2:4])
    if sys.argv[1] == "make":
        for file, text in files.items():
            file.write_text(text)
    stale = [file for file, text in files.items() if not file.exists() or file.read_text() != text]
    version = subprocess.run([sys.argv[2], "--version"], check=True, capture_output=True, text=True,
                             timeout=10).stdout.split()[1]
    head = (PICTURES / "run.txt").read_text().splitlines()[0]
    if f"vscaled {version}," not in head:
        print(f"docs/pictures/run.txt is not of vscaled {version}: {head}")
        stale.append(PICTURES / "run.txt")
    for file in stale:
        print(f"{file.relative_to(ROOT)}: stale. test/demo.sh --pictures makes all; without a run: "
              f"python3 test/demo/pictures.py make VSCALE_BACKTEST BENCH_REFLEX")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
