# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of each operation in C and in C++ under callgrind. Exit status 1 where
the binding adds more than the limit to the call in C, 77 without valgrind."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CALLS = 1000  # as in cost_main.cc


def instructions(program, function):
    """Per call, those of the functions that it calls included."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        options = [f"--callgrind-out-file={out}", f"--toggle-collect={function}"]
        command = ["valgrind", "--quiet", "--tool=callgrind", *options, program, function]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
        return int(total[1]) / CALLS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="cost_main.cc, compiled")
    parser.add_argument("--limit", type=float, default=5)
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("valgrind is not installed")
        return 77
    status = 0
    for operation in ("validate", "import", "upgrade", "share"):
        c, cpp = (instructions(arguments.program, f"{side}_{operation}") for side in ("c", "cpp"))
        print(f"{operation:<9} C {c:6.1f} Ir, C++ {cpp:6.1f} Ir")
        # A count near 0 means that callgrind collected nothing.
        if min(c, cpp) <= 20 or cpp - c > arguments.limit:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
