# SPDX-License-Identifier: Apache-2.0
"""Makes and reads DLPack capsules with ctypes, so that proofs do not depend on dlbridge."""

import contextlib
import ctypes

from dlbridge._structs import DLDataType, DLDevice, DLManagedTensor, DLPackVersion

from . import capsules
from .capsules import CPU, LEGACY, NEWEST, READ_ONLY, STRUCTS, VERSIONED, compact, kind, look

__all__ = ["CPU", "LEGACY", "NEWEST", "READ_ONLY", "VERSIONED", "compact", "kind", "look"]
# NumPy's kind and item size -> DLPack's dtype.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
TRIPLE_OF_KIND = {
    (kind, size): (code, 8 * size, 1) for kind, code in _CODES.items() for size in (1, 2, 4, 8, 16)
}
# Deleters run on any thread, with or without the GIL; CFUNCTYPE acquires it.
_DELETER = DLManagedTensor.Deleter


# Address of a live struct -> the struct, its arrays and its owner.
_alive: dict[int, tuple] = {}


@_DELETER
def _delete(address):
    _alive.pop(address, None)


def alive():
    """The number of handmade structs that are not deleted yet."""
    return len(_alive)


def make(owner, tensor, *, versioned, flags=0):
    """A capsule of `tensor`, a dictionary of fields. The struct keeps `owner` alive."""
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
    # No destructor: one in Python would clear the error of a consumer that rejects the capsule. So
    # rejected structs stay alive.
    return capsules.new(address, name, None)


class Export:
    """A handmade tensor over memory of `owner`. `versioned` None: the kind that is requested."""

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


# Callbacks must outlive their structs, whose end is not reported, so they are kept.
_callbacks: list = []


class Counted:
    """Exports the capsules of `source` and counts the runs of their deleters."""

    def __init__(self, source):
        self._source = source
        self._runs = []
        self.handed_out = 0
        # tvm-ffi has no names for some dtypes, and an OrtValue has no dtype.
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
    """A deleter that counts and calls another. It must not keep the source alive."""

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
    """The fields of a struct's tensor, as `make` expects them."""
    found = capsules.describe(struct)
    names = ("data", "byte_offset", "device", "dtype", "shape")
    strides = compact(found.shape) if found.strides is None else found.strides
    return {**{name: getattr(found, name) for name in names}, "strides": strides}


def address(tensor):
    """The address of element (0, ..., 0)."""
    return tensor["data"] + tensor["byte_offset"]


def elements(tensor):
    """The elements of a host tensor, as bytes in C order."""
    size = tensor["dtype"][1] // 8 * tensor["dtype"][2]
    places = [address(tensor)]
    for extent, stride in zip(tensor["shape"], tensor["strides"]):
        places = [place + i * stride * size for place in places for i in range(extent)]
    return b"".join(ctypes.string_at(place, size) for place in places)
