# SPDX-License-Identifier: Apache-2.0
"""The cost of device calls: the cost added to driver calls, look-ups, and the first call.

Prints nanoseconds of CPU time: medians of many runs, interleaved at random. The target follows in
brackets, with "!" where it is missed.
"""

import argparse
import pathlib
import subprocess
import sys

from report import measure, medians

# Title: (benchmark, benchmark to subtract or None, target).
ADDED = {
    "hand-off, added to the driver's calls": ("Handoff", "HandoffCallsOnly", 30),
    "hand-off of one stream": ("HandoffOfOneStream", None, None),
    "pointer_info, added to the driver's query": ("PointerInfo", "PointerInfoCallsOnly", 15),
}
# Title: (benchmark, the same work by raw calls).
BESIDE = {
    "hand-off": ("Handoff", "HandoffRaw"),
    "copy on a stream, 4 KiB": ("CopyAsync", "CopyRaw"),
    "release after a stream": ("ReleaseAfter", "ReleaseRaw"),
}
TABLE = {
    "look-up of a default, 8 devices": ("LookupDefault/8", None, 10),
    "look-up of a context, 8 devices": ("LookupContext/8", None, 10),
    "retain + release": ("RetainRelease/1", None, None),
    "a plain copy of an entry": ("CopyEntry", None, None),
}


def lines(times, rows):
    for title, (name, minus, goal) in rows.items():
        if name not in times or (minus and minus not in times):
            sys.exit(f"{name} was not measured")
        value = times[name] - (times[minus] if minus else 0)
        text = f"{value:6.1f}" + (f" ({goal}){'!' if value > goal else ''}" if goal else "")
        yield f"{title:<45}{text}"


def ratios(times):
    for title, (name, raw) in BESIDE.items():
        yield f"{title:<45}{times[name]:8.0f} / {times[raw]:.0f} = {times[name] / times[raw]:.2f}"


def beside_opencl(folder, repetitions):
    path = folder / "opencl_bench"
    if not path.exists():
        print("opencl_bench was not built: no headers or loader of OpenCL")
        return
    for line in ratios(medians(measure(path, repetitions, 0.01, []))):
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="of the programs")
    parser.add_argument("--repetitions", type=int, default=31)
    arguments = parser.parse_args()
    print("Nanoseconds on a fake CUDA driver with its checks off, and of the context table")
    for program, rows in (("device_bench", ADDED), ("table_bench", TABLE)):
        path = arguments.folder / program
        if not path.exists():
            print(f"{program} was not built: no vendor's headers")
            continue
        for line in lines(medians(measure(path, arguments.repetitions, 0.01, [])), rows):
            print(line)
    print("\nNanoseconds on the first OpenCL device, dlbridge / raw calls = ratio")
    beside_opencl(arguments.folder, arguments.repetitions)
    print("\nMicroseconds until a driver of this machine is started, or found to be missing")
    subprocess.run([arguments.folder / "first_call"], check=True)


if __name__ == "__main__":
    main()
