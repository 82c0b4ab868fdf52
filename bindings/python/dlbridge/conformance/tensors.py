# SPDX-License-Identifier: Apache-2.0
"""Tensors made with ctypes for consumers: any fields, counted deleters, memory between guard pages.

A tensor stays in memory after its deleter has run, so that a second run is counted and not
undefined.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from dlbridge._structs import (
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
)

from . import capsules, values
from .forms import FORMS, Form

_PAGE = mmap.PAGESIZE
_NO_ACCESS = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Memory:
    """Bytes between unreadable pages. They end right before one if their size is a multiple of
    `aligned`."""

    def __init__(self, content: bytes, *, aligned: int = 64) -> None:
        room = -(-max(len(content), 1) // aligned) * aligned
        pages = -(-room // _PAGE)
        self.size = (pages + 2) * _PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.start = _libc.mmap(None, self.size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if self.start in (None, ctypes.c_void_p(-1).value):
            raise MemoryError("mmap failed")
        end = self.start + (pages + 1) * _PAGE
        self.address = end - room
        ctypes.memmove(self.address, content, len(content))
        self.length = len(content)
        for guard in (self.start, end):
            _libc.mprotect(guard, _PAGE, _NO_ACCESS)

    def content(self) -> bytes:
        return ctypes.string_at(self.address, self.length)

    def write(self, content: bytes) -> None:
        ctypes.memmove(self.address, content, len(content))

    def __del__(self, munmap: Any = _libc.munmap) -> None:
        munmap(self.start, self.size)


_alive: dict[int, Tensor] = {}


class Tensor:
    """A struct of any content. The names of the fields are those of DLTensor."""

    def __init__(
        self,
        *,
        kind: str = "versioned",
        version: tuple[int, int] = capsules.NEWEST,
        flags: int = 0,
        data: int | None = 0,
        device: tuple[int, int] = capsules.CPU,
        dtype: tuple[int, int, int] = (2, 32, 1),
        shape: tuple[int, ...] | None = (),
        strides: tuple[int, ...] | None = (),
        ndim: int | None = None,
        byte_offset: int = 0,
        deleter: bool = True,
        context: bool = True,
        memory: Memory | None = None,
    ) -> None:
        self.memory: Any = memory
        self.kind = kind
        self.fields: dict[str, Any] = {
            "kind": kind,
            "version": version,
            "flags": flags,
            "device": device,
            "dtype": dtype,
            "shape": shape,
            "strides": strides,
            "byte_offset": byte_offset,
            "data": "memory" if data else "NULL",
            "ndim": len(shape or ()) if ndim is None else ndim,
            "deleter": deleter,
            "context": context,
        }
        versioned = kind == "versioned"
        self.name = capsules.VERSIONED if versioned else capsules.LEGACY
        self.struct = (DLManagedTensorVersioned if versioned else DLManagedTensor)()
        # Reads past the end of an array of extents hit a guard page.
        self.arrays = [None if one is None else _extents(one) for one in (shape, strides)]
        inner = self.struct.dl_tensor
        inner.data, inner.byte_offset, inner.ndim = data or None, byte_offset, self.fields["ndim"]
        inner.device, inner.dtype = DLDevice(*device), DLDataType(*dtype)
        for field, array in zip(("shape", "strides"), self.arrays):
            place = array.address if array else 0
            setattr(inner, field, ctypes.cast(place, ctypes.POINTER(ctypes.c_int64)))
        if deleter:
            self.struct.deleter = _deleter
        if versioned:
            self.struct.version, self.struct.flags = DLPackVersion(*version), flags
        self.deleted = 0
        self.address = ctypes.addressof(self.struct)
        if context:
            self.struct.manager_ctx = self.address
        self.before = self.snapshot()
        self.changed = False
        self.handed_out: list[Any] = []
        _alive[self.address] = self

    def snapshot(self) -> bytes:
        """The bytes of the struct and its arrays."""
        size = ctypes.sizeof(self.struct)
        parts = [ctypes.string_at(self.address, size)]
        return b"".join(parts + [array.content() for array in self.arrays if array])

    def capsule(self, name: bytes | None = None) -> Any:
        """A capsule; the tensor keeps it, to see what a consumer does."""
        kept = _NAMES.setdefault(name or self.name, name or self.name)
        made = capsules.new(self.address, kept, _DESTRUCTOR)
        self.handed_out.append(made)
        return made

    @property
    def claimed(self) -> bool:
        """Whether a consumer has taken the tensor over: it renames a capsule. Without its
        destructor, a capsule does not own the tensor either."""
        return any(
            capsules.name(one) == b"used_" + self.name or capsules.destructor(one) is None
            for one in self.handed_out
        )

    def unmodified(self) -> bool:
        return not self.changed and self.snapshot() == self.before

    def forget(self) -> None:
        _alive.pop(self.address, None)


# The kit deletes nothing when a capsule goes away, but a consumer may look for a destructor. One in
# Python would clear the error of a consumer that rejects the capsule.
_DESTRUCTOR = ctypes.cast(_libc.getpid, ctypes.c_void_p).value
# Capsules do not copy their names.
_NAMES: dict[bytes, bytes] = {}


def _extents(array: tuple[int, ...]) -> Memory:
    content = b"".join((extent % 2**64).to_bytes(8, "little") for extent in array)
    return Memory(content, aligned=8)


@DLManagedTensor.Deleter
def _deleter(address: int) -> None:
    tensor = _alive.get(address)
    if tensor is not None:
        tensor.changed |= tensor.snapshot() != tensor.before
        tensor.deleted += 1


def alive() -> int:
    return len(_alive)


def of_form(form: str | Form, dtype: str = "float32", **changes: Any) -> Tensor:
    """A tensor of a layout over twelve values. `content` replaces the values."""
    layout = FORMS[form] if isinstance(form, str) else form
    content = changes.pop("content", None) or values.bits(dtype)
    memory = Memory(content)
    fields = {
        "data": memory.address + layout.start * values.size(dtype),
        "dtype": values.DTYPES[dtype],
        "shape": layout.shape,
        "strides": layout.strides,
        "memory": memory,
    }
    return Tensor(**{**fields, **changes})


def expected(form: str | Form, dtype: str = "float32") -> bytes:
    """The elements of a layout, in C order."""
    layout = FORMS[form] if isinstance(form, str) else form
    parts = values.elements(dtype)
    return b"".join(parts[place] for place in layout.indices())


class Source:
    """An object that speaks DLPack for a tensor and records the requests."""

    def __init__(self, tensor: Tensor, *, keywords: bool = True, error: Any = None) -> None:
        self.tensor, self.keywords, self.error = tensor, keywords, error
        self.requests: list[dict[str, Any]] = []
        # Some consumers ask for these before they ask for a capsule.
        self.shape = tuple(tensor.fields["shape"] or ())
        self.dtype = values.NAMES.get(tensor.fields["dtype"], "float32")

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        if not self.keywords and set(keywords) - {"stream"}:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        if self.error is not None:
            raise self.error
        device, wanted = self.__dlpack_device__(), keywords.get("dl_device")
        if wanted is not None and tuple(map(int, wanted)) != device:
            raise BufferError(f"the tensor is on device {device}")
        return self.tensor.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.fields["device"]
