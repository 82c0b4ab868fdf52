# SPDX-License-Identifier: Apache-2.0
"""Reads DLPack capsules and calls deleters, with ctypes alone."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

from dlbridge._structs import DLManagedTensor, DLManagedTensorVersioned

from .outcomes import Skip

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
READ_ONLY, IS_COPIED, IS_PADDED = 1, 2, 4
CPU = (1, 0)
# Types of devices whose memory the CPU reads: of the host, pinned, managed, and shared by SYCL.
HOST = (1, 3, 11, 13, 14)
NEWEST = (1, 3)
STRUCTS = {LEGACY: DLManagedTensor, VERSIONED: DLManagedTensorVersioned}


def _python(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_name = _python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
destructor = _python("PyCapsule_GetDestructor", ctypes.c_void_p, ctypes.py_object)


def is_capsule(thing: Any) -> bool:
    return type(thing).__name__ == "PyCapsule"


def name(capsule: Any) -> bytes | None:
    """The capsule's name, whatever it is."""
    return _name(capsule) if is_capsule(capsule) else None


def kind(capsule: Any) -> bytes | None:
    """The name of an unconsumed DLPack capsule, or None."""
    for known in STRUCTS:
        if _is_valid(id(capsule), known):
            return known
    return None


def label(thing: Any) -> str:
    """The text of a report for a capsule, or for another object that a library returned."""
    if not is_capsule(thing):
        return f"an object of type {type(thing).__name__}"
    found = name(thing)
    return "a capsule without a name" if found is None else f"a capsule named {text(found)}"


def text(found: bytes | None) -> str:
    """The name of a capsule, which may be any bytes."""
    return (found or b"").decode(errors="backslashreplace")


def look(capsule: Any) -> Any:
    """The struct in an unconsumed capsule, which keeps owning it. The result holds the capsule."""
    known = kind(capsule)
    if known is None:
        raise TypeError(f"{capsule!r} is not a fresh DLPack capsule")
    held = VERSIONED if is_misnamed(capsule) else known
    struct = STRUCTS[held].from_address(pointer(capsule, known))
    struct.capsule = capsule
    return struct


def is_misnamed(capsule: Any) -> bool:
    """Whether a capsule named dltensor has a DLManagedTensorVersioned. Read as a DLManagedTensor,
    its version is an odd address of data, and its deleter is `ndim` and `dtype`. Only bytes that
    both structs have are read."""
    if kind(capsule) != LEGACY:
        return False
    address = pointer(capsule, LEGACY)
    legacy, versioned = (STRUCTS[known].from_address(address) for known in (LEGACY, VERSIONED))
    version = versioned.version
    if version.major != 1 or version.minor >= _MINORS or _is_sane(legacy.dl_tensor):
        return False
    return _is_sane(versioned.dl_tensor)


# More than there will be.
_MINORS, _DEVICES, _AXES = 100, 64, 64


def _is_sane(tensor: Any) -> bool:
    """Whether the first fields may be those of a DLTensor."""
    return 0 < tensor.device.device_type < _DEVICES and 0 <= tensor.ndim <= _AXES


def keep(capsule: Any) -> None:
    """Keeps a capsule for ever, so that its destructor never runs, not even at the end."""
    _add_reference(capsule)


_add_reference = _python("Py_IncRef", None, ctypes.py_object)


# A capsule does not copy its name.
_USED = {known: ctypes.create_string_buffer(b"used_" + known) for known in STRUCTS}
_set_name = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)


def take(capsule: Any) -> Any:
    """Consumes a capsule: renames it and returns its struct, which the caller must delete."""
    struct, known = look(capsule), kind(capsule)
    assert known is not None
    _set_name(capsule, ctypes.addressof(_USED[known]))
    del struct.capsule
    return struct


_Deleter = DLManagedTensor.Deleter
# Callbacks must outlive their structs, whose end is not reported, so they are kept.
_callbacks: list[Any] = []


def deleter_of(struct: Any) -> Any:
    """The deleter as a function of an address, or None."""
    address = ctypes.cast(struct.deleter, ctypes.c_void_p).value
    return _Deleter(address) if address else None


def replace_deleter(struct: Any, function: Any) -> None:
    callback = _Deleter(function)
    _callbacks.append(callback)
    struct.deleter = callback


def delete(struct: Any) -> None:
    """Calls the deleter without the GIL, as a consumer in C does."""
    deleter = ctypes.cast(struct.deleter, ctypes.c_void_p).value
    if deleter:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(ctypes.addressof(struct))


def delete_on_foreign_thread(struct: Any) -> None:
    """Calls the deleter on a thread that Python did not start and does not know."""
    deleter = ctypes.cast(struct.deleter, ctypes.c_void_p).value
    if not deleter:
        return
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    create = libc.pthread_create
    create.argtypes = [ctypes.c_void_p] * 4
    address = ctypes.addressof(struct)
    if create(ctypes.addressof(thread), None, deleter, address):
        raise OSError("pthread_create failed")
    # ctypes releases the GIL while it waits, which the deleter needs.
    libc.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    libc.pthread_join(thread, None)


_FLAGS = {READ_ONLY: "READ_ONLY", IS_COPIED: "IS_COPIED", IS_PADDED: "IS_SUBBYTE_TYPE_PADDED"}


def flags_text(flags: int) -> str:
    """The names of flags, and their number."""
    names = [name for bit, name in _FLAGS.items() if flags & bit]
    if flags & ~sum(_FLAGS):
        names.append("unknown bits")
    return f"flags {flags:#x} ({', '.join(names) or 'none'})"


@dataclasses.dataclass(frozen=True)
class Description:
    """The fields of a struct. `strides` is None where the struct has NULL."""

    data: int
    byte_offset: int
    device: tuple[int, int]
    dtype: tuple[int, int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    version: tuple[int, int] | None = None
    flags: int = 0

    @property
    def address(self) -> int:
        """Where element (0, ..., 0) is."""
        return self.data + self.byte_offset

    @property
    def is_padded(self) -> bool:
        """Whether elements below a byte have a byte each."""
        return bool(self.flags & IS_PADDED)

    @property
    def count(self) -> int:
        return product(self.shape)

    def places(self) -> list[int]:
        """The address of each element, in C order."""
        size = max(self.dtype[1] * self.dtype[2] // 8, 1)
        found = [self.address]
        strides = compact(self.shape) if self.strides is None else self.strides
        for extent, stride in zip(self.shape, strides):
            found = [place + i * stride * size for place in found for i in range(extent)]
        return found

    def need_host(self) -> None:
        """Skips a check that reads or writes memory which the CPU cannot reach."""
        if self.count and self.device[0] not in HOST:
            raise Skip(f"the kit does not read memory of device {self.device}")

    def elements(self) -> bytes:
        """The elements of a host tensor, in C order. Packed ones below a byte are compact."""
        self.need_host()
        bits = self.dtype[1] * self.dtype[2]
        if bits % 8 and not self.is_padded:
            return ctypes.string_at(self.address, -(-self.count * bits // 8))
        size = max(bits // 8, 1)
        return b"".join(ctypes.string_at(place, size) for place in self.places())


def describe(struct: Any) -> Description:
    versioned = isinstance(struct, DLManagedTensorVersioned)
    version = (struct.version.major, struct.version.minor) if versioned else None
    flags = struct.flags if versioned else 0
    return describe_tensor(struct.dl_tensor, version, flags)


def describe_tensor(
    tensor: Any, version: tuple[int, int] | None = None, flags: int = 0
) -> Description:
    ndim = tensor.ndim if 0 <= tensor.ndim <= 64 else 0
    axes = range(ndim)
    return Description(
        data=tensor.data or 0,
        byte_offset=tensor.byte_offset,
        device=(tensor.device.device_type, tensor.device.device_id),
        dtype=(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        shape=tuple(tensor.shape[axis] for axis in axes) if tensor.shape else (),
        strides=tuple(tensor.strides[axis] for axis in axes) if tensor.strides else None,
        version=version,
        flags=flags,
    )


def product(extents: tuple[int, ...]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    """C-contiguous strides, in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)
