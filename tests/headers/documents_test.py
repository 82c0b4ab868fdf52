# SPDX-License-Identifier: Apache-2.0
"""Compiles the C examples of docs/*.md.

documents_test.py --include DIR... --documents DIR

An example is the body of a function, or a program that starts with an #include. A comment
`<!-- given: ... -->` before the former declares what its text takes as given.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

EXAMPLE = re.compile(r"(?:<!-- given: ([^>]*) -->\n\n?)?^```c\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEADERS = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\n"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-maybe-uninitialized")

WRONG = "int wrong(void) { return dlbridge_import(); }\n"


def examples(folder):
    """Pairs of a name and the program of each example."""
    for path in sorted(folder.glob("*.md")):
        for given, body in EXAMPLE.findall(path.read_text()):
            if body.startswith("#include"):
                yield path.name, body
                continue
            program = f'{HEADERS}#include "dlbridge/dlbridge.h"\nvoid example(void);\n'
            yield path.name, f"{program}void example(void) {{\n{given}\n{body}}}\n"


def complaints(program, includes):
    """What the compiler writes if it rejects a program, else an empty text."""
    folders = [f"-I{name}" for name in includes]
    command = [os.environ.get("CC", "cc"), "-std=c11", *WARNINGS, *folders]
    done = subprocess.run(
        [*command, "-fsyntax-only", "-x", "c", "-"], input=program, capture_output=True, text=True
    )
    return done.stderr if done.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True, nargs="+")
    parser.add_argument("--documents", type=pathlib.Path, required=True)
    options = parser.parse_args()
    found = list(examples(options.documents))
    failed = not found
    for name, program in found:
        text = complaints(program, options.include)
        failed |= text != ""
        print(f"{'FAILED' if text else 'ok'}: {name}\n{text}", end="")
    if not complaints(f'#include "dlbridge/dlbridge.h"\n{WRONG}', options.include):
        failed = True
        print("FAILED: a call without arguments compiles")
    print(f"{len(found)} examples")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
