# SPDX-License-Identifier: Apache-2.0
"""Runs the corpus tests/conformance/cases.json through `dlbridge.abi`, except for the "abi" cases.

If DLBRIDGE_OUTCOMES names a file, the results of each step are written there, one line per case."""

import copy
import json
import os

import pytest
from checkout import root
from corpus_calls import answer
from corpus_world import World


def run_case(case):
    """Returns the results of the steps, and the problems."""
    world = World(case["objects"])
    steps, wrong = [], []
    for index, step in enumerate(case["steps"]):
        found = answer(world, step)
        steps.append({key: found.get(key) for key in step["expect"]})
        for key, wanted in step["expect"].items():
            if found.get(key) != wanted:
                wrong.append(f"step {index} ({step['call']}) {key}: expected {wanted}")
                wrong.append(f"step {index} ({step['call']}) {key}: found    {found.get(key)}")
    return steps, wrong + world.finish()


def with_wrong_expectation(case):
    changed = copy.deepcopy(case)
    expect = changed["steps"][-1]["expect"]
    expect["status"] = "ERROR_PARSE" if expect["status"] == "OK" else "OK"
    return changed


@pytest.fixture(scope="module")
def outcomes():
    with open(os.environ.get("DLBRIDGE_OUTCOMES", os.devnull), "w", encoding="utf-8") as file:
        yield file


def cases():
    path = root() / "tests" / "conformance" / "cases.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["schema"] == 2 and len(document["cases"]) >= 500
    return document["cases"]


def test_corpus(outcomes):
    wrong = []
    for case in cases():
        ran = not case.get("abi")
        steps, problems = run_case(case) if ran else ([], [])
        outcomes.write(json.dumps({"name": case["name"], "ran": ran, "steps": steps}) + "\n")
        if ran and not run_case(with_wrong_expectation(case))[1]:
            problems.append("a wrong expectation was not reported")
        wrong += [f"{case['name']}: {problem}" for problem in problems]
    assert not wrong, "\n".join(wrong)
