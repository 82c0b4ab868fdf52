# SPDX-License-Identifier: Apache-2.0
"""Lists the layouts in which dlbridge copies slower than NumPy or PyTorch with one thread.

Each layout is copied into memory that is already mapped, in short batches in a random order. A
layout counts as slower only if the quartiles of the two contestants do not overlap, both in a first
and in a second run, which has new processes: the pages that a process happens to get change times
by up to a factor of two. If only the medians differ, the layout is listed as inconclusive. Layouts
of the widths that NumPy has are compared; copy_bench has no layouts of elements below a byte.
"""

import argparse
import itertools
import math
import random
import re
import statistics
import sys
from typing import NamedTuple

from copy_cases import Case
from copy_report import calibrate, quartiles, start_bench, start_peers

UNSURE = "inconclusive"
ITEMS = (1, 2, 4, 8, 16)
BYTES = (1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 28, 1 << 30)


def compact(shape, order):
    """Strides of memory in which the axes come in `order`, the slowest first."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def span(item, shape, strides):
    return item * (1 + sum((e - 1) * abs(s) for e, s in zip(shape, strides)))


def shapes(elements):
    """Shapes of 1 to 6 axes with about so many elements."""
    for ndim in range(1, 7):
        side = max(1, round(elements ** (1 / ndim)))
        yield (side,) * ndim
    for last in (3, 4):
        side = max(1, math.isqrt(elements // last))
        yield (side, side, last)
        yield (last, side, side)
        yield (2, last, side, max(1, side // 2))


def strides_of(shape, chance):
    """Permutations, steps, negative and zero strides."""
    axes = list(range(len(shape)))
    plain = compact(shape, axes)
    yield "as it is", plain
    orders = [order for order in itertools.permutations(axes) if list(order) != axes]
    for order in chance.sample(orders, min(2, len(orders))):
        yield f"order {order}", compact(shape, order)
    if axes:
        yield "reversed axes", compact(shape, axes[::-1])
        for step in (2, 3, 4):
            yield f"every {step}", tuple(s * step for s in plain)
        yield "backwards", tuple(-s for s in plain)
        yield "last axis backwards", (*plain[:-1], -plain[-1])
        yield "first axis repeated", (0, *plain[1:])
        yield "last axis repeated", (*plain[:-1], 0)


def memory_of(largest):
    """MiB of source and target for results of about `largest` MiB."""
    return 5 * largest // 2, 5 * largest // 4


def layouts(count, seed, largest):
    source, target = (mib << 20 for mib in memory_of(largest))
    chance = random.Random(seed)
    found = {}
    sizes = [size for size in BYTES if size <= largest << 20]
    for item, size in itertools.product(ITEMS, sizes):
        for shape in shapes(size // item):
            for title, strides in strides_of(shape, chance):
                if span(item, shape, strides) <= source and item * math.prod(shape) <= target:
                    name = f"{item} byte(s), {shape}, {title}"
                    found[item, shape, strides] = Case(name, item, shape, strides)
    cases = list(found.values())
    return chance.sample(cases, min(count, len(cases)))


def measure(case, bench, peers, options):
    """Nanoseconds of each round by contestant."""
    entries = {"memcpy": (bench.memcpy, "memcpy"), "dlbridge": (bench.dlbridge, "into")}
    entries.update({peer.version: (peer, "into") for peer in peers})
    words = case.words()
    iterations = {
        n: calibrate(r, c, words, options.seconds) for n, (r, c) in supported(entries, words)
    }
    found = {name: [] for name in iterations}
    for _ in range(options.rounds):
        order = list(iterations)
        random.shuffle(order)
        for name in order:
            runner, contestant = entries[name]
            found[name].append(runner.ask(contestant, iterations[name], words))
    return found


def supported(entries, words):
    return [(n, (r, c)) for n, (r, c) in entries.items() if r.ask(c, 1, words) is not None]


def verdict(ours, theirs):
    """slower, inconclusive or None."""
    if statistics.median(ours) <= statistics.median(theirs):
        return None
    return "slower" if quartiles(ours)[0] > quartiles(theirs)[2] else UNSURE


class Finding(NamedTuple):
    case: Case
    peer: str
    verdict: str
    ours: float  # fractions of memcpy
    theirs: float

    def pattern(self):
        return pattern_of(self.case)

    def __str__(self):
        text = f"{self.verdict}: {self.case.title}: {self.ours:.2f} of memcpy, "
        return f"{text}{self.peer} {self.theirs:.2f}"


def pattern_of(case):
    title = re.sub(r"^.*\), ", "", case.title)
    return "other order of axes" if title.startswith("order") else title


def compare(case, bench, peers, options):
    """A Finding for each peer that was not slower."""
    found = measure(case, bench, peers, options)
    base = statistics.median(found["memcpy"])
    for peer in (name for name in found if name not in ("memcpy", "dlbridge")):
        result = verdict(found["dlbridge"], found[peer])
        if result:
            ours, theirs = (base / statistics.median(found[n]) for n in ("dlbridge", peer))
            yield Finding(case, peer, result, ours, theirs)


def run(cases, options):
    """The findings for all cases, with new processes."""
    sizes = memory_of(options.largest)
    bench = start_bench(options.binary, sizes)
    peers = start_peers(options.python, sizes)
    if not peers:
        sys.exit("neither NumPy nor PyTorch was found")
    found = []
    for case in cases:
        for finding in compare(case, bench, peers, options):
            print(finding, file=sys.stderr, flush=True)
            found.append(finding)
    for runner in (*bench, *peers):
        runner.close()
    return found


def confirmed(first, options):
    """The findings; what only the first run found slower is inconclusive."""
    doubtful = list(dict.fromkeys(f.case for f in first if f.verdict == "slower"))
    second = run(doubtful, options) if doubtful else []
    again = {(f.case, f.peer): f for f in second if f.verdict == "slower"}
    for finding in first:
        if finding.verdict == "slower":
            finding = again.get((finding.case, finding.peer), finding._replace(verdict=UNSURE))
        yield finding


def table(cases, found):
    """Lines: layouts of each pattern, and in how many of them a peer is faster."""
    yield f"{'source':<24}{'layouts':>8}{'slower':>8}{UNSURE:>14}"
    for pattern in sorted({pattern_of(case) for case in cases}):
        mine = [f for f in found if f.pattern() == pattern]
        slower = {f.case for f in mine if f.verdict == "slower"}
        unsure = {f.case for f in mine} - slower
        count = sum(pattern_of(case) == pattern for case in cases)
        yield f"{pattern:<24}{count:>8}{len(slower):>8}{len(unsure):>14}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="copy_bench")
    parser.add_argument("--python", help="a Python that has NumPy, PyTorch or both")
    parser.add_argument("--layouts", type=int, default=600)
    parser.add_argument("--largest", type=int, default=64, help="MiB of a result: 64, 256 or 1024")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.002, help="of each batch")
    parser.add_argument("--only", default="", help="a regular expression of titles")
    options = parser.parse_args()
    cases = layouts(options.layouts, options.seed, options.largest)
    cases = [case for case in cases if re.search(options.only, case.title)]
    found = list(confirmed(run(cases, options), options))
    print(*table(cases, found), "", sep="\n")
    for finding in sorted(found, key=lambda f: (f.verdict != "slower", f.pattern(), f.case.title)):
        print(finding)
    slower = {f.case for f in found if f.verdict == "slower"}
    unsure = {f.case for f in found} - slower
    print(f"{len(cases)} layouts: {len(slower)} slower, {len(unsure)} {UNSURE}")


if __name__ == "__main__":
    main()
