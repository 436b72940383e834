# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of test/mutants.txt one at a time, and says which of their tests catch each.

usage: mutants.py [--check] [--all] [--jobs N] [--out FILE] [NAME...]
Works in a clone of the last commit, build/mutants, and builds there what it runs. --check: only whether each
fault still applies. --all: every unit, vectors and fake test, not those that the row names: minutes a fault.
FILE gets a line for each fault, which two runs can be compared by. Exit status: 1 if a fault survives,
2 if one does not apply or does not build.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLONE = os.path.join(ROOT, "build", "mutants")
EVERY = ["-L", "^(unit|vectors|fake)$", "-LE", "^(lint|full)$"]
TEST_SECONDS = 300


def fault_of(line):
    name, path, before, after, tests, promise = line.split("\t")
    plain = [re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n"}.get(m[1], m[1]), text) for text in (before, after)]
    return {"name": name, "path": path, "before": plain[0], "after": plain[1], "tests": tests.split(), "promise": promise}


def read_faults(names):
    with open(os.path.join(ROOT, "test", "mutants.txt"), encoding="utf-8") as f:
        faults = [fault_of(line) for line in f.read().splitlines() if line and not line.startswith("#")]
    unknown = set(names) - {fault["name"] for fault in faults}
    if unknown:
        sys.exit(f"mutants.py: no such fault: {', '.join(sorted(unknown))}")
    return [fault for fault in faults if not names or fault["name"] in names]


def planted(root, fault):
    """The file with the fault; None: what it replaces is not there exactly once."""
    with open(os.path.join(root, fault["path"]), encoding="utf-8") as f:
        text = f.read()
    return text.replace(fault["before"], fault["after"]) if text.count(fault["before"]) == 1 else None


def check(faults):
    stale = [fault for fault in faults if not os.path.exists(os.path.join(ROOT, fault["path"])) or planted(ROOT, fault) is None]
    for fault in stale:
        print(f"{fault['name']}: {fault['path']} does not have this once: {fault['before']!r}")
    print(f"{len(faults)} faults, {len(stale)} do not apply")
    return 2 if stale else 0


def run(*command):
    return subprocess.run(command, cwd=CLONE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def clone():
    if not os.path.isdir(CLONE):
        subprocess.run(["git", "clone", "-q", ROOT, CLONE], check=True)
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    for command in (["fetch", "-q", ROOT, head], ["checkout", "-q", "-f", "--detach", head]):
        subprocess.run(["git", "-C", CLONE, *command], check=True)
    # A fault may leave a variable unused.
    options = ["-DVSCALED_WERROR=OFF"] + (["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"] if shutil.which("ld.lld") else [])
    subprocess.run(["cmake", "--preset", "dev", *options], cwd=CLONE, check=True, stdout=subprocess.DEVNULL)


def failed_tests(jobs, tests):
    """Of these, or of all: []. None: it does not build."""
    which = ["-R", f"^({'|'.join(tests)})$"] if tests else EVERY
    if run("cmake", "--build", "build/dev", "-j", jobs, "--target", *(tests or ["all"])).returncode != 0:
        return None
    log = run("ctest", "--test-dir", "build/dev", "--no-tests=error", *which, "-j", jobs, "--timeout", str(TEST_SECONDS)).stdout
    return sorted(re.findall(r"^\s*\d+ - (\S+) \(", log, re.MULTILINE))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="whether each fault still applies")
    parser.add_argument("--all", action="store_true", help="every test, not those that the row names")
    parser.add_argument("--jobs", default=str(os.cpu_count()), help="builds and tests at once (default: %(default)s)")
    parser.add_argument("--out", help="a line for each fault goes there, too")
    parser.add_argument("names", nargs="*", metavar="NAME", help="(default: all)")
    args = parser.parse_args()
    faults = read_faults(args.names)
    stale = check(faults)
    if args.check or stale:
        return stale
    clone()
    already = failed_tests(args.jobs, [] if args.all else sorted({test for fault in faults for test in fault["tests"]}))
    if already != []:
        print(f"without a fault: {'it does not build' if already is None else ' '.join(already) + ' failed'}")
        return 2
    survived, single, status = 0, 0, 0
    for fault in faults:
        path = os.path.join(CLONE, fault["path"])
        text = planted(CLONE, fault)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        failed = failed_tests(args.jobs, [] if args.all else fault["tests"])
        subprocess.run(["git", "-C", CLONE, "checkout", "-q", "--", fault["path"]], check=True)
        if failed is None:
            word, status = "does not build", 2
        else:
            survived += not failed
            single += len(failed) == 1
            word = f"caught by {len(failed)}: {' '.join(failed)}" if failed else f"SURVIVED ({fault['promise']})"
        print(f"{fault['name']}: {word}", flush=True)
        if args.out:
            with open(args.out, "a", encoding="utf-8") as f:
                f.write(f"{fault['name']}\t{' '.join(failed or ['-'])}\n")
    print(f"{len(faults)} faults, {survived} survived, {single} caught by a single test")
    return status or int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
