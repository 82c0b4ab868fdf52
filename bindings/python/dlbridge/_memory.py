# SPDX-License-Identifier: Apache-2.0
"""Memory that a buffer exposes, as tensors: its address, and a tensor that stays inside it."""

from __future__ import annotations

import ctypes
import typing
from collections.abc import Sequence

from ._core import Tensor, wrap

Dtype = typing.Union[str, "tuple[int, int, int]"]

READ_ONLY = 1
PADDED = 4

# Bytes of an element, by the kind that the buffer protocol and the array interfaces tell apart.
_KINDS = {
    "int": (1, 2, 4, 8),
    "uint": (1, 2, 4, 8),
    "float": (2, 4, 8),
    "complex": (8, 16),
    "bool": (1,),
}


class _PyBuffer(ctypes.Structure):
    """CPython's Py_buffer, which is part of its stable ABI."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
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


_FULL_READ_ONLY = 0x11C  # PyBUF_FULL_RO: any strides, the format, not to be written to
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_release_buffer.restype = None


def address_of(view: memoryview) -> int:
    """Where the first element of a view is; the view keeps the memory there."""
    buffer = _PyBuffer()
    _get_buffer(view, buffer, _FULL_READ_ONLY)
    address = buffer.buf or 0
    _release_buffer(buffer)
    return address


def bits_of(dtype: Dtype) -> int:
    """Bits of one element; ValueError for a text that is no dtype."""
    _, bits, lanes = wrap(None, 0, (0,), dtype).dtype_triple
    return bits * lanes


def name_of(kind: str, size: int) -> str | None:
    """The dtype of a kind whose elements have that many bytes; None where there is none."""
    if size not in _KINDS.get(kind, ()):
        return None
    return "bool" if kind == "bool" else f"{kind}{8 * size}"


def is_readonly(found: bool, writable: bool | None, what: str) -> bool:
    """Whether a tensor of this memory is to be read-only; BufferError where it must not be."""
    if writable not in (None, True, False):
        raise TypeError(f"expected writable to be None, True or False, found {writable!r}")
    if found and writable:
        raise BufferError(f"expected {what} that may be written to, found a read-only one")
    return found or writable is False


def element_strides(
    strides: Sequence[int] | None, shape: Sequence[int], size: int
) -> tuple[int, ...] | None:
    """Strides in elements of those in bytes; those of axes that are never walked do not matter."""
    if strides is None or 0 in shape:
        return None
    result = []
    for axis, (stride, extent) in enumerate(zip(strides, shape)):
        if extent > 1 and stride % size:
            raise BufferError(
                f"expected strides of whole elements, multiples of {size} bytes, "
                f"found {stride} bytes at axis {axis}: copy it"
            )
        result.append(stride // size if extent > 1 else 1)
    return tuple(result)


def inside(
    view: memoryview,
    shape: Sequence[int],
    dtype: Dtype,
    *,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    flags: int = 0,
) -> Tensor:
    """A tensor over a contiguous view, none of which's elements is outside of it.

    ``offset`` counts the bytes from the view's beginning to element (0, ..., 0)."""
    address = address_of(view)
    tensor = wrap(
        view,
        address,
        shape,
        dtype,
        strides=strides,
        byte_offset=offset,
        nbytes=view.nbytes,
        flags=flags,
    )
    if offset and tensor.data_ptr:
        # Not every importer adds byte_offset; the bounds have been checked.
        return wrap(view, address + offset, shape, dtype, strides=strides, flags=flags)
    return tensor
