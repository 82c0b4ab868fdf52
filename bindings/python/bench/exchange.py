# SPDX-License-Identifier: Apache-2.0
"""The cost of an exchange beside its peers, in one run: medians as multiples of malloc and free of
128 bytes; and instructions of the loops in C, by callgrind.

    exchange.py                     the table
    exchange.py --spin LOOP KIND N  one loop, for callgrind
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import subprocess
import sys
import time

import dlbridge
import exchange_loops
import numpy
from dlbridge import _core

SHAPE = (2, 3, 4, 5)
ROUNDS = 101
SPINS = 10000


def optional(name):
    """A peer that may not be installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def python_operations(torch, tvm_ffi, jax):
    """Name -> callable without arguments, of which one call is measured."""
    array = numpy.zeros(SHAPE, "f4")
    own = dlbridge.from_dlpack(array)
    read, write = numpy.from_dlpack, dlbridge.from_dlpack
    operations = {
        "np.from_dlpack(np)": lambda: read(array),
        "dlbridge.from_dlpack(np)": lambda: write(array),
        "np.from_dlpack(Tensor)": lambda: read(own),
        "np.__dlpack__(max_version=)": lambda: array.__dlpack__(max_version=(1, 3)),
        "Tensor.__dlpack__(max_version=)": lambda: own.__dlpack__(max_version=(1, 3)),
    }
    if tvm_ffi:
        operations["tvm_ffi.from_dlpack(np)"] = lambda: tvm_ffi.from_dlpack(array)
    if jax:
        operations["jax.dlpack.from_dlpack(np)"] = lambda: jax.dlpack.from_dlpack(array)
    if torch:
        tensor, kind, take = torch.zeros(SHAPE), torch.Tensor, torch.from_dlpack
        to_type = _core.to_type
        operations |= {
            "torch.from_dlpack(np)": lambda: take(array),
            "np.from_dlpack(torch)": lambda: read(tensor),
            "dlbridge.from_dlpack(torch)": lambda: write(tensor),
            "dlbridge.to(np, torch.Tensor)": lambda: dlbridge.to(array, kind),
            "to_type(np, torch.Tensor)": lambda: to_type(array, kind),
            "to_type(Tensor, torch.Tensor)": lambda: to_type(own, kind),
        }
        if tvm_ffi:
            operations["tvm_ffi.from_dlpack(torch)"] = lambda: tvm_ffi.from_dlpack(tensor)
    return operations


def c_operations(torch):
    array = numpy.zeros(SHAPE, "f4")
    operations = {
        "C: NumPy, owned": (exchange_loops.owned, array),
        "C: NumPy, borrowed": (exchange_loops.borrowed, array),
    }
    if torch:
        tensor = torch.zeros(SHAPE)
        operations |= {
            "C: torch, owned": (exchange_loops.owned, tensor),
            "C: torch, borrowed": (exchange_loops.borrowed, tensor),
        }
    return operations


def timed(operation, count):
    """Nanoseconds of one call, the loop included."""
    each = range(count)
    start = time.perf_counter_ns()
    for _ in each:
        operation()
    return (time.perf_counter_ns() - start) / count


def measure(python, c):
    """Medians in nanoseconds. The operations take turns, so that noise affects all of them."""
    samples = {name: [] for name in ["malloc", "loop", *python, *c]}
    for _ in range(ROUNDS):
        samples["malloc"].append(exchange_loops.memory(None, 20000))
        samples["loop"].append(timed(lambda: None, 2000))
        for name, operation in python.items():
            samples[name].append(timed(operation, 30 if "jax" in name else 1000))
        for name, (loop, thing) in c.items():
            samples[name].append(loop(thing, 2000))
    return {name: statistics.median(values) for name, values in samples.items()}


def report(medians, python):
    base, empty = medians.pop("malloc"), medians.pop("loop")
    print(f"malloc + free of 128 bytes: {base:.1f} ns; taken off, an empty call: {empty:.1f} ns")
    net = {name: value - (empty if name in python else 0) for name, value in medians.items()}
    for name, value in net.items():
        print(f"{name:34} {value:9.1f} ns {value / base:8.1f}x")
    return net


# operation, peer, target as a share of the peer
TARGETS = [
    ("C: NumPy, owned", "np.from_dlpack(np)", 0.7),
    ("C: NumPy, borrowed", "np.from_dlpack(np)", 0.7),
    ("C: torch, owned", "tvm_ffi.from_dlpack(torch)", 0.5),
    ("C: torch, borrowed", "tvm_ffi.from_dlpack(torch)", 0.5),
    ("dlbridge.from_dlpack(np)", "np.from_dlpack(np)", 1.0),
    ("dlbridge.to(np, torch.Tensor)", "torch.from_dlpack(np)", 0.4),
    ("to_type(np, torch.Tensor)", "torch.from_dlpack(np)", 0.4),
    ("to_type(Tensor, torch.Tensor)", "torch.from_dlpack(np)", 0.25),
    ("Tensor.__dlpack__(max_version=)", "np.__dlpack__(max_version=)", 0.8),
    ("np.from_dlpack(Tensor)", "np.from_dlpack(np)", 0.85),
]


def compare(net):
    for name, peer, target in TARGETS:
        if name not in net or peer not in net:
            print(f"not measured here: {name} beside {peer}")
            continue
        share = net[name] / net[peer]
        verdict = "met" if share <= target else "MISSED"
        print(f"{name:34} {share:5.2f} of {peer} (target {target}): {verdict}")


def spin(loop, kind, count):
    """One loop for callgrind; the loop switches collection on."""
    thing = numpy.zeros(SHAPE, "f4")
    if kind == "torch":
        thing = importlib.import_module("torch").zeros(SHAPE)
    getattr(exchange_loops, loop)(thing, count)


def instructions(loop, kind):
    """Instructions of one round; the first rounds, which fill caches, are subtracted."""
    totals = []
    for count in (SPINS // 10, SPINS):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        command += ["--collect-atstart=no", sys.executable, __file__]
        done = subprocess.run(
            [*command, "--spin", loop, kind, str(count)], capture_output=True, text=True, check=True
        )
        line = next(line for line in done.stderr.splitlines() if "Collected" in line)
        totals.append(int(line.split()[-1]))
    return (totals[1] - totals[0]) / (SPINS - SPINS // 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spin", nargs=3)
    options = parser.parse_args()
    if options.spin:
        loop, kind, count = options.spin
        spin(loop, kind, int(count))
        return
    torch, tvm_ffi, jax = optional("torch"), optional("tvm_ffi"), optional("jax")
    python, c = python_operations(torch, tvm_ffi, jax), c_operations(torch)
    compare(report(measure(python, c), python))
    for kind, target in [("numpy", 1800)] + ([("torch", 1450)] if torch else []):
        for loop in ("owned", "borrowed"):
            found = instructions(loop, kind)
            verdict = "met" if found <= target else "MISSED"
            print(f"C: {kind}, {loop}: {found:.0f} instructions (target {target}): {verdict}")


if __name__ == "__main__":
    main()
