# SPDX-License-Identifier: Apache-2.0
"""Compiles the draft of the next version with the public header: it may only add to it.

draft_test.py --include DIR --draft FILE

Faults that would break the ABI are put into copies of the draft, and must not compile.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
COMPILERS = (("gcc", "c99"), ("gcc", "c++11"), ("clang", "c99"), ("clang", "c++11"))
USE = "DLBridgeStatus (*use)(size_t*, DLBridgeError*) = dlbridge_stream_collect;\n"

# Pairs of a text in the draft and its replacement.
FAULTS = (
    # A field before an earlier one; a removed field.
    ("  int32_t memory;", "  int32_t before;\n  int32_t memory;"),
    ("  size_t fd_count;\n", ""),
    # An earlier field with another size.
    ("  uint32_t properties;", "  uint16_t properties;"),
    # An option bit that 0.3.0 already has; one among DLPack's flags.
    ("DLBRIDGE_IPC_POOL = 1 << 9", "DLBRIDGE_IPC_POOL = 1 << 8"),
    ("DLBRIDGE_IPC_POOL = 1 << 9", "DLBRIDGE_IPC_POOL = 1 << 2"),
    # A function of 0.3.0 with other parameters.
    ("dlbridge_stream_collect(size_t*", "dlbridge_stream_synchronize(size_t*"),
)


def compiles(compiler, standard, include, draft):
    suffix = ".cc" if "++" in standard else ".c"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / f"source{suffix}"
        source.write_text(f"{draft}\n{USE}")
        command = [compiler, f"-std={standard}", *WARNINGS, "-I", include, "-fsyntax-only", source]
        return subprocess.run(command, capture_output=True, text=True)


def failures(include, draft):
    for compiler, standard in COMPILERS:
        done = compiles(compiler, standard, include, draft)
        if done.returncode != 0:
            yield f"{compiler} {standard}: the draft does not compile\n{done.stderr}"
        for old, new in FAULTS:
            if old not in draft:
                yield f"the draft has no '{old}'"
            elif compiles(compiler, standard, include, draft.replace(old, new)).returncode == 0:
                yield f"{compiler} {standard}: accepted '{new}' for '{old}'"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--draft", type=pathlib.Path, required=True)
    options = parser.parse_args()
    found = list(failures(options.include, options.draft.read_text()))
    for failure in found:
        print(f"FAILED {failure}")
    print(f"{len(COMPILERS)} compilations of the draft, {len(FAULTS)} faults each")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
