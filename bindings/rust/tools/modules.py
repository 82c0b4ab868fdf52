# SPDX-License-Identifier: Apache-2.0
"""Fails if the modules of a crate depend on each other in a cycle.

modules.py FOLDER...: each folder is the src of a crate. A module depends on each module that it
names as `crate::module` or through an item that lib.rs re-exports. Comments do not count.
"""

import graphlib
import pathlib
import re
import sys


def code(path):
    """The text of a file without its comments."""
    return re.sub(r"//.*", "", path.read_text())


def targets(text, prefix):
    """The first segments of the paths that start with `prefix`, braces expanded."""
    for group, name in re.findall(prefix + r"::(?:\{([^}]*)\}|(\w+))", text):
        yield from re.findall(r"(?:^|,)\s*(\w+)", group) if group else [name]


def exports(root):
    """The module of each item that lib.rs re-exports."""
    origin = {}
    for module, group, name in re.findall(r"pub use (\w+)::(?:\{([^}]*)\}|(\w+))", code(root)):
        origin.update(dict.fromkeys(re.findall(r"\w+", group or name), module))
    return origin


def module_of(folder, path):
    """The top-level module of a file: `table` for table/members.rs."""
    return path.relative_to(folder).parts[0].removesuffix(".rs")


def graph(folder):
    """Each module with the modules that it depends on."""
    origin = exports(folder / "lib.rs")
    files = [path for path in folder.rglob("*.rs") if path != folder / "lib.rs"]
    modules = {module_of(folder, path): set() for path in files}
    for path in files:
        module = module_of(folder, path)
        names = targets(code(path), r"\bcrate")
        found = {name if name in modules else origin.get(name) for name in names}
        modules[module] |= (found & set(modules)) - {module}
    return modules


def main():
    """Checks each folder."""
    for folder in map(pathlib.Path, sys.argv[1:]):
        modules = graph(folder)
        if not any(modules.values()):
            sys.exit(f"{folder}: no module depends on another; is this the src of a crate?")
        try:
            tuple(graphlib.TopologicalSorter(modules).static_order())
        except graphlib.CycleError as error:
            sys.exit(f"{folder}: a cycle of modules: {' <- '.join(error.args[1])}")


if __name__ == "__main__":
    main()
