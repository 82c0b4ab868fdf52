# SPDX-License-Identifier: Apache-2.0
"""Shared by buffers, interfaces and pickles: dtypes, and tensors that stay inside a buffer."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from ._core import Tensor, buffer_address, wrap

Dtype = typing.Union[str, tuple[int, int, int]]
Level = typing.Literal["none", "struct", "metadata", "device"]

READ_ONLY = 1
PADDED = 4

# Sizes of an element in bytes, by the kinds of the buffer protocol and the array interfaces.
_KINDS = {
    "int": (1, 2, 4, 8),
    "uint": (1, 2, 4, 8),
    "float": (2, 4, 8),
    "complex": (8, 16),
    "bool": (1,),
}


def is_choice(value: typing.Any) -> bool:
    """Whether it is None, True or False; by identity, since comparing an array gives an array."""
    return value is None or value is True or value is False


def short(value: typing.Any) -> str:
    """A description of a wrong argument in one line."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"an instance of {type(value)!r}"


def bits_of(dtype: Dtype) -> int:
    """Bits of one element; ValueError for an unknown name."""
    _, bits, lanes = wrap(None, 0, (0,), dtype).dtype_triple
    return bits * lanes


def name_of(kind: str, size: int) -> str | None:
    """The dtype of a kind with elements of `size` bytes; None if there is none."""
    if size not in _KINDS.get(kind, ()):
        return None
    return "bool" if kind == "bool" else f"{kind}{8 * size}"


def is_readonly(found: bool, writable: bool | None, what: str) -> bool:
    """Whether the tensor must be read-only; BufferError if `writable` forbids that."""
    if not is_choice(writable):
        raise TypeError(f"expected writable to be None, True or False, found {short(writable)}")
    if found and writable:
        raise BufferError(f"expected {what} that may be written to, found a read-only one")
    return found or writable is False


def element_strides(
    strides: Sequence[int] | None, shape: Sequence[int], size: int
) -> tuple[int, ...] | None:
    """Converts strides from bytes to elements. Axes with one index get stride 1."""
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
    tensor_flags: int = 0,
    owner: object = None,
) -> Tensor:
    """A tensor whose elements are all inside a contiguous view.

    ``offset`` is the number of bytes from the start of the view to element (0, ..., 0). ``owner``
    keeps the view alive; None: the view itself."""
    address = buffer_address(view)
    if owner is None:
        owner = view
    tensor = wrap(
        owner,
        address,
        shape,
        dtype,
        strides=strides,
        byte_offset=offset,
        nbytes=view.nbytes,
        tensor_flags=tensor_flags,
    )
    if offset and tensor.data_ptr:
        # Some importers ignore byte_offset. The first call has checked the bounds.
        return wrap(
            owner, address + offset, shape, dtype, strides=strides, tensor_flags=tensor_flags
        )
    return tensor
