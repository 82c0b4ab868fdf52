# SPDX-License-Identifier: Apache-2.0
"""The working tree, its builds, and the versions recorded under abi/<ABI number>/<version>/."""

import pathlib
import re
import shutil
import subprocess

import dumps
import elf
import header
import library_checks


class Tree:
    """The sources whose ABI is checked."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.include = self.root / "include"
        self.header = (self.include / "dlbridge/dlbridge.h").read_text()
        self.version = header.version(self.header)
        self.abi = header.abi(self.header)
        self.symbols = self.root / "abi/symbols.txt"
        self.freeze = self.root / "abi/layout_freeze.c"
        self.suppressions = self.root / "abi/abidiff.suppr"
        self.changelog = (self.root / "CHANGELOG.md").read_text()

    def headers(self):
        return sorted((self.include / "dlbridge").glob("*.h"))

    def needed(self, machine):
        return library_checks.read_needed(self.root / f"abi/needed/debian12-{machine}.txt")

    def recorded(self):
        """The recorded versions of the header's ABI number, oldest first."""
        folders = (self.root / f"abi/{self.abi}").glob("*.*.*")
        return sorted(map(Recorded, folders), key=lambda one: version_key(one.version))

    def recorded_here(self):
        """The folder of the header's own version, which need not be there."""
        return Recorded(self.root / f"abi/{self.abi}/{self.version}")


def version_key(version):
    return [int(number) for number in version.split(".")]


# Files of a build folder that state the version, and how.
STATED = {
    "CMakeCache.txt": r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$",
    "dlbridge*.pc": r"^Version: (.*)$",
    "dlbridgeConfigVersion*.cmake": r'^set\(PACKAGE_VERSION "(\d[^"]*)"\)',
}


class Build:
    """A build folder of CMake, with the library in it."""

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
        """Pairs: a file that CMake has written for this build, and the version it states there."""
        for name, pattern in STATED.items():
            stated = [
                (path.name, version)
                for path in sorted(self.folder.rglob(name))
                for version in re.findall(pattern, path.read_text(), re.MULTILINE)
            ]
            yield from stated or [(name, "nothing")]


class Recorded:
    """One recorded version: public headers, symbol list, freeze and dumps, as it had them."""

    def __init__(self, folder):
        self.folder = folder
        self.version = folder.name
        self.include = folder / "include"
        self.symbols = folder / "symbols.txt"
        self.freeze = folder / "layout_freeze.c"

    def dump(self, machine, kind):
        return self.folder / f"{machine}.{kind}"

    def header(self):
        return (self.include / "dlbridge/dlbridge.h").read_text()


def releases(tree):
    """The versions that the changelog gives a date: version to date."""
    heading = r"^## (\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d)$"
    return dict(re.findall(heading, tree.changelog, re.MULTILINE))


class Skipped(Exception):
    """A check cannot be made here, for the reason given."""


def check_released(tree, _):
    """Complaints on released versions whose folder is not what it was when they got their date."""
    if _git(tree, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise Skipped("a shallow clone does not know what a folder was")
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
    """The first commit that gave a version a date, whichever; empty where that is not committed."""
    heading = rf"^## {re.escape(version)}, [0-9]"
    # All history: the date may have come over a merge, of which git would follow one side only.
    options = ("--full-history", "--reverse", "--format=%H", "-G", heading)
    return (_git(tree, "log", *options, "--", "CHANGELOG.md").split() or [""])[0]


def _git(tree, *arguments):
    command = ("git", "-C", str(tree.root), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def record(tree, builds):
    """Writes the folder of the header's version anew."""
    folder = tree.recorded_here().folder
    fresh = [dumps.write(build, tree.include, tree.version, build.out) for build in builds]
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "include/dlbridge").mkdir(parents=True)
    for path in tree.headers():
        shutil.copy(path, folder / "include/dlbridge")
    for path in (tree.symbols, tree.freeze, *(path for paths in fresh for path in paths.values())):
        shutil.copy(path, folder)
    return folder


def check_recorded(tree, builds):
    """Complaints on the folder of the header's version: it is what the tree has now. Comments may
    differ, so that a better wording needs no release."""
    recorded = tree.recorded_here()
    where = recorded.folder.relative_to(tree.root)
    if not recorded.folder.is_dir():
        return [f"{where} is not there: ./run abi record"]
    complaints = []
    names = {path.name for path in tree.headers()}
    kept = {path.name for path in (recorded.include / "dlbridge").glob("*.h")}
    complaints += [f"{where} has no {name}" for name in sorted(names - kept)]
    complaints += [f"{name} is only in {where}" for name in sorted(kept - names)]
    pairs = [(path, recorded.include / "dlbridge" / path.name) for path in tree.headers()]
    pairs += [(tree.symbols, recorded.symbols), (tree.freeze, recorded.freeze)]
    for now, then in pairs:
        if then.is_file() and header.code(now.read_text()) != header.code(then.read_text()):
            complaints.append(f"{now.relative_to(tree.root)} is not the recorded one of {where}")
    needed = [recorded.symbols, recorded.freeze]
    needed += [recorded.dump(build.machine, kind) for build in builds for kind in dumps.KINDS]
    return complaints + [f"{where} has no {path.name}" for path in needed if not path.is_file()]
