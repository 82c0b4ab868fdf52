# SPDX-License-Identifier: Apache-2.0
"""The ABI gate: compares new builds with abi/ and with every recorded version of their ABI number.

gate.py check BUILD...    one line per check; exit status 1 if one fails; --only=NAME: that one;
                          --brief: without the tests of the header's own version
gate.py record BUILD...   writes the folder of the header's version, unless it is released

BUILD is a build folder of the preset `abi` or `abi-aarch64`.
"""

import argparse
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import abidiff
import api
import baseline
import clients
import compare
import dumps
import freeze
import header
import library_checks
import rules
import suite

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check_file(check):
    """Makes a check of library_checks run on every build's library."""

    def run(tree, builds):
        symbols = library_checks.read_symbols(tree.symbols)
        for build in builds:
            soname = f"libdlbridge.so.{tree.abi}"
            libc = tuple(library_checks.glibc_files(build.cc))
            expected = library_checks.Expected(soname, tree.needed(build.machine), symbols, libc)
            for complaint in check(build.library, expected):
                yield f"{build.machine}: {complaint}"

    return run


def check_floor(tree, builds):
    """No glibc newer than 2.17 is needed by the builds, or allowed by the lists of the release
    files."""
    yield from check_file(library_checks.check_floor)(tree, builds)
    for path in sorted((tree.root / "abi/needed").glob("glibc2.17-*.txt")):
        for name, versions in library_checks.read_needed(path).items():
            for version in sorted(versions):
                if not library_checks.is_old(f"@{version}"):
                    yield f"{path.name} lists {version} of {name}"


def check_symbols(tree, builds):
    """The symbol list, the header, the function table and the file have the same functions, and no
    symbol of a recorded version is missing."""
    symbols = library_checks.read_symbols(tree.symbols)
    yield from library_checks.check_lists(tree.core(), symbols)
    yield from check_file(library_checks.check_symbols)(tree, builds)
    for recorded in tree.recorded():
        for symbol in sorted(library_checks.read_symbols(recorded.symbols) - symbols):
            yield f"{recorded.version} has {symbol}"


def check_version_node(tree, builds):
    """Each function is in the version node of the version that added it."""
    yield from check_file(library_checks.check_version_node)(tree, builds)
    since = since_tags(tree)
    for symbol in sorted(library_checks.read_symbols(tree.symbols)):
        name, node = symbol.split("@@")
        major, minor, patch = since.get(name, "?.?.?").split(".")
        if (node, patch) != (f"DLBRIDGE_{major}.{minor}", "0"):
            yield f"{name} was added in {major}.{minor}.{patch}, but is in {node}"


def since_tags(tree):
    """Maps each function, type and macro with a since-tag to the version in the tag."""
    tag = re.compile(r"\\since (\d+\.\d+\.\d+)")
    texts = api.comments(tree.include / "dlbridge/dlbridge.h").items()
    found = {name: tag.search(text) for name, text in texts if name not in tree.core()["constants"]}
    return {name: match[1] for name, match in found.items() if match}


def check_structs(tree, _):
    """Growable structs have a layout that allows growth."""
    yield from rules.check(tree.api["headers"])


def check_api(tree, builds):
    """The headers are the same for both architectures, and today's API has everything that each
    recorded API has."""
    try:
        _ = tree.api
    except api.ParseError as error:
        yield str(error)
        yield from _changes_of_headers(tree)
        return
    for name in api.CORE:
        if (
            api.read_header(tree.include / "dlbridge" / name, "aarch64")
            != tree.api["headers"][name]
        ):
            yield f"{name} differs for aarch64"
    today = [tree.full_api(build) for build in builds]
    yield from ("the defaults differ between the builds" for one in today[1:] if one != today[0])
    recorded = tree.recorded()
    for one in recorded:
        yield from tree.reviewed.complaints(one.version, compare.differences(one.api, today[0]))
        if (
            one.version != tree.version
            and one.version.split(".")[:2] == tree.version.split(".")[:2]
        ):
            # A patch version must not add anything.
            for added in compare.differences(today[0], one.api):
                if added.text == "is gone":
                    yield f"{one.version}: {added.item}: was added in a patch version"
    versions = [one.version for one in recorded]
    yield from tree.reviewed.unused(r"(?!unit:|case:)", versions)


def _changes_of_headers(tree):
    """What changed in the C headers, if dlbridge.hpp does not compile with them."""
    today = api.read(tree.include, None)
    for one in tree.recorded():
        found = compare.differences({"headers": one.api["headers"]}, today)
        yield from tree.reviewed.complaints(one.version, found)


def check_draft(tree, builds):
    """The declarations in abi/draft/*.h, which later versions need, are legal additions."""
    for path in sorted((tree.root / "abi/draft").glob("*.h")):
        include = builds[0].out / "draft/include"
        shutil.copytree(tree.include, include, dirs_exist_ok=True)
        text, _, end = tree.header.rpartition("#endif")
        (include / "dlbridge/dlbridge.h").write_text(f"{text}{path.read_text()}\n#endif{end}")
        try:
            drafted = api.read(include, None)
        except api.ParseError as error:
            yield f"{path.name}: {error}"
            continue
        for one in compare.differences({"headers": tree.api["headers"]}, drafted):
            yield f"{path.name}: {one.item}: {one.text}"
        yield from (f"{path.name}: {text}" for text in rules.check(drafted["headers"]))
        if drafted["headers"] == tree.api["headers"]:
            yield f"{path.name} declares nothing"


def check_layout_freeze(tree, builds):
    """The layout freeze matches the headers, and every compiler accepts it."""
    if tree.freeze.read_text() != freeze.text(tree.api["headers"]):
        yield "abi/layout_freeze.c is not what the headers declare: ./run abi record"
    for build in builds:
        for line in freeze.compile_freeze(build.cc, tree.include, tree.freeze):
            yield f"{build.machine}: {line}"


def check_frozen_clients(tree, builds):
    """Runs the clients of every recorded version, and checks the recipes for the next one."""
    yield from clients.unknown(tree.core())
    jobs = [
        job for build in builds for one in tree.recorded() for job in clients.jobs(tree, build, one)
    ]
    for (label, _), said in zip(jobs, in_parallel([run for _, run in jobs])):
        if said:
            yield f"{label}: {said}"


def check_suite(tree, builds):
    """Runs the recorded tests of every version, natively."""
    recorded = [one for one in tree.recorded() if (one.folder / suite.ARCHIVE).is_file()]
    if tree.brief:
        recorded = [one for one in recorded if one.version != tree.version]
    for tests in (suite.Suite(builds[0], one, one.version == tree.version) for one in recorded):
        runs = [functools.partial(tests.run, path, tree.reviewed) for path in tests.programs()]
        yield from (line for said in in_parallel(runs) for line in said)
    yield from tree.reviewed.unused(r"unit:|case:", [one.version for one in recorded])


def _answer(job):
    answer = job()
    return answer if isinstance(answer, str) else list(answer)


def in_parallel(jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_answer, jobs))


def check_version(tree, builds):
    """All files have the version that the header defines."""
    text = tree.header
    if header.define(text, "DLBRIDGE_VERSION_STRING") != f'"{tree.version}"':
        yield f"DLBRIDGE_VERSION_STRING is not {tree.version}"
    newest = re.search(r"^## (\d+\.\d+\.\d+)\b", tree.changelog, re.MULTILINE)
    if not newest or newest[1] != tree.version:
        yield f"CHANGELOG.md begins with {newest and newest[1]}, the header says {tree.version}"
    for build in builds:
        for name, version in build.stated_versions():
            if version != tree.version:
                yield f"{name} says {version}, the header {tree.version}"
        if build.library.name != f"libdlbridge.so.{tree.abi}.{tree.version}":
            yield f"the file is {build.library.name}: ABI {tree.abi}, version {tree.version}"
        said = clients.version(tree, build)
        if said != f"{tree.version} {tree.version}":
            yield f"{build.machine}: the library says {said}"
    for symbol in sorted(library_checks.read_symbols(tree.symbols)):
        node = symbol.split("@@DLBRIDGE_")[-1]
        if baseline.version_key(node) > baseline.version_key(tree.version)[:2]:
            yield f"{symbol} is newer than {tree.version}"


def check_changelog(tree, _):
    """Everything added after the first version is named in the changelog section of its version."""
    recorded = tree.recorded()
    first = recorded[0].version if recorded else tree.version
    sections = re.split(r"^## (\d+\.\d+\.\d+)\b", tree.changelog, flags=re.MULTILINE)
    texts = dict(zip(sections[1::2], sections[2::2]))
    for name, version in since_tags(tree).items():
        if not re.fullmatch(r"dlbridge_\w+|DLBridge\w+|DLBRIDGE_\w+", name) or version == first:
            continue
        if not re.search(rf"\b{name}\b", texts.get(version, "")):
            yield f"CHANGELOG.md does not name {name} under {version}"


def check_repository(tree, _):
    done = subprocess.run(
        [sys.executable, "-B", tree.root / "tests/lint/check_repo.py"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        yield from (done.stdout + done.stderr).splitlines()


class Comparison:
    """Compares a build's new dumps, written at the first use, with those of every recorded version.
    With the version that the header defines they must be identical, not only compatible."""

    def __init__(self, tree, build):
        self.tree, self.build = tree, build
        self.paths = None
        self.one_at_a_time = threading.Lock()

    def fresh(self, kind):
        tree, build = self.tree, self.build
        with self.one_at_a_time:  # two checks, in two threads, want the dumps
            if self.paths is None:
                self.paths = dumps.write(build, tree.include, tree.version, build.out)
        return self.paths[kind]

    def recorded(self):
        """Each recorded version, and whether it is the version that the header defines."""
        for one in self.tree.recorded():
            yield one, one.version == self.tree.version

    def check_compliance(self, *_):
        new = self.fresh("dump")
        for one, same in self.recorded():
            old = one.dump(self.build.machine, "dump")
            # In the opposite direction, an addition shows up as a removal.
            directions = {"": (old, new), "-backwards": (new, old)} if same else {"": (old, new)}
            for suffix, pair in directions.items():
                report = self.build.out / f"since-{one.version}{suffix}.html"
                for complaint in dumps.check_compliance(*pair, report, same):
                    yield f"{one.version}: {complaint}"

    def check_abidiff(self, *_):
        for one, same in self.recorded():
            structs = one.api["headers"]["dlbridge.h"]["structs"]
            may_grow = {name for name, struct in structs.items() if rules.grows(name, struct)}
            for kind in ("interface.xml", "types.xml"):
                pair = (one.dump(self.build.machine, kind), self.fresh(kind))
                said = abidiff.compare(*pair, self.tree.suppressions, may_grow, same)
                yield from (f"{one.version}, {kind}: {line}" for line in said)


# Checks of a file that gate.py replaces by its own form, and checks of optimised code. These builds
# are not optimised: constants fill .init_array, and no call has known bounds.
ELSEWHERE = {"symbols", "version-node", "floor", "constructors", "fortify"}


def all_checks(tree, builds):
    """Every check with its name, in the order of the output."""
    yield "version", check_version
    yield "changelog", check_changelog
    yield "repository", check_repository
    yield "symbols", check_symbols
    yield "version-node", check_version_node
    for name, check in library_checks.BUILD_CHECKS.items():
        if name not in ELSEWHERE:
            yield name.replace(" ", "-"), check_file(check)
    yield "floor", check_floor
    yield "structs", check_structs
    yield "layout-freeze", check_layout_freeze
    yield "api", check_api
    yield "draft", check_draft
    yield "baseline", baseline.check_recorded
    yield "released", baseline.check_released
    yield "frozen-clients", check_frozen_clients
    yield "suite", check_suite
    for build in builds:
        comparison = Comparison(tree, build)
        yield f"acc-{build.machine}", comparison.check_compliance
        yield f"abidiff-{build.machine}", comparison.check_abidiff


ERRORS = (
    *(clients.ClientError, dumps.ToolError, suite.SuiteError),
    *(OSError, ValueError, KeyError, subprocess.CalledProcessError),
)


def run_check(check, tree, builds):
    """The outcome, and complaints or a reason. A check that raises an exception has failed."""
    try:
        complaints = list(check(tree, builds))
        return "FAILED" if complaints else "passed", complaints
    except baseline.Skipped as reason:
        return "skipped", [str(reason)]
    except api.ParseError as error:
        # The header does not compile, or dlbridge.hpp does not compile with it.
        return "FAILED", [str(error)]
    except ERRORS as error:
        return "FAILED", [f"cannot be checked: {type(error).__name__}: {error}"]


def run_checks(tree, builds, only):
    """Runs the checks in parallel, and prints their results in order."""
    failed = 0
    checks = [(name, check) for name, check in all_checks(tree, builds) if not only or name in only]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(name, pool.submit(run_check, check, tree, builds)) for name, check in checks]
        for name, job in jobs:
            outcome, remarks = job.result()
            print(outcome, name, flush=True)
            for remark in remarks[:40]:
                print(f"  {remark}")
            failed += outcome == "FAILED"
    return 1 if failed else 0


def record(tree, builds):
    date = baseline.releases(tree).get(tree.version)
    if date:
        print(
            f"{tree.version} was released on {date}: its folder never changes. "
            "A change of the ABI needs a new version in dlbridge.h and CHANGELOG.md."
        )
        return 1
    try:
        folder = baseline.record(tree, builds)
    except ERRORS as error:
        print(f"not recorded: {type(error).__name__}: {error}")
        return 1
    print(f"recorded {folder.relative_to(tree.root)}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("check", "record"))
    parser.add_argument("build", nargs="+", type=pathlib.Path)
    parser.add_argument("--brief", action="store_true", help="without the tests of this version")
    parser.add_argument("--only", action="append", default=[], help="one of the checks")
    options = parser.parse_args()
    builds = [baseline.Build(folder) for folder in options.build]
    tree = baseline.Tree(ROOT)
    tree.brief = options.brief
    if options.task == "record":
        return record(tree, builds)
    return run_checks(tree, builds, options.only)


if __name__ == "__main__":
    sys.exit(main())
