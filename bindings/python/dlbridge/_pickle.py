# SPDX-License-Identifier: Apache-2.0
"""Pickles of tensors. With protocol 5 the memory travels out of band, without a copy."""

from __future__ import annotations

import pickle
import sys
from typing import Any

from . import _memory
from ._core import Tensor, from_dlpack, wrap

# The format that `reduce` writes. The name of `rebuild` is part of it.
FORMAT = 1

_CPU = 1  # kDLCPU
_OPAQUE = 3  # dtype code of handles, which are valid in one process only
_KNOWN_FLAGS = 7


def portable(x: Any, /, *, copy: bool | None = None) -> Tensor:
    """A tensor of any framework's array that can be pickled: in memory that the CPU can read.

    Unpickling gives a `dlbridge.Tensor` over the received memory; it is read-only if that memory
    is. ``x`` is an object that `from_dlpack` or `from_interface` accepts. ``copy``: None, memory of
    other devices is copied to the host; False, it is rejected; True, it is always copied.
    """
    if not _memory.is_choice(copy):
        raise TypeError(f"expected copy to be None, True or False, found {_memory.short(copy)}")
    tensor = _tensor_of(x)
    if copy is None:
        copy = not _on_host(tensor)
    return tensor.copy(device="cpu") if copy else _host(tensor)


def reduce(tensor: Tensor, protocol: int) -> tuple[Any, ...]:
    """The result of ``Tensor.__reduce_ex__``; other objects that hold a tensor may use it too.

    The bytes are the tensor's memory if its elements fill that without holes, in any order of axes;
    otherwise those of a compact copy. An axis of stride 0 keeps its stride.
    """
    _check_sendable(tensor)
    flags = tensor.flags
    extent = _extent(tensor)
    if extent is None:
        tensor = tensor.copy()
        flags = tensor.flags | (flags & _memory.READ_ONLY)
        extent = 0, tensor.nbytes
    lowest, nbytes = extent
    data = _bytes_at(tensor, tensor.data_ptr + tensor.byte_offset + lowest, nbytes)
    state = (
        FORMAT,
        sys.byteorder,
        tensor.dtype_triple,
        tensor.shape,
        tensor.strides,
        -lowest,
        flags & _KNOWN_FLAGS,
        nbytes,
    )
    return rebuild, (*state, _payload(data, protocol))


def rebuild(version: int, *state: Any) -> Tensor:
    """The tensor of a pickle, over the received buffer. ValueError if the pickle is damaged."""
    if version != FORMAT:
        raise ValueError(
            f"expected a pickled tensor of format {FORMAT}, found {version!r}: "
            "another version of dlbridge wrote it"
        )
    try:
        return _rebuilt(*state)
    except (BufferError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"expected a whole pickled tensor, found a damaged one: {error}"
        ) from error


def _rebuilt(
    byteorder: str,
    dtype: tuple[int, int, int],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    flags: int,
    nbytes: int,
    data: Any,
) -> Tensor:
    if byteorder != sys.byteorder:
        raise ValueError(f"expected the byte order {sys.byteorder}, found {byteorder!r}")
    if flags & ~_KNOWN_FLAGS:
        raise ValueError(f"expected flags of 0 to {_KNOWN_FLAGS}, found {flags}")
    if dtype[0] == _OPAQUE:
        raise ValueError("expected numbers or bools, found handles of another process")
    view = memoryview(data)
    if not view.contiguous or view.nbytes != nbytes:
        raise ValueError(f"expected {nbytes} bytes, found {view.nbytes}")
    if not 0 <= offset <= nbytes:
        raise ValueError(f"expected an offset of 0 to {nbytes} bytes, found {offset}")
    if view.readonly:
        flags |= _memory.READ_ONLY
    return _memory.inside(view, shape, dtype, strides=strides, offset=offset, tensor_flags=flags)


def _tensor_of(x: Any) -> Tensor:
    if isinstance(x, Tensor):
        return x
    if hasattr(type(x), "__dlpack__"):
        return from_dlpack(x)
    if hasattr(x, "__cuda_array_interface__") or hasattr(x, "__array_interface__"):
        from . import _interfaces, _ml_dtypes

        # NumPy's interface does not name the dtype of a scalar of ml_dtypes.
        registered = _ml_dtypes.tensor_of(x)
        return registered if registered is not None else _interfaces.from_interface(x)
    return from_dlpack(x)


def _on_host(tensor: Tensor) -> bool:
    kind, _ = tensor.__dlpack_device__()
    if kind == _CPU:
        return True
    from .abi import host_accessible

    return host_accessible(kind)


def _host(tensor: Tensor) -> Tensor:
    if not _on_host(tensor):
        raise BufferError(
            f"expected memory that the CPU can read, found a tensor of {tensor.device}: "
            'pickle copy(device="cpu") of it, or dlbridge.portable of it'
        )
    return tensor


def _check_sendable(tensor: Tensor) -> None:
    _host(tensor)
    if tensor.dtype_triple[0] == _OPAQUE:
        raise BufferError(
            "expected numbers or bools, found handles, which mean nothing to another process"
        )


def _extent(tensor: Tensor) -> tuple[int, int] | None:
    """The start of the memory, in bytes from element (0, ..., 0), and its size in bytes.

    None if there are holes between the elements, or if they overlap other than by stride 0."""
    if _is_compact(tensor):
        return 0, tensor.nbytes
    if tensor.size == 0:
        return 0, 0
    step = 1
    lowest = 0
    walked = [(abs(s), s, n) for s, n in zip(tensor.strides, tensor.shape) if n > 1 and s]
    for distance, stride, extent in sorted(walked):
        if distance != step:
            return None
        step *= extent
        lowest += min(stride, 0) * (extent - 1)
    _, bits, lanes = tensor.dtype_triple
    bits *= lanes
    if tensor.flags & _memory.PADDED:
        bits = -(-bits // 8) * 8
    if lowest * bits % 8:
        return None  # the lowest element does not start at a byte
    return lowest * bits // 8, -(-step * bits // 8)


def _is_compact(tensor: Tensor) -> bool:
    """Whether the elements are C-contiguous, the common case."""
    step = 1
    for stride, extent in zip(reversed(tensor.strides), reversed(tensor.shape)):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def _bytes_at(tensor: Tensor, address: int, nbytes: int) -> Tensor:
    place = tensor.__dlpack_device__()
    return wrap(tensor, address, (nbytes,), "uint8", device=place, readonly=tensor.readonly)


def _payload(data: Tensor, protocol: int) -> Any:
    if protocol >= 5:
        return pickle.PickleBuffer(data)
    # In band, a PickleBuffer would be copied twice. Received bytes are read-only.
    return bytes(data) if data.readonly else bytearray(data)
