# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets of a build folder. `./run fuzz` builds them and calls this.

fuzz.py run BUILD SECONDS [TARGET]   fuzzes side by side; SECONDS are shared by all targets
fuzz.py minimise BUILD [TARGET]      writes tests/fuzz/seeds anew: few inputs that reach everything

What a run finds stays in BUILD: corpus/TARGET has inputs that reach new code, found/ those that
fail.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = ROOT / "tests/fuzz/seeds"
SEEDS_LIMIT = 2 << 20
# Seeds that stay although others reach their branches: those of a defect, and of child processes.
NAMED = "named-"
# Seeds of a program on another version of its driver, which a variable of the environment chooses.
VARIANTS = {"hip_old": ("hip", "old"), "level_zero_next": ("level_zero", "next")}
# Their drivers keep memory that no input frees: libFuzzer would look for leaks after each input,
# which takes most of the time. The look at the end of the process finds the same.
DRIVERS = ("cuda", "held", "hip", "level_zero", "opencl", "transfers")
# Their programs give memory up that a failed driver may still use: after so many inputs the process
# ends, before all of that is too much.
DRIVER_RUNS = 20_000
JOBS = os.cpu_count() or 1
ASAN = {
    # A larger allocation returns NULL, as on a machine that has no more memory. With a small
    # quarantine a fork copies fewer pages; no input frees as much.
    "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=256:detect_leaks=1"
    ":quarantine_size_mb=16",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def targets(build, only=None):
    """The programs of a build folder by the names of their targets."""
    paths = sorted((build / "tests/fuzz").glob("fuzz_*"))
    found = {path.name.removeprefix("fuzz_"): path for path in paths if os.access(path, os.X_OK)}
    for variant, (name, _) in VARIANTS.items():
        if name in found:
            found[variant] = found[name]
    if only and only not in found:
        sys.exit(f"no target {only}; targets: {', '.join(found)}")
    return {only: found[only]} if only else found


def environment(name, **variables):
    driver = {"DLBRIDGE_FUZZ_DRIVER": VARIANTS[name][1]} if name in VARIANTS else {}
    return {**os.environ, **variables, **driver}


def is_of_driver(name):
    return name.startswith(DRIVERS)


def leak_options(name):
    return ["-detect_leaks=0"] if is_of_driver(name) else []


def stat(log, name):
    match = re.search(rf"^stat::{name}:\s+(\d+)$", log, re.MULTILINE)
    return int(match[1]) if match else 0


def fuzz(build, name, program, seconds):
    """Fuzzes one target, in one process after the other; returns the line to print."""
    began, runs = time.monotonic(), 0
    while (left := round(began + seconds - time.monotonic())) > 0:
        status, log = fuzz_once(build, name, program, left)
        (build / f"{name}.log").write_text(log)
        made = stat(log, "number_of_executed_units")
        if status != 0 or made == 0:
            return "\n".join([f"FAILED fuzz {name}: {build}/{name}.log", *log.splitlines()[-40:]])
        runs += made
    return f"passed fuzz {name}: {runs} executions, {runs // seconds} a second"


def fuzz_once(build, name, program, seconds):
    """Runs libFuzzer until it ends; returns its exit status and its output."""
    corpus, found = build / "corpus" / name, build / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    folders = [corpus, *(path for path in [SEEDS / name] if path.exists())]
    options = [f"-max_total_time={seconds}", "-max_len=1024", "-timeout=20", "-print_final_stats=1"]
    options.append(f"-artifact_prefix={found}/{name}-")
    options += [f"-runs={DRIVER_RUNS}"] if is_of_driver(name) else []
    command = [program, *options, *leak_options(name), *folders]
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment(name, **ASAN),
    )  # fmt: skip
    return done.returncode, done.stdout.decode(errors="replace")


def run(build, seconds, only=None):
    chosen = targets(build, only)
    # Each processor fuzzes one target at a time.
    share = max(1, seconds * min(JOBS, len(chosen)) // len(chosen))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        jobs = [pool.submit(fuzz, build, name, path, share) for name, path in chosen.items()]
        lines = [job.result() for job in concurrent.futures.as_completed(jobs)]
    print(*lines, sep="\n")
    return any(line.startswith("FAILED") for line in lines)


def minimise(build, only=None):
    for name, program in targets(build, only).items():
        kept = build / "minimised" / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        folders = [path for path in (build / "corpus" / name, SEEDS / name) if path.exists()]
        # Without counters, one input is kept for each branch, not for each number of its runs.
        command = [program, "-merge=1", "-use_counters=0", "-max_len=1024", kept, *folders]
        log = build / f"{name}-merge.log"
        with log.open("w") as file:
            subprocess.run(
                list(map(str, command)), stdout=file, stderr=file, check=True,
                env=environment(name, **ASAN),
            )  # fmt: skip
        for path in (SEEDS / name).glob(f"{NAMED}*"):
            shutil.copy(path, kept)
        shutil.rmtree(SEEDS / name, ignore_errors=True)
        shutil.copytree(kept, SEEDS / name)
        files = list((SEEDS / name).iterdir())
        print(f"{name}: {len(files)} seeds, {sum(path.stat().st_size for path in files)} bytes")
    total = sum(path.stat().st_size for path in SEEDS.rglob("*") if path.is_file())
    print(f"all: {total} bytes")
    return total > SEEDS_LIMIT


def main():
    style = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "minimise"):
        command = commands.add_parser(name)
        command.add_argument("build", type=pathlib.Path)
        if name == "run":
            command.add_argument("seconds", type=int)
        command.add_argument("only", nargs="?")
    arguments = vars(parser.parse_args())
    return int(globals()[arguments.pop("command")](**arguments))


if __name__ == "__main__":
    sys.exit(main())
