# SPDX-License-Identifier: Apache-2.0
"""The library under other allocators: preload_test.py PROGRAM[:FILTER]...

Runs each test program with each allocator that is installed, those without a filter at a tenth of
their size. Exit status 77: there is none.
"""

import glob
import os
import subprocess
import sys

ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "mimalloc": "libmimalloc.so.2*",
    "tcmalloc": "libtcmalloc_minimal.so.4",
}


def installed(pattern):
    found = sorted(
        path for folder in ("/usr/lib/*", "/usr/lib") for path in glob.glob(f"{folder}/{pattern}")
    )
    return found[0] if found else None


def run(name, library, program):
    """Runs a program; false if it fails or the allocator is not in the process."""
    path, _, chosen = program.partition(":")
    environment = {**os.environ, "LD_PRELOAD": library}
    maps = subprocess.run(
        ("cat", "/proc/self/maps"), env=environment, capture_output=True, text=True
    )
    if os.path.basename(os.path.realpath(library)) not in maps.stdout:
        print(f"FAILED {name}: {library} cannot be preloaded: {maps.stderr}")
        return False
    if not chosen:
        environment["DLBRIDGE_TEST_SCALE"] = "0.1"
    command = (path, "--gtest_brief=1", f"--gtest_filter={chosen or '*'}")
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    ran = done.returncode == 0 and b"[  PASSED  ] 0 tests" not in done.stdout
    print("passed" if ran else "FAILED", name, os.path.basename(path), chosen, flush=True)
    if not ran:
        print(done.stdout.decode(errors="replace")[-4000:])
    return ran


def main():
    libraries = {name: installed(pattern) for name, pattern in ALLOCATORS.items()}
    there = {name: library for name, library in libraries.items() if library}
    for name in libraries.keys() - there.keys():
        print(f"skipped {name}: not installed")
    if not there:
        return 77
    ran = [run(*one, program) for one in there.items() for program in sys.argv[1:]]
    return 0 if ran and all(ran) else 1


if __name__ == "__main__":
    sys.exit(main())
