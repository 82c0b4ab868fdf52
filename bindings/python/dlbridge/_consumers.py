# SPDX-License-Identifier: Apache-2.0
"""What each framework accepts: one table of facts, to which programs may add.

tests/interop measures every fact with the framework itself, except for CuPy, which needs a GPU: its
facts come from its sources and from tests/gpu.
"""

import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import _core

CPU = 1
CUDA = 2
CUDA_HOST = 3
ROCM = 10
ROCM_HOST = 11
CUDA_MANAGED = 13
ONEAPI = 14

# The strides that a consumer accepts.
ANY = "any"
NOT_NEGATIVE = "not negative"
PERMUTED = "compact, with the axes in any order"
COMPACT = "C-contiguous"
LAST_COMPACT = "1 on the last axis"

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
PLAIN = frozenset((*INTEGERS, *FLOATS, *COMPLEX, "bool"))
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
FNUZ = ("float8_e4m3fnuz", "float8_e5m2fnuz")
# Dtypes that ONNX Runtime imports as they are from 1.32 on.
ONNXRUNTIME_NEWER = frozenset(("bool", *FLOAT8, *FNUZ, "float8_e8m0fnu", "float4_e2m1fn"))
ONNXRUNTIME_NEWER |= {"int2", "int4", "uint2", "uint4"}
# Dtypes of JAX without x64.
_X64 = (
    ("int64", "int32"),
    ("uint64", "uint32"),
    ("float64", "float32"),
    ("complex128", "complex64"),
)


def _jax_narrows() -> bool:
    """Whether x64 is disabled in JAX, on this thread and now. Does not import JAX."""
    config = getattr(sys.modules.get("jax"), "config", None)
    enabled = getattr(config, "jax_enable_x64", None)
    if enabled is None:  # what JAX will read when it is imported
        text = os.environ.get("JAX_ENABLE_X64", "")
        enabled = text.lower() in ("1", "y", "yes", "t", "true", "on")
    return not enabled


@functools.lru_cache(maxsize=64)
def _ort_value_keeps(ort_value: Any, dtype: str) -> bool:
    """Whether this class OrtValue keeps the dtype of a tensor that it imports."""
    memory = bytearray(16)
    tensor = _core.wrap(memory, _core.buffer_address(memory), (2,), dtype)
    try:
        value = ort_value.from_dlpack(_core.export(tensor, allow_newer_codes=True))
        return _core.from_dlpack(value).dtype == dtype
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return False


def _onnxruntime_keeps(dtype: str) -> bool:
    """Whether the installed ONNX Runtime imports a dtype of ONNXRUNTIME_NEWER as it is. Does not
    import ONNX Runtime."""
    ort_value = getattr(sys.modules.get("onnxruntime"), "OrtValue", None)
    if ort_value is not None:
        return _ort_value_keeps(ort_value, dtype)
    return _installed_onnxruntime() >= (1, 32)


def _installed_onnxruntime() -> tuple[int, ...]:
    """The version of ONNX Runtime, without importing it; () if it is not installed."""
    for distribution in ("onnxruntime", "onnxruntime-gpu"):
        try:
            version = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
        return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return ()


@dataclasses.dataclass(frozen=True)
class Consumer:
    """One framework as a consumer."""

    name: str
    title: str
    # The path of its from_dlpack below the framework's module.
    importer: str = "from_dlpack"
    # It accepts capsules only, not objects.
    capsules: bool = False
    # The newest version that it supports; None: it requests legacy capsules.
    newest: tuple[int, int] | None = None
    # It keeps an array with READ_ONLY read-only.
    honours_read_only: bool = False
    # It never writes to its arrays, so dropping READ_ONLY does no harm.
    immutable: bool = False
    strides: str = ANY
    # It applies that to axes of at most one index too, whose strides lead nowhere.
    reads_unused_strides: bool = False
    # The dtypes that it imports; None: any.
    dtypes: frozenset[str] | None = None
    # Dtypes that only newer versions import as they are, and whether the installed one does.
    newer_dtypes: frozenset[str] = frozenset()
    keeps_now: Callable[[str], bool] | None = None
    # Dtypes that it changes silently, with their replacements: values are lost.
    narrows: tuple[tuple[str, str], ...] = ()
    # Whether it narrows now; None: always.
    narrows_now: Callable[[], bool] | None = None
    # The statement that makes it keep these dtypes, or "".
    keeps_by: str = ""
    # None: it accepts any device, since it only holds the tensor.
    devices: frozenset[int] | None = frozenset((CPU,))
    # It silently copies data whose address is not a multiple of this.
    alignment: int = 1
    # It imports data whose address is not a multiple of this, but its operations then end the
    # process.
    needs_alignment: int = 1
    # It copies tensors of other devices to this one if the last axis is compact. It never writes to
    # the source.
    moves_to: int | None = None
    # Its versions that do not import bool distinguish it from uint8 by the dtype of the object.
    bool_as_uint8: bool = False
    # The path of the type with its exchange table below the framework's module, or "".
    exchange_type: str = ""
    # The packages whose modules call __dlpack__ for it, beside its own.
    packages: tuple[str, ...] = ()
    # What pip installs.
    distribution: str = ""
    # It was registered by the program.
    registered: bool = False

    def takes(self, export: Any) -> str | None:
        """Why this consumer rejects an export as it is; None if it accepts it.

        `export` has these attributes of a report of inspect: legacy, versioned, keywords, readonly,
        dtype, device, shape, strides, byte_offset, alignment.
        """
        if not takes_device(self, export.device[0]) and self.moves_to is None:
            return f"{self.title} does not support memory of device type {export.device[0]}"
        if not takes_dtype(self, export.dtype):
            return f"{self.title} does not support {export.dtype}"
        narrower = narrowed(self, export.dtype)
        if narrower is not None:
            return narrowing_words(self, export.dtype, narrower)
        return self._rejects_ask(export) or self._rejects_layout(export)

    def _rejects_ask(self, export: Any) -> str | None:
        if self.newest is None and not export.legacy:
            return f"{self.title} requests a legacy capsule, which the array does not export"
        if self.newest is not None and not export.versioned and self.name == "pyarrow":
            return f"{self.title} accepts versioned capsules only"
        if export.readonly and not (self.honours_read_only or self.immutable):
            return f"{self.title} would make the read-only array writable"
        return None

    def _rejects_layout(self, export: Any) -> str | None:
        if export.byte_offset and self.name in NO_BYTE_OFFSET:
            return f"{self.title} does not add byte_offset"
        if export.alignment and export.alignment < self.needs_alignment and 0 not in export.shape:
            return alignment_words(self)
        strides = export.strides
        if strides is None:
            return None
        if takes_strides(self, export.device[0], tuple(export.shape), tuple(strides)):
            return None
        return f"{self.title} accepts only strides that are {strides_of(self, export.device[0])}"


# They ignore or reject a byte_offset.
NO_BYTE_OFFSET = ("onnxruntime", "paddle", "tensorflow", "dpnp")
_GPUS = frozenset((CPU, CUDA, CUDA_HOST, ROCM))

CONSUMERS = {
    framework.name: framework
    for framework in (
        Consumer(
            "numpy",
            "NumPy",
            newest=(1, 3),
            honours_read_only=True,
            dtypes=PLAIN,
        ),
        Consumer(
            "torch",
            "PyTorch",
            newest=(1, 3),
            strides=NOT_NEGATIVE,
            dtypes=PLAIN
            | {"bfloat16", "complex32", *FLOAT8, *FNUZ, "float8_e8m0fnu", "float4_e2m1fnx2"},
            devices=_GPUS | {CUDA_MANAGED, ROCM_HOST},
            exchange_type="Tensor",
        ),
        Consumer(
            "jax",
            "JAX",
            "dlpack.from_dlpack",
            immutable=True,
            strides=PERMUTED,
            dtypes=PLAIN
            | {"bfloat16", *FLOAT8, *FNUZ}
            | {"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e8m0fnu"},
            narrows=_X64,
            narrows_now=_jax_narrows,
            keeps_by='jax.config.update("jax_enable_x64", True)',
            devices=_GPUS,
            alignment=64,
            packages=("jaxlib",),
        ),
        Consumer(
            "tensorflow",
            "TensorFlow",
            "experimental.dlpack.from_dlpack",
            capsules=True,
            immutable=True,
            strides=COMPACT,
            dtypes=PLAIN | {"bfloat16"},
            distribution="tensorflow-cpu",
            devices=frozenset((CPU, CUDA, CUDA_HOST)),
            needs_alignment=64,
        ),
        Consumer(
            "paddle",
            "Paddle",
            "utils.dlpack.from_dlpack",
            newest=(1, 2),
            strides=NOT_NEGATIVE,
            # It reads uint16 as bfloat16.
            dtypes=PLAIN - {"uint16"} | {"bfloat16", *FLOAT8},
            distribution="paddlepaddle",
            devices=frozenset((CPU, CUDA, CUDA_HOST)),
        ),
        Consumer("tvm_ffi", "tvm-ffi", devices=None, distribution="apache-tvm-ffi"),
        Consumer(
            "onnxruntime",
            "ONNX Runtime",
            "OrtValue.from_dlpack",
            strides=COMPACT,
            dtypes=frozenset((*INTEGERS, *FLOATS, "bool", "bfloat16")),
            newer_dtypes=ONNXRUNTIME_NEWER,
            keeps_now=_onnxruntime_keeps,
            devices=frozenset((CPU, CUDA, CUDA_HOST)),
            bool_as_uint8=True,
        ),
        Consumer(
            "pyarrow",
            "PyArrow",
            "Tensor.from_dlpack",
            newest=(1, 3),
            honours_read_only=True,
            strides=NOT_NEGATIVE,
            reads_unused_strides=True,
            dtypes=frozenset((*INTEGERS, *FLOATS)),
        ),
        Consumer(
            "dpnp",
            "dpnp",
            newest=(1, 0),
            honours_read_only=True,
            dtypes=PLAIN,
            devices=frozenset((CPU, ONEAPI)),
            moves_to=ONEAPI,
            packages=("dpctl",),
        ),
        Consumer(
            "cupy",
            "CuPy",
            newest=(1, 0),
            dtypes=PLAIN,
            devices=frozenset((CUDA, CUDA_MANAGED, ROCM)),
            distribution="cupy-cuda12x",
        ),
    )
}


def _packages(consumers: dict[str, Consumer]) -> dict[str, str]:
    """Packages whose modules call __dlpack__ for a framework."""
    return {
        package: name
        for name, consumer in consumers.items()
        for package in (name.partition(".")[0], *consumer.packages)
    }


_PACKAGES = _packages(CONSUMERS)
_lock = threading.Lock()

# A consumer that is not in the table. Only its arguments of __dlpack__ describe it.
STRANGER = Consumer("", "the consumer", devices=None)
# dlbridge.Tensor as a target of `to`.
ITSELF = Consumer("", "dlbridge.Tensor", newest=(1, 3), honours_read_only=True, devices=None)


def by_name(name: str) -> Consumer:
    """The framework with this name; ValueError if there is none."""
    if not isinstance(name, str):
        raise TypeError(f"expected consumer to be a name, found an instance of {type(name)!r}")
    if name not in CONSUMERS:
        known = ", ".join(CONSUMERS)
        raise ValueError(f"expected a consumer out of {known}, found {name!r}")
    return CONSUMERS[name]


def by_title(title: str) -> Consumer | None:
    """The framework with this title."""
    return next((one for one in CONSUMERS.values() if one.title == title), None)


def is_installed(name: str) -> bool:
    """Whether a framework can be imported here, without importing it. Broken and partly removed
    packages cannot; the program has the frameworks that it registered."""
    if name in CONSUMERS and CONSUMERS[name].registered:
        return True
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def by_module(module: Any) -> Consumer | None:
    """The framework to which a module belongs."""
    return _by_name_of_module(module) if isinstance(module, str) else None


def _found_by_module(module: str) -> Consumer | None:
    return CONSUMERS.get(_PACKAGES.get(module.partition(".")[0], ""))


_by_name_of_module = functools.lru_cache(maxsize=256)(_found_by_module)


def limit_shortcuts(*packages: str) -> None:
    """The shortcuts of adapt and to know NumPy, PyTorch and types with exchange tables by heart."""
    touched = {name.partition(".")[0] for name in packages} & {"numpy", "torch"}
    _core.shortcuts(min(_core.shortcuts(), 0 if touched else 1))


def add(consumer: Consumer, replace: bool) -> None:
    """Adds a row to the table; ValueError if there is one of this name and `replace` is false."""
    global CONSUMERS, _PACKAGES, _by_name_of_module
    with _lock:
        if consumer.name in CONSUMERS and not replace:
            raise ValueError(
                f"expected the name of a consumer that is not in the table, found "
                f"{consumer.name!r}; replace=True replaces it"
            )
        # New tables, since other threads may read the old ones.
        CONSUMERS = {**CONSUMERS, consumer.name: consumer}
        _PACKAGES = _packages(CONSUMERS)
        # A new cache: a thread may still enter an old result into the old one.
        _by_name_of_module = functools.lru_cache(maxsize=256)(_found_by_module)
        limit_shortcuts(consumer.name, *consumer.packages)


@functools.lru_cache(maxsize=64)
def _versioned_stranger(asked: tuple[int, int]) -> Consumer:
    return dataclasses.replace(STRANGER, newest=asked)


def keeping_stranger(asked: tuple[int, int] | None) -> Consumer:
    """A consumer that is not in the table and is known to keep READ_ONLY."""
    return dataclasses.replace(STRANGER, newest=asked, honours_read_only=True)


def by_asking(depth: int, asked: tuple[int, int] | None) -> Consumer:
    """The calling framework, by the module of the frame `depth` above this function's caller.

    A consumer in C has no Python frame, so the frame found is the user's. Such a consumer is known
    only by its arguments.
    """
    try:
        framework = by_module(sys._getframe(depth + 1).f_globals.get("__name__"))
    except ValueError:  # no Python frame below
        framework = None
    if framework is not None:
        return framework
    if asked is None or asked[0] < 1:
        return STRANGER
    return _versioned_stranger(asked)


def takes_device(framework: Consumer, device: int) -> bool:
    """Whether a consumer accepts memory of a device type."""
    if framework.devices is None or device in framework.devices:
        return True
    if framework.name == "torch" and device == ONEAPI:
        xpu = getattr(sys.modules.get("torch"), "xpu", None)
        return bool(xpu is not None and xpu.is_available())
    return False


def a_device_of(framework: Consumer) -> str | None:
    """A device to which data can be copied for a consumer; None if it has none."""
    for device, name in ((CPU, "cpu"), (CUDA, "cuda"), (ROCM, "rocm")):
        if takes_device(framework, device):
            return name
    return None


def takes_dtype(framework: Consumer, dtype: str) -> bool:
    """Whether a consumer supports a dtype."""
    if framework.dtypes is None or dtype in framework.dtypes:
        return True
    return keeps_newer(framework, dtype)


def keeps_newer(framework: Consumer, dtype: str) -> bool:
    """Whether only newer versions of a consumer import a dtype, and the installed one does."""
    if dtype not in framework.newer_dtypes or framework.keeps_now is None:
        return False
    return framework.keeps_now(dtype)


def relabels(framework: Consumer, dtype: str) -> bool:
    """Whether a consumer imports bool only as uint8."""
    return framework.bool_as_uint8 and dtype == "bool" and not keeps_newer(framework, dtype)


def narrowed(framework: Consumer, dtype: str) -> str | None:
    """The dtype to which a consumer would silently change this one now; None if it keeps it."""
    for source, target in framework.narrows:
        if source == dtype and (framework.narrows_now is None or framework.narrows_now()):
            return target
    return None


def narrowing_words(framework: Consumer, dtype: str, narrower: str) -> str:
    """Describes the loss and the statement that prevents it."""
    words = f"{framework.title} changes {dtype} to {narrower}, which loses values"
    return f"{words}; {framework.keeps_by} makes it keep {dtype}" if framework.keeps_by else words


def alignment_words(framework: Consumer) -> str:
    """Describes the memory with which a consumer cannot compute."""
    return (
        f"{framework.title} ends the process in operations on memory whose address is not a "
        f"multiple of {framework.needs_alignment}"
    )


def strides_of(framework: Consumer, device: int) -> str:
    """The strides that a consumer accepts for memory on a device."""
    if framework.moves_to is not None and framework.moves_to != device:
        return LAST_COMPACT
    return framework.strides


def takes_strides(
    framework: Consumer, device: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> bool:
    """Whether a consumer accepts this layout."""
    kind = strides_of(framework, device)
    if framework.reads_unused_strides and min(strides, default=0) < 0:
        return False
    if kind == ANY or 0 in shape:
        return True
    if kind == LAST_COMPACT:
        return not shape or strides[-1] == 1
    axes = [(step, extent) for step, extent in zip(strides, shape, strict=True) if extent != 1]
    if kind == NOT_NEGATIVE:
        return all(step >= 0 for step, _ in axes)
    if kind == PERMUTED:
        axes.sort(reverse=True)
    expected = 1
    for step, extent in reversed(axes):
        if step != expected:
            return False
        expected *= extent
    return True
