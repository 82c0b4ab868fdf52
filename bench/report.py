# SPDX-License-Identifier: Apache-2.0
"""Runs core_bench and prints medians as multiples of malloc + free of 128 bytes in the same run.

Behind each figure stands the target, where there is one; "!" where it is missed. Operations are
interleaved at random, so that what else the machine does meets all of them. Options that are not
known here go to the program.
"""

import argparse
import json
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="core_bench")
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--min-time", type=float, default=0.01, help="seconds per repetition")
    arguments, rest = parser.parse_known_args()
    times = medians(measure(arguments.binary, arguments.repetitions, arguments.min_time, rest))
    if UNIT not in times:
        sys.exit(f"{UNIT} was not measured, there is nothing to compare with")
    print(f"Multiples of malloc + free of 128 bytes ({times[UNIT]:.1f} ns), median of")
    print(f"{arguments.repetitions} runs; target in brackets, ! where missed")
    for line in table(ratios(times), unit=0, digits=2):
        print(line)


if __name__ == "__main__":
    main()
