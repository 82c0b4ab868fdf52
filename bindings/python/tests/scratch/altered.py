# SPDX-License-Identifier: Apache-2.0
"""An adapter whose library exports and imports both kinds of capsules. It is right, or has the
faults that the variable PLANTED names."""

import ctypes
import os

import numpy
from dlbridge.conformance import capsules

faults = os.environ.get("PLANTED", "").split()
title = "altered"
kept = []
_NAMES = {name: ctypes.create_string_buffer(name) for name in capsules.STRUCTS}


def has(name):
    return name in faults


def keep(name, thing):
    if has(name) and thing is not None:
        kept.append(thing)


# ------------------------------------------------------------------------------------- producer


class Array:
    def __init__(self, values, read_only):
        self.values, self.read_only, self.shape = values, read_only, values.shape
        self.is_new = True

    def __getitem__(self, key):
        return Array(self.values[key], self.read_only and not has("read-only-slices"))

    @property
    def T(self):
        return Array(self.values.T, self.read_only)

    def __dlpack_device__(self):
        keep("leaks-devices", bytes(100))
        return (1, 0.0) if has("float-device") else (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.check(stream, max_version, dl_device)
        if max_version is not None and max_version[0] < 1:
            max_version = None
        is_legacy = max_version is None
        if is_legacy and self.read_only and not copy:
            raise BufferError("a legacy tensor has no flag READ_ONLY")
        keep("leaks-arrays", bytes(100) if self.is_new else None)
        self.is_new = False
        copied = bool(copy)
        values = self.copied(is_legacy) if copy else self.values
        capsule = values.__dlpack__(max_version=max_version)
        keep("leaks-copies", bytes(100) if copy else None)
        keep("leaks-legacy", bytes(100) if is_legacy else None)
        keep("leaks-legacy-arrays", self if is_legacy else None)
        if not is_legacy:
            self.flag(capsules.look(capsule), copy, copied)
        self.misstate(capsules.look(capsule).dl_tensor, is_legacy)
        return capsule

    def check(self, stream, max_version, dl_device):
        if not (stream is None or (has("streams") and stream in (-1, 2))):
            keep("leaks-errors", self.values.copy())
            raise BufferError("the array is on the CPU, which has no streams")
        accepted = [(1, 0), *[(2, 0)] * has("any-gpu")]
        if dl_device is not None and tuple(dl_device) not in accepted:
            raise BufferError("the array is on the CPU")

    def copied(self, is_legacy):
        is_compact = self.values.flags.c_contiguous
        if is_legacy and has("no-legacy-copies") or self.read_only and has("no-read-only-copies"):
            return self.values
        if not is_compact and has("compact-copies"):
            return self.values
        if not is_compact and self.values.ndim == 2 and has("copies-of-memory"):
            return self.values.T.copy().reshape(self.shape)
        return self.values.copy()

    def flag(self, struct, copy, copied):
        struct.version.minor = 3
        struct.flags = 2 if copied else int(self.read_only)
        if copy is False and has("writable-if-shared"):
            struct.flags = 0

    def misstate(self, tensor, is_legacy):
        compact = capsules.compact(self.shape)
        if tensor.ndim == 1 and has("row-bytes"):
            tensor.strides[0] *= self.values.itemsize
        if tensor.ndim == 1 and has("row-null") and tensor.strides[0] == 1:
            tensor.strides = None
        for axis in range(tensor.ndim):
            if self.read_only and has("compact-read-only") and not is_legacy:
                tensor.strides[axis] = compact[axis]


def make(request):
    memory = numpy.frombuffer(bytearray(request.bits), request.dtype)
    return Array(request.view(memory.reshape(request.base_shape)), request.read_only)


# ------------------------------------------------------------------------------------- consumer


class Imported:
    """An array that owns a tensor."""

    def __init__(self, struct, copy):
        self.struct = struct
        found = capsules.describe(struct)
        is_legacy = found.version is None
        if is_legacy and has("legacy-offset") or not found.shape and has("scalar-offset"):
            found = capsules.dataclasses.replace(found, byte_offset=0)
        self.found, self.shape = found, found.shape
        self.dtype = {(2, 32, 1): "float32"}.get(found.dtype, str(found.dtype))
        self.bits = found.elements() if copy else None
        self.runs = 1
        if is_legacy and (has("legacy-never") or has("legacy-twice")):
            self.runs = 2 * has("legacy-twice")

    @property
    def writable(self):
        is_lost = has("row-writable") and len(self.shape) == 1
        return is_lost or not self.found.flags & 1

    def __del__(self):
        for _ in range(self.runs):
            capsules.delete(self.struct)


def reject(struct, capsule):
    found = capsules.describe(struct)
    wrong = found.version is not None and found.version[0] != 1
    wrong = wrong or found.dtype[0] > 20 or struct.dl_tensor.ndim < 0
    if wrong or found.device != (1, 0) or (found.count and not found.data):
        keep("keeps-rejected", capsule)
        if has("renames-rejected"):
            rename(capsule, capsules.LEGACY)
        raise BufferError("the tensor cannot be imported")


def rename(capsule, name):
    capsules._set_name(capsule, ctypes.addressof(_NAMES[name]))


def consume(source, *, copy=None):
    keywords = {} if copy is None else {"copy": copy}
    try:
        capsule = source.__dlpack__(max_version=(1, 3), **keywords)
    except TypeError:
        capsule = source.__dlpack__()
    if capsules.name(capsule) == b"used_dltensor" and has("used-legacy"):
        rename(capsule, capsules.LEGACY)
    reject(capsules.look(capsule), capsule)
    keep("keeps-sources", source)
    keep("keeps-copied", capsule if copy else None)
    return Imported(capsules.take(capsule), copy)


def writable(array):
    return array.writable if isinstance(array, Imported) else not array.read_only


def write(array, place, number):
    if not writable(array):
        raise ValueError("the array is read-only")
    if isinstance(array, Imported):
        ctypes.memmove(array.found.address, numpy.float32(number).tobytes(), 4)
    else:
        array.values[place] = number


def read(array):
    if isinstance(array, Imported):
        return array.found.elements() if array.bits is None else array.bits
    return array.values.tobytes()


def dtype(array):
    return array.dtype if isinstance(array, Imported) else str(array.values.dtype)


def address(array):
    if not isinstance(array, Imported):
        return array.values.ctypes.data
    return array.found.address if array.bits is None else id(array.bits)
