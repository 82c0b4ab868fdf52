# SPDX-License-Identifier: Apache-2.0
"""Tensors of objects that have NumPy's or CUDA's array interface but not DLPack."""

from __future__ import annotations

import collections
import operator
import re
import sys
import types
from typing import Any

from . import _memory
from ._buffers import from_buffer, to_buffer
from ._constants import NEWEST_DLPACK
from ._core import Tensor, check_guards, export, from_dlpack, wrap

__all__ = ["from_buffer", "from_interface", "to_buffer"]

_CUDA = 2  # kDLCUDA
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_TYPESTR = re.compile(r"([<>|=])([a-zA-Z])([0-9]+)")
_FOREIGN = ">" if sys.byteorder == "little" else "<"
_VERSIONS = {"__array_interface__": (3,), "__cuda_array_interface__": (2, 3)}


# An interface's description of its elements; strides count elements. To load dataclasses would take
# two fifths of the time of this import, and typing.NamedTuple loads more in CPython 3.15 (abi.py).
_Layout = collections.namedtuple("_Layout", ("shape", "dtype", "strides"))


def from_interface(
    obj: Any,
    /,
    *,
    device: str | tuple[int, int] | None = None,
    writable: bool | None = None,
    validate: _memory.Level = "metadata",
    stream: int | types.EllipsisType | None = ...,
) -> Tensor:
    """A tensor of an object that has ``__cuda_array_interface__`` (version 2 or 3) or
    ``__array_interface__`` (version 3); nothing is copied, and the object and its interface are
    kept alive. The tensor of a NumPy scalar is read-only, since scalars are immutable.

    CUDA's interface does not record the device: ``device`` sets it, else the driver is asked, and
    without a driver it is ``cuda:0``. Work on the producer's ``stream`` is ordered before work on
    the caller's ``stream``, a number as in the array API. ``writable`` is as in `from_buffer`,
    ``validate`` as in `from_dlpack`.
    """
    check_guards(obj)
    name, fields = _interface_of(obj)
    _check_version(name, fields)
    _reject(fields.get("mask") is not None, name, "no mask", "a mask", "fill or drop it")
    dtype, size = _dtype_of(name, fields)
    shape = _extents(name, "shape", fields.get("shape"))
    strides = _strides(name, fields.get("strides"), shape, size)
    cuda = name == "__cuda_array_interface__"
    layout = _Layout(shape, dtype, strides)
    data = fields.get("data")
    if isinstance(data, tuple):
        tensor = _pointed(name, obj, fields, layout, device, writable)
    else:
        _reject(cuda, name, "data to be (address, read-only)", repr(data), "correct it")
        tensor = _buffered(name, obj, fields, layout, writable)
    if cuda:
        _order(tensor, fields.get("stream"), stream)
    return _as_asked(tensor, validate, stream)


def _interface_of(obj: Any) -> tuple[str, dict[str, Any]]:
    for name in ("__cuda_array_interface__", "__array_interface__"):
        fields = None if isinstance(obj, type) else getattr(obj, name, None)
        if isinstance(fields, dict):
            return name, fields
        if fields is not None:
            raise TypeError(f"expected {name} to be a dict, found {fields!r}")
    raise TypeError(
        "expected an object with __array_interface__ or __cuda_array_interface__, "
        f"found an instance of {type(obj)!r}"
    )


def _reject(condition: bool, name: str, expected: str, found: str, remedy: str) -> None:
    if condition:
        raise BufferError(f"{name}: expected {expected}, found {found}: {remedy}")


def _check_version(name: str, fields: dict[str, Any]) -> None:
    version = fields.get("version")
    known = _VERSIONS[name]
    if isinstance(version, bool) or not isinstance(version, int) or version not in known:
        text = " or ".join(map(str, known))
        raise BufferError(f"{name}: expected version {text}, found {version!r}")


def _dtype_of(name: str, fields: dict[str, Any]) -> tuple[str, int]:
    typestr = fields.get("typestr")
    match = _TYPESTR.fullmatch(typestr) if isinstance(typestr, str) else None
    if match is None:
        raise BufferError(f"{name}: expected a typestr such as '<f4', found {typestr!r}")
    order, kind, size = match[1], match[2], int(match[3])
    dtype = _memory.name_of(_KINDS.get(kind, ""), size) or ""
    _reject(not dtype, name, "numbers or bools that DLPack has", repr(typestr), "convert it")
    foreign = size > 1 and order in (_FOREIGN, "|")
    wanted = f"the byte order of this machine, {sys.byteorder}"
    _reject(foreign, name, wanted, repr(typestr), "convert it")
    descr = fields.get("descr")
    plain = descr is None or descr in ([("", typestr)], [["", typestr]])
    _reject(not plain, name, "one number to an element", f"descr {descr!r}", "take one field")
    return dtype, size


def _extents(name: str, what: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)):
        raise BufferError(f"{name}: expected {what} to be a tuple of integers, found {value!r}")
    try:
        return tuple(operator.index(extent) for extent in value)
    except TypeError:
        raise BufferError(
            f"{name}: expected {what} to be a tuple of integers, found {value!r}"
        ) from None


def _strides(name: str, value: Any, shape: tuple[int, ...], size: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    strides = _extents(name, "strides", value)
    if len(strides) != len(shape):
        raise BufferError(
            f"{name}: expected {len(shape)} strides, one for each axis, found {len(strides)}"
        )
    return _memory.element_strides(strides, shape, size)


def _kept(obj: Any, fields: dict[str, Any]) -> tuple[Any, ...]:
    """The owner of the memory. The dict may hold the only reference to it, as that of a NumPy
    scalar does. The values are kept too, since the object may change the dict later."""
    return (obj, fields, *fields.values())


def _readonly(obj: Any, found: bool, writable: bool | None) -> bool:
    """NumPy states that the memory of a scalar is writable, but it is a copy of the scalar."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, numpy.generic):
        return _memory.is_readonly(True, writable, "memory")
    return _memory.is_readonly(found, writable, "memory")


def _pointed(
    name: str,
    obj: Any,
    fields: dict[str, Any],
    layout: _Layout,
    device: Any,
    writable: bool | None,
) -> Tensor:
    data = fields["data"]
    if len(data) != 2 or isinstance(data[0], bool) or not hasattr(type(data[0]), "__index__"):
        raise BufferError(f"{name}: expected data to be (address, read-only), found {data!r}")
    address = operator.index(data[0])
    if device is None:
        device = _device_of(address) if name == "__cuda_array_interface__" else (1, 0)
    return wrap(
        _kept(obj, fields),
        address,
        layout.shape,
        layout.dtype,
        strides=layout.strides,
        device=device,
        readonly=_readonly(obj, bool(data[1]), writable),
    )


def _buffered(
    name: str, obj: Any, fields: dict[str, Any], layout: _Layout, writable: bool | None
) -> Tensor:
    """Without an address, NumPy's interface uses the buffer protocol of `data` or of the object."""
    data = fields.get("data")
    view = memoryview(obj if data is None else data)
    offset = fields.get("offset", 0)
    inside = isinstance(offset, int) and 0 <= offset <= view.nbytes
    _reject(not inside, name, f"an offset of 0 to {view.nbytes}", repr(offset), "correct it")
    _reject(not view.c_contiguous, name, "a C-contiguous buffer", "strides", "copy it")
    return _memory.inside(
        view,
        layout.shape,
        layout.dtype,
        strides=layout.strides,
        offset=offset,
        tensor_flags=_memory.READ_ONLY if _readonly(obj, view.readonly, writable) else 0,
        owner=(view, *_kept(obj, fields)),
    )


def _device_of(address: int) -> tuple[int, int]:
    """The device that the driver reports for CUDA memory."""
    from . import abi

    if address == 0:
        return (_CUDA, 0)
    try:
        buffer = (abi.Backend.NONE, abi.BufferKind.ADDRESS, address, 0)
        found = abi.pointer_info(buffer, (_CUDA, 0))
    except (BufferError, RuntimeError):
        return (_CUDA, 0)  # there is no driver to ask
    return (_CUDA, 0) if found["memory"] == abi.Memory.HOST else found["device"]


def _order(tensor: Tensor, producer: Any, consumer: Any) -> None:
    """Orders the producer's work before later work on the consumer's stream."""
    if producer is None:
        return  # the interface states that no work is pending
    if isinstance(producer, bool) or not isinstance(producer, int) or producer <= 0:
        raise ValueError(
            "__cuda_array_interface__: expected stream to be None, 1, 2 or a CUstream, "
            f"found {producer!r}"
        )
    from . import abi

    device = tensor.__dlpack_device__()
    wanted = None if consumer is ... else consumer
    before = abi.stream_from_array_api(device, producer)
    abi.stream_handoff(before, abi.stream_from_array_api(device, wanted))


def _as_asked(tensor: Tensor, validate: _memory.Level, stream: Any) -> Tensor:
    if validate == "metadata" and stream is ...:
        return tensor
    # The work is already ordered; importing the tensor again validates it and sets the stream.
    return from_dlpack(export(tensor, NEWEST_DLPACK), validate=validate, stream=stream)
