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


# --- The buffer protocol -------------------------------------------------------------------------


class Buffer(ctypes.Structure):
    """Py_buffer, which a memoryview does not show as it came."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


FULL_RO = 0x11C


def test_a_buffer_without_axes_has_no_shape_and_no_strides():
    """CPython's rule: with ndim 0 they must be NULL."""
    get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
    tensor = from_dlpack(versioned(shape=()).capsule())
    view = Buffer()
    assert get(ctypes.py_object(tensor), ctypes.byref(view), FULL_RO) == 0
    found = (view.ndim, view.shape, view.strides, view.format, view.len)
    release(ctypes.byref(view))
    assert found == (0, None, None, b"f", 4)
    assert memoryview(tensor)[()] == 0.0


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((1, 3), (2**62, 1)), ((1, 3), (-(2**63), 1)), ((0, 3), (2**62, 2**62))],
)
def test_strides_that_say_nothing_may_be_of_any_size(shape, strides):
    """The product with the size of an element does not fit: undefined in C, which the sanitizers
    would tell."""
    view = memoryview(from_dlpack(versioned(shape=shape, strides=strides).capsule()))
    assert view.shape == shape
    assert view.tolist() == ([[0.0, 1.0, 2.0]] if shape[0] else [])


def test_strides_that_are_left_out_of_an_empty_tensor_may_not_fit():
    made = versioned(version=(1, 1), shape=(0, 2**62, 2**62), strides=None)
    assert memoryview(from_dlpack(made.capsule())).nbytes == 0
