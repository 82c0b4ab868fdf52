# SPDX-License-Identifier: Apache-2.0
"""What calls for devices cost: what is added to a driver's calls, look-ups, and the first call.

Prints nanoseconds of CPU time, medians of many runs that are interleaved at random; behind them the
target, "!" where it is missed.
"""

import argparse
import pathlib
import subprocess
import sys

from report import measure, medians

# Name shown: (benchmark, what is subtracted or None, target).
ADDED = {
    "hand-off, added to the driver's calls": ("Handoff", "HandoffCallsOnly", 30),
    "hand-off of one stream": ("HandoffOfOneStream", None, None),
    "pointer_info, added to the driver's query": ("PointerInfo", "PointerInfoCallsOnly", 15),
}
TABLE = {
    "look-up of a default, 8 devices": ("LookupDefault/8", None, 10),
    "look-up of a context, 8 devices": ("LookupContext/8", None, 10),
    "retain + release": ("RetainRelease/1", None, None),
    "a bare copy of an entry": ("CopyEntry", None, None),
}


def lines(times, rows):
    for title, (name, minus, goal) in rows.items():
        if name not in times or (minus and minus not in times):
            sys.exit(f"{name} was not measured")
        value = times[name] - (times[minus] if minus else 0)
        text = f"{value:6.1f}" + (f" ({goal}){'!' if value > goal else ''}" if goal else "")
        yield f"{title:<45}{text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="of the programs")
    parser.add_argument("--repetitions", type=int, default=31)
    arguments = parser.parse_args()
    print("Nanoseconds on a fake of CUDA's driver with its checks switched off, and of the table")
    for program, rows in (("device_bench", ADDED), ("table_bench", TABLE)):
        path = arguments.folder / program
        if not path.exists():
            print(f"{program} was not built: no vendor's headers")
            continue
        for line in lines(medians(measure(path, arguments.repetitions, 0.01, [])), rows):
            print(line)
    print("\nMicroseconds until a driver of this machine is started, or known to be missing")
    subprocess.run([arguments.folder / "first_call"], check=True)


if __name__ == "__main__":
    main()
