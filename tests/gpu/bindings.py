# SPDX-License-Identifier: Apache-2.0
"""What of libdlbridge the tests on a GPU call, over ctypes. This is no binding."""

import ctypes
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from structs import (  # noqa: E402
    DLBridgeBackendInfo,
    DLBridgeBuffer,
    DLBridgeCopySpec,
    DLBridgeError,
    DLBridgeIpcExportSpec,
    DLBridgeIpcImportSpec,
    DLBridgeIpcSizes,
    DLBridgePointerInfo,
    DLBridgePolicy,
    DLBridgeRelease,
    DLBridgeStream,
    DLBridgeWrapSpec,
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLTensor,
    sized,
)

INT64 = ctypes.c_int64
UINT64 = ctypes.c_uint64

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
FLOAT, UINT = 2, 1
BACKEND_CUDA = 2
MEMORY_HOST, MEMORY_DEVICE, MEMORY_PINNED, MEMORY_MANAGED = 1, 2, 3, 4
STREAM_QUEUE = 3
STREAM_NONE = -(2**63)
RULE_DEVICE_LABEL, RULE_ALLOCATION_BOUNDS = 43, 44
KIND_LEGACY = 1
ALLOW_STAGING = 1 << 8
ALLOW_CAPTURE = 1 << 9
IS_COPIED = 2
LEVEL_DEVICE = 3
STATE_READY = 1


RELEASE = DLBridgeRelease

# A capsule borrows its name, so the texts outlive every capsule.
_NAME, _USED_NAME = b"dltensor", b"used_dltensor"
_NEW = ctypes.pythonapi.PyCapsule_New
_NEW.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NEW.restype = ctypes.py_object
_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER.argtypes = [ctypes.py_object, ctypes.c_char_p]
_POINTER.restype = ctypes.c_void_p
_RENAME = ctypes.pythonapi.PyCapsule_SetName
_RENAME.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Rejected(Exception):
    """The library rejected the call."""

    def __init__(self, status, error):
        super().__init__(f"{status}: {error.message.decode()}")
        self.status = status
        self.rule = error.rule
        self.message = error.message.decode()


def int64s(values):
    return (INT64 * max(len(values), 1))(*values)


def buffer_at(address):
    return DLBridgeBuffer(0, 1, address)


def stream(handle, device=0):
    """A CUstream, or 1 or 2, of a device."""
    return DLBridgeStream(BACKEND_CUDA, STREAM_QUEUE, DLDevice(CUDA, device), handle)


def tensor(address, device, shape, strides=None, dtype=(UINT, 8), byte_offset=0):
    """A borrowed tensor; its arrays live as long as it does."""
    if strides is None:
        strides = [1] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
    out = DLTensor(data=address, ndim=len(shape), byte_offset=byte_offset)
    out.device = DLDevice(*device)
    out.dtype = DLDataType(dtype[0], dtype[1], 1)
    out.arrays = int64s(shape), int64s(strides)
    out.shape, out.strides = out.arrays
    return out


class Library:
    """libdlbridge, loaded without the GIL: drivers call back from threads of their own."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(path)
        self._lib.dlbridge_status_name.restype = ctypes.c_char_p
        self._lib.dlbridge_release_versioned.argtypes = [ctypes.POINTER(DLManagedTensorVersioned)]
        self._lib.dlbridge_release_versioned.restype = None

    def call(self, name, *arguments):
        error = DLBridgeError()
        status = getattr(self._lib, "dlbridge_" + name)(*arguments, ctypes.byref(error))
        if status != 0:
            text = self._lib.dlbridge_status_name(status).decode()
            raise Rejected(text.removeprefix("DLBRIDGE_ERROR_"), error)

    def backend_info(self):
        info = sized(DLBridgeBackendInfo)
        self.call("backend_info", BACKEND_CUDA, ctypes.byref(info))
        return info

    def pointer_info(self, address, device=(CUDA, 0)):
        info = sized(DLBridgePointerInfo)
        buffer = buffer_at(address)
        self.call("pointer_info", ctypes.byref(buffer), DLDevice(*device), ctypes.byref(info))
        return info

    def validate(self, what):
        """At the level that asks the driver."""
        policy = sized(DLBridgePolicy, level=LEVEL_DEVICE)
        self.call("validate", ctypes.byref(what), UINT64(0), ctypes.byref(policy))

    def _wrap(self, name, kind, address, device, shape, dtype, release):
        spec = sized(DLBridgeWrapSpec, ndim=len(shape))
        spec.shape = int64s(shape)
        spec.buffer = buffer_at(address)
        spec.device = DLDevice(*device)
        spec.dtype = DLDataType(dtype[0], dtype[1], 1)
        if release is not None:
            spec.release = release
        out = ctypes.POINTER(kind)()
        self.call(name, ctypes.byref(spec), ctypes.byref(out))
        return out

    def wrap(self, address, device, shape, dtype=(FLOAT, 32), release=None):
        return self._wrap("wrap", DLManagedTensorVersioned, address, device, shape, dtype, release)

    def wrap_legacy(self, address, device, shape, dtype=(FLOAT, 32), release=None):
        """As the capsule that every framework takes, which has to take it."""
        managed = self._wrap("wrap_legacy", DLManagedTensor, address, device, shape, dtype, release)
        return _NEW(ctypes.cast(managed, ctypes.c_void_p), _NAME, None)

    def import_tensor(self, capsule):
        """A dlbridge-owned tensor of a legacy capsule, which counts as used then."""
        legacy = _POINTER(capsule, _NAME)
        out = ctypes.POINTER(DLManagedTensorVersioned)()
        self.call("import", ctypes.c_void_p(legacy), KIND_LEGACY, None, ctypes.byref(out))
        _RENAME(capsule, _USED_NAME)
        return out

    def release(self, managed):
        self._lib.dlbridge_release_versioned(managed)

    def handoff(self, producer, consumer, options=0):
        self.call("stream_handoff", ctypes.byref(producer), ctypes.byref(consumer), options)

    def synchronize(self, queue):
        self.call("stream_synchronize", ctypes.byref(queue))

    def copy(self, source, device=(CPU, 0), target=0, size=0, queue=None, staging=False):
        spec = sized(DLBridgeCopySpec, options=ALLOW_STAGING * staging)
        spec.device = DLDevice(*device)
        if queue is not None:
            spec.stream = queue
        if target:
            spec.target = buffer_at(target)
            spec.target_size = size
        out = ctypes.POINTER(DLManagedTensorVersioned)()
        self.call("copy", ctypes.byref(source), UINT64(0), ctypes.byref(spec), ctypes.byref(out))
        return out

    def ipc_export(self, managed):
        sizes = sized(DLBridgeIpcSizes)
        spec = sized(DLBridgeIpcExportSpec)
        place = ctypes.create_string_buffer(4096)
        fds = (ctypes.c_int32 * 4)()
        spec.buffer, spec.buffer_size = ctypes.addressof(place), len(place)
        spec.fds, spec.fd_capacity = ctypes.addressof(fds), len(fds)
        self.call("ipc_export", managed, ctypes.byref(spec), ctypes.byref(sizes))
        return place.raw[: sizes.buffer_size]

    def ipc_import(self, descriptor):
        spec = sized(DLBridgeIpcImportSpec)
        place = ctypes.create_string_buffer(descriptor, len(descriptor))
        spec.buffer, spec.buffer_size = ctypes.addressof(place), len(descriptor)
        out = ctypes.POINTER(DLManagedTensorVersioned)()
        self.call("ipc_import", ctypes.byref(spec), ctypes.byref(out))
        return out


def load():
    return Library(os.environ["DLBRIDGE_LIBRARY"])
