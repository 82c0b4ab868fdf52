#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests/conformance/cases.json through `dlbridge.abi`, but for the cases that say "abi":

    conformance.py [CASES.json]

Where DLBRIDGE_OUTCOMES names a file, what each step answered is written there, a line a case."""

import copy
import json
import os
import pathlib
import sys

from corpus_calls import answer
from corpus_world import World

CASES = pathlib.Path(__file__).parents[3] / "tests" / "conformance" / "cases.json"


def run_case(case):
    """(what each step answered, what is wrong)."""
    world = World(case["objects"])
    steps, wrong = [], []
    for index, step in enumerate(case["steps"]):
        said = answer(world, step)
        steps.append({key: said.get(key) for key in step["expect"]})
        for key, wanted in step["expect"].items():
            if said.get(key) != wanted:
                wrong.append(f"step {index} ({step['call']}) {key}: expected {wanted}")
                wrong.append(f"step {index} ({step['call']}) {key}: found    {said.get(key)}")
    return steps, wrong + world.finish()


def expects_wrong(case):
    """The same case with a wrong expectation, which must be seen."""
    changed = copy.deepcopy(case)
    expect = changed["steps"][-1]["expect"]
    expect["status"] = "ERROR_PARSE" if expect["status"] == "OK" else "OK"
    return changed


def run(cases, outcomes):
    failed = skipped = 0
    for case in cases:
        ran = not case.get("abi")
        steps, wrong = run_case(case) if ran else ([], [])
        skipped += not ran
        outcomes.write(json.dumps({"name": case["name"], "ran": ran, "steps": steps}) + "\n")
        if ran and not run_case(expects_wrong(case))[1]:
            wrong.append("a wrong expectation was not seen")
        if wrong:
            failed += 1
            print(f"FAILED {case['name']}", *wrong, sep="\n  ")
    print(f"{len(cases)} cases, {failed} failed, {skipped} skipped")
    return failed


def main(argv):
    path = pathlib.Path(argv[0]) if argv else CASES
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["schema"] != 2 or len(document["cases"]) < 500:
        print(f"FAILED {path} is not the corpus")
        return 1
    with open(os.environ.get("DLBRIDGE_OUTCOMES", os.devnull), "w", encoding="utf-8") as outcomes:
        return 1 if run(document["cases"], outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
