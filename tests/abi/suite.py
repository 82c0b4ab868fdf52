# SPDX-License-Identifier: Apache-2.0
"""The recorded tests of a version: its conformance corpus without message texts, and its unit tests
of the public header. They are one archive, which is built with the version's headers and run with
today's library. Tests whose outcome was changed on purpose are listed in abi/reviewed.txt."""

import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile

ARCHIVE = "suite.tar.xz"
CASES = "tests/conformance/cases.json"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
TIME_LIMIT = 600  # seconds, for one program on a busy machine
# Tests that expect the library to have exactly the header's version.
OF_ITS_VERSION = ("Version.IsTheHeadersInEveryForm", "Api.HoldsEveryFunction")
TEXTS = ("message", "expected", "found")


class SuiteError(Exception):
    """The tests cannot be built."""


def write(root, path):
    """Writes the archive; the same files give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(_files(root).items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(lzma.compress(raw.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def _files(root):
    """Name and content of the test programs, of their included files, and of the corpus."""
    names = (root / "tests/unit").glob("*_test.cc")
    # without_devices_test needs a build without drivers, and stack_test a documentation page.
    left = ("_internal_test.cc", "without_devices_test.cc", "stack_test.cc")
    todo = [path for path in names if not path.name.endswith(left)]
    todo.append(root / "tests/conformance/runner_test.cc")
    found = {CASES: _without_texts((root / CASES).read_text())}
    while todo:
        path = todo.pop().resolve()
        name = str(path.relative_to(root.resolve()))
        if name not in found:
            found[name] = path.read_bytes()
            todo += _included(root, path, found[name].decode())
    return found


def _included(root, path, text):
    for name in INCLUDE.findall(text):
        places = (path.parent / name, root / "tests" / name)
        found = [place for place in places if place.is_file()]
        if not found and not name.startswith("dlbridge/"):
            raise SuiteError(f"{path.name} includes {name}, which is not a public header")
        yield from found[:1]


def _without_texts(text):
    document = json.loads(text)
    for case in document["cases"]:
        for step in case["steps"]:
            step["expect"].pop("message", None)
            findings = step["expect"].get("findings")
            for finding in findings if isinstance(findings, list) else ():
                for key in TEXTS:
                    finding.pop(key, None)
    return json.dumps(document, separators=(",", ":")).encode()


class Suite:
    """The unpacked tests of a recorded version, in a folder of the build."""

    def __init__(self, build, recorded, is_todays):
        self.build, self.recorded = build, recorded
        self.left_out = () if is_todays else OF_ITS_VERSION
        self.folder = build.out / f"suite-{recorded.version}"
        archive = (recorded.folder / ARCHIVE).read_bytes()
        headers = sorted(recorded.include.rglob("*.h"))
        self.key = hashlib.sha256(b"".join([archive, *(path.read_bytes() for path in headers)]))
        self.sources = list(self._unpack(archive))
        shutil.copytree(recorded.include, self.folder / "include", dirs_exist_ok=True)

    def _unpack(self, archive):
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(archive))) as files:
            self._forget_others(set(files.getnames()))
            for entry in files:
                path = self.folder / entry.name
                content = files.extractfile(entry).read()
                if not path.is_file() or path.read_bytes() != content:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                yield path

    def _forget_others(self, names):
        """Removes files of an earlier record, which are not tests of this one."""
        for path in (self.folder / "tests").rglob("*"):
            if path.is_file() and str(path.relative_to(self.folder)) not in names:
                path.unlink()

    def programs(self):
        """The source of each test program."""
        return sorted(path for path in self.sources if path.name.endswith("_test.cc"))

    def run(self, source, reviewed):
        """Complaints of one test program; `reviewed` accepts tests and cases by name."""
        program = self._compile(source)
        version = self.recorded.version
        if source.name == "runner_test.cc":
            self._leave_out(reviewed)
        units = [line[1] for line in reviewed.lines if line[0] == version]
        names = [item[5:] for item in units if item.startswith("unit:")]
        # A review line for a test that passes must count as unused.
        failing = [name for name in names if _run(program, name).returncode != 0]
        for name in failing:
            reviewed.accepts(version, f"unit:{name}", "-")
        done = _run(program, f"-{':'.join([*self.left_out, *failing])}")
        if done.returncode != 0:
            failed = re.findall(r"^\[  FAILED  \] (\S+) \(", done.stdout, re.MULTILINE)
            yield f"{version}: {source.stem}: exit status {done.returncode}: {' '.join(failed)}"
            yield from (done.stdout + done.stderr)[-1500:].splitlines()

    def _leave_out(self, reviewed):
        """Removes the reviewed cases from the unpacked corpus."""
        document = json.loads((self.folder / CASES).read_text())
        version = self.recorded.version
        document["cases"] = [
            case
            for case in document["cases"]
            if not reviewed.accepts(version, "case:" + case["name"].replace(" ", "_"), "-")
        ]
        (self.folder / CASES).write_text(json.dumps(document))

    def _compile(self, source):
        """The program, rebuilt only if the version's tests or headers have changed. All paths are
        relative, so that ccache recognises the same tests in another folder."""
        program, stamp = self.folder / source.stem, self.folder / f"{source.stem}.stamp"
        if program.is_file() and stamp.is_file() and stamp.read_text() == self.key.hexdigest():
            return program
        name = source.relative_to(self.folder)
        options = ("-std=c++17", "-O0", f'-DDLBRIDGE_CASES="{CASES}"', "-Iinclude", "-Itests")
        launcher = [word for word in ("ccache",) if shutil.which(word)]
        self._must(*launcher, *self.build.cxx, *options, "-c", name, "-o", f"{source.stem}.o")
        link = (self.build.library, f"-Wl,-rpath,{self.build.library.parent}")
        libraries = ("-lgtest_main", "-lgtest", "-ldl", "-lpthread")
        self._must(*self.build.cxx, f"{source.stem}.o", *link, *libraries, "-o", source.stem)
        stamp.write_text(self.key.hexdigest())
        return program

    def _must(self, *command):
        command = [str(word) for word in command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SuiteError(f"{' '.join(command[-4:])}: {done.stderr[-1500:]}")


def _run(program, tests):
    """The outcome of the tests of a program that a GoogleTest filter selects."""
    environment = dict(os.environ, DLBRIDGE_SLOW_MACHINE="1", DLBRIDGE_OUTCOMES="/dev/null")
    command = [program, "--gtest_brief=1", f"--gtest_filter={tests}"]
    environment["GTEST_COLOR"] = "no"
    options = {"cwd": program.parent, "capture_output": True, "text": True, "errors": "replace"}
    try:
        return subprocess.run(command, env=environment, timeout=TIME_LIMIT, **options)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, f"not finished after {TIME_LIMIT} s", "")
