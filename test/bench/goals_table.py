# SPDX-License-Identifier: Apache-2.0
"""Figures of bench_goals as tables. That of the means is docs/pictures/goals.txt, from which
test/demo/pictures.py makes the plot of docs/tuning.md.

usage: goals_table.py FIGURES.json
FIGURES.json is of bench_goals FILE.csv=MEAN..., the series of backtests.py in its order (rates get a header line) with
means of 0.1, 0.5, 1.5, 0.8, 1 and 0.4 cores, or of bench_goals --seeds 20.
Prints a Markdown table per load and of the means, and below each which policies are better than a goal: less area at
the same or fewer throttled periods and late seconds. Last each goal's area over that of a Captain with as many of both:
between its targets, or with the least target where that has more of one, as Captains are not measured beyond it.
"""
import json
import math
import statistics
import sys

COLUMNS = [("slack", "slack"), ("throttled", "throttled %"), ("late", "late s/h"), ("changes", "changes a day")]
OURS = ("latency", "balanced", "savings")
COLOURS = {True: "#1f77b4", False: "#7f7f7f"}


def read(path):
    rows = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            figure = json.loads(line)
            _, load, seed, policy, name = figure["name"].split("/")
            rows.setdefault((load, seed), {}).setdefault(policy, {})[name] = figure["value"]
    # A run that was cut short has loads without all policies.
    most = max(len(policies) for policies in rows.values())
    return {key: policies for key, policies in rows.items() if len(policies) == most}


def mean(rows, policy):
    """Geometric over slack, which is a ratio; else arithmetic."""
    found = [policies[policy] for policies in rows.values()]
    ret = {name: sum(f[name] for f in found) / len(found) for name, _ in COLUMNS}
    ret["slack"] = math.exp(sum(math.log(f["slack"]) for f in found) / len(found))
    return ret


def table(title, policies):
    print(f"| {title} | " + " | ".join(text for _, text in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for policy, figures in policies.items():
        print(f"| {policy} | {figures['slack']:.2f} | {figures['throttled']:.3f} | "
              f"{figures['late']:.2f} | {figures['changes']:,.0f} |")
    print()
    for goal, policy, less in better(policies):
        print(f"* {policy} has {less:.1%} less area than {goal}.")
    print()


def better(policies):
    """Yields goal, policy and the share of the goal's area that the policy does without."""
    for goal in OURS:
        ours = policies[goal]
        for policy, figures in policies.items():
            if policy not in OURS and figures["slack"] < ours["slack"] and all(
                    figures[name] <= ours[name] for name in ("throttled", "late")):
                yield goal, policy, 1 - figures["slack"] / ours["slack"]


def captain_slack(policies, figures):
    """The least slack of a Captain, between two targets in steps of a hundredth, that throttles no more and is no later."""
    captains = sorted((p for name, p in policies.items() if name.startswith("captain")), key=lambda p: -p["slack"])
    best = captains[0]["slack"]
    for strict, loose in zip(captains, captains[1:]):
        for share in (i / 100 for i in range(101)):
            between = {name: strict[name] + (loose[name] - strict[name]) * share for name in ("slack", "throttled", "late")}
            if all(between[name] <= figures[name] for name in ("throttled", "late")):
                best = min(best, between["slack"])
    return best


def print_captains(rows):
    for goal in OURS:
        ratio = sorted((p[goal]["slack"] / captain_slack(p, p[goal]), key) for key, p in rows.items())
        late = [p[goal]["late"] for p in rows.values()]
        worst, (load, seed) = ratio[-1]
        print(f"* {goal}: area over Captain's median {statistics.median(r for r, _ in ratio):.2f}, worst {worst:.2f} ({load}, seed {seed}); "
              f"late seconds an hour mean {statistics.mean(late):.2f}, worst {max(late):.2f}.")


def read_table(text):
    """The policies of a table that was printed."""
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: {name: float(value.replace(",", "")) for (name, _), value in zip(COLUMNS, row[1:])}
            for row in cells[1:]}


def plot(policies):
    """Slack over throttled periods, logarithmic; to the lower left is better."""
    width, height, left, bottom = 640, 400, 60, 50
    low, high = -3.0, 2.0
    top = max(f["slack"] for f in policies.values()) * 1.1

    def x_of(percent):
        return left + (math.log10(max(percent, 10 ** low)) - low) / (high - low) * (width - left - 90)

    def y_of(slack):
        return height - bottom - slack / top * (height - bottom - 20)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
           'font-family="sans-serif" font-size="12"><title>Limit area against throttled periods</title>',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for power in range(int(low), int(high) + 1):
        x = x_of(10.0 ** power)
        out.append(f'<path d="M{x:.1f} 20V{height - bottom}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{10.0 ** power:g} %</text>')
    for slack in range(0, int(top) + 1):
        out.append(f'<path d="M{left} {y_of(slack):.1f}H{width - 90}" stroke="#eee"/>'
                   f'<text x="{left - 8}" y="{y_of(slack) + 4:.1f}" text-anchor="end">{slack}</text>')
    out.append(f'<text x="{(width - 30) / 2}" y="{height - 8}" text-anchor="middle">throttled periods</text>'
               f'<text x="14" y="{height / 2}" transform="rotate(-90 14 {height / 2})" '
               'text-anchor="middle">limit area / demand</text>')
    line = " ".join(f"{x_of(policies[p]['throttled']):.1f},{y_of(policies[p]['slack']):.1f}" for p in OURS)
    out.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[True]}"/>')
    for policy, figures in policies.items():
        x, y = x_of(figures["throttled"]), y_of(figures["slack"])
        colour, left_of = COLOURS[policy in OURS], policy.startswith("captain")
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
                   f'<text x="{x - 7 if left_of else x + 7:.1f}" y="{y + 14 if left_of else y + 4 if policy in OURS else y - 7:.1f}" '
                   f'text-anchor="{"end" if left_of else "start"}" fill="{colour}">{policy}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    args = sys.argv[1:]
    if len(args) != 1 or args[0].startswith("-"):
        sys.exit(__doc__)
    rows = read(args[0])
    names = list(next(iter(rows.values())))
    loads = list(dict.fromkeys(load for load, _ in rows))
    for load in loads:
        own = {key: policies for key, policies in rows.items() if key[0] == load}
        table(f"{load}, {len(own)} runs" if len(own) > 1 else load, {p: mean(own, p) for p in names})
    means = {p: mean(rows, p) for p in names}
    table(f"mean of {len(rows)} runs", means)
    print_captains(rows)


if __name__ == "__main__":
    main()
