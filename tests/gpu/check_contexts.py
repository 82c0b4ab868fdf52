# SPDX-License-Identifier: Apache-2.0
"""Contexts that were destroyed or reset, each case in a process of its own: a driver may crash."""

import json
import pathlib
import subprocess
import sys

from checks import Checks
from dead_contexts import CASES, ENDS, UNDEFINED

import bindings as b

PROGRAM = pathlib.Path(__file__).with_name("dead_contexts.py")


class Contexts(Checks):
    def run_case(self, case, end):
        """What a case printed, and how its process ended."""
        command = (sys.executable, "-B", str(PROGRAM), case, end)
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        print(done.stderr, file=sys.stderr)
        try:
            printed = json.loads(done.stdout)
        except json.JSONDecodeError:
            printed = {"output": done.stdout, "errors": done.stderr[-500:]}
        return printed | {"status": done.returncode}

    def test_undefined(self):
        b.need_device()
        for case in UNDEFINED:
            for end in ENDS:
                with self.check(f"{case}, {end}") as measured:
                    measured |= self.run_case(case, end)

    def test_defined(self):
        b.need_device()
        for case in CASES:
            for end in ENDS:
                with self.check(f"{case}, {end}") as measured:
                    measured |= self.run_case(case, end)
                    self.assertEqual(measured["status"], 0)
                    self.judge(case, measured)

    def judge(self, case, measured):
        if case == "memory_after":
            self.assertEqual(measured["released"], 1)
            self.assertEqual(measured["before"]["validate"], ["OK"])
        if case == "handoff_after":
            turns = [measured[turn] for turn in ("first", "second", "third")]
            self.assertEqual(turns, [["OK"]] * 3)
