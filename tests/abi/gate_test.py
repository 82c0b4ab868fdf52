# SPDX-License-Identifier: Apache-2.0
"""Tests that the ABI gate detects incompatible changes and accepts legal ones. Every change of
gate_changes.py is made in a copy of the repository and built there. The checks listed for the
change are run on the copy, and must fail. After a legal change all checks are run, and must pass.

gate_test.py [WORD...]    only the changes whose names contain a word; the word 2/3 selects every
                          third change, from the second on
"""

import concurrent.futures
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

import gate_changes
import header

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import checkout  # noqa: E402 needs the path above

PART = re.compile(r"[1-9]\d*/[1-9]\d*")
WORKERS = min(4, os.cpu_count() or 1)
# Checks that only read texts, and so work with any build.
OF_TEXTS = {"changelog", "repository", "layout-freeze", "released", "api", "structs", "draft"}


class Failure(Exception):
    """A step that the test needs has failed."""


class Copy:
    """A copy of the repository's files in its own git repository, with build folders."""

    def __init__(self, root):
        self.root = root
        checkout.copy(root)
        run(root, "git", "init", "--quiet")
        run(root, "git", "add", "--all", "--force")
        self.commit("As it is")
        self.start = run(root, "git", "rev-parse", "HEAD").strip()

    def commit(self, message):
        who = ("-c", "user.name=gate", "-c", "user.email=gate@localhost")
        options = ("--quiet", "--no-gpg-sign", "--all", "--message", message)
        run(self.root, "git", *who, "commit", *options)

    def restore(self):
        """Undoes every edit. Only edited files are written, so only they are rebuilt."""
        run(self.root, "git", "reset", "--quiet", "--hard", self.start)
        run(self.root, "git", "clean", "--quiet", "-d", "--force")

    def release(self):
        """Gives the header's version a date, unless it has one."""
        text = self.read("CHANGELOG.md")
        heading = f"## {self.version()}"
        self.write(
            "CHANGELOG.md", text.replace(f"{heading} (unreleased)", f"{heading}, 2026-01-01")
        )
        if run(self.root, "git", "status", "--porcelain", "CHANGELOG.md"):
            self.commit("Release")

    def is_built(self, presets):
        libraries = (self.root / "build" / preset / "src/libdlbridge.so" for preset in presets)
        return all(library.is_file() for library in libraries)

    def build(self, presets):
        for preset in presets:
            if not (self.root / "build" / preset).is_dir():
                run(self.root, "cmake", "--preset", preset)
            run(self.root, "cmake", "--build", "--preset", preset, "--parallel", "1")

    def gate(self, task, presets, only=()):
        folders = [f"build/{preset}" for preset in presets]
        # The tests of the version just recorded are those of the repository, so they need not be
        # run.
        brief = [] if task == "record" or only else ["--brief"]
        words = [*folders, *brief, *(f"--only={name}" for name in sorted(only))]
        command = [sys.executable, "-B", "tests/abi/gate.py", task, *words]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True)

    # Edits for the changes.

    def read(self, name):
        return (self.root / name).read_text()

    def write(self, name, text):
        (self.root / name).write_text(text)

    def write_new(self, name, text):
        """Writes a new file into a new folder."""
        shutil.rmtree((self.root / name).parent, ignore_errors=True)
        (self.root / name).parent.mkdir(parents=True)
        self.write(name, text)

    def append(self, name, text):
        self.write(name, self.read(name) + text + "\n")

    def replace(self, name, old, new, first=False):
        text = self.read(name)
        if old not in text or (text.count(old) > 1 and not first):
            raise Failure(f"{name} has {text.count(old)} times: {old}")
        self.write(name, text.replace(old, new, 1))

    def regenerate(self):
        run(self.root, sys.executable, "-B", "tools/facts.py", "write")

    def repeat_version(self):
        """Writes the header's version into the files that repeat it."""
        self.regenerate()
        command = (sys.executable, "-B", "tools/versions.py", "write")
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        # It fails until the version is recorded.
        if "wrote bindings/rust/Cargo.toml" not in done.stdout:
            raise Failure(done.stdout + done.stderr)

    def remove_line(self, name, start):
        lines = self.read(name).splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(start)]
        if len(kept) != len(lines) - 1:
            raise Failure(f"{name} has {len(lines) - len(kept)} lines that start with {start}")
        self.write(name, "".join(kept))

    def swap(self, name, one, other):
        """Exchanges two pieces of text, each given by a pattern."""
        text = self.read(name)
        found = [match for pattern in (one, other) for match in re.finditer(pattern, text)]
        pieces = sorted(found, key=lambda match: match.start())[-2:]
        if len(found) < 2 or pieces[0].re is pieces[1].re:
            raise Failure(f"{name} does not have both {one} and {other}")
        a, b = pieces
        between = text[a.end() : b.start()]
        self.write(name, text[: a.start()] + b[0] + between + a[0] + text[b.end() :])

    def version(self):
        return header.version(self.read(gate_changes.HEADER))

    def node(self):
        """The version node for the header's version."""
        return "DLBRIDGE_" + ".".join(self.version().split(".")[:2])

    def first_size(self, struct):
        """Size of a struct of dlbridge.h in the oldest recorded version."""
        (path,) = sorted((self.root / "abi/1").glob("*/api.json"))[:1]
        return json.loads(path.read_text())["headers"]["dlbridge.h"]["structs"][struct]["size"]

    def recorded_versions(self):
        return sorted(path.parent.name for path in (self.root / "abi/1").glob("*/api.json"))

    def last_node(self):
        return re.findall(r"^(DLBRIDGE_\d+\.\d+) \{", self.read(gate_changes.MAP), re.MULTILINE)[-1]


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise Failure(f"{' '.join(command)}: {said[-3000:]}")
    return done.stdout


def presets(change):
    return ("abi", "abi-aarch64") if change.aarch64 else ("abi",)


def noticed_by(change, copy):
    """The checks that fail after a change, and the output."""
    only = change.noticed_by or change.checks
    of_texts = only and only <= OF_TEXTS and not change.recorded
    if of_texts and not copy.is_built(presets(change)):
        copy.build(presets(change))  # of the unchanged copy: not every such change compiles
    change.edit(copy)
    if not of_texts:
        copy.build(presets(change))
    if change.recorded:
        done = copy.gate("record", presets(change))
        if done.returncode != 0:
            raise Failure(f"cannot be recorded: {done.stdout}{done.stderr}")
    done = copy.gate("check", presets(change), only)
    failed = re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
    broken = "cannot be checked:" in done.stdout  # such a check fails for every change
    if broken or done.returncode not in (0, 1) or (done.returncode == 1) != bool(failed):
        raise Failure(f"the gate did not finish: {done.stdout}{done.stderr}")
    return set(failed), done.stdout


def judge(change, copy):
    """Lines of output for one change; the first has the result."""
    try:
        copy.restore()
        failed, said = noticed_by(change, copy)
    except Failure as failure:
        return f"FAILED {change.name}\n{textwrap.indent(str(failure), '  ')}"
    missed = change.noticed_by - failed
    unnamed = change.item not in said
    wrong = failed if not change.noticed_by else missed or unnamed
    if wrong:
        what = f"not detected by {' '.join(sorted(missed))}" if missed else "is legal"
        what = f"no complaint names {change.item}" if unnamed else what
        return f"FAILED {change.name}: {what}\n{textwrap.indent(said, '  ')}"
    return f"passed {change.name}: {', '.join(sorted(failed)) or 'no complaint'}"


def judge_record(copy):
    """A released version cannot be recorded again."""
    name = "a released version recorded again"
    copy.restore()
    version = copy.version()
    text = re.sub(rf"## {version}\b.*", f"## {version}, 2026-01-01", copy.read("CHANGELOG.md"))
    copy.write("CHANGELOG.md", text)
    copy.build(("abi",))
    done = copy.gate("record", ("abi",))
    changed = run(copy.root, "git", "status", "--porcelain", "abi")
    if done.returncode == 0 or "its folder never changes" not in done.stdout or changed:
        return f"FAILED {name}\n{textwrap.indent(done.stdout + changed, '  ')}"
    return f"passed {name}: rejected"


def chosen(words):
    changes = gate_changes.CHANGES
    parts = [tuple(map(int, word.split("/"))) for word in words if PART.fullmatch(word)]
    return [
        one
        for place, one in enumerate(changes)
        if not words
        or any(place % count == part - 1 for part, count in parts)
        or any(word in one.name for word in words if not PART.fullmatch(word))
    ]


def main():
    words = sys.argv[1:]
    copies = queue.Queue()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(WORKERS):
            root = pathlib.Path(folder) / str(number)
            root.mkdir()
            copies.put(Copy(root))

        def with_copy(function, *arguments):
            copy = copies.get()
            try:
                return function(*arguments, copy)
            finally:
                copies.put(copy)

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            jobs = [pool.submit(with_copy, judge, one) for one in chosen(words)]
            if not words:
                jobs.append(pool.submit(with_copy, judge_record))
            if not jobs:
                print(f"no change is called {' or '.join(words)}")
            failed = 0
            for job in jobs:
                print(job.result(), flush=True)
                failed += job.result().startswith("FAILED")
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
