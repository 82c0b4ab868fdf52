# SPDX-License-Identifier: Apache-2.0
"""What reading the sources brought up: each was wrong once."""

from __future__ import annotations

import ctypes

import producers
import pytest
from dlbridge import _core, from_dlpack
from producers import Producer, versioned


def memory(size: int = 16) -> tuple[object, int]:
    owner = (ctypes.c_char * size)()
    return owner, ctypes.addressof(owner)


def test_read_only_memory_stays_so_whatever_flags_come_after():
    owner, address = memory()
    for options in ({"readonly": True, "flags": 0}, {"flags": 0, "readonly": True}):
        assert _core.wrap(owner, address, (2,), "float64", **options).readonly
    assert not _core.wrap(owner, address, (2,), "float64", readonly=False, flags=0).readonly
