# SPDX-License-Identifier: Apache-2.0
"""Errors name what a program in Python can write, not functions and options of C."""

import re

import dlbridge
import pytest
from dlbridge import _core

np = pytest.importorskip("numpy")


def text_of(function, *arguments, **keywords):
    with pytest.raises(BufferError) as caught:
        function(*arguments, **keywords)
    text = str(caught.value)
    assert not re.search(r"dlbridge_|DLBRIDGE_", text)
    return text, caught.value.rule


def test_a_read_only_array():
    array = np.arange(3.0)
    array.flags.writeable = False
    text, rule = text_of(dlbridge.from_dlpack, array, writable=True)
    assert rule == "NOT_WRITABLE"
    assert text.endswith("; make a writable copy with copy=True")
    assert not dlbridge.from_dlpack(array, copy=True).readonly


def test_elements_that_share_memory():
    array = np.lib.stride_tricks.as_strided(np.arange(4.0), (3, 2), (8, 8))
    text, rule = text_of(dlbridge.from_dlpack, array, writable=True)
    assert rule == "SELF_OVERLAP"
    assert text.endswith("; make a compact copy with copy=True")
    assert dlbridge.from_dlpack(array, copy=True).shape == (3, 2)


def test_a_legacy_export_of_read_only_memory():
    tensor = dlbridge.from_dlpack(np.arange(3.0), writable=False)
    text, rule = text_of(_core.export, tensor, (0, 8))
    assert rule == "LEGACY_READ_ONLY"
    assert text.endswith("or export it with drop_read_only=True")
    assert _core.export(tensor, (0, 8), drop_read_only=True)


def test_other_parts_of_a_message_stay():
    text, rule = text_of(dlbridge.from_dlpack, np.zeros((2, 3)), shape=(2, 4))
    assert rule == "SHAPE_MISMATCH"
    assert "expected 4, found 3" in text
