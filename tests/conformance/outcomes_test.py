#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""outcomes.py must detect every error of a runner. Usage: outcomes_test.py RUNNER"""

import copy
import json
import os
import subprocess
import sys
import tempfile

import outcomes


def altered(ours, cases):
    """(description, altered outcomes): each must be rejected."""
    plain = next(i for i, case in enumerate(cases) if not case.get("abi"))
    deep = next(i for i, own in enumerate(ours) if "tensor" in own["steps"][0])

    def change(index, edit):
        theirs = copy.deepcopy(ours)
        edit(theirs[index])
        return theirs

    def another_shape(outcome):
        outcome["steps"][0]["tensor"]["shape"] = ["2", "4"]

    yield "a case is missing", ours[:-1]
    yield "a case is there twice", [*ours, ours[-1]]
    yield "two cases change places", [ours[1], ours[0], *ours[2:]]
    yield "a plain case is skipped", change(plain, lambda o: o.update(ran=False, steps=[]))
    yield "a step is missing", change(plain, lambda o: o["steps"].pop())
    yield "another status", change(plain, lambda o: o["steps"][0].update(status="ERROR_PARSE"))
    yield "another shape", change(deep, another_shape)


def main():
    cases = json.loads(outcomes.CASES.read_text(encoding="utf-8"))["cases"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c.jsonl")
        subprocess.run(
            [sys.argv[1], "--gtest_brief=1"],
            env={**os.environ, "DLBRIDGE_OUTCOMES": path},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        ours = outcomes.lines(path)
    skips = [{**o, "ran": False} if c.get("abi") else o for c, o in zip(cases, ours)]
    missed = [what for what, theirs in altered(ours, cases) if agrees(cases, ours, theirs)]
    if not agrees(cases, ours, ours) or not agrees(cases, ours, skips):
        missed.append("correct outcomes are rejected")
    print("\n".join(missed) or "every alteration was detected")
    return 1 if missed else 0


def agrees(cases, ours, theirs):
    return outcomes.first_difference(cases, ours, theirs) is None


if __name__ == "__main__":
    sys.exit(main())
