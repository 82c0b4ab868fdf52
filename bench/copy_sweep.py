# SPDX-License-Identifier: Apache-2.0
"""Lists the layouts in which dlbridge copies slower than NumPy or PyTorch with one thread.

Each layout is copied into memory that is already mapped, in short batches in a random order. A
layout counts as slower only if the quartiles of the two contestants do not overlap; if the medians
differ but the quartiles overlap, it is listed as inconclusive. Layouts of the widths that NumPy has
are compared; copy_bench has no layouts of elements below a byte.
"""

import argparse
import itertools
import math
import random
import re
import statistics
import sys

from copy_cases import Case
from copy_report import Runner, calibrate, quartiles, start_peer

ITEMS = (1, 2, 4, 8, 16)
BYTES = (1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26)
SOURCE_BYTES = 160 << 20


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


def layouts(count, seed):
    chance = random.Random(seed)
    found = {}
    for item, size in itertools.product(ITEMS, BYTES):
        for shape in shapes(size // item):
            for title, strides in strides_of(shape, chance):
                if (
                    span(item, shape, strides) <= SOURCE_BYTES
                    and item * math.prod(shape) <= 80 << 20
                ):
                    name = f"{item} byte(s), {shape}, {title}"
                    found[item, shape, strides] = Case(name, item, shape, strides)
    cases = list(found.values())
    return chance.sample(cases, min(count, len(cases)))


def measure(case, bench, peers, options):
    """Nanoseconds of each round by contestant."""
    entries = {"memcpy": (bench, "memcpy"), "dlbridge": (bench, "into")}
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
    return "slower" if quartiles(ours)[0] > quartiles(theirs)[2] else "inconclusive"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="copy_bench")
    parser.add_argument("--numpy-python", help="a Python that has NumPy")
    parser.add_argument("--torch-python", help="a Python that has PyTorch")
    parser.add_argument("--layouts", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.002, help="of each batch")
    parser.add_argument("--only", default="", help="a regular expression of titles")
    options = parser.parse_args()
    bench = Runner([options.binary])
    peers = [start_peer(options.numpy_python, "numpy"), start_peer(options.torch_python, "torch")]
    peers = [peer for peer in peers if peer]
    if not peers:
        sys.exit("neither NumPy nor PyTorch was found")
    count = {"slower": 0, "inconclusive": 0}
    cases = layouts(options.layouts, options.seed)
    cases = [case for case in cases if re.search(options.only, case.title)]
    for case in cases:
        found = measure(case, bench, peers, options)
        base = statistics.median(found["memcpy"])
        for peer in (name for name in found if name not in ("memcpy", "dlbridge")):
            result = verdict(found["dlbridge"], found[peer])
            if result:
                count[result] += 1
                ours, theirs = (base / statistics.median(found[n]) for n in ("dlbridge", peer))
                print(
                    f"{result}: {case.title}: {ours:.2f} of memcpy, {peer} {theirs:.2f}", flush=True
                )
    print(f"{len(cases)} layouts: {count['slower']} slower, {count['inconclusive']} inconclusive")


if __name__ == "__main__":
    main()
