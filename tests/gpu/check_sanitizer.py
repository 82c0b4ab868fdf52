# SPDX-License-Identifier: Apache-2.0
"""Modules that work on device memory, under compute-sanitizer's memcheck where it is installed."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from checks import Checks

import bindings as b

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("ordering", "copies")
ERRORS = 86  # the exit status of memcheck if it found an error
SECONDS = 26


class Sanitizer(Checks):
    def test_memcheck(self):
        b.need_device()
        tool = shutil.which("compute-sanitizer")
        if tool is None:
            self.skipTest("compute-sanitizer is not installed")
        for module in MODULES:
            with self.check(f"memcheck: {module}") as measured:
                self.memcheck(tool, module, measured)

    def memcheck(self, tool, module, measured):
        options = (
            "--tool",
            "memcheck",
            "--report-api-errors",
            "no",
            "--error-exitcode",
            str(ERRORS),
        )
        with tempfile.NamedTemporaryFile() as lines:
            command = (tool, *options, sys.executable, "-B", HERE / "checks.py", module, lines.name)
            variables = {**os.environ, "DLBRIDGE_GPU_SANITIZER": "1"}
            try:
                done = subprocess.run(
                    list(map(str, command)),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=SECONDS,
                    env=variables,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                self.skipTest(f"compute-sanitizer needs more than {SECONDS} seconds")
            print(done.stdout, file=sys.stderr)
            found = [json.loads(line)["result"] for line in lines.read().splitlines()]
        measured |= {"status": done.returncode, "checks": len(found)}
        measured["summary"] = re.findall(r"ERROR SUMMARY: .*", done.stdout)
        self.assertNotEqual(done.returncode, ERRORS, "memcheck found errors; see log.txt")
        self.assertNotIn("failed", found)
        self.assertTrue(found and measured["summary"], "the module did not run; see log.txt")
