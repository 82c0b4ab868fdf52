# SPDX-License-Identifier: Apache-2.0
"""What must be done to some frameworks' arrays before they hand out what they mean."""

import sys
from typing import Any

from . import _core, _interfaces
from ._consumers import producer_of

# NumPy's arrays of these dtypes, which the package ml_dtypes brings, reject to be exported.
_ML_DTYPES = ("bfloat16", "float8_", "float6_", "float4_")
_ONNX_FLOAT8 = {
    "tensor(float8e4m3fn)": "float8_e4m3fn",
    "tensor(float8e4m3fnuz)": "float8_e4m3fnuz",
    "tensor(float8e5m2)": "float8_e5m2",
    "tensor(float8e5m2fnuz)": "float8_e5m2fnuz",
}


def lazy_marks(array: Any) -> list[str]:
    """Which operations a torch tensor only promises: its memory does not show them."""
    if producer_of(array) != "torch":
        return []
    marks = {"conjugated": "is_conj", "negated": "is_neg"}
    return [mark for mark, asks in marks.items() if getattr(array, asks, lambda: False)()]


def resolved(array: Any) -> Any:
    """The same values in memory: a copy where something was only promised."""
    return array.resolve_conj().resolve_neg()


def takes_part_in_gradients(array: Any) -> bool:
    """Whether a framework would lose track of what is done to the array elsewhere."""
    producer = producer_of(array)
    if producer == "torch":
        return bool(getattr(array, "requires_grad", False))
    if producer == "paddle":
        return not getattr(array, "stop_gradient", True)
    return False


def detached(array: Any) -> Any:
    """The same memory without its part in differentiation."""
    return array.detach()


def import_array(array: Any, **options: Any) -> _core.Tensor:
    """from_dlpack, with what is known of the producer and not said by it."""
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
    # Those that packages register have a name that is worth to be looked at, which takes time.
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
        # NumPy 1 hands out nothing that is read-only, and says where it is all the same.
        return _interfaces.from_interface(array)
    if tensor.readonly and array.flags.writeable:
        # NumPy 1 hands out legacy capsules only, which cannot say it; the array can.
        tensor = _core.from_dlpack(array, **{**options, "writable": True})
    return tensor


def _import_onnxruntime(array: Any, options: dict[str, Any]) -> _core.Tensor:
    kind = getattr(array, "data_type", lambda: "")()
    if kind in _ONNX_FLOAT8 and options.keys() <= {"stream"} and array.device_name() == "cpu":
        # It has them, and hands them to nobody.
        shape = tuple(array.shape())
        return _core.wrap(array, array.data_ptr(), shape, _ONNX_FLOAT8[kind])
    # An OrtValue may be updated in place, and its legacy capsules cannot say so.
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
    """The same tensor with `byte_offset` 0: several consumers reject another, or pass it over."""
    return relabelled(tensor, tensor.dtype_triple) if tensor.byte_offset else tensor


def imported_framework(name: str) -> Any:
    """A framework's module where the program has imported it."""
    return sys.modules.get(name)
