# SPDX-License-Identifier: Apache-2.0
"""Runs core_instructions under callgrind and prints instructions per operation, less the loop.

The target follows a figure in brackets, with "!" where it is missed. Exit status 1 if the cost of
an operation of dlbridge grows faster than ndim, or with the number of elements. Counts do not
depend on the load of the machine.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from targets import table

TIMES, BATCHES, BATCH = 1000, 20, 64  # as in core_instructions.cc and operations.h
SMALL = 2  # extent of the tensors that the table is about
# The allocator's cost jumps above 1,032 bytes, the largest block that glibc keeps per thread. With
# 52 axes the largest node has 1,016.
NDIMS = (1, 2, 4, 8, 16, 32, 52)
OPERATION = re.compile(r"^desc: Trigger: Client Request: (\S+)$", re.MULTILINE)
TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)


# Without these, the C library chooses its functions by the processor, and counts differ.
ANY_PROCESSOR = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-ERMS,-FSRM,-BMI2"}


def times(name):
    """How often the program runs an operation before it writes a dump."""
    return BATCHES * BATCH if "_64" in name else TIMES


def count(binary, *options):
    """Instructions per operation by name, without those of the loop."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", binary, *options]
        environment = {**os.environ, **ANY_PROCESSOR}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        dumps = [dump.read_text() for dump in pathlib.Path(folder).iterdir()]
    found = {}
    for dump in dumps:
        if name := OPERATION.search(dump):
            found[name.group(1)] = int(TOTAL.search(dump).group(1))
    # A batch runs the loop once for 64 tensors.
    loop = found["nothing"] / TIMES
    return {
        name: ir / times(name) - loop / (BATCH if "_64" in name else 1)
        for name, ir in found.items()
    }


def by_key(counts):
    """(operation, ndim, strides, extent) -> instructions"""
    found = {}
    for name, ir in counts.items():
        if "/" in name:
            operation, ndim, strides, extent = name.split("/")
            found[operation, int(ndim), strides, int(extent)] = ir
    return found


def growth(found, operation, strides):
    """Instructions per further axis, between one ndim and the next."""
    values = [found[operation, ndim, strides, SMALL] for ndim in NDIMS]
    steps = zip(values, values[1:], NDIMS, NDIMS[1:])
    return [(after - before) / (more - less) for before, after, less, more in steps]


def report_growth(found, operations):
    """Linear: a further axis costs at most 1.25 times the earlier ones, plus 2."""
    print(f"\nInstructions per further axis, from ndim {' to '.join(map(str, NDIMS))}")
    bad = []
    for operation in operations:
        for strides in ("given", "null"):
            slopes = growth(found, operation, strides)
            print(f"  {operation:<20}{strides:<7}" + "".join(f"{slope:8.1f}" for slope in slopes))
            if slopes[-1] > 1.25 * max(slopes[:-1]) + 2:
                bad.append(f"{operation}, strides {strides}: grows faster than ndim")
    return bad


def report_elements(found, operations):
    print("\nInstructions at ndim 4 by number of elements")
    bad = []
    for operation in operations:
        extents = sorted(k[3] for k in found if k[:3] == (operation, 4, "given"))
        values = [found[operation, 4, "given", extent] for extent in extents]
        cells = "".join(f"{f'{extent}^4':>12}: {ir:.0f}" for extent, ir in zip(extents, values))
        print(f"  {operation:<20}{cells}")
        if max(values) - min(values) > 1:
            bad.append(f"{operation}: depends on the number of elements")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="core_instructions")
    counts = count(parser.parse_args().binary)
    found = by_key(counts)
    print(
        f"Instructions per operation less the loop ({counts['malloc_free']:.0f} for malloc + free"
    )
    print("of 128 bytes); target in brackets, ! where missed")
    small = {key[:3]: ir for key, ir in found.items() if key[3] == SMALL}
    for line in table(small, unit=1, digits=0):
        print(line)
    # The allocator's cost for 64 live tensors depends on what it has cached.
    names = {key[0] for key in found if not key[0].startswith("tvm")}
    operations = sorted(name for name in names if "_64" not in name)
    bad = report_growth(found, operations) + report_elements(found, operations)
    for line in bad:
        print(f"FAILED {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
