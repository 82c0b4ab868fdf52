# SPDX-License-Identifier: Apache-2.0
"""Arrays that must not be exported get the same error of one line from every entry point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import dlbridge
import numpy as np
import pytest
from test_capi import LANGUAGES, build
from test_immutable import HERE, folders, is_installed

MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


# What the messages of real tensors name.
WORDS = {
    ("torch", "freed"): "storage was freed.*resize",
    ("torch", "functional"): "functional tensor.*_from_functional_tensor",
    ("torch", "masked"): r"to_tensor\(value\).*get_data\(\).*get_mask\(\)$",
    ("torch", "csr"): r"export its to_dense\(\)$",
    ("torch", "dual"): "tangent.*detach",
    ("torch", "zero"): r"clone\(\)",
    ("torch", "int4"): r"view\(torch.uint8\)$",
    ("paddle", "csr"): r"export its to_dense\(\)$",
    ("tensorflow", "strings"): r"numpy\(\)",
}


class Speaks:
    """The base of classes that look like those of a framework."""

    def __dlpack__(self, **keywords):
        return np.arange(3.0).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


def like(module, name, **attributes):
    return type(name, (Speaks,), {"__module__": module, **attributes})()


STRINGS = type("DType", (), {"name": "string"})()
ARRAYS = {
    "masked": (MASKED, "found a masked one.*filled"),
    "a subclass of masked": (type("Mine", (np.ma.MaskedArray,), {})(np.arange(3.0)), "masked one"),
    "paddle": (like("paddle", "Tensor", stop_gradient=False), "requires a gradient.*detach"),
    "strings": (
        like("tensorflow.python.framework.ops", "EagerTensor", dtype=STRINGS),
        "found a TensorFlow tensor of strings.*numpy",
    ),
    "tracer": (like("jax._src.core", "Tracer"), "found a JAX tracer.*outside of jit"),
}


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    return build(tmp_path_factory.mktemp("guards"), "probe_guards", *LANGUAGES["c99"])


@pytest.mark.parametrize("case", ARRAYS)
def test_every_entry_point_says_the_same(case, probe):
    array, words = ARRAYS[case]
    messages = set()
    for enter in (
        dlbridge.from_dlpack,
        dlbridge.adapt,
        lambda x: dlbridge.to(x, "numpy"),
        lambda x: dlbridge.from_dlpack(x, copy=True),
        lambda x: dlbridge.from_dlpack(x, device="cpu"),
        dlbridge.from_buffer,
        lambda x: dlbridge.from_buffer(x, dtype="int8"),
        dlbridge.from_interface,
        dlbridge.to_buffer,
        dlbridge.portable,
        lambda x: probe.import_(x, 0, 0, 0, 0, 0),
        lambda x: probe.borrow(x, 0),
    ):
        with pytest.raises(BufferError, match=words) as caught:
            enter(array)
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert "\n" not in messages.pop()


def test_inspect_does_not_ask_for_an_export_that_ends_the_process():
    array = ARRAYS["strings"][0]
    type(array).__dlpack__ = lambda self, **keywords: os.abort()
    report = dlbridge.inspect(array)
    assert report.kind is None
    assert all("found a TensorFlow tensor of strings" in ask.answer for ask in report.asks)


def test_arrays_like_these_are_exported():
    assert dlbridge.from_dlpack(MASKED.filled(0.0)).shape == (2,)
    assert dlbridge.from_dlpack(MASKED.data).shape == (2,)
    assert dlbridge.from_dlpack(like("paddle", "Tensor", stop_gradient=True)).shape == (3,)
    assert dlbridge.from_dlpack(like("elsewhere", "Tensor", stop_gradient=False)).shape == (3,)


@pytest.mark.parametrize(
    ("framework", "cases", "forbids"),
    [
        ("torch", 32, {"forbids"}),
        ("jax", 3, set()),
        ("paddle", 3, set()),
        ("tensorflow", 3, set()),
    ],
)
def test_real_tensors(framework, cases, forbids, probe):
    if not is_installed(framework):
        pytest.skip(f"not installed: {framework}")
    command = [sys.executable, str(HERE / "guards_world.py"), framework, probe.__file__]
    environment = {**os.environ, "DLBRIDGE_FRAMEWORKS": os.pathsep.join(folders())}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    seen, remedies = json.loads(done.stdout.splitlines()[-1])
    for case, outcomes in remedies.items():
        assert all(kind == "none" for kind, _ in outcomes), (case, outcomes)
    plain = seen.pop("plain in forward mode", {})
    assert all(kind == "none" for kind, _ in plain.values())
    assert len(seen) == cases
    for case, entries in seen.items():
        assert len({message for _, message in entries.values()}) == 1, case
        kind, message = entries["from_dlpack"]
        assert kind == ("TypeError" if case in forbids else "BufferError"), case
        assert "\n" not in message
        assert len(message) < 250
        assert re.search(WORDS.get((framework, case), ""), message), (case, message)
