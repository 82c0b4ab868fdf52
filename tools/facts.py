#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One source of facts: facts/*.toml describes statuses, rules, enumerations, dtype codes, device
types and functions once. This script writes the files and regions that repeat them.

facts.py write   writes the files that differ, and names them
facts.py check   writes nothing; if a file differs, fails and names the file to edit

The members of the function table and the crate dlbridge-sys are derived from the declarations in
dlbridge.h, which libclang reads (tests/abi/requirements.txt; build/abi-venv is used if it exists).
Without libclang they are neither changed nor checked, and the script says so. The initialiser in
api.cc, which is written from the facts, then only compiles if the table is right.
"""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from facts_lib import functions, load, outputs, text, usage


def differing(root):
    """Complaints on the facts, and the path and new text of each file that differs from them."""
    facts = load.read(root)
    complaints = list(load.problems(facts))
    changed = {}
    if not complaints:
        for path, new in outputs.all_of(root, facts):
            if (root / path).read_text() != new:
                changed[path] = new
    return complaints, changed


def write(root):
    functions.append_new(root)
    # Declarations may use constants that the first round generates; the second round reads them.
    for _ in range(2):
        complaints, changed = differing(root)
        for path, new in changed.items():
            (root / path).write_text(new)
            print(f"wrote {path}")
    return complaints


def check(root):
    complaints = [*functions.unknown(root)]
    more, changed = differing(root)
    fact = load.read(root)
    complaints += more or [
        *usage.unused(root, fact), *usage.unmodelled(root, fact), *usage.stated(root, fact)
    ]  # fmt: skip
    for path, new in changed.items():
        old = (root / path).read_text()
        line, difference = text.first_difference(old, new)
        where = text.sources(old, line)
        complaints.append(f"{path}:{line}: {difference}; edit {where}, then tools/facts.py write")
    return complaints


def use_libclang():
    """Restarts with the Python of build/abi-venv if this one has no libclang."""
    python = Path(__file__).resolve().parents[1] / "build/abi-venv/bin/python"
    if importlib.util.find_spec("clang") is None and python.exists():
        os.execv(python, [str(python), "-B", *sys.argv])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("write", "check"))
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args()
    try:
        complaints = {"write": write, "check": check}[options.command](options.root)
    except text.Problem as problem:
        complaints = [str(problem)]
    print("\n".join(complaints) or f"facts.py {options.command}: no complaints")
    if importlib.util.find_spec("clang") is None:
        print("not included, without libclang (./run abi installs it): the function table of "
              "dlbridge.h, the stubs of Python, the crate dlbridge-sys")  # fmt: skip
    return 1 if complaints else 0


if __name__ == "__main__":
    use_libclang()
    sys.exit(main())
