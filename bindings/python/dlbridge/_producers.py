# SPDX-License-Identifier: Apache-2.0
"""What each framework's arrays export, and adjustments where that loses information."""

import dataclasses
import functools
import sys
import threading
from typing import Any

from . import _consumers, _core, _interfaces, _ml_dtypes


@dataclasses.dataclass(frozen=True)
class Producer:
    """One framework as a producer."""

    name: str
    title: str
    # The packages whose modules define its arrays, beside its own.
    packages: tuple[str, ...] = ()
    # Its arrays never change, which its exports do not record.
    immutable: bool = False
    # Its arrays are writable, which its legacy capsules do not record.
    writable: bool = False
    # It exports versioned capsules when asked.
    versioned: bool = True
    # Its arrays' device type.
    device: int = 1
    # It was registered by the program.
    registered: bool = False


PRODUCERS = {
    framework.name: framework
    for framework in (
        Producer("numpy", "NumPy"),
        Producer("torch", "PyTorch"),
        Producer("jax", "JAX", ("jaxlib",), immutable=True, versioned=False),
        Producer("tensorflow", "TensorFlow", immutable=True, versioned=False),
        Producer("paddle", "Paddle"),
        Producer("tvm_ffi", "tvm-ffi"),
        Producer("onnxruntime", "ONNX Runtime", writable=True, versioned=False),
        Producer("pyarrow", "PyArrow"),
        Producer("dpnp", "dpnp", ("dpctl",), device=14),
        Producer("cupy", "CuPy", device=2),
    )
}


def _packages(producers: dict[str, Producer]) -> dict[str, str]:
    return {
        package: name
        for name, producer in producers.items()
        for package in (name.partition(".")[0], *producer.packages)
    }


_PACKAGES = _packages(PRODUCERS)
_lock = threading.Lock()


def _found_by_module(module: str) -> Producer | None:
    return PRODUCERS.get(_PACKAGES.get(module.partition(".")[0], ""))


_by_name_of_module = functools.lru_cache(maxsize=256)(_found_by_module)


def add(producer: Producer, replace: bool) -> None:
    """Adds a row to the table; ValueError if there is one of this name and `replace` is false."""
    global PRODUCERS, _PACKAGES, _by_name_of_module
    with _lock:
        if producer.name in PRODUCERS and not replace:
            raise ValueError(
                f"expected the name of a producer that is not in the table, found "
                f"{producer.name!r}; replace=True replaces it"
            )
        # New tables and a new cache, since other threads may use the old ones.
        before, PRODUCERS = PRODUCERS, {**PRODUCERS, producer.name: producer}
        _PACKAGES = _packages(PRODUCERS)
        _by_name_of_module = functools.lru_cache(maxsize=256)(_found_by_module)
        _consumers.limit_shortcuts(producer.name, *producer.packages)
        if any(map(_is_registered_as_immutable, (producer, *before.values()))):
            # Every call ends what extensions remember of earlier answers.
            _core.share_immutable(_has_immutable_arrays)


def _is_registered_as_immutable(producer: Producer) -> bool:
    """The legacy capsules of the other immutable producers are read-only."""
    return producer.registered and producer.immutable


def _has_immutable_arrays(kind: type) -> bool:
    """Each extension's import asks this once about each type."""
    producer = _of_type(kind)
    return producer is not None and _is_registered_as_immutable(producer)


def is_immutable(array: Any) -> bool:
    """from_dlpack asks this if the caller requires a writable tensor."""
    producer = of_array(array)
    if producer is None:
        return False
    return producer.immutable or (producer.name == "onnxruntime" and _has_read_only_array(array))


def of_array(array: Any) -> Producer | None:
    """The row of an array's framework; that of the first base class that has one."""
    return _of_type(type(array))


def _of_type(array_type: type) -> Producer | None:
    for kind in array_type.__mro__:
        module = kind.__module__
        producer = _by_name_of_module(module) if isinstance(module, str) else None
        if producer is not None:
            return producer
    return None


def producer_of(array: Any) -> str:
    """The framework of an array, or ""."""
    producer = of_array(array)
    return producer.name if producer is not None else ""


_ONNX_DTYPES = {
    "tensor(float4e2m1)": "float4_e2m1fn",
    "tensor(float8e4m3fn)": "float8_e4m3fn",
    "tensor(float8e4m3fnuz)": "float8_e4m3fnuz",
    "tensor(float8e5m2)": "float8_e5m2",
    "tensor(float8e5m2fnuz)": "float8_e5m2fnuz",
    "tensor(float8e8m0)": "float8_e8m0fnu",
    "tensor(int2)": "int2",
    "tensor(int4)": "int4",
    "tensor(uint2)": "uint2",
    "tensor(uint4)": "uint4",
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
        return bool(getattr(array, "requires_grad", False)) or _has_tangent(array)
    if producer == "paddle":
        return not getattr(array, "stop_gradient", True)
    return False


def _has_tangent(array: Any) -> bool:
    """Whether torch's forward mode has given the tensor a tangent."""
    forward: Any = imported_framework("torch.autograd.forward_ad")
    if getattr(forward, "_current_level", -1) < 0:
        return False
    torch = imported_framework("torch")
    return isinstance(array, torch.Tensor) and forward.unpack_dual(array).tangent is not None


def detached(array: Any) -> Any:
    """Detaches the array from differentiation; it keeps its memory."""
    return array.detach()


def import_array(array: Any, **options: Any) -> _core.Tensor:
    """from_dlpack, with facts about the producer that its export does not record."""
    if isinstance(array, _core.Tensor) and not options:
        return array
    producer = of_array(array)
    if producer is None:
        return _core.from_dlpack(array, **options)
    if producer.name == "numpy":
        return _import_numpy(array, options)
    if producer.name == "onnxruntime":
        return _import_onnxruntime(array, options)
    if producer.immutable:
        options["writable"] = False
    if producer.writable:
        return _import_writable(array, options)
    return _core.from_dlpack(array, **options)


def _import_writable(array: Any, options: dict[str, Any]) -> _core.Tensor:
    """An array whose legacy capsules mean writable memory; a versioned capsule has the flag."""
    try:
        return _core.from_dlpack(array, **{"writable": True, **options})
    except BufferError as error:
        if getattr(error, "rule", None) != "NOT_WRITABLE":
            raise
    return _core.from_dlpack(array, **options)


def _import_numpy(array: Any, options: dict[str, Any]) -> _core.Tensor:
    registered = _ml_dtypes.tensor_of(array)
    if registered is not None:
        return _core.from_dlpack(registered, **options) if options else registered
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
    readonly = _has_read_only_array(array)
    if kind in _ONNX_DTYPES and options.keys() <= {"stream"} and array.device_name() == "cpu":
        # ONNX Runtime before 1.32 has these dtypes but does not export them.
        shape = tuple(array.shape())
        return _core.wrap(array, array.data_ptr(), shape, _ONNX_DTYPES[kind], readonly=readonly)
    # Other OrtValues are writable, which their legacy capsules do not record.
    tensor = _core.from_dlpack(array, **{"writable": not readonly, **options})
    if kind == "tensor(bool)" and tensor.dtype == "uint8":
        return relabelled(tensor, "bool")
    return tensor


def _has_read_only_array(value: Any) -> bool:
    """Whether an OrtValue shares the memory of a read-only array of NumPy, which it keeps alive."""
    array = getattr(value, "_numpy_obj", None)
    return array is not None and not array.flags.writeable


def relabelled(
    tensor: _core.Tensor,
    dtype: str | tuple[int, int, int],
    flags: int | None = None,
    strides: tuple[int, ...] | None = None,
) -> _core.Tensor:
    """Wraps the tensor's memory with another dtype of the same size, other flags or strides."""
    return _core.wrap(
        tensor,
        tensor.data_ptr + tensor.byte_offset,
        tensor.shape,
        dtype,
        strides=tensor.strides if strides is None else strides,
        device=tensor.__dlpack_device__(),
        tensor_flags=tensor.flags if flags is None else flags,
    )


def with_usual_strides(tensor: _core.Tensor) -> _core.Tensor:
    """The tensor with the strides of C order on axes of at most one index, if one is negative."""
    empty = 0 in tensor.shape
    axes = list(zip(tensor.shape, tensor.strides))
    if not any(stride < 0 and (empty or extent == 1) for extent, stride in axes):
        return tensor
    strides, step = [], 1
    for extent, stride in reversed(axes):
        strides.append(step if empty or extent == 1 else stride)
        step = strides[-1] * max(extent, 1)
    return relabelled(tensor, tensor.dtype_triple, strides=tuple(reversed(strides)))


def folded(tensor: _core.Tensor) -> _core.Tensor:
    """Returns the tensor with `byte_offset` 0: several consumers reject or ignore another value."""
    return relabelled(tensor, tensor.dtype_triple) if tensor.byte_offset else tensor


def imported_framework(name: str) -> Any:
    """A framework's module if the program has imported it, else None."""
    return sys.modules.get(name)
