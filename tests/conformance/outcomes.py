#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the outcomes that runners wrote to the files of DLBRIDGE_OUTCOMES, case by case
and exactly, with those of C and with the corpus:

    outcomes.py C.jsonl OTHER.jsonl...

C must have run every case, other languages all cases without `"abi": true`."""

import json
import pathlib
import sys

CASES = pathlib.Path(__file__).with_name("cases.json")


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def first_difference(cases, ours, theirs):
    """The first error in `theirs`, or None; `ours` are C's outcomes."""
    if len(theirs) != len(cases):
        return f"{len(theirs)} cases, the corpus has {len(cases)}"
    for case, own, other in zip(cases, ours, theirs):
        if other["name"] != case["name"]:
            return f"{other['name']} stands where the corpus has {case['name']}"
        if not other["ran"]:
            if not case.get("abi"):
                return f"{case['name']} was skipped"
        elif other["steps"] != own["steps"]:
            return f"{case['name']}: C answered {own['steps']}, this one {other['steps']}"
    return None


def compare(cases, ours, paths):
    wrong = 0
    for path in paths:
        theirs = lines(path)
        difference = first_difference(cases, ours, theirs)
        ran = sum(outcome["ran"] for outcome in theirs)
        name = pathlib.Path(path).stem
        print(
            f"FAILED outcomes of {name}: {difference}"
            if difference
            else f"passed outcomes of {name}: {ran} cases as in C, {len(theirs) - ran} skipped"
        )
        wrong += difference is not None
    return wrong


def main():
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    ours = lines(sys.argv[1])
    difference = first_difference([{**case, "abi": False} for case in cases], ours, ours)
    if difference is not None:
        print("FAILED outcomes of C:", difference)
        return 1
    return 1 if compare(cases, ours, sys.argv[2:]) else 0


if __name__ == "__main__":
    sys.exit(main())
