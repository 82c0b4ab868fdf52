# SPDX-License-Identifier: Apache-2.0
"""An adapter whose library is right, or has the faults that the variable PLANTED names."""

import ctypes
import os
import sys
import threading
import time

import numpy
from scratchlib import Struct, check_device

faults = os.environ.get("PLANTED", "").split()
title = "planted"
python = ctypes.pythonapi


def function(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, python))


name_of = function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
rename = function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
pointer = function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
USED = b"used_dltensor_versioned"
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


# ------------------------------------------------------------------------------------- producer


@Deleter
def delete_in_python(address):
    originals.pop(address)(address)


@Deleter
def delete_on_main_thread(address):
    if threading.get_ident() == main_thread:
        originals.pop(address)(address)
    else:
        kept.append(bytes(1500))


main_thread = threading.get_ident()
FLAGS = {"read-only": 1, "copied": 2, "flag-3": 8, "flag-63": 1 << 63, "flag-padded": 4}
# Of all exports.
buffers = [(ctypes.c_int64 * 64)() for _ in range(2)]
originals = {}
unset = function("PyCapsule_SetDestructor", ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
slots, kept = [], []


def misstate(struct):
    """Changes fields that say something of the array."""
    if "drops-read-only" in faults:
        struct.flags = 0
    if "signed" in faults and struct.code == 1:
        struct.code = 0
    if "second-device" in faults:
        struct.device_id = 1
    if "negative-id" in faults:
        struct.device_id = -1
    if "scalar-as-row" in faults and not struct.ndim:
        struct.ndim, buffers[0][0] = 1, 1
        struct.shape = struct.strides = ctypes.cast(buffers[0], ctypes.POINTER(ctypes.c_int64))
    if "not-empty" in faults and struct.ndim == 2 and not struct.shape[0]:
        struct.shape[0] = 1
    if "of-the-future" in faults:
        struct.version[1] = 99


class Array:
    def __init__(self, values):
        self.values, self.shape = values, values.shape
        if "arena" in faults:
            # Memory that the exports do not keep.
            self.slot = slots.pop() if slots else (ctypes.c_uint8 * 256)()
            content = values.tobytes() or b"-"
            ctypes.memmove(self.slot, content, len(content))

    def __del__(self):
        if "arena" in faults:
            ctypes.memset(self.slot, 255, 256)
            slots.append(self.slot)

    def __dlpack_device__(self):
        return (1, 1) if "device" in faults else (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        max_version, dl_device = self.check(stream, max_version, dl_device)
        if "cached" in faults and hasattr(self, "capsule"):
            return self.capsule
        if "crash" in faults and copy is False:
            ctypes.string_at(16)
        if "hang" in faults and copy is False:
            while True:
                time.sleep(1)
        if "copy-apart" in faults:
            copy = None
        if "detached" in faults:
            copy = True
        if "legacy-only" in faults or (max_version is not None and max_version[0] < 1):
            max_version = None
        capsule = self.values.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
        if max_version is not None:
            self.spoil(Struct.from_address(pointer(capsule, name_of(capsule))))
        self.finish(capsule)
        self.keep()
        if max_version is None and "legacy-bytes" in faults:
            # A legacy struct begins with the part that follows the flags.
            start = pointer(capsule, name_of(capsule)) - Struct.data.offset
            for axis in range(self.values.ndim):
                Struct.from_address(start).strides[axis] *= self.values.itemsize
        return capsule

    def check(self, stream, max_version, dl_device):
        """Rejects what the library cannot do, and returns what it goes on with."""
        if stream is not None and "stream" not in faults:
            raise BufferError("the array is on the CPU, which has no streams")
        if "no-version-1.1" in faults and max_version not in (None, (1, 0)):
            raise BufferError("an unknown version")
        if "no-int8" in faults and self.values.dtype == numpy.int8:
            raise RuntimeError("the array cannot be exported")
        if "ignores-version" in faults:
            max_version = (1, 0)
        if "any-device" in faults:
            return max_version, None
        check_device(dl_device)
        return max_version, dl_device

    def finish(self, capsule):
        if "misnamed" in faults or "misnamed-with-destructor" in faults:
            rename(capsule, b"dltensor")
        if "misnamed" in faults or "no-destructor" in faults:
            unset(capsule, None)
        if "cached" in faults:
            self.capsule = capsule

    def keep(self):
        if "leak" in faults or ("cache" in faults and len(kept) < 1500):
            kept.append(bytes(1500))
        if "kept" in faults:
            kept.append(self)

    def spoil(self, struct):
        if "shared-extents" in faults:
            for field, buffer in zip(("shape", "strides"), buffers):
                buffer[: struct.ndim] = getattr(struct, field)[: struct.ndim]
                setattr(struct, field, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_int64)))
        if "main-thread" in faults:
            originals[ctypes.addressof(struct)] = Deleter(struct.deleter)
            struct.deleter = ctypes.cast(delete_on_main_thread, ctypes.c_void_p).value
        struct.flags |= next((flag for name, flag in FLAGS.items() if name in faults), 0)
        misstate(struct)
        if "deleter-after-exit" in faults:
            originals[ctypes.addressof(struct)] = Deleter(struct.deleter)
            struct.deleter = ctypes.cast(delete_in_python, ctypes.c_void_p).value
        if "detached" in faults:
            struct.flags = 0
        compact = 1
        for axis in reversed(range(struct.ndim)):
            if "bytes" in faults:
                struct.strides[axis] *= self.values.itemsize
            if "compact" in faults:
                struct.strides[axis] = compact
            compact *= struct.shape[axis]
        if "arena" in faults:
            struct.data = ctypes.addressof(self.slot)
        if "null" in faults:
            struct.strides = None


def without_keywords(self, stream=None):
    return export(self, stream=stream)


export = Array.__dlpack__
if "no-keywords" in faults:
    Array.__dlpack__ = without_keywords


def misbehave():
    """What a library may do to its process, and what is no fault of a deleter."""
    if "bytes-to-stdout" in faults:
        os.write(1, b"\xff\xfe")
        os.write(2, b"\xff\xfe")
    if "thread-lives" in faults:
        threading.Thread(target=time.sleep, args=(1000,)).start()
    if "child-lives" in faults and os.fork() == 0:
        time.sleep(1000)
    if "changes-folder" in faults:
        os.chdir("/")
    if "no-stdout" in faults:
        sys.stdout = sys.stderr = None
    if "no-environment" in faults:
        os.environ.clear()


def make(request):
    misbehave()
    memory = numpy.frombuffer(bytearray(request.bits), request.dtype)
    values = request.view(memory.reshape(request.base_shape))
    values.flags.writeable = not request.read_only
    return Array(values)


def write(array, place, number):
    target = array if isinstance(array, Imported) else array.values
    target[place] = number


def writable(array):
    if not isinstance(array, Imported):
        return bool(array.values.flags.writeable)
    return "read-only-imports" not in faults and not array.struct.flags & 1


# ------------------------------------------------------------------------------------- consumer


class Imported:
    """An array that owns a tensor."""

    def __init__(self, struct, first=0, owner=None):
        self.struct, self.owner = struct, owner
        self.shape = tuple(struct.shape[axis] for axis in range(struct.ndim))
        self.shape = (self.shape[0] - first, *self.shape[1:]) if self.shape else ()
        if "one-axis" in faults and not self.shape:
            self.shape = (1,)
        row, count = 4 * int(numpy.prod(self.shape[1:])), int(numpy.prod(self.shape))
        offset = 0 if "ignores-offset" in faults else struct.offset
        place = (struct.data or 0) + offset + first * row
        self.bytes = (ctypes.c_uint8 * (4 * count)).from_address(place)
        if "copies" in faults or "flushes" in faults:
            self.bytes = type(self.bytes)(*self.bytes)
        if "flushes" in faults:
            # Subnormal numbers become zeros.
            numbers = numpy.frombuffer(self.bytes, "float32")
            numbers[abs(numbers) < numpy.finfo("float32").tiny] = 0

    def __getitem__(self, rows):
        return Imported(self.struct, rows.start, None if "view" in faults else self)

    def __setitem__(self, place, number):
        if self.struct.flags & 1 and "writes" not in faults:
            raise ValueError("the array is read-only")
        self.bytes[:4] = numpy.float32(number).tobytes()

    def __del__(self):
        if self.owner is not None:
            return
        delete = Deleter(self.struct.deleter)
        for _ in range(2 if "deleter-once" in faults else 1):
            delete(ctypes.addressof(self.struct))


def reject(struct):
    """The library imports compact tensors of version 1 only."""
    if struct.version[0] != 1 and "any-version" not in faults:
        raise BufferError(f"version {struct.version[0]} is unknown")
    if struct.ndim < 0 and "any-ndim" not in faults:
        raise BufferError(f"ndim is {struct.ndim}")
    compact, shape = 1, [struct.shape[axis] for axis in range(struct.ndim)]
    for axis in reversed(range(struct.ndim)):
        is_right = not struct.strides or shape[axis] == 1 or struct.strides[axis] == compact
        if not is_right and 0 not in shape and "ignores-strides" not in faults:
            raise BufferError("the tensor is not compact")
        compact *= shape[axis]
    if "rejects" in faults:
        raise TypeError("not implemented")
    has_no_data = not struct.data and 0 not in shape
    if "rejects-and-deletes" in faults and (struct.offset or has_no_data):
        Deleter(struct.deleter)(ctypes.addressof(struct))
        raise TypeError("not implemented")
    if has_no_data:
        raise BufferError("data is NULL")


def consume(source):
    if "type-error" in faults and not hasattr(source, "__dlpack__"):
        raise TypeError("expected an array")
    try:
        asked = {"stream": 1} if "asks-stream" in faults else {}
        capsule = source.__dlpack__(max_version=(1, 3), **asked)
    except BufferError:
        if "errors" in faults:
            raise TypeError("not an array") from None
        raise
    if "anything" in faults and type(capsule).__name__ != "PyCapsule":
        return Array(numpy.zeros(3))
    if "used-capsule" not in faults and name_of(capsule) != b"dltensor_versioned":
        raise ValueError("expected a capsule named dltensor_versioned")
    struct = Struct.from_address(pointer(capsule, name_of(capsule)))
    if "crash-hostile" in faults:
        ctypes.string_at(struct.ndim % 4096)
    reject(struct)
    if "keeps-name" not in faults:
        rename(capsule, USED)
    if "changes-struct" in faults:
        struct.context = 0
    return Imported(struct)


def read(array):
    return bytes(array.bytes) if isinstance(array, Imported) else array.values.tobytes()


def address(array):
    return (
        ctypes.addressof(array.bytes) if isinstance(array, Imported) else array.values.ctypes.data
    )
