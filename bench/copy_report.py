# SPDX-License-Identifier: Apache-2.0
"""Runs copy_bench and prints the speed of copies as fractions of memcpy of the same bytes.

The target follows a figure in brackets, with "!" where it is missed. NumPy and PyTorch, if a Python
with them is given, copy the same layouts with one thread in separate processes. Contestants take
turns in a random order, so that other load on the machine affects all of them. They copy between
memory that is already mapped. Each has its own, memcpy too: what one leaves in the caches helps no
other. Calls that also allocate have a separate table.
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
from typing import NamedTuple

from copy_cases import CASES, SMALL

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "copy_peer.py")


class Runner:
    """A process that answers each line with nanoseconds."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, contestant, iterations, words):
        line = " ".join(map(str, [contestant, iterations, *words]))
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"{self.process.args} ended at: {line}\n{self.process.stderr.read()}")
        return None if answer == "-" else float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Bench(NamedTuple):
    """Two processes of copy_bench."""

    memcpy: Runner
    dlbridge: Runner


def start_bench(binary, sizes=()):
    """`sizes`: MiB of source and target."""
    command = [binary, *map(str, sizes)]
    return Bench(Runner(command), Runner(command))


def start_peer(python, name, sizes=()):
    """None if that Python does not have it. `sizes`: MiB of source and target."""
    if not python or not os.path.exists(python):
        return None
    runner = Runner([python, "-B", PEER, name, *map(str, sizes)])
    runner.version = runner.process.stdout.readline().strip()
    if not runner.version:
        runner.close()
        return None
    return runner


def start_peers(python, sizes=()):
    """Those of the peers that the Python has."""
    found = [start_peer(python, name, sizes) for name in ("numpy", "torch")]
    return [peer for peer in found if peer]


def calibrate(runner, contestant, words, seconds):
    """The number of iterations that take about that time."""
    time = runner.ask(contestant, 1, words)
    time = min(time, runner.ask(contestant, 3, words))
    return max(1, round(seconds * 1e9 / time))


def measure(case, entries, rounds, seconds):
    """Nanoseconds of each round by the entry's name; `entries` maps it to (runner, contestant)."""
    found = {name: [] for name in entries}
    first, contestant = next(iter(entries.values()))
    iterations = calibrate(first, contestant, case.words(), seconds)
    for runner, contestant in entries.values():
        runner.ask(contestant, min(iterations, 10), case.words())
    order = list(entries)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            runner, contestant = entries[name]
            time = runner.ask(contestant, iterations, case.words())
            if time is not None:
                found[name].append(time)
    return found


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def fraction(base, times):
    """The fraction by medians, and by the quartiles of the rounds."""
    if not times:
        return None
    low, middle, high = quartiles(times)
    base = statistics.median(base)
    return base / high, base / middle, base / low


def cell(found, target=None, least=True):
    if found is None:
        return "-"
    low, middle, high = found
    text = f"{middle:.2f} [{low:.2f}..{high:.2f}]"
    if target is None:
        return text
    missed = middle < target if least else middle > target
    return f"{text} ({target:g}){'!' if missed else ''}"


def print_table(title, columns, rows):
    print(title)
    line = "{:<36}{:<14}{:<29}" + "{:<22}" * (len(columns) - 2)
    print(line.format("", *columns).rstrip())
    for row in rows:
        print(line.format(*row).rstrip())
    print()


def chosen(cases, options):
    return [case for case in cases if re.search(options.only, case.title)]


def report_into(bench, peers, options):
    rows = []
    for case in chosen(CASES, options):
        entries = {"memcpy": (bench.memcpy, "memcpy"), "dlbridge": (bench.dlbridge, "into")}
        entries.update({peer.version: (peer, "into") for peer in peers})
        found = measure(case, entries, options.rounds, options.seconds)
        base = found.pop("memcpy")
        cells = [cell(fraction(base, found.pop("dlbridge")), case.target)]
        cells += [cell(fraction(base, times)) for times in found.values()]
        rows.append([case.title, f"{statistics.median(base) / 1000:.1f} us", *cells])
    title = "Into memory that is already mapped: fraction of memcpy of the same bytes"
    print_table(title, ["memcpy", "dlbridge", *(peer.version for peer in peers)], rows)


def report_whole(bench, peers, options):
    rows = []
    for case in chosen(CASES[:2] + CASES[5:7], options):
        entries = {"memcpy": (bench.memcpy, "memcpy"), "dlbridge": (bench.dlbridge, "copy")}
        entries.update({peer.version: (peer, "copy") for peer in peers})
        found = measure(case, entries, options.rounds, options.seconds)
        base = found.pop("memcpy")
        cells = [cell(fraction(base, times)) for times in found.values()]
        rows.append([case.title, f"{statistics.median(base) / 1000:.1f} us", *cells])
    title = "The whole call, allocation and release too: fraction of memcpy into mapped memory"
    print_table(title, ["memcpy", "dlbridge", *(peer.version for peer in peers)], rows)


def report_small(bench, peers, options):
    rows = []
    for case in chosen(SMALL, options):
        entries = {
            "malloc_free": (bench.memcpy, "malloc_free"),
            "dlbridge": (bench.dlbridge, "copy"),
        }
        entries.update({peer.version: (peer, "copy") for peer in peers})
        found = measure(case, entries, options.rounds, options.seconds)
        unit = statistics.median(found.pop("malloc_free"))
        multiples = {n: tuple(t / unit for t in quartiles(ts)) for n, ts in found.items()}
        cells = [cell(multiples.pop("dlbridge"), case.target, least=False)]
        cells += [cell(found) for found in multiples.values()]
        rows.append([case.title, f"{unit:.1f} ns", *cells])
    title = "The whole call on small tensors: multiples of malloc + free of 128 bytes"
    print_table(title, ["malloc+free", "dlbridge", *(peer.version for peer in peers)], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="copy_bench")
    parser.add_argument("--python", help="a Python that has NumPy, PyTorch or both")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.01, help="of memcpy in each round")
    parser.add_argument("--only", default="", help="a regular expression of titles")
    options = parser.parse_args()
    bench = start_bench(options.binary)
    peers = start_peers(options.python)
    print(f"Median of {options.rounds} rounds [middle half]; target in brackets, ! where missed\n")
    for report in (report_into, report_whole, report_small):
        report(bench, peers, options)
    for runner in (*bench, *peers):
        runner.close()


if __name__ == "__main__":
    main()
