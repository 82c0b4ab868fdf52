# SPDX-License-Identifier: Apache-2.0
"""The working tree, its builds, and the versions recorded under abi/<ABI number>/<version>/."""

import functools
import json
import pathlib
import re
import shutil
import subprocess

import api
import clients
import compare
import dumps
import elf
import freeze
import header
import library_checks
import suite
import values


class Tree:
    """The sources whose ABI is checked."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.brief = False
        self.include = self.root / "include"
        self.header = (self.include / "dlbridge/dlbridge.h").read_text()
        self.version = header.version(self.header)
        self.abi = header.abi(self.header)
        self.symbols = self.root / "abi/symbols.txt"
        self.freeze = self.root / "abi/layout_freeze.c"
        self.suppressions = self.root / "abi/abidiff.suppr"
        self.changelog = (self.root / "CHANGELOG.md").read_text()
        self.reviewed = compare.Reviewed(self.root / "abi/reviewed.txt")

    @functools.cached_property
    def api(self):
        """The API of the headers, as api.py reads it."""
        return api.read(self.include, self.root / "bindings/cpp/include")

    def core(self):
        return self.api["headers"]["dlbridge.h"]

    def full_api(self, build):
        """`api`, with the bytes of the default values, compiled by the build's compiler."""
        return {**self.api, "defaults": values.of_headers(build, self.include, self.core())}

    def headers(self):
        return sorted((self.include / "dlbridge").rglob("*.h"))

    def needed(self, machine):
        return library_checks.read_needed(self.root / f"abi/needed/debian12-{machine}.txt")

    def recorded(self):
        """The recorded versions of the header's ABI number, oldest first."""
        folders = (self.root / f"abi/{self.abi}").glob("*.*.*")
        return sorted(map(Recorded, folders), key=lambda one: version_key(one.version))

    def recorded_here(self):
        """The folder of the header's own version, which may be missing."""
        return Recorded(self.root / f"abi/{self.abi}/{self.version}")


def version_key(version):
    return [int(number) for number in version.split(".")]


# Files of a build folder that contain the version, and the pattern of it.
STATED = {
    "CMakeCache.txt": r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$",
    "dlbridge*.pc": r"^Version: (.*)$",
    "dlbridgeConfigVersion*.cmake": r'^set\(PACKAGE_VERSION "(\d[^"]*)"\)',
}


class Build:
    """A CMake build folder that contains the library."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.library = (self.folder / "src/libdlbridge.so").resolve()
        if not self.library.is_file():
            raise SystemExit(f"{folder} has no library: cmake --build --preset {self.folder.name}")
        self.machine = elf.machine(self.library)
        self.cc = [self._compiler("C")]
        self.cxx = [self._compiler("CXX")]
        self.out = self.folder / "gate"
        self.out.mkdir(exist_ok=True)

    def _compiler(self, language):
        (path,) = self.folder.glob(f"CMakeFiles/*/CMake{language}Compiler.cmake")
        return re.search(rf'set\(CMAKE_{language}_COMPILER "(.*)"\)', path.read_text())[1]

    def stated_versions(self):
        """Pairs: a file that CMake wrote for this build, and the version in it."""
        for name, pattern in STATED.items():
            stated = [
                (path.name, version)
                for path in sorted(self.folder.rglob(name))
                for version in re.findall(pattern, path.read_text(), re.MULTILINE)
            ]
            yield from stated or [(name, "nothing")]


class Recorded:
    """One recorded version: its public headers, API, symbol list, client, tests and dumps."""

    def __init__(self, folder):
        self.folder = folder
        self.version = folder.name
        self.include = folder / "include"
        self.symbols = folder / "symbols.txt"
        self.api_file = folder / "api.json"
        self.client = folder / "client.c"

    @functools.cached_property
    def api(self):
        return json.loads(self.api_file.read_text())

    def dump(self, machine, kind):
        return self.folder / f"{machine}.{kind}"


def releases(tree):
    """The versions that have a date in the changelog: version to date."""
    heading = r"^## (\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d)$"
    return dict(re.findall(heading, tree.changelog, re.MULTILINE))


class Skipped(Exception):
    """A check cannot be made here; the message is the reason."""


def check_released(tree, _):
    """Complaints on released versions whose folder has changed since the commit that dated them."""
    if _git(tree, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise Skipped("a shallow clone has no history of the folder")
    for version, date in releases(tree).items():
        if not list((tree.root / "abi").glob(f"*/{version}")):
            yield f"{version} was released on {date} and has no folder"
        commit = _dating_commit(tree, version)
        if commit:
            folder = f":(glob)abi/*/{version}/**"
            changed = _git(tree, "diff", "--name-only", commit, "--", folder)
            changed += _git(tree, "ls-files", "--others", "--exclude-standard", "--", folder)
            yield from (
                f"{path} has changed after {version} was released" for path in changed.split()
            )
        elif not _git(tree, "status", "--porcelain", "--", "CHANGELOG.md"):
            yield f"no commit has given {version} its date"


def _dating_commit(tree, version):
    """The first commit that gave a version any date; empty if that is not committed."""
    heading = rf"^## {re.escape(version)}, [0-9]"
    # Search the full history: the date may have come with a merge, and git would follow one side
    # only.
    options = ("--full-history", "--reverse", "--format=%H", "-G", heading)
    return (_git(tree, "log", *options, "--", "CHANGELOG.md").split() or [""])[0]


def _git(tree, *arguments):
    command = ("git", "-C", str(tree.root), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def record(tree, builds):
    """Rewrites the folder of the header's version, and the layout freeze."""
    recorded = tree.recorded_here()
    folder = recorded.folder
    tree.freeze.write_text(freeze.text(tree.api["headers"]))
    fresh = [dumps.write(build, tree.include, tree.version, build.out) for build in builds]
    text = as_text(tree.full_api(builds[0]))
    shutil.rmtree(folder, ignore_errors=True)
    for path in tree.headers():
        kept = recorded.include / path.relative_to(tree.include)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, kept)
    recorded.api_file.write_text(text)
    recorded.client.write_text(clients.source(tree.core()))
    suite.write(tree.root, folder / suite.ARCHIVE)
    for path in (tree.symbols, *(path for paths in fresh for path in paths.values())):
        shutil.copy(path, folder)
    return folder


def as_text(value, depth=4):
    """JSON with one item per line."""
    if depth == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value)
    blanks = " " * (5 - depth)
    lines = [f"{blanks}{json.dumps(key)}: {as_text(one, depth - 1)}" for key, one in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + blanks[1:] + "}" + ("\n" if depth == 4 else "")


def check_recorded(tree, builds):
    """Complaints on the folder of the header's version, which must match the working tree. Comments
    may differ, so that a better wording needs no release."""
    recorded = tree.recorded_here()
    where = recorded.folder.relative_to(tree.root)
    if not recorded.folder.is_dir():
        yield f"{where} is not there: ./run abi record"
        return
    needed = [recorded.symbols, recorded.api_file, recorded.client, recorded.folder / suite.ARCHIVE]
    needed += [recorded.dump(build.machine, kind) for build in builds for kind in dumps.KINDS]
    missing = [path for path in needed if not path.is_file()]
    yield from (f"{where} has no {path.name}" for path in missing)
    names = {str(path.relative_to(tree.include)) for path in tree.headers()}
    kept = {str(one.relative_to(recorded.include)) for one in recorded.include.rglob("*.h")}
    yield from (f"{where} has no {name}" for name in sorted(names - kept))
    yield from (f"{name} is only in {where}" for name in sorted(kept - names))
    pairs = [(one, recorded.include / one.relative_to(tree.include)) for one in tree.headers()]
    for now, then in [*pairs, (tree.symbols, recorded.symbols)]:
        if then.is_file() and header.code(now.read_text()) != header.code(then.read_text()):
            yield f"{now.relative_to(tree.root)} is not the recorded one of {where}"
    if recorded.api_file not in missing and recorded.api != tree.full_api(builds[0]):
        yield f"the API is not that of {where}/api.json"
        yield from _changes(recorded.api, tree.full_api(builds[0]))


def _changes(old, new):
    """Lists what changed, was added or was removed."""
    for one in compare.differences(old, new):
        yield f"{one.item}: {one.text}"
    for one in compare.differences(new, old):
        if one.text == "is gone":
            yield f"{one.item}: was added"
