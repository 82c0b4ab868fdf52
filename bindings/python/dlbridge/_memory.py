# SPDX-License-Identifier: Apache-2.0
"""What buffers, interfaces and pickles share: dtypes, and tensors that stay inside a buffer."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from ._core import Tensor, buffer_address, wrap

Dtype = typing.Union[str, "tuple[int, int, int]"]
Level = typing.Literal["none", "struct", "metadata", "device"]

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
    tensor_flags: int = 0,
) -> Tensor:
    """A tensor over a contiguous view, none of which's elements is outside of it.

    ``offset`` counts the bytes from the view's beginning to element (0, ..., 0)."""
    address = buffer_address(view)
    tensor = wrap(
        view,
        address,
        shape,
        dtype,
        strides=strides,
        byte_offset=offset,
        nbytes=view.nbytes,
        tensor_flags=tensor_flags,
    )
    if offset and tensor.data_ptr:
        # Not every importer adds byte_offset; the bounds have been checked.
        return wrap(
            view, address + offset, shape, dtype, strides=strides, tensor_flags=tensor_flags
        )
    return tensor
