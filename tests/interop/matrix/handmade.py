# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules made and read by hand, over ctypes: evidence that owes dlbridge nothing."""

import contextlib
import ctypes

from dlbridge._structs import (
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
)

LEGACY = b"dltensor"
VERSIONED = b"dltensor_versioned"
READ_ONLY = 1
CPU = (1, 0)
NEWEST = (1, 3)
# NumPy's kind and size of an element, in DLPack's terms.
TRIPLE_OF_KIND = {("f", 4): (2, 32, 1), ("c", 8): (5, 64, 1), ("b", 1): (6, 8, 1)}


STRUCTS = {LEGACY: DLManagedTensor, VERSIONED: DLManagedTensorVersioned}


def _python(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


# Deleters run on any thread, with or without the GIL: CFUNCTYPE takes it.
_DELETER = DLManagedTensor.Deleter
_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


def kind(capsule):
    """The name of a capsule that nobody has consumed, or None."""
    for name in STRUCTS:
        if _is_valid(id(capsule), name):
            return name
    return None


def look(capsule):
    """The struct in a fresh capsule; it stays the capsule's."""
    name = kind(capsule)
    if name is None:
        raise TypeError(f"{capsule!r} is not a fresh DLPack capsule")
    return STRUCTS[name].from_address(_pointer(id(capsule), name))


# What a live struct needs: itself, its arrays and its owner, by its address.
_alive: dict[int, tuple] = {}


@_DELETER
def _delete(address):
    _alive.pop(address, None)


def alive():
    """How many structs made here have not been deleted."""
    return len(_alive)


def make(owner, tensor, *, versioned, flags=0):
    """A capsule of `tensor`, a dictionary of the fields; `owner` lives as long as the struct."""
    name = VERSIONED if versioned else LEGACY
    struct = STRUCTS[name]()
    ndim = len(tensor["shape"])
    shape = (ctypes.c_int64 * ndim)(*tensor["shape"])
    strides = (ctypes.c_int64 * ndim)(*tensor["strides"])
    inner = struct.dl_tensor
    inner.data, inner.byte_offset, inner.ndim = tensor["data"], tensor["byte_offset"], ndim
    inner.device, inner.dtype = DLDevice(*tensor["device"]), DLDataType(*tensor["dtype"])
    inner.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    inner.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
    struct.deleter = _delete
    if versioned:
        struct.version = DLPackVersion(*NEWEST)
        struct.flags = flags
    address = ctypes.addressof(struct)
    _alive[address] = (struct, shape, strides, owner)
    # No destructor: one in Python would lose the error of the consumer that rejects the capsule.
    # What is rejected stays alive.
    return _new(address, name, None)


class Export:
    """A tensor described by hand, over memory of `owner`: kind None answers as it is asked."""

    def __init__(self, owner, tensor, *, versioned=None, flags=0, dtype="float32"):
        self._owner, self.tensor, self.flags = owner, tensor, flags
        self._versioned = versioned
        self.dtype = dtype

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) != self.tensor["device"]:
            raise BufferError(f"this tensor is on device {self.tensor['device']}")
        versioned = self._versioned
        if versioned is None:
            versioned = max_version is not None and max_version[0] >= 1
        return make(self._owner, self.tensor, versioned=versioned, flags=self.flags)

    def __dlpack_device__(self):
        return self.tensor["device"]


# Callbacks must outlive their structs, and nothing tells when those end: they stay.
_callbacks: list = []


class Counted:
    """Passes on what `source` hands out and counts how often its deleters run."""

    def __init__(self, source):
        self._source = source
        self._runs = []
        self.handed_out = 0
        # tvm-ffi has names for some dtypes only, and an OrtValue has none.
        with contextlib.suppress(Exception):
            self.dtype = source.dtype

    @property
    def deleted(self):
        return len(self._runs)

    def __dlpack__(self, **keywords):
        capsule = self._source.__dlpack__(**keywords)
        struct = look(capsule)
        struct.deleter = _counting(struct.deleter, self._runs)
        self.handed_out += 1
        return capsule

    def __dlpack_device__(self):
        return self._source.__dlpack_device__()


def _counting(original, runs):
    """A deleter that calls another; it must not hold what the source is."""

    # `original` is a view of the struct's field, which the counting deleter replaces.
    original = _DELETER(ctypes.cast(original, ctypes.c_void_p).value or 0)

    def delete(address):
        runs.append(address)
        if original:
            original(address)

    callback = _DELETER(delete)
    _callbacks.append(callback)
    return callback


def describe(struct):
    """The fields of a struct's tensor as `make` takes them."""
    inner = struct.dl_tensor
    shape = tuple(inner.shape[axis] for axis in range(inner.ndim))
    strides = tuple(inner.strides[axis] for axis in range(inner.ndim)) if inner.strides else None
    return {
        "data": inner.data or 0,
        "byte_offset": inner.byte_offset,
        "device": (inner.device.device_type, inner.device.device_id),
        "dtype": (inner.dtype.code, inner.dtype.bits, inner.dtype.lanes),
        "shape": shape,
        "strides": strides if strides is not None else compact(shape),
    }


def compact(shape):
    """Strides of an array without gaps, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)


def address(tensor):
    """Where element (0,...,0) is."""
    return tensor["data"] + tensor["byte_offset"]


def elements(tensor):
    """The bytes of a host tensor's elements in C order."""
    size = tensor["dtype"][1] // 8 * tensor["dtype"][2]
    places = [address(tensor)]
    for extent, stride in zip(tensor["shape"], tensor["strides"]):
        places = [place + i * stride * size for place in places for i in range(extent)]
    return b"".join(ctypes.string_at(place, size) for place in places)
