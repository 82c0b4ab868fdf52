# SPDX-License-Identifier: Apache-2.0
"""What each framework accepts and exports: one table of facts.

tests/interop measures every fact with the framework itself.
"""

import dataclasses
import functools
import sys
from typing import Any

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

FLOAT8 = "float8"


@dataclasses.dataclass(frozen=True)
class Consumer:
    """One framework as a consumer. `lacks` are prefixes of dtype names."""

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
    lacks: tuple[str, ...] = ()
    # None: it accepts any device, since it only holds the tensor.
    devices: frozenset[int] | None = frozenset((CPU,))
    # It silently copies data whose address is not a multiple of this.
    alignment: int = 1
    # It copies tensors of other devices to this one if the last axis is compact. It never writes to
    # the source.
    moves_to: int | None = None
    # It distinguishes bool from uint8 by the dtype of the object, not of the tensor.
    bool_as_uint8: bool = False

    def takes(self, export: Any) -> str | None:
        """Why this consumer rejects an export as it is; None if it accepts it.

        `export` has these attributes of a report of inspect: legacy, versioned, keywords, readonly,
        dtype, device, shape, strides, byte_offset.
        """
        if not takes_device(self, export.device[0]) and self.moves_to is None:
            return f"{self.title} does not support memory of device type {export.device[0]}"
        if not takes_dtype(self, export.dtype):
            return f"{self.title} does not support {export.dtype}"
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
            lacks=("bfloat", FLOAT8, "float6_", "float4_"),
        ),
        Consumer(
            "torch",
            "PyTorch",
            newest=(1, 3),
            strides=NOT_NEGATIVE,
            devices=_GPUS | {CUDA_MANAGED, ROCM_HOST},
        ),
        Consumer(
            "jax",
            "JAX",
            "dlpack.from_dlpack",
            immutable=True,
            strides=PERMUTED,
            devices=_GPUS,
            alignment=64,
        ),
        Consumer(
            "tensorflow",
            "TensorFlow",
            "experimental.dlpack.from_dlpack",
            capsules=True,
            immutable=True,
            strides=COMPACT,
            lacks=(FLOAT8, "float6_", "float4_"),
            devices=frozenset((CPU, CUDA, CUDA_HOST)),
        ),
        Consumer(
            "paddle",
            "Paddle",
            "utils.dlpack.from_dlpack",
            newest=(1, 2),
            strides=NOT_NEGATIVE,
            devices=frozenset((CPU, CUDA, CUDA_HOST)),
        ),
        Consumer("tvm_ffi", "tvm-ffi", devices=None),
        Consumer(
            "onnxruntime",
            "ONNX Runtime",
            "OrtValue.from_dlpack",
            strides=COMPACT,
            lacks=("complex", FLOAT8, "float6_", "float4_"),
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
            lacks=("bool", "bfloat", "complex", FLOAT8, "float6_", "float4_"),
        ),
        Consumer(
            "dpnp",
            "dpnp",
            newest=(1, 0),
            honours_read_only=True,
            lacks=("bfloat", FLOAT8, "float6_", "float4_"),
            devices=frozenset((CPU, ONEAPI)),
            moves_to=ONEAPI,
        ),
    )
}
# Packages whose modules call __dlpack__ for a framework.
_PACKAGES = {name: name for name in CONSUMERS} | {"jaxlib": "jax", "dpctl": "dpnp"}

# A consumer that is not in the table. Only its arguments of __dlpack__ describe it.
STRANGER = Consumer("", "the consumer", devices=None)


def by_name(name: str) -> Consumer:
    """The framework with this name; ValueError if there is none."""
    if name not in CONSUMERS:
        known = ", ".join(CONSUMERS)
        raise ValueError(f"expected a consumer out of {known}, found {name!r}")
    return CONSUMERS[name]


def by_module(module: Any) -> Consumer | None:
    """The framework to which a module belongs."""
    return _by_name_of_module(module) if isinstance(module, str) else None


@functools.lru_cache(maxsize=256)
def _by_name_of_module(module: str) -> Consumer | None:
    return CONSUMERS.get(_PACKAGES.get(module.partition(".")[0], ""))


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


def producer_of(array: Any) -> str:
    """The framework of an array, or ""."""
    framework = by_module(type(array).__module__)
    return framework.name if framework is not None else ""


def takes_device(framework: Consumer, device: int) -> bool:
    """Whether a consumer accepts memory of a device type."""
    if framework.devices is None or device in framework.devices:
        return True
    if framework.name == "torch" and device == ONEAPI:
        xpu = getattr(sys.modules.get("torch"), "xpu", None)
        return bool(xpu is not None and xpu.is_available())
    return False


def takes_dtype(framework: Consumer, dtype: str) -> bool:
    """Whether a consumer supports a dtype."""
    return not dtype.startswith(framework.lacks)


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
