# SPDX-License-Identifier: Apache-2.0
"""The regions of each file, and the files that are generated as a whole."""

from . import c, corpus, cpp, docs, functions, go, python, rust, tests, tool
from .text import Problem, replace

HEADER = "include/dlbridge/dlbridge.h"
DLPACK = "include/dlbridge/dlpack.h"
CPYTHON = "include/dlbridge/cpython"
SOURCES = (
    "status_table.h", "known_values.h", "dtype.h", "device.h", "version.h", "api.cc",
    "dlbridge.map",
)  # fmt: skip


def _find(root, folder, name):
    """Finds a source file by its name in all subfolders of `folder`."""
    paths = sorted((root / folder).rglob(name))
    if len(paths) != 1:
        raise Problem(f"{folder}: {len(paths)} files called {name}, expected 1")
    return str(paths[0].relative_to(root))


def all_of(root, facts):
    """Pairs of a path and the complete text that the facts give for it."""
    source = {name: _find(root, "src", name) for name in SOURCES}
    yield from _whole(root, facts, source)
    yield tool.PATH, tool.table(facts)
    yield from tool.scripts(root, facts)
    found = {}
    for path, mark, body in _regions(facts, source):
        text = found.get(path) or (root / path).read_text()
        found[path] = replace(text, mark, body, path)
    declared = functions.declarations(root, found[HEADER])
    if declared is not None:
        facts.functions = [one for one in facts.functions if f"dlbridge_{one.name}" in declared]
        members = c.api_members(facts, declared)
        found[HEADER] = replace(found[HEADER], "facts/functions.toml", members, HEADER)
        stubs = python.stubs(facts, declared, (root / python.STUBS).read_text())
        found[python.STUBS] = stubs
    yield from found.items()
    yield from rust.crate(root)


def _whole(root, facts, source):
    yield source["status_table.h"], c.status_table(facts, source["status_table.h"])
    yield source["known_values.h"], c.known_values(facts, source["known_values.h"])
    yield source["dlbridge.map"], c.version_script(facts)
    yield "abi/symbols.txt", c.symbols(facts)
    # The source archive of a release has no debian/.
    for path in (root / "debian").glob("libdlbridge*.symbols"):
        text = c.debian_symbols(facts, (root / HEADER).read_text())
        yield str(path.relative_to(root)), text
    yield "bindings/python/dlbridge/_constants.py", python.constants(facts)
    yield "bindings/go/constants.go", go.constants(facts)
    yield "bindings/go/constant_names.go", go.names(facts)
    yield from corpus.files(facts)


def _regions(facts, source):
    yield from _headers(facts)
    yield source["dtype.h"], "facts/dtypes.toml", c.dtype_table(facts)
    yield source["device.h"], "facts/devices.toml", c.device_table(facts)
    yield source["version.h"], "facts/dlpack.toml", c.versions(facts)
    yield source["api.cc"], "facts/functions.toml", c.api_initialiser(facts)
    yield from docs.regions(facts)
    yield from cpp.regions(facts)
    yield from rust.regions(facts)
    yield from tests.regions(facts)
    yield from corpus.regions(facts)
    yield from python.regions(facts)


def _headers(facts):
    yield HEADER, "facts/statuses.toml", c.statuses(facts)
    yield HEADER, "facts/rules.toml", c.rules(facts)
    for group in facts.groups:
        yield HEADER, f"facts/enums.toml {group.name}", c.group(group)
    yield HEADER, "facts/dlpack.toml", c.default_version(facts)
    yield f"{CPYTHON}/errors.h", "facts/statuses.toml", c.exceptions(facts)
    yield f"{CPYTHON}/life.h", "facts/dlpack.toml", c.asked_version(facts)
    yield DLPACK, "facts/devices.toml", c.dlpack_enum(facts.devices)
    yield DLPACK, "facts/dtypes.toml", c.dlpack_enum(facts.dtypes, "U")
    yield DLPACK, "facts/dlpack.toml version", c.dlpack_version(facts)
    yield DLPACK, "facts/dlpack.toml added", c.dlpack_added(facts)
    yield DLPACK, "facts/dlpack.toml flags", c.dlpack_flags(facts)
