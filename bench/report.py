# SPDX-License-Identifier: Apache-2.0
"""Runs all benchmarks of a build folder. First core_bench: medians as multiples of malloc + free of
128 bytes in the same run, then instructions, copies and devices, each by a script of its own.

The target follows a figure in brackets, with "!" where it is missed. Operations are interleaved at
random, so that other load on the machine affects all of them. Unknown options go to core_bench.
DLBRIDGE_TORCH_PYTHON is a Python with PyTorch, whose copies are measured too.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from targets import table

UNIT = "malloc_free"


def measure(binary, repetitions, min_time, rest):
    command = [
        binary,
        "--benchmark_format=json",
        "--benchmark_enable_random_interleaving=true",
        f"--benchmark_repetitions={repetitions}",
        f"--benchmark_min_time={min_time}",
        *rest,
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def medians(report):
    """Nanoseconds of CPU time by name."""
    times = {}
    for run in report["benchmarks"]:
        if run["run_type"] == "iteration":
            times.setdefault(run["run_name"], []).append(run["cpu_time"])
    return {name: statistics.median(found) for name, found in times.items()}


def ratios(times):
    found = {}
    for name, time in times.items():
        if name != UNIT:
            operation, ndim, strides = name.split("/")
            found[operation, int(ndim), strides] = time / times[UNIT]
    return found


def report_core(binary, arguments, rest):
    times = medians(measure(binary, arguments.repetitions, arguments.min_time, rest))
    if UNIT not in times:
        sys.exit(f"{UNIT} was not measured, there is nothing to compare with")
    print(f"Multiples of malloc + free of 128 bytes ({times[UNIT]:.1f} ns), median of")
    print(f"{arguments.repetitions} runs; target in brackets, ! where missed")
    for line in table(ratios(times), unit=0, digits=2):
        print(line)


def report_others(programs):
    here = pathlib.Path(__file__).resolve().parent
    pythons = ["--numpy-python", str(here.parent / "build/venv/bin/python")]
    pythons += ["--torch-python", os.environ.get("DLBRIDGE_TORCH_PYTHON", "")]
    for script, *options in (
        ("instructions.py", "--binary", programs / "core_instructions"),
        ("copy_report.py", "--binary", programs / "copy_bench", *pythons),
        ("device_report.py", "--folder", programs),
    ):
        print(flush=True)
        subprocess.run([sys.executable, "-B", here / script, *options], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help="build folder, such as build/bench")
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--min-time", type=float, default=0.01, help="seconds per repetition")
    arguments, rest = parser.parse_known_args()
    report_core(arguments.build / "bench/core_bench", arguments, rest)
    report_others(arguments.build / "bench")


if __name__ == "__main__":
    main()
