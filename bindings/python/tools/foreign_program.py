# SPDX-License-Identifier: Apache-2.0
"""foreign_program.py PACKAGE CASES: runs in the CPython of another system. Imports and exchanges
tensors, and compares the answers to the corpus. Needs no package but dlbridge, which is in PACKAGE.
"""

import array
import json
import pathlib
import sys
import sysconfig

sys.path[:0] = [sys.argv[1], str(pathlib.Path(__file__).resolve().parents[1] / "tests")]

import dlbridge  # noqa: E402
from corpus_calls import answer  # noqa: E402
from corpus_world import World  # noqa: E402
from dlbridge import abi  # noqa: E402


def exchange():
    samples = array.array("f", [1, 2, 3])
    tensor = dlbridge.from_dlpack(dlbridge.from_dlpack(samples).__dlpack__(max_version=(1, 3)))
    samples[0] = 7
    assert memoryview(tensor).tolist() == [7, 2, 3]
    assert dlbridge.from_dlpack(tensor.__dlpack__(), writable=True).copy().shape == (3,)
    assert dlbridge.inspect(tensor).dtype == "float32"
    try:
        dlbridge.from_dlpack(tensor, ndim=2)
    except BufferError as error:
        assert error.rule == "NDIM_LIMIT"
    else:
        raise AssertionError("a tensor of one axis was accepted as one of two")


def wrong_answers(case):
    """The answers of the package that differ from those of the corpus."""
    world = World(case["objects"])
    for step in case["steps"]:
        found = answer(world, step)
        for key, wanted in step["expect"].items():
            if found.get(key) != wanted:
                yield f"{case['name']}: {step['call']} {key}: {found.get(key)} is not {wanted}"
    yield from world.finish()


def corpus(path):
    """Returns the number of cases. Those of the ABI are for programs in C."""
    cases = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["cases"]
    cases = [case for case in cases if not case.get("abi")]
    wrong = [line for case in cases for line in wrong_answers(case)]
    assert not wrong, "\n".join(wrong)
    return len(cases)


exchange()
count = corpus(sys.argv[2])
print(f"{count} cases:", abi.version_string(), sys.version.split()[0], sysconfig.get_platform())
