# SPDX-License-Identifier: Apache-2.0
"""The package's conformance kit, on the streams of libraries with arrays on the device."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from checks import Checks

import bindings as b

ADAPTERS = pathlib.Path(__file__).resolve().parents[1] / "interop/conformance/gpu"
# Name of an adapter -> the modules that it needs.
LIBRARIES = {
    "torch": ("torch", "numpy"),
    "cupy": ("cupy",),
    "jax": ("jax", "cupy"),
    "cuda_core": ("cuda.core", "cuda.bindings"),
    "dlbridge": ("cupy",),
    "tvm_ffi": ("tvm_ffi", "cupy"),
}
# What the kit needs beside the package.
KIT = ("rich", "tomllib" if sys.version_info >= (3, 11) else "tomli")
CHOSEN = ("streams", "table-current-stream", "table-stream")
# At the limit the runner kills this process, but not the kit's workers, which have their own
# sessions. This module ends the kit earlier, and the kit then ends its workers.
SECONDS = 0.8 * float(os.environ.get("DLBRIDGE_GPU_LIMIT", "60"))
FACTS = ("title", "version", "date")
KEPT = ("name", "group", "status", "severity", "expected", "found", "reason")


def command(name, report):
    quirks = ADAPTERS / f"quirks/{name}.toml"
    return [
        *(sys.executable, "-B", "-m", "dlbridge.conformance", "--adapter", f"for_{name}.py"),
        *(part for pattern in CHOSEN for part in ("--checks", pattern)),
        *(("--quirks", str(quirks)) if quirks.exists() else ()),
        *("--limit", str(SECONDS / 2), "--load-limit", str(0.75 * SECONDS), "--json", str(report)),
    ]


class Run:
    """The kit on one library, in a process of its own."""

    def __init__(self, name, folder):
        self._report, self._log = folder / f"{name}.json", folder / f"{name}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command(name, self._report),
                cwd=ADAPTERS,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait(self, deadline):
        """The exit status, or None if the kit did not end in time."""
        try:
            return self._process.wait(max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.end()
            return None

    def end(self):
        """The kit ends its processes when it is terminated."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._process.kill()
        self._process.wait()

    def report(self):
        """A kit that did not run may have written none."""
        if not self._report.exists():
            return dict.fromkeys(FACTS, "") | {"checks": []}
        return json.loads(self._report.read_text())

    def output(self):
        return self._log.read_text(errors="replace")


def measurements(report):
    """What page.py of the interop tests records of a report."""
    rows = [{key: row[key] for key in KEPT if key in row} for row in report["checks"]]
    return {**{name: report[name] for name in FACTS}, "checks": rows}


def surprises(report):
    """Failures that are not known, and known ones that no longer occur."""
    wanted = {("failed", False), ("passed", True)}
    return [row["name"] for row in report["checks"] if (row["status"], "quirk" in row) in wanted]


class Conformance(Checks):
    @classmethod
    def setUpClass(cls):
        b.need_device()
        b.need_package()
        b.need_installed(*KIT)
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.deadline = time.monotonic() + SECONDS
        cls.runs = {}
        for name, modules in LIBRARIES.items():
            if not b.missing(*modules):
                cls.runs[name] = Run(name, pathlib.Path(scratch.name))
                cls.addClassCleanup(cls.runs[name].end)

    def test_libraries(self):
        for name, modules in LIBRARIES.items():
            with self.check(name) as measured:
                b.need_installed(*modules)
                self.judge(self.runs[name], measured)

    def judge(self, run, measured):
        status = run.wait(self.deadline)
        print(run.output(), file=sys.stderr)
        if status is None:
            self.fail(f"the kit did not end within {SECONDS:g} seconds")
        report = run.report()
        measured |= measurements(report)
        if status != 0:
            names = ", ".join(surprises(report)) or "see log.txt"
            self.fail(f"the kit ended with status {status}: {names}")
