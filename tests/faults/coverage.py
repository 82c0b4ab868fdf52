# SPDX-License-Identifier: Apache-2.0
"""Each function that returns a status is called in a scenario of tests/faults."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
FACTS = HERE.parent.parent / "facts/functions.toml"
HEADER = HERE.parent.parent / "include/dlbridge/dlbridge.h"


def main():
    header = HEADER.read_text()
    functions = [
        name
        for name in re.findall(r"^\[(\w+)\]", FACTS.read_text(), re.MULTILINE)
        if f"DLBridgeStatus dlbridge_{name}(" in header
    ]
    sources = [*HERE.glob("*_faults_test.cc"), HERE.parent / "support/ipc.h"]
    scenarios = "".join(path.read_text() for path in sources)
    missing = [name for name in functions if f"dlbridge_{name}(" not in scenarios]
    for name in missing:
        print(f"dlbridge_{name}: no scenario of tests/faults/*_faults_test.cc calls it; add one")
    print(f"{len(functions) - len(missing)} of {len(functions)} functions with a status have one")
    return 1 if missing or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
