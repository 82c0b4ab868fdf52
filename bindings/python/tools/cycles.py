# SPDX-License-Identifier: Apache-2.0
"""Prints the graphs of the binding's includes and imports; fails if one of them has a cycle.

A component in C or C++ is a source file and the header of the same name.
"""

import ast
import graphlib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def include_graph(folder):
    """Component -> components that its files include."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix in (".c", ".cc", ".h")]
    names = {path.stem for path in files}
    graph = {name: set() for name in names}
    for path in files:
        included = {pathlib.PurePath(name).stem for name in INCLUDE.findall(path.read_text())}
        graph[path.stem] |= (included & names) - {path.stem}
    return graph


def imported(node, package):
    """The modules of the package that one statement imports."""
    if isinstance(node, ast.Import):
        return [one.name for one in node.names if one.name.split(".")[0] == package]
    if isinstance(node, ast.ImportFrom) and (node.level or node.module.split(".")[0] == package):
        module = (node.module or "").removeprefix(f"{package}.").removeprefix(package)
        return [module] if module else [one.name for one in node.names]
    return []


def import_graph(folder):
    """Module -> modules of the package that it imports, inside functions too."""
    files = sorted(folder.glob("*.py")) + sorted(folder.glob("*.pyi"))
    names = {path.stem for path in files}
    graph = {name: set() for name in names}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            graph[path.stem] |= set(imported(node, folder.name)) & names - {path.stem}
    return graph


def cycle(graph):
    """One cycle of a graph, as the names on it, or None."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return None


def main():
    failed = False
    folders = [HERE / "src/core", HERE / "src/describe"]
    graphs = {str(folder.relative_to(HERE)): include_graph(folder) for folder in folders}
    graphs["dlbridge"] = import_graph(HERE / "dlbridge")
    for name, graph in graphs.items():
        print(f"{name}:")
        for part in sorted(graph):
            print(f"  {part} -> {', '.join(sorted(graph[part])) or '-'}")
        found = cycle(graph)
        if found:
            failed = True
            print(f"FAILED {name} has a cycle: {' -> '.join(found)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
