# SPDX-License-Identifier: Apache-2.0
"""Ratios of CPU time in short batches that take turns, so that other load on the machine affects
both sides. A ratio that the noise of the machine does not allow is "inconclusive"."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

ROUNDS = 301
BATCH_NS = 60_000  # short beside a time slice of the scheduler
Run = Callable[[Any], None]


@dataclasses.dataclass(frozen=True)
class Sample:
    """One batch: nanoseconds of one call, and whether the thread ran without a pause."""

    cost: float
    whole: bool


def batch(run: Run, count: int) -> Sample:
    each = itertools.repeat(None, count)
    wall, start = time.perf_counter_ns(), time.thread_time_ns()
    run(each)
    used = time.thread_time_ns() - start
    passed = time.perf_counter_ns() - wall
    return Sample(used / count, passed <= used * 1.1 + 1000)


def count_of(run: Run) -> int:
    """Calls that fill a batch. The first ones warm caches up."""
    batch(run, 50)
    cost = statistics.median(batch(run, 20).cost for _ in range(9))
    return max(5, int(BATCH_NS / max(cost, 1.0)))


def interval(values: list[float]) -> tuple[float, float]:
    """Where the median is, with a confidence of 95 %, by order statistics."""
    ordered = sorted(values)
    half = 0.98 * math.sqrt(len(ordered))
    low = max(0, math.floor(len(ordered) / 2 - half))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half))
    return ordered[low], ordered[high]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A ratio: its median, the interval of the median and the quartiles; `noise` says why it must
    not be used, and is empty if it may."""

    median: float
    low: float
    high: float
    quartiles: tuple[float, float]
    own: float  # nanoseconds
    peer: float
    noise: str

    def verdict(self, target: float) -> str:
        if self.noise:
            return f"inconclusive: {self.noise}"
        if self.high <= target:
            return "met"
        return "MISSED" if self.low > target else "inconclusive: the target is inside the interval"


def noise_of(rounds: int, kept: int, control: list[float]) -> str:
    """The control is the peer beside itself, whose ratio is 1 on a quiet machine."""
    if kept < rounds / 2 or kept < 30:
        return f"the machine is busy, {rounds - kept} of {rounds} rounds were interrupted"
    middle = statistics.median(control)
    first, _, third = statistics.quantiles(control, n=4)
    if abs(middle - 1) > 0.03 or third - first > 0.25:
        return f"the peer beside itself gives {middle:.2f} ({first:.2f} to {third:.2f})"
    return ""


def compare(own: Run, peer: Run, own_base: Run, peer_base: Run) -> Figure:
    runs = (own, peer, own_base, peer_base, peer)
    counts = [count_of(run) for run in runs]
    kept: list[list[float]] = []
    for _ in range(ROUNDS):
        samples = [batch(run, count) for run, count in zip(runs, counts, strict=True)]
        if all(sample.whole for sample in samples):
            kept.append([sample.cost for sample in samples])
    if len(kept) < 4:
        return Figure(*[math.nan] * 3, (math.nan, math.nan), math.nan, math.nan, noise_of(1, 0, []))
    ratios = [(a - c) / (b - d) for a, b, c, d, _ in kept]
    control = [(again - d) / (b - d) for _, b, _, d, again in kept]
    first, _, third = statistics.quantiles(ratios, n=4)
    return Figure(
        statistics.median(ratios),
        *interval(ratios),
        (first, third),
        statistics.median(a - c for a, _, c, _, _ in kept),
        statistics.median(b - d for _, b, _, d, _ in kept),
        noise_of(ROUNDS, len(kept), control),
    )


IMPORT = """
import time
start = time.process_time_ns()
import dlbridge
print((time.process_time_ns() - start) / 1e6)
"""


def import_time(target: float, runs: int = 21) -> tuple[list[float], str]:
    """Milliseconds of CPU time of `import dlbridge` in fresh interpreters, in order; a verdict."""
    # -P: the folder of the sources, in which the session runs, has no extension module.
    command = (sys.executable, "-P", "-c", IMPORT)
    found = sorted(
        float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(runs)
    )
    low, high = interval(found)
    if high <= target:
        return found, "met"
    return found, "MISSED" if low > target else "inconclusive: the target is inside the interval"
