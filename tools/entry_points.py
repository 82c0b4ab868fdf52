#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks in which files the library defines its entry points, and the dependencies of its folders.

The name of a C function begins with the name of its file: dlbridge_stream_handoff is in stream.cc.
If several files match, the longest name counts. ELSEWHERE lists the exceptions. A file may include
headers of its own folder and of lower folders (LAYERS); a driver's folder is above the other files
of src/device, and does not include another driver's folder. Include cycles are not allowed. The
drivers' folders must have the same files, and the same functions in their Backend tables.
"""

import argparse
import os.path
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# From the bottom to the top: the public headers and the folders of src/.
LAYERS = ["include/dlbridge", "support", "describe", "validate", "tensor", "copy", "protocol"]
LAYERS += ["native", "device"]
ROOTS = [Path("src"), Path("include")]  # where the compiler looks for headers

# Functions that are not in the file that begins their name.
ELSEWHERE = {
    "dlbridge_dlpack_version": "version.cc",  # beside the library's own version
    "dlbridge_tensor_format": "format.cc",  # beside device.cc and dtype.cc: text for one value
    "dlbridge_context_table_v1": "table.cc",  # this library's table; context.cc calls the process's
    "dlbridge_get_api": "api.cc",  # the function table
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def declared(header):
    """The exported functions, in the header's order."""
    text = without_comments(header.read_text())
    return re.findall(r"^DLBRIDGE_API[^;{]*?\b(dlbridge_\w+)\(", text, re.MULTILINE)


def sources(root):
    """The files of src/ and include/ that a compiler reads, as paths relative to the root."""
    found = [path for folder in ("src", "include") for path in (root / folder).rglob("*")]
    return sorted(
        str(path.relative_to(root)) for path in found if path.suffix in (".c", ".cc", ".h", ".inc")
    )


def definitions(texts):
    """The files of src/ that define each function; two names if two files do."""
    found = {}
    for path, text in texts.items():
        pattern = r"^\w[\w \*]*?\b(dlbridge_\w+)\([^;{}]*\)\s*\{"
        if path.startswith("src/"):
            for name in re.findall(pattern, without_comments(text), re.MULTILINE):
                found.setdefault(name, []).append(path)
    return found


def predicted(name, files):
    """The file name that is expected to define the function, None if no file name fits."""
    words = name.removeprefix("dlbridge_")
    fitting = [file for file in files if f"{words}_".startswith(f"{Path(file).stem}_")]
    return ELSEWHERE.get(name, max(fitting, key=len, default=None))


def misplaced(functions, found, texts):
    files = {Path(path).name for path in texts if path.startswith("src/") and path.endswith(".cc")}
    for name in functions:
        paths, expected = found.get(name, []), predicted(name, files)
        if len(paths) != 1:
            yield f"{name}: expected one definition in src/, found {len(paths)}"
        elif not expected:
            yield f"{name}: {paths[0]} is not the beginning of its name"
        elif Path(paths[0]).name != expected:
            yield f"{name}: expected in {expected}, found in {paths[0]}"


def undeclared(functions, found, texts):
    """Functions of src/ that look exported, and that dlbridge.h does not declare."""
    exported = {name: paths[0] for name, paths in found.items()}
    for path, text in texts.items():
        if path.startswith("src/"):
            pattern = r"\bDLBRIDGE_API\b[^;{(]*?(\w+)\s*\("
            exported |= dict.fromkeys(re.findall(pattern, without_comments(text)), path)
    for name in sorted(exported.keys() - set(functions)):
        yield f"{name}: {exported[name]} has it, and dlbridge.h does not declare it"


def includes(root, texts):
    """The files below the root that each file includes."""
    result = {}
    for path, text in texts.items():
        result[path] = []
        for mark, name in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', text, re.MULTILINE):
            folders = [Path(path).parent] if mark == '"' else []
            tried = [os.path.normpath(folder / name) for folder in (*folders, *ROOTS)]
            result[path] += [file for file in tried if (root / file).is_file()][:1]
    return result


def layer(path):
    """The folder of a file, as LAYERS has it, or the folder of a driver."""
    parts = Path(path).parts
    if parts[0] != "src":
        return "/".join(parts[:2])
    return "/".join(parts[1:3]) if parts[1] == "device" and len(parts) > 3 else parts[1]


def rank(name):
    """The layer's height, None if it is no layer."""
    if name.startswith("device/"):
        return len(LAYERS)
    return LAYERS.index(name) if name in LAYERS else None


def upward(graph):
    for path, names in graph.items():
        own = layer(path)
        for name in names:
            other = layer(name)
            if rank(own) is None or own == other:
                continue
            if rank(other) is None:
                yield f"{path} includes {name}, which is in no layer"
            elif rank(other) >= rank(own):
                yield f"{path} includes {name}, and {other} is not below {own}"


def misfiled(graph):
    """Only nonshared.c and resident.c are outside the folders."""
    for path in graph:
        if rank(layer(path)) is not None or path in ("src/nonshared.c", "src/resident.c"):
            continue
        if path.count("/") == 1:
            yield f"{path} is in no folder"
        else:
            yield f"{path}: {layer(path)} is not one of {', '.join(LAYERS[1:])}"


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
    texts = {path: (options.root / path).read_text() for path in sources(options.root)}
    found = definitions(texts)
    graph = includes(options.root, texts)
    if options.list:
        for name in functions:
            print(f"{name:34} {' '.join(found.get(name, []))}")
    failures = {
        "misplaced entry points": list(misplaced(functions, found, texts)),
        "undeclared entry points": list(undeclared(functions, found, texts)),
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
