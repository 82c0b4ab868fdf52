# SPDX-License-Identifier: Apache-2.0
"""The functions of libdlbridge that the tests on a GPU call, by ctypes. This is no binding."""

import ctypes
import importlib
import importlib.util
import os
import pathlib
import sys
from unittest import SkipTest

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
    module_of_package,
    sized,
)

constants = module_of_package("_constants")
Backend = constants.Backend
CopyOption = constants.CopyOption
DeviceType = constants.DeviceType
HandoffOption = constants.HandoffOption
Kind = constants.Kind
Level = constants.Level
Memory = constants.Memory
PointerOption = constants.PointerOption
PointerProperty = constants.PointerProperty
Rule = constants.Rule
State = constants.State
Status = constants.Status
StreamKind = constants.StreamKind
TensorFlag = constants.TensorFlag

CPU = (DeviceType.CPU, 0)
CUDA = (DeviceType.CUDA, 0)
PINNED = (DeviceType.CUDAHost, 0)
MANAGED = (DeviceType.CUDAManaged, 0)
BYTES = (constants.DtypeCode.UInt, 8)
FLOATS = (constants.DtypeCode.Float, 32)

# A capsule borrows its name, so the texts outlive every capsule.
_CAPSULES = {b"dltensor": Kind.LEGACY, b"dltensor_versioned": Kind.VERSIONED}
_USED = {name: b"used_" + name for name in _CAPSULES}
_NEW = ctypes.pythonapi.PyCapsule_New
_NEW.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NEW.restype = ctypes.py_object
_IS_VALID = ctypes.pythonapi.PyCapsule_IsValid
_IS_VALID.argtypes = [ctypes.py_object, ctypes.c_char_p]
_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER.argtypes = [ctypes.py_object, ctypes.c_char_p]
_POINTER.restype = ctypes.c_void_p
_RENAME = ctypes.pythonapi.PyCapsule_SetName
_RENAME.argtypes = [ctypes.py_object, ctypes.c_char_p]
_NAMES = {kind: name for name, kind in _CAPSULES.items()}

Tensor = ctypes.POINTER(DLManagedTensorVersioned)
RELEASE = DLBridgeRelease
LEGACY_STREAM = 1


class Rejected(Exception):
    """The library rejected the call."""

    def __init__(self, error):
        self.status = constants.name_of(Status, error.status)
        self.rule = constants.name_of(Rule, error.rule)
        self.native_code = error.native_code
        self.message = error.message.decode()
        super().__init__(f"{self.status}: {self.message}")


def int64s(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def buffer_at(address):
    return DLBridgeBuffer(Backend.NONE, constants.BufferKind.ADDRESS, address)


def stream_of(handle, device=0):
    """A CUstream, or 1 or 2, of a device."""
    return DLBridgeStream(Backend.CUDA, StreamKind.QUEUE, DLDevice(DeviceType.CUDA, device), handle)


def tensor(address, device, shape, strides=None, dtype=BYTES, byte_offset=0):
    """A borrowed tensor; its arrays live as long as it does. Strides None: compact."""
    if strides is None:
        strides = [1] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
    out = DLTensor(data=address, ndim=len(shape), byte_offset=byte_offset)
    out.device = DLDevice(*device)
    out.dtype = DLDataType(*dtype, 1)
    out.arrays = int64s(shape), int64s(strides)
    out.shape, out.strides = out.arrays
    return out


def address_of(managed):
    """Of the first element."""
    return managed.contents.dl_tensor.data + managed.contents.dl_tensor.byte_offset


def content(managed):
    """The bytes of a compact tensor in host memory."""
    what = managed.contents.dl_tensor
    count = what.dtype.bits // 8
    for axis in range(what.ndim):
        count *= what.shape[axis]
    return ctypes.string_at(address_of(managed), count)


class Library:
    """libdlbridge, loaded without the GIL: drivers call back from threads of their own."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(path)
        self._lib.dlbridge_release_versioned.argtypes = [Tensor]
        self._lib.dlbridge_release_versioned.restype = None

    def has(self, name):
        return hasattr(self._lib, "dlbridge_" + name)

    def need(self, *names):
        """Skips the check on a library that lacks a function."""
        for name in names:
            if not self.has(name):
                raise SkipTest(f"the library has no dlbridge_{name}")

    def call(self, name, *arguments):
        self.need(name)
        error = DLBridgeError()
        if getattr(self._lib, "dlbridge_" + name)(*arguments, ctypes.byref(error)) != 0:
            raise Rejected(error)

    def backend_info(self):
        info = sized(DLBridgeBackendInfo)
        self.call("backend_info", Backend.CUDA, ctypes.byref(info))
        return info

    def pointer_info(self, address, device=CUDA, options=0):
        info = sized(DLBridgePointerInfo, options=options)
        buffer = buffer_at(address)
        self.call("pointer_info", ctypes.byref(buffer), DLDevice(*device), ctypes.byref(info))
        return info

    def validate(self, what):
        """At the level that asks the driver."""
        policy = sized(DLBridgePolicy, level=Level.DEVICE)
        flags = ctypes.c_uint64(0)
        self.call("validate", ctypes.byref(what), flags, ctypes.byref(policy))

    def _wrap(self, name, kind, address, device, shape, dtype, release):
        spec = sized(DLBridgeWrapSpec, ndim=len(shape))
        spec.shape = int64s(shape)
        spec.buffer = buffer_at(address)
        spec.device = DLDevice(*device)
        spec.dtype = DLDataType(*dtype, 1)
        if release is not None:
            spec.release = release
        out = ctypes.POINTER(kind)()
        self.call(name, ctypes.byref(spec), ctypes.byref(out))
        return out

    def wrap(self, address, device, shape, dtype=BYTES, release=None):
        return self._wrap("wrap", DLManagedTensorVersioned, address, device, shape, dtype, release)

    def capsule(self, address, device, shape, dtype=BYTES, release=None, kind=Kind.VERSIONED):
        """A tensor as a capsule, which its consumer must take."""
        name, type_ = ("wrap", DLManagedTensorVersioned)
        if kind == Kind.LEGACY:
            name, type_ = ("wrap_legacy", DLManagedTensor)
        managed = self._wrap(name, type_, address, device, shape, dtype, release)
        return _NEW(ctypes.cast(managed, ctypes.c_void_p), _NAMES[kind], None)

    def import_capsule(self, capsule):
        """A dlbridge-owned tensor of a capsule of either kind, which counts as used then."""
        name = next((one for one in _CAPSULES if _IS_VALID(capsule, one)), None)
        if name is None:
            raise AssertionError(f"expected an unused capsule of DLPack, found {capsule!r}")
        out = Tensor()
        pointer = ctypes.c_void_p(_POINTER(capsule, name))
        self.call("import", pointer, _CAPSULES[name], None, ctypes.byref(out))
        _RENAME(capsule, _USED[name])
        return out

    def release(self, managed):
        self._lib.dlbridge_release_versioned(managed)

    def handoff(self, producer, consumer, options=0):
        self.call("stream_handoff", ctypes.byref(producer), ctypes.byref(consumer), options)

    def synchronize(self, queue):
        self.call("stream_synchronize", ctypes.byref(queue))

    def _copy_spec(self, device, target, size, queue, staging):
        options = CopyOption.ALLOW_STAGING if staging else 0
        spec = sized(DLBridgeCopySpec, options=options)
        spec.device = DLDevice(*device)
        if queue is not None:
            spec.stream = queue
        if target:
            spec.target, spec.target_size = buffer_at(target), size
        return spec

    def copy(self, source, device=CPU, target=0, size=0, queue=None, staging=False):
        spec = self._copy_spec(device, target, size, queue, staging)
        flags, out = ctypes.c_uint64(0), Tensor()
        self.call("copy", ctypes.byref(source), flags, ctypes.byref(spec), ctypes.byref(out))
        return out

    def copy_async(self, source, queue, device=CPU, target=0, size=0):
        """`source` is a dlbridge-owned tensor, which the copy shares until it is done."""
        spec = self._copy_spec(device, target, size, queue, False)
        out = Tensor()
        self.call("copy_async", source, ctypes.byref(spec), ctypes.byref(out))
        return out

    def release_after(self, managed, queues):
        array = (DLBridgeStream * max(len(queues), 1))(*queues)
        count = ctypes.c_size_t(len(queues))
        self.call("release_after", managed, int(Kind.VERSIONED), array, count)

    def collect(self, wait=False):
        """The number of tensors that are still pending."""
        left = ctypes.c_size_t()
        options = constants.CollectOption.WAIT if wait else 0
        self.call("collect", options, ctypes.byref(left))
        return left.value

    def ipc_export(self, managed, queue=None):
        """The descriptor and its file descriptors; the importer waits for the work on `queue`."""
        sizes = sized(DLBridgeIpcSizes)
        spec = sized(DLBridgeIpcExportSpec)
        place = ctypes.create_string_buffer(4096)
        fds = (ctypes.c_int32 * 8)()
        spec.buffer, spec.buffer_size = ctypes.addressof(place), len(place)
        spec.fds, spec.fd_capacity = ctypes.addressof(fds), len(fds)
        if queue is not None:
            spec.stream = ctypes.addressof(queue)
        self.call("ipc_export", managed, ctypes.byref(spec), ctypes.byref(sizes))
        return place.raw[: sizes.buffer_size], list(fds[: sizes.fd_count])

    def ipc_import(self, descriptor, fds=(), queue=None):
        spec = sized(DLBridgeIpcImportSpec)
        place = ctypes.create_string_buffer(descriptor, len(descriptor))
        array = (ctypes.c_int32 * max(len(fds), 1))(*fds)
        spec.buffer, spec.buffer_size = ctypes.addressof(place), len(descriptor)
        if fds:
            spec.fds, spec.fd_count = ctypes.addressof(array), len(fds)
        if queue is not None:
            spec.stream = ctypes.addressof(queue)
        out = Tensor()
        self.call("ipc_import", ctypes.byref(spec), ctypes.byref(out))
        return out


class Producer:
    """A tensor that any consumer of DLPack takes; the consumer's stream waits for `queue`."""

    def __init__(self, library, address, shape, dtype=FLOATS, queue=None):
        self._library, self._queue = library, queue
        self._what = (address, CUDA, shape, dtype)
        self.released = []
        self._release = RELEASE(lambda *_: self.released.append(address))
        self.streams, self.kinds = [], []

    def __dlpack_device__(self):
        return tuple(map(int, CUDA))

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.streams.append(stream)
        kind = Kind.LEGACY if max_version is None or max_version[0] < 1 else Kind.VERSIONED
        self.kinds.append(kind.name)
        if self._queue is not None and stream != -1:
            consumer = stream_of(stream or LEGACY_STREAM)
            self._library.handoff(self._queue, consumer)
        return self._library.capsule(*self._what, release=self._release, kind=kind)


def load():
    return Library(os.environ["DLBRIDGE_LIBRARY"])


def need_package():
    """The package dlbridge; else the check is skipped."""
    try:
        package = importlib.import_module("dlbridge")
        importlib.import_module("dlbridge._core")
    except ImportError as error:
        version = ".".join(map(str, sys.version_info[:2]))
        raise SkipTest(f"Python {version} cannot import the package dlbridge: {error}") from error
    return package


def is_installed(name):
    """A module of a package may import the package, but is not imported itself."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # nor is the package that would contain it
        return False


def missing(*names):
    """The first module that is not installed, or None."""
    return next((name for name in names if not is_installed(name)), None)


def need_installed(*names):
    """Skips the check or the module unless all of these modules are installed."""
    name = missing(*names)
    if name is not None:
        raise SkipTest(f"{name} is not installed")


def need_module(name):
    """A framework; else the module is skipped."""
    need_installed(name)
    return importlib.import_module(name)


def need_device():
    """The library, where it has a CUDA device; else the module is skipped."""
    library = load()
    info = library.backend_info()
    if info.state != State.READY:
        raise SkipTest(f"CUDA is not available: {info.reason.decode()}")
    return library
