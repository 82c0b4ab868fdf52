# SPDX-License-Identifier: Apache-2.0
"""The buffer protocol: tensors over buffers, and buffers over tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from . import _memory
from ._core import Tensor, buffer_address, check_guards, from_dlpack, wrap

# Codes of PEP 3118. The buffer's itemsize has the number of bytes.
_FORMATS = {
    **dict.fromkeys("bhilqn", "int"),
    **dict.fromkeys("BHILQN", "uint"),
    **dict.fromkeys("efd", "float"),
    **dict.fromkeys(("Zf", "Zd", "F", "D"), "complex"),
    "?": "bool",
}
_NATIVE = "@=<" if sys.byteorder == "little" else "@=>!"
_FOREIGN = ">!" if sys.byteorder == "little" else "<"

# Codes and bits of the dtypes that the buffer protocol has.
_WRITTEN = frozenset(
    [(code, bits) for code in (0, 1) for bits in (8, 16, 32, 64)]
    + [(2, 16), (2, 32), (2, 64), (5, 64), (5, 128), (6, 8)]
)


def from_buffer(
    obj: Any,
    /,
    *,
    dtype: _memory.Dtype | None = None,
    shape: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    writable: bool | None = None,
) -> Tensor:
    """A tensor over the memory of any object with the buffer protocol; nothing is copied.

    The buffer defines dtype, shape and strides. ``dtype``, ``shape``, ``strides`` (in elements) and
    ``offset`` (in bytes) reinterpret its bytes: then it must be C-contiguous, and every element
    must lie inside it. Use them to read bytes as bfloat16, float8 or packed int4.

    writable: None, as the buffer states; True, a read-only buffer is rejected; False, the tensor is
    read-only. The buffer stays exported (a bytearray cannot be resized) while the tensor lives.
    """
    check_guards(obj)
    view = memoryview(obj)
    readonly = _memory.is_readonly(view.readonly, writable, "a buffer")
    flags = _memory.READ_ONLY if readonly else 0
    if dtype is None and shape is None and strides is None and offset == 0:
        return _as_it_is(view, flags)
    return _taken_as(view, dtype, shape, strides, offset, flags)


def to_buffer(x: Any, /) -> memoryview:
    """The elements of any object that speaks DLPack, in host memory, as a memoryview; no copy.

    If the buffer protocol lacks the dtype (bfloat16, float8, vectors, ...), the result is its bytes
    as uint8: elements of one byte keep their shape, larger ones get one more axis. Packed elements
    smaller than a byte must be C-contiguous and become one axis of bytes. A read-only tensor gives
    a read-only memoryview.
    """
    tensor = x if isinstance(x, Tensor) else from_dlpack(x)
    code, bits, lanes = tensor.dtype_triple
    if lanes == 1 and (code, bits) in _WRITTEN:
        return memoryview(tensor)
    return memoryview(_bytes_of(tensor, bits * lanes))


def _as_it_is(view: memoryview, flags: int) -> Tensor:
    if view.suboffsets:
        raise BufferError(
            "expected elements at strides of one block of memory, found suboffsets, "
            "which are pointers to follow: copy it"
        )
    dtype = _dtype_of(view)
    shape = view.shape or ()
    strides = _memory.element_strides(view.strides, shape, view.itemsize)
    return wrap(view, buffer_address(view), shape, dtype, strides=strides, tensor_flags=flags)


def _taken_as(
    view: memoryview,
    dtype: _memory.Dtype | None,
    shape: Sequence[int] | None,
    strides: Sequence[int] | None,
    offset: int,
    flags: int,
) -> Tensor:
    if not view.c_contiguous:
        raise BufferError(
            "expected a C-contiguous buffer, whose bytes can be taken as something else, "
            f"found shape {view.shape} with strides of {view.strides} bytes: copy it"
        )
    if not 0 <= offset <= view.nbytes:
        raise ValueError(f"expected an offset of 0 to {view.nbytes} bytes, found {offset}")
    dtype = _dtype_of(view) if dtype is None else dtype
    if shape is None:
        if strides is not None:
            raise ValueError("expected a shape to which the strides belong, found none")
        shape = (_count(view.nbytes - offset, _memory.bits_of(dtype)),)
    return _memory.inside(view, shape, dtype, strides=strides, offset=offset, tensor_flags=flags)


def _count(nbytes: int, bits: int) -> int:
    count, rest = divmod(8 * nbytes, bits)
    if rest:
        raise ValueError(
            f"expected bytes of whole elements, of {bits} bits each, found {nbytes} bytes: "
            "pass shape="
        )
    return count


def _dtype_of(view: memoryview) -> str:
    order, code = view.format[:1], view.format
    if order in _NATIVE or order in _FOREIGN:
        code = code[1:]
    if code not in _FORMATS:
        raise BufferError(
            "expected a buffer of numbers or bools, one to an element, found the format "
            f"{view.format!r}; dlbridge.from_buffer(x, dtype=...) takes its bytes as another dtype"
        )
    if order in _FOREIGN and view.itemsize > 1:
        raise BufferError(
            f"expected the byte order of this machine, {sys.byteorder}, found the format "
            f"{view.format!r}: convert it"
        )
    dtype = _memory.name_of(_FORMATS[code], view.itemsize)
    if dtype is None:
        raise BufferError(
            f"expected elements that DLPack has, found the format {view.format!r} "
            f"of {view.itemsize} bytes"
        )
    return dtype


def _bytes_of(tensor: Tensor, bits: int) -> Tensor:
    address = tensor.data_ptr + tensor.byte_offset
    if bits % 8 and not tensor.flags & _memory.PADDED:
        shape, strides = _packed(tensor)
    else:
        size = -(-bits // 8)
        shape, strides = _spread(tensor, size)
    return wrap(
        tensor,
        address,
        shape,
        "uint8",
        strides=strides,
        device=tensor.__dlpack_device__(),
        readonly=tensor.readonly,
    )


def _spread(tensor: Tensor, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    strides = tuple(size * stride for stride in tensor.strides)
    if size == 1:
        return tensor.shape, strides
    return (*tensor.shape, size), (*strides, 1)


def _packed(tensor: Tensor) -> tuple[tuple[int, ...], None]:
    step = 1
    for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides)):
        if extent > 1 and stride != step and tensor.size:
            raise BufferError(
                f"expected a C-contiguous tensor, as elements of {tensor.dtype} share bytes, "
                f"found strides {tensor.strides}: take copy() of it"
            )
        step *= extent
    return (tensor.nbytes,), None
