# SPDX-License-Identifier: Apache-2.0
"""Adjustments of frameworks' arrays whose own export loses information."""

import sys
from typing import Any

from . import _core, _interfaces
from ._consumers import producer_of

# NumPy does not export arrays of these dtypes of the package ml_dtypes.
_ML_DTYPES = ("bfloat16", "float8_", "float6_", "float4_")
_ONNX_FLOAT8 = {
    "tensor(float8e4m3fn)": "float8_e4m3fn",
    "tensor(float8e4m3fnuz)": "float8_e4m3fnuz",
    "tensor(float8e5m2)": "float8_e5m2",
    "tensor(float8e5m2fnuz)": "float8_e5m2fnuz",
}


def lazy_marks(array: Any) -> list[str]:
    """The lazy operations of a torch tensor: they are not applied to its memory yet."""
    if producer_of(array) != "torch":
        return []
    marks = {"conjugated": "is_conj", "negated": "is_neg"}
    return [mark for mark, asks in marks.items() if getattr(array, asks, lambda: False)()]


def resolved(array: Any) -> Any:
    """The array with its lazy operations applied: a copy if there are any."""
    return array.resolve_conj().resolve_neg()


def takes_part_in_gradients(array: Any) -> bool:
    """Whether the array takes part in differentiation, which misses changes made elsewhere."""
    producer = producer_of(array)
    if producer == "torch":
        return bool(getattr(array, "requires_grad", False))
    if producer == "paddle":
        return not getattr(array, "stop_gradient", True)
    return False


def detached(array: Any) -> Any:
    """The same memory, detached from differentiation."""
    return array.detach()


def import_array(array: Any, **options: Any) -> _core.Tensor:
    """from_dlpack, with facts about the producer that its export does not record."""
    if isinstance(array, _core.Tensor) and not options:
        return array
    producer = producer_of(array)
    if producer == "numpy":
        return _import_numpy(array, options)
    if producer == "onnxruntime":
        return _import_onnxruntime(array, options)
    if producer == "tensorflow" or producer == "jax":
        options["writable"] = False
    return _core.from_dlpack(array, **options)


def _import_numpy(array: Any, options: dict[str, Any]) -> _core.Tensor:
    dtype: Any = getattr(array, "dtype", None)
    # Only registered dtypes need a look at their name, which is slow.
    name = str(dtype.name) if dtype is not None and dtype.isbuiltin == 2 else ""
    if name.startswith(_ML_DTYPES) and options.keys() <= {"stream"}:
        step = array.dtype.itemsize
        return _core.wrap(
            array,
            array.__array_interface__["data"][0],
            array.shape,
            name,
            strides=tuple(stride // step for stride in array.strides),
            readonly=not array.flags.writeable,
        )
    if not hasattr(array, "flags"):
        return _core.from_dlpack(array, **options)
    try:
        tensor = _core.from_dlpack(array, **options)
    except BufferError:
        if array.flags.writeable or options:
            raise
        # NumPy 1 does not export read-only arrays; its array interface describes them.
        return _interfaces.from_interface(array)
    if tensor.readonly and array.flags.writeable:
        # NumPy 1 exports legacy capsules, which do not record writability; the array does.
        tensor = _core.from_dlpack(array, **{**options, "writable": True})
    return tensor


def _import_onnxruntime(array: Any, options: dict[str, Any]) -> _core.Tensor:
    kind = getattr(array, "data_type", lambda: "")()
    if kind in _ONNX_FLOAT8 and options.keys() <= {"stream"} and array.device_name() == "cpu":
        # ONNX Runtime has these dtypes but does not export them.
        shape = tuple(array.shape())
        return _core.wrap(array, array.data_ptr(), shape, _ONNX_FLOAT8[kind])
    # An OrtValue is writable, which its legacy capsules do not record.
    tensor = _core.from_dlpack(array, **{"writable": True, **options})
    if kind == "tensor(bool)" and tensor.dtype == "uint8":
        return relabelled(tensor, "bool")
    return tensor


def relabelled(
    tensor: _core.Tensor, dtype: str | tuple[int, int, int], flags: int | None = None
) -> _core.Tensor:
    """The same memory under another dtype of the same size, or with other flags."""
    return _core.wrap(
        tensor,
        tensor.data_ptr + tensor.byte_offset,
        tensor.shape,
        dtype,
        strides=tensor.strides,
        device=tensor.__dlpack_device__(),
        tensor_flags=tensor.flags if flags is None else flags,
    )


def folded(tensor: _core.Tensor) -> _core.Tensor:
    """The same tensor with `byte_offset` 0: several consumers reject or ignore another value."""
    return relabelled(tensor, tensor.dtype_triple) if tensor.byte_offset else tensor


def imported_framework(name: str) -> Any:
    """A framework's module if the program has imported it, else None."""
    return sys.modules.get(name)
