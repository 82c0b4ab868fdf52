# SPDX-License-Identifier: Apache-2.0
"""Runs all benchmarks of a build folder, prints them, and writes JSON from which performance.py
makes docs/performance.md.

Times are CPU time: medians of short batches that are interleaved at random, so that other load on
the machine affects all contestants, with the distance of their quartiles. A batch of the core is
divided by malloc + free immediately before and after it. On a machine under load a time is reported
as inconclusive instead of as a target that is met or missed. Instructions do not depend on the
load. Unknown options go to core_bench. --python is a Python with the peers, NumPy and PyTorch,
whose copies are measured too.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import instructions
import machine
import targets

UNIT = "malloc_free"
HERE = pathlib.Path(__file__).resolve().parent


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


def batches(report, value=lambda run: run["cpu_time"]):
    """A value of each batch by name: nanoseconds of CPU time."""
    found = {}
    for run in report["benchmarks"]:
        if run["run_type"] == "iteration":
            found.setdefault(run["run_name"], []).append(value(run))
    return found


def medians(report):
    return {name: statistics.median(found) for name, found in batches(report).items()}


def quartiles(values):
    """Lower quartile, median, upper quartile."""
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def spread(values):
    """Distance of the quartiles, as a part of the median."""
    low, median, high = quartiles(values)
    return (high - low) / median


def core_times(binary, arguments, rest):
    """Rows of (name, ns, quartiles of the multiple of the unit), and the spread of the unit where
    it is itself divided by those before and after it."""
    report = measure(binary, arguments.repetitions, arguments.min_time, rest)
    times = medians(report)
    multiples = batches(report, lambda run: run["cpu_time"] / run["unit"])
    if UNIT not in times:
        sys.exit(f"{UNIT} was not measured, there is nothing to compare with")
    # Operations on a batch are reported by the tensor.
    rows = []
    for name, values in multiples.items():
        each = instructions.BATCH if "_64" in name else 1
        low, median, high = (value / each for value in quartiles(values))
        rows.append(
            {"name": name, "ns": times[name] / each, "multiple": median, "low": low, "high": high}
        )
    return rows, spread(multiples[UNIT])


def print_core(rows, why):
    unit = next(row for row in rows if row["name"] == UNIT)
    found = targets.multiples(rows)
    print(f"Multiples of malloc + free of 128 bytes ({unit['ns']:.1f} ns)")
    print("target in brackets: ! where missed, ? where the run is inconclusive")
    for line in targets.table(found, unit=0, digits=2, sure=not why):
        print(line)
    widest = sorted(rows, key=lambda row: (row["low"] - row["high"]) / row["multiple"])[:3]
    for row in widest:
        part = 100 * (row["high"] - row["low"]) / row["multiple"]
        print(f"  widest spread: {row['name']}, quartiles {part:.0f} % of the median apart")


def core_counts(binary):
    counts = instructions.count(binary)
    return {name: round(ir, 1) for name, ir in counts.items()}


def print_counts(counts):
    found = instructions.by_key(counts)
    small = {key[:3]: ir for key, ir in found.items() if key[3] == instructions.SMALL}
    print(f"\nInstructions ({counts[UNIT]:.0f} for malloc + free of 128 bytes)")
    for line in targets.table(small, unit=1, digits=0):
        print(line)


def growth(programs):
    """Rows of growth_bench. The library is copied so that it is not loaded already."""
    library = next((programs.parent / "src").glob("libdlbridge.so.1"))
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(library, folder)
        command = [programs / "growth_bench", copy]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def print_growth(rows, why):
    print("\nMemory and growth")
    for row in rows:
        goal = targets.GROWTH.get(row["name"])
        cell = targets.cell(row["median"], goal, 1, sure=row["unit"] == "bytes" or not why)
        quarter = f"{row['low']:.1f} to {row['high']:.1f}" if row["low"] != row["high"] else ""
        print(f"  {row['name']:<34}{cell:>20} {row['unit']:<8}{quarter}")


def other(title, *command):
    """The output of a report of its own, which is also printed."""
    print(flush=True)
    done = subprocess.run(
        [sys.executable, "-B", *map(str, command)], stdout=subprocess.PIPE, text=True, check=False
    )
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        print(f"{title}: ended with status {done.returncode}")
    return done.stdout


def others(programs, arguments):
    options = ("--binary", programs / "copy_bench", "--python", arguments.python)
    copies = other("copies", HERE / "copy_report.py", *options)
    sweep = other("sweep", HERE / "copy_sweep.py", *options)
    devices = other("devices", HERE / "device_report.py", "--folder", programs)
    return {"copies": copies, "sweep": sweep, "devices": devices}


def texts(folder):
    """The reports of the bindings, which noxfile.py has put into files: title.txt."""
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.txt"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help="build folder, such as build/bench")
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--min-time", type=float, default=0.01, help="seconds per repetition")
    parser.add_argument("--core", action="store_true", help="only the core, no copies and devices")
    parser.add_argument("--python", default=str(HERE.parent / "build/peers-venv/bin/python"))
    parser.add_argument("--bindings", type=pathlib.Path, default=HERE.parent / "build/bench-texts")
    arguments, rest = parser.parse_known_args()
    programs = arguments.build / "bench"
    found = {"machine": machine.describe(arguments.python)}
    other_work = machine.OtherWork()
    rows, unit_spread = core_times(programs / "core_bench", arguments, rest)
    found["growth"] = growth(programs)
    found["machine"]["other_work"] = round(other_work.part(), 3)
    why = machine.reasons(found["machine"]["other_work"], unit_spread)
    found["core"], found["inconclusive"] = rows, why
    found["instructions"] = core_counts(programs / "core_instructions")
    print(f"Times are inconclusive: {'; '.join(why)}" if why else "The machine did little else.")
    print_core(rows, why)
    print_counts(found["instructions"])
    print_growth(found["growth"], why)
    if not arguments.core:
        found.update(others(programs, arguments))
    found["bindings"] = texts(arguments.bindings)
    out = arguments.build / "results.json"
    out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"\nwritten: {out}; docs/performance.md from it: bench/performance.py {out}")


if __name__ == "__main__":
    main()
