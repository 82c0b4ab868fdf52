#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks in which files the library defines its entry points, and the dependencies of its folders.

A C function must be in a file whose name is part of its own: dlbridge_stream_handoff in stream.cc,
dlbridge_context_table_v1 in table.cc or context.cc. A file may include headers of its own folder
and of lower folders (LAYERS). Include cycles are not allowed. The drivers' folders must have the
same files, and the same functions in their Backend tables.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# From the bottom to the top.
LAYERS = ["support", "describe", "validate", "tensor", "copy", "protocol", "native", "device"]


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def declared(header):
    """The exported functions, in the header's order."""
    text = without_comments(header.read_text())
    return re.findall(r"^DLBRIDGE_API[^;{]*?\b(dlbridge_\w+)\(", text, re.MULTILINE)


def sources(src):
    return sorted(path for path in src.rglob("*") if path.suffix in (".c", ".cc", ".h"))


def definitions(src):
    """The files that define each function; two names if two files do."""
    found = {}
    for path in sources(src):
        text = without_comments(path.read_text())
        pattern = r"^\w[\w \*]*?\b(dlbridge_\w+)\([^;{}]*\)\s*\{"
        for name in re.findall(pattern, text, re.MULTILINE):
            found.setdefault(name, []).append(path.relative_to(src))
    return found


def predicts(name, path):
    """True if the file's name is a word, or several consecutive words, of the function's name."""
    words = name.removeprefix("dlbridge_").split("_")
    stem = path.stem.split("_")
    return any(words[i : i + len(stem)] == stem for i in range(len(words)))


def misplaced(functions, found):
    for name in functions:
        files = found.get(name, [])
        if len(files) != 1:
            yield f"{name}: expected one definition in src/, found {len(files)}"
        elif not predicts(name, files[0]):
            yield f"{name}: src/{files[0]} does not have a word of its name"


def includes(src):
    """Headers of src/ that each file includes, as paths relative to src/."""
    result = {}
    for path in sources(src):
        names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)
        result[str(path.relative_to(src))] = [name for name in names if (src / name).is_file()]
    return result


def upward(graph):
    for path, names in graph.items():
        for name in names:
            own, other = Path(path).parts[0], Path(name).parts[0]
            if own in LAYERS and other not in LAYERS:
                yield f"src/{path} includes {name}, which is in no layer"
            elif own in LAYERS and LAYERS.index(other) > LAYERS.index(own):
                yield f"src/{path} includes {name}, and {other} is above {own}"


def misfiled(graph):
    """Only nonshared.c and resident.c are outside the folders."""
    for path in graph:
        if "/" not in path and path not in ("nonshared.c", "resident.c"):
            yield f"src/{path} is in no folder"
        elif "/" in path and Path(path).parts[0] not in LAYERS:
            yield f"src/{path}: {Path(path).parts[0]} is not one of {', '.join(LAYERS)}"


def cycles(graph):
    done, active = set(), []

    def visit(path):
        if path in active:
            yield " -> ".join([*active[active.index(path) :], path])
        elif path not in done:
            active.append(path)
            for name in graph.get(path, []):
                yield from visit(name)
            active.pop()
            done.add(path)

    for path in graph:
        yield from visit(path)


DRIVER_FILES = ["backend.cc", "copies.cc", "devices.cc", "driver.h", "events.cc", "ipc.cc"]
DRIVER_FILES += ["internal.h", "memory.cc", "results.cc", "streams.cc"]


def driver_files(src):
    """A driver that lacks a file must have a comment about that in its backend.cc."""
    for folder in sorted(path for path in (src / "device").glob("*") if path.is_dir()):
        backend = folder / "backend.cc"
        text = backend.read_text() if backend.is_file() else ""
        for name in DRIVER_FILES:
            if not (folder / name).is_file() and f"there is no {name}" not in text:
                yield f"src/device/{folder.name} has no {name}, and its backend.cc does not say so"


def driver_functions(src):
    """Each slot of the Backend table must have the same function name in every driver, or NULL."""
    slots = {}
    for backend in sorted((src / "device").glob("*/backend.cc")):
        table = re.search(r"constexpr Backend \w+ = \{(.*?)\};", backend.read_text(), re.DOTALL)
        for slot, value in enumerate(table[1].split(",") if table else []):
            name = value.strip()
            if "::" in name:
                slots.setdefault(slot, set()).add(name.removeprefix(f"{backend.parent.name}::"))
    for names in slots.values():
        if len(names) > 1:
            yield f"one function of the drivers has several names: {', '.join(sorted(names))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to look at")
    parser.add_argument("--list", action="store_true", help="list each entry point with its file")
    options = parser.parse_args()
    src = options.root / "src"
    functions = declared(options.root / "include/dlbridge/dlbridge.h")
    found = definitions(src)
    graph = includes(src)
    if options.list:
        for name in functions:
            print(f"{name:34} {' '.join(f'src/{path}' for path in found.get(name, []))}")
    failures = {
        "misplaced entry points": list(misplaced(functions, found)),
        "upward includes": list(upward(graph)),
        "files outside the folders": list(misfiled(graph)),
        "include cycles": list(cycles(graph)),
        "differences between drivers": [*driver_files(src), *driver_functions(src)],
    }
    for lines in failures.values():
        for line in lines:
            print(line)
    counts = ", ".join(f"{len(lines)} {what}" for what, lines in failures.items())
    print(f"{len(functions)} entry points, {len(graph)} files: {counts}")
    return 1 if not functions or any(failures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
