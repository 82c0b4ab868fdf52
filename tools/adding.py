#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what it takes to add a rule, a status, a dtype code, a device type and a C function.

In a scratch copy of the repository it makes the edits of additions.py, runs facts.py write and runs
the quick checks. Then it leaves out each edit in turn: a check must fail, and the output names it.
At the end it makes all edits together, builds the preset dev and runs the tests of what was added.

adding.py [NAME ...]   all additions, or those whose names begin with one of the arguments
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import additions

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import checkout  # noqa: E402 needs the path above

# Always the same folder: a path in a command line would keep ccache from finding the objects.
COPY = ROOT / "build/adding/copy"
LIMITS = {"rule": 3, "status": 3, "dtype code": 3, "device type": 3, "C function": 8}
# Sources that a change of the facts can break. They compile in seconds.
SOURCES = ("status.cc", "dtype.cc", "device.cc", "version.cc", "api.cc", "validate.cc", "format.cc")
PKG_CONFIG = """\
Name: dlbridge
Description: the headers of a scratch copy
Version: 0
Cflags: -I{root}/include
Libs:
"""


class Copy:
    """A copy of the repository's files in a new git repository, with this checkout's tools."""

    def __init__(self, folder):
        self.root = Path(folder)
        shutil.rmtree(self.root, ignore_errors=True)
        checkout.copy(self.root)
        (self.root / "build").mkdir(exist_ok=True)
        if (ROOT / "build/abi-venv").exists():
            (self.root / "build/abi-venv").symlink_to((ROOT / "build/abi-venv").resolve())
        (self.root / "build/pkg").mkdir()
        (self.root / "build/pkg/dlbridge.pc").write_text(PKG_CONFIG.format(root=self.root))
        git(self.root, "init", "--quiet")
        self.commit()

    def commit(self):
        git(self.root, "add", "--all")
        identity = ("-c", "user.name=adding", "-c", "user.email=adding@localhost")
        git(self.root, *identity, "commit", "--quiet", "--no-verify", "--message", "Before")

    def reset(self):
        git(self.root, "reset", "--quiet", "--hard")
        git(self.root, "clean", "--quiet", "-d", "--force")

    def make(self, edits):
        for edit in edits:
            path = self.root / edit.path
            path.write_text(edit.apply(path.read_text()))

    def changed(self):
        return set(git(self.root, "diff", "--name-only").split())

    def run(self, *command, folder="", **environment):
        """The output of a command that fails; empty if it succeeds."""
        ccache = CCACHE if shutil.which("ccache") else {}
        environment = {**ccache, **os.environ, **environment}
        done = subprocess.run(
            command, cwd=self.root / folder, env=environment, capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        return "" if done.returncode == 0 else said.strip() or f"exit status {done.returncode}"


def git(folder, *words):
    command = ("git", "-C", str(folder), *words)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# ---- The checks, cheapest first. Each returns its complaint, or an empty string. -----------------


def facts(copy):
    return copy.run(sys.executable, "-B", "tools/facts.py", "check")


def repository(copy):
    python = copy.root / "build/abi-venv/bin/python"
    return copy.run(str(python), "-B", "tests/lint/check_repo.py")


def places(copy):
    return copy.run(sys.executable, "-B", "tools/entry_points.py")


def scenarios(copy):
    return copy.run(sys.executable, "-B", "tests/faults/coverage.py")


def corpus(copy):
    """The cases can be generated. Recording them, a step by hand, would need a build."""
    build = "import generate; generate.build()"
    return copy.run(sys.executable, "-B", "-c", build, folder="tests/conformance")


def changelog(copy):
    """New functions are in the changelog, as the gate's check of the same name requires."""
    added = {line[1:] for line in git(copy.root, "diff", "abi/symbols.txt").splitlines()
             if line.startswith("+dlbridge_")}  # fmt: skip
    names = {name.split("@")[0] for name in added}
    text = (copy.root / additions.CHANGELOG).read_text()
    return "\n".join(f"CHANGELOG.md: nothing on {name}" for name in names if name not in text)


def core(copy):
    wanted = [path for path in (copy.root / "src").rglob("*.cc") if path.name in SOURCES]
    options = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Isrc", "-Iinclude")
    return copy.run("c++", *options, *map(str, wanted))


def cpp(copy):
    (copy.root / "build/use.cc").write_text('#include "dlbridge/dlbridge.hpp"\n')
    options = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude")
    return copy.run("c++", *options, "-Ibindings/cpp/include", "build/use.cc")


def tests(copy):
    """The tests that were edited compile."""
    edited = [name for name in sorted(copy.changed()) if name.startswith("tests/unit/")]
    options = ("-std=c++17", "-fsyntax-only", "-Isrc", "-Itests", "-Iinclude")
    options += ('-DDLBRIDGE_CASES=""',)
    return copy.run("c++", *options, *edited) if edited else ""


def rust(copy):
    command = ("cargo", "check", "--quiet", "--offline", "--package", "dlbridge")
    target = str(ROOT / "build/adding/rust")
    return copy.run(*command, folder="bindings/rust", CARGO_TARGET_DIR=target)


def go(copy):
    return copy.run(
        "go", "vet", ".", folder="bindings/go", PKG_CONFIG_PATH=str(copy.root / "build/pkg")
    )


CHECKS = (facts, repository, places, scenarios, corpus, changelog, core, cpp, tests)
TOOLCHAINS = {"cargo": rust, "go": go}


def checks():
    return [*CHECKS, *(check for tool, check in TOOLCHAINS.items() if shutil.which(tool))]


def first_complaint(copy):
    """The first check that fails, and the gist of its complaint; None if all succeed."""
    for check in checks():
        said = check(copy)
        if said:
            return check.__name__, gist(said).replace(str(copy.root) + "/", "")
    return None


def gist(said):
    """The line of an output that describes the error: the first with "error", else the first."""
    lines = said.splitlines()
    return next((line for line in lines if "error" in line), lines[0])


# ---- The build ---------------------------------------------------------------------------------

PRESET = ("cmake", "--preset", "dev", "-DDLBRIDGE_BUILD_BENCH=OFF", "-DDLBRIDGE_INTEROP_TESTS=OFF")
BUILD = ("cmake", "--build", "build/dev", "--target")
RUNNER = "build/dev/tests/conformance/runner_test"
# The tests that facts decide, beside the replays of the fuzz targets.
DECIDED = {"messages_internal_test", "decisions_test", "error_test", "runner_test",
           "corpus_as_generated", "hostile_as_generated", "tool_program_test"}  # fmt: skip
# The tests that call each function, by their row.
ROWS = {"stack_test", "seccomp_test"}
# What builds the program of a test that is a script.
SCRIPTS = {"tool_program_test": ("dlbridge_tool",), "corpus_as_generated": (),
           "hostile_as_generated": ()}  # fmt: skip
# As ./run sets them.
CCACHE = {
    "CMAKE_C_COMPILER_LAUNCHER": "ccache",
    "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
    "CCACHE_DIR": str(ROOT / "build/ccache"),
    "CCACHE_BASEDIR": "/",
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_DEPEND": "1",
    "CCACHE_SLOPPINESS": "pch_defines,time_macros,locale",
}


def tests_of_additions(copy):
    """The tests of the build folder that the additions can break, sorted."""
    show = ("ctest", "--test-dir", "build/dev", "--show-only=json-v1")
    shown = subprocess.run(show, check=True, cwd=copy.root, capture_output=True, text=True).stdout
    labels = {test["name"]: test.get("properties", ()) for test in json.loads(shown)["tests"]}
    replays = {name for name, found in labels.items()
               if {"name": "LABELS", "value": ["fuzz"]} in found}  # fmt: skip
    edited = {Path(name).stem for name in copy.changed() if name.startswith("tests/unit/")}
    wanted = DECIDED | ROWS | edited | replays
    for name in sorted(wanted - set(labels)):
        print(f"not built, so not tested: {name}")
    return sorted(wanted & set(labels))


def works(copy, edits):
    """Makes all edits at once, since a build takes minutes. True if the tests pass."""
    copy.reset()
    copy.make(edits)
    said = regenerate(copy) or copy.run(*PRESET)
    if not said:
        names = tests_of_additions(copy)
        targets = [target for name in names for target in SCRIPTS.get(name, (name,))]
        record = (sys.executable, "-B", "tests/conformance/generate.py", "--runner", RUNNER)
        hostile = (sys.executable, "-B", "conformance/hostile.py")
        test = ("ctest", "--test-dir", "build/dev", "--output-on-failure", "--parallel", "2")
        test += ("--tests-regex", f"^({'|'.join(names)})$")
        print(f"\nbuilding the additions and {len(names)} tests", flush=True)
        said = copy.run(*BUILD, *targets)
        said = said or copy.run(*record) or copy.run(*hostile) or copy.run(*test)
    print("\n".join(said.splitlines()[-60:]) or "all of them pass")
    return not said


# ---- The measurement ----------------------------------------------------------------------------


def regenerate(copy):
    """The output of facts.py write if it fails, which counts as a failed check."""
    return copy.run(sys.executable, "-B", "tools/facts.py", "write")


def complete(copy, edits):
    """Makes all edits; returns the edited and the generated files, and the first complaint."""
    copy.make(edits)
    said = regenerate(copy)
    by_hand = {edit.path for edit in edits}
    found = ("write", said) if said else first_complaint(copy)
    return sorted(by_hand), sorted(copy.changed() - by_hand), found


def without_each(copy, edits):
    """Pairs of a file whose edits are left out and the complaint that follows, or None."""
    for path in dict.fromkeys(edit.path for edit in edits):
        copy.reset()
        copy.make(edit for edit in edits if edit.path != path)
        said = regenerate(copy)
        yield path, ("facts", said.splitlines()[0]) if said else first_complaint(copy)


def measure(copy, name, edits):
    """Prints the files to edit; true if there are few enough and no left-out edit is missed."""
    copy.reset()
    by_hand, generated, found = complete(copy, edits)
    if found:
        print(f"\n{name}: with all edits the check {found[0]} says: {found[1]}")
        return False
    count = f"{len(by_hand)} files by hand (at most {LIMITS[name]})"
    print(f"\n{name}: {count}, {len(generated)} generated", flush=True)
    for path, found in without_each(copy, edits):
        what = next(edit.what for edit in edits if edit.path == path)
        # A test by hand may be left out if the generated corpus already tests the addition.
        allowed = " (the generated tests have it)" if what == "test" else ""
        said = f"left out: {found[0]}: {found[1]}" if found else f"left out: not found{allowed}"
        print(f"  by hand    {path} ({what}); {said[:150]}")
        if not found and not allowed:
            return False
    for path in generated:
        print(f"  generated  {path}")
    return len(by_hand) <= LIMITS[name]


def main():
    if not (ROOT / "build/abi-venv/bin/python").exists():
        sys.exit('build/abi-venv is missing: CONTRIBUTING.md, "Checklists", has the two commands')
    version = next(
        line.split('"')[1]
        for line in (ROOT / additions.HEADER).read_text().splitlines()
        if "define DLBRIDGE_VERSION_STRING" in line
    )
    wanted = tuple(sys.argv[1:]) or ("",)
    skipped = [tool for tool in (*TOOLCHAINS, "cmake", "ninja") if not shutil.which(tool)]
    print(f"not installed, so not checked: {', '.join(skipped)}" if skipped else "all toolchains")
    chosen = {
        name: edits for name, edits in additions.all_of(version).items() if name.startswith(wanted)
    }
    copy = Copy(COPY)
    failed = [name for name, edits in chosen.items() if not measure(copy, name, edits)]
    if not {"cmake", "ninja"} & set(skipped):
        together = [edit for edits in chosen.values() for edit in edits]
        failed += [] if works(copy, together) else ["the build"]
    if not failed:
        shutil.rmtree(COPY)
    print(f"\n{len(chosen)} additions" + (f"; FAILED: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
