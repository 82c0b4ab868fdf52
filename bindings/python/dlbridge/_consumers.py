# SPDX-License-Identifier: Apache-2.0
"""What each framework takes and hands out: one table of facts.

Every fact was measured, and tests/interop measures it again with the framework itself.
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

# Which strides a consumer takes.
ANY = "any"
NOT_NEGATIVE = "not negative"
PERMUTED = "those of a compact array, axes in any order"
COMPACT = "those of a compact array, the last axis fastest"
LAST_COMPACT = "those that are 1 on the last axis"

FLOAT8 = "float8"


@dataclasses.dataclass(frozen=True)
class Consumer:
    """One framework as a consumer. `lacks` are beginnings of names of dtypes."""

    name: str
    title: str
    # Where its from_dlpack is: a path of attributes below the module of that name.
    importer: str = "from_dlpack"
    # It takes capsules only, not objects.
    capsules: bool = False
    # The newest version that it understands; None: it asks for legacy capsules.
    newest: tuple[int, int] | None = None
    # An array that is flagged READ_ONLY stays read-only there.
    honours_read_only: bool = False
    # Its arrays are never written to, so that READ_ONLY is nothing that it could lose.
    immutable: bool = False
    strides: str = ANY
    lacks: tuple[str, ...] = ()
    # None: it asks nobody about devices, and only keeps what it is given.
    devices: frozenset[int] | None = frozenset((CPU,))
    # It copies data at addresses that are no multiple of this, and says nothing.
    alignment: int = 1
    # It copies what is elsewhere onto this device, where the last axis is compact, and never writes
    # to what it copies.
    moves_to: int | None = None
    # It tells bool from uint8 by the dtype of the object, not of the tensor.
    bool_as_uint8: bool = False

    def takes(self, export: Any) -> str | None:
        """Why this consumer will not take an export as it stands; None where it will.

        `export` has the attributes of what inspect finds: legacy, versioned, keywords, readonly,
        dtype, device, shape, strides, byte_offset.
        """
        if not takes_device(self, export.device[0]) and self.moves_to is None:
            return f"{self.title} has no use for memory of device type {export.device[0]}"
        if not takes_dtype(self, export.dtype):
            return f"{self.title} has no {export.dtype}"
        return self._rejects_ask(export) or self._rejects_layout(export)

    def _rejects_ask(self, export: Any) -> str | None:
        if self.newest is None and not export.legacy:
            return f"{self.title} asks for a legacy capsule, which the array does not hand out"
        if self.newest is not None and not export.versioned and self.name == "pyarrow":
            return f"{self.title} takes versioned capsules only"
        if export.readonly and not (self.honours_read_only or self.immutable):
            return f"{self.title} would let the array be written to, which is read-only"
        return None

    def _rejects_layout(self, export: Any) -> str | None:
        if export.byte_offset and self.name in NO_BYTE_OFFSET:
            return f"{self.title} does not add byte_offset"
        strides = export.strides
        if strides is None:
            return None
        if takes_strides(self, export.device[0], tuple(export.shape), tuple(strides)):
            return None
        return f"{self.title} takes no strides but {strides_of(self, export.device[0])}"


# They pass over a byte_offset, or reject it.
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
# Packages whose modules do a framework's asking.
_PACKAGES = {name: name for name in CONSUMERS} | {"jaxlib": "jax", "dpctl": "dpnp"}

# What is known of a consumer that is not in the table: what it asked with.
STRANGER = Consumer("", "the consumer", devices=None)


def by_name(name: str) -> Consumer:
    """The framework of a name, or ValueError."""
    if name not in CONSUMERS:
        known = ", ".join(CONSUMERS)
        raise ValueError(f"expected a consumer out of {known}, found {name!r}")
    return CONSUMERS[name]


def by_module(module: Any) -> Consumer | None:
    """The framework that a module's name belongs to."""
    return _by_name_of_module(module) if isinstance(module, str) else None


@functools.lru_cache(maxsize=256)
def _by_name_of_module(module: str) -> Consumer | None:
    return CONSUMERS.get(_PACKAGES.get(module.partition(".")[0], ""))


@functools.lru_cache(maxsize=64)
def _versioned_stranger(asked: tuple[int, int]) -> Consumer:
    return dataclasses.replace(STRANGER, newest=asked, honours_read_only=True)


def by_asking(depth: int, asked: tuple[int, int] | None) -> Consumer:
    """The framework that calls, by the module of the frame `depth` above this function's caller.

    Consumers in C have no frame: theirs is the user's, and they are strangers, of whom the ask says
    all that is known. Whoever asks for a version knows the flags.
    """
    try:
        framework = by_module(sys._getframe(depth + 1).f_globals.get("__name__"))
    except ValueError:  # nobody but C below
        framework = None
    if framework is not None:
        return framework
    if asked is None or asked[0] < 1:
        return STRANGER
    return _versioned_stranger(asked)


def producer_of(array: Any) -> str:
    """The framework that made an array, or ""."""
    framework = by_module(type(array).__module__)
    return framework.name if framework is not None else ""


def takes_device(framework: Consumer, device: int) -> bool:
    """Whether a consumer has a use for memory of a device type."""
    if framework.devices is None or device in framework.devices:
        return True
    if framework.name == "torch" and device == ONEAPI:
        xpu = getattr(sys.modules.get("torch"), "xpu", None)
        return bool(xpu is not None and xpu.is_available())
    return False


def takes_dtype(framework: Consumer, dtype: str) -> bool:
    """Whether a consumer has a dtype of that name."""
    return not dtype.startswith(framework.lacks)


def strides_of(framework: Consumer, device: int) -> str:
    """Which strides a consumer takes of memory on a device."""
    if framework.moves_to is not None and framework.moves_to != device:
        return LAST_COMPACT
    return framework.strides


def takes_strides(
    framework: Consumer, device: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> bool:
    """Whether a consumer takes an array laid out so."""
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
