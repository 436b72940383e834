# SPDX-License-Identifier: Apache-2.0
"""Prints a Markdown page: each policy of `vscalectl backtest` over public and generated series.

usage: backtests.py [--vscalectl FILE] [--each] DIRECTORY
       backtests.py [--vscalectl FILE] --cost N
DIRECTORY has the public series; one that it lacks is downloaded into it. All are checked.
--cost: the CPU time of a week of 1 s samples of N containers, of the generated kinds in turn.
"""
import argparse
import hashlib
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import urllib.request

NAB = ("https://raw.githubusercontent.com/numenta/NAB/ad050ac981abfe48e7a63a8e0bb1cea8a6bbfc20"
       "/data/realAWSCloudwatch/")
AUTOTHROTTLE = ("https://raw.githubusercontent.com/microsoft/autothrottle/"
                "d237d7f3d765ee9ab67bcf4aeb626164a87c6bfa/traces/")
CPUS, SEED = 4, 1
# One request, on average: the rates become 1.1 and 0.6 cores.
REQUEST_CORE_SECONDS = 0.004
HOUR_SECONDS, DAY_SECONDS, MIB = 3600, 86400, 1 << 20
# File, address, SHA-256 of the values, one on each line.
PUBLIC = [
    ("ec2_cpu_utilization_24ae8d.csv", NAB, "dc43f9d9220382b3f932658de4e99de8c167a1328ed845dde068ce99ec21fba1"),
    ("ec2_cpu_utilization_53ea38.csv", NAB, "357614142b6ca4da30a06aa580d4791abf5a843f845048e79a8a29e6e323eca3"),
    ("ec2_cpu_utilization_5f5533.csv", NAB, "09f576b9329ef908c205c40120f1c674f81f8341c70ed9f0e04f66bcbc524c2e"),
    ("rds_cpu_utilization_cc0c53.csv", NAB, "ef56211cc9eb4c1ae57bc8bf8937c0157f3c687c98a5d4b5ef5340917cc6b566"),
    ("diurnal.txt", AUTOTHROTTLE, "2ae0240b02c44d42162db0dfb1691c216e79d9284639482d36a856ade19fcfea"),
    ("noisy.txt", AUTOTHROTTLE, "2b24a34a7fb9f710a5cfd6c279bbf46c1f08a36ad58bbcd5e7cd7ac35b3a1b9c"),
]
COLUMNS = ("policy", "limit core h", "throttled", "unmet core s", "changes", "given core h")
GOALS = {"vscaled-latency": 0.0001, "vscaled-balanced": 0.002, "vscaled-savings": 0.02}
MEMORY = ("policy", "limit GiB h", "OOM kills", "changes", "given GiB h")

HEAD = f"""# Backtests

What each policy of `vscalectl backtest FILE` would have cost ({CPUS} CPUs, seed {SEED}). The policies, the demand model and the columns: *BACKTESTS* in vscalectl(1).

* `ec2_*`, `rds_*`: CPU of servers, two weeks, a sample in 300 s (Numenta Anomaly Benchmark, MIT). `rate-*`: requests a second of Autothrottle's evaluation (MIT), an hour of them repeated for a day, {REQUEST_CORE_SECONDS * 1000:.0f} ms of a core each.
* `jvm-plateau`, `leak`, `batch`: a week generated with memory, a sample in 10 s.
* `vpa` is checked against recorded streams of VPA's own recommender: `test_vectors`.

`static-p100` and `static-p95` know the future. Goals, with a finer model and the queueing delay: docs/tuning.md.

Made by `python3 test/bench/backtests.py DIRECTORY`, in virtual time: the same figures on every machine. `--each` adds the tables of each series.
"""


def values_of(text):
    """The last column, without a header."""
    values = [line.rsplit(",", 1)[-1].strip() for line in text.splitlines() if line.strip()]
    return [value for value in values if value[0].isdigit()]


def read_public(directory, name, address, checksum):
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        print(f"downloading {address}{name}", file=sys.stderr)
        with urllib.request.urlopen(address + name, timeout=60) as answer, open(path, "wb") as f:
            f.write(answer.read())
    with open(path, encoding="utf-8") as f:
        text = f.read()
    values = values_of(text)
    if hashlib.sha256("\n".join(values).encode()).hexdigest() != checksum:
        sys.exit(f"{path}: these are not the values of {address}{name}; remove the file and start again")
    return text, values


def series_of_rate(values):
    """An hour of requests a second, a day long: some laws look back for hours."""
    rows = [f"{t},{int(values[t % len(values)]) * REQUEST_CORE_SECONDS:.3f}" for t in range(DAY_SECONDS)]
    return "time,cpu_cores\n" + "\n".join(rows) + "\n"


def plateau(hour, rng):
    """A service on a JVM: the heap fills after the start, then stays; the load follows the day."""
    cpu = 0.5 + 0.4 * math.sin(hour / 24 * 2 * math.pi) + rng.random() * 0.1
    return cpu, 1500 * (1 - math.exp(-hour)) + 100 + rng.random() * 20


def leak(hour, rng):
    """10 MiB an hour, and a new start when three days have passed."""
    return 0.2 + rng.random() * 0.05, 200 + hour % 72 * 10 + rng.random() * 5


def batch(hour, rng):
    """Works for a quarter of an hour every two hours."""
    busy = hour % 2 < 0.25
    return (1.8 if busy else 0.02) + rng.random() * 0.1, (900 if busy else 150) + rng.random() * 10


GENERATED = [("jvm-plateau", plateau), ("leak", leak), ("batch", batch)]


def series_of_law(law, seed=SEED, step=10):
    """A week of samples."""
    rng, rows = random.Random(seed), []
    for t in range(0, 7 * DAY_SECONDS, step):
        cpu, mib = law(t / HOUR_SECONDS, rng)
        rows.append(f"{t},{cpu:.3f},{int(mib * MIB)}")
    return "time,cpu_cores,memory_bytes\n" + "\n".join(rows) + "\n"


def write_series(source, target):
    """Yields file name and text of each series."""
    for name, address, checksum in PUBLIC:
        text, values = read_public(source, name, address, checksum)
        rate = name.endswith(".txt")
        yield os.path.join(target, "rate-" + name[:-4] if rate else name[:-4]), series_of_rate(values) if rate else text
    for name, law in GENERATED:
        yield os.path.join(target, name), series_of_law(law)


def row(cells):
    print("| " + " | ".join(cells) + " |")


def head(cells):
    row(cells)
    row(["---"] + ["---:"] * (len(cells) - 1))


def cpu_cells(name, x):
    return [name, f"{x['limit_core_seconds'] / HOUR_SECONDS:.1f}", f"{share_of(x):.3%}", f"{x['unmet_core_seconds']:,.1f}",
            f"{x['changes']:,}", f"{x['given_core_seconds'] / HOUR_SECONDS:.1f}"]


def memory_cells(name, x):
    gib_hour = HOUR_SECONDS * 1024 * MIB
    return [name, f"{x['limit_byte_seconds'] / gib_hour:.1f}", f"{x['oom_kills']:,}", f"{x['changes']:,}",
            f"{x['given_byte_seconds'] / gib_hour:.1f}"]


def share_of(cpu):
    return cpu["throttled_periods"] / cpu["periods"] if cpu["periods"] else 0


def misses(policies):
    """Of vscaled: goals that do not hold, and other policies that are better."""
    for ours in (p for p in policies if p["name"] in GOALS):
        cpu, goal = ours["cpu"], GOALS[ours["name"]]
        if share_of(cpu) > goal:
            yield f"`{ours['name']}` throttles {share_of(cpu):.4%} of the periods; its goal is {goal:.2%}."
        for policy in (p for p in policies if p["name"] not in GOALS):
            other = policy["cpu"]
            less = 1 - other["limit_core_seconds"] / cpu["limit_core_seconds"]
            if less > 0 and share_of(other) <= share_of(cpu) and other["unmet_core_seconds"] <= cpu["unmet_core_seconds"]:
                yield f"`{policy['name']}` has {less:.1%} less area than `{ours['name']}`."


def print_report(report):
    print(f"\n## {os.path.basename(report['file'])}\n")
    print(f"{report['samples']:,} samples, {report['span_seconds'] / HOUR_SECONDS:.0f} h, "
          f"demand {report['demand_core_seconds'] / HOUR_SECONDS:.1f} core h, "
          f"original limit {report['original_milli'] / 1000:.2f} cores.\n")
    head(COLUMNS)
    for policy in report["policies"]:
        row(cpu_cells(policy["name"], policy["cpu"]))
    if "memory" in report["policies"][0]:
        print()
        head(MEMORY)
        for policy in report["policies"]:
            row(memory_cells(policy["name"], policy["memory"]))


def mean_cells(runs):
    """Of one policy over the series; the ratio's mean is the geometric one."""
    cpu = [run["cpu"] for _, run in runs]
    ratio = [math.log(x["limit_core_seconds"] / report["demand_core_seconds"]) for (report, _), x in zip(runs, cpu)]
    days = [report["span_seconds"] / DAY_SECONDS for report, _ in runs]
    share = [x["throttled_periods"] / x["periods"] for x in cpu]
    kills = sum(run["memory"]["oom_kills"] for _, run in runs if "memory" in run)
    count = len(runs)
    return [runs[0][1]["name"], f"{math.exp(sum(ratio) / count):.2f}", f"{sum(share) / count:.3%}",
            f"{sum(x['changes'] / d for x, d in zip(cpu, days)) / count:,.0f}", f"{kills:,}"]


def print_means(reports):
    print("\n## All series\n\nMeans; OOM kills are the sum.\n")
    head(("policy", "limit area / demand", "throttled", "CPU changes a day", "OOM kills"))
    for i in range(len(reports[0]["policies"])):
        row(mean_cells([(report, report["policies"][i]) for report in reports]))


def print_misses(reports):
    print("\nWhere a policy has less area than vscaled at no more throttled periods and unmet demand, or a goal is missed:\n")
    for report in reports:
        for miss in misses(report["policies"]):
            print(f"* {os.path.basename(report['file'])}: {miss}")


def print_cost(vscalectl, count):
    with tempfile.NamedTemporaryFile("w") as f:
        for i in range(count):
            f.seek(0)
            f.write(series_of_law(GENERATED[i % len(GENERATED)][1], i, 1))
            f.truncate()
            f.flush()
            subprocess.run([vscalectl, "backtest", "--cpus", str(CPUS), f.name], check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{count} containers: {used.ru_utime + used.ru_stime:.1f} s of CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vscalectl", default="build/release/agent/vscalectl", help="(default: %(default)s)")
    parser.add_argument("--each", action="store_true", help="tables of each series, too")
    parser.add_argument("--cost", type=int, metavar="N", help="instead: the CPU time of N containers")
    parser.add_argument("directory", nargs="?", default=".", help="of the public series; what it lacks is downloaded into it")
    args = parser.parse_args()
    if args.cost:
        print_cost(args.vscalectl, args.cost)
        return
    with tempfile.TemporaryDirectory() as target:
        files = []
        for path, text in write_series(args.directory, target):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            files.append(path)
        command = [args.vscalectl, "backtest", "--cpus", str(CPUS), "--seed", str(SEED), "-o", "json", *files]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    print(HEAD, end="")
    reports = json.loads(answer)
    print_means(reports)
    print_misses(reports)
    for report in reports if args.each else []:
        print_report(report)


if __name__ == "__main__":
    main()
