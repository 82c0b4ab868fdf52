# SPDX-License-Identifier: Apache-2.0
"""An array library of CUDA, by the driver API alone, which orders the streams."""

from __future__ import annotations

import contextlib
import ctypes
import os

from dlbridge._structs import DLManagedTensorVersioned, DLPackExchangeAPI
from dlbridge.conformance import capsules
from dlbridge.conformance.handmade import Export

DEVICE = (2, 0)
HANDLE, ADDRESS, SIZE = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t
forks = False


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("DLBRIDGE_LIBCUDA") or "libcuda.so.1")
        self.call("cuInit", 0)
        self.call("cuCtxPushCurrent_v2", HANDLE(self.get(HANDLE, "cuDevicePrimaryCtxRetain", 0)))
        self.own = self.get(HANDLE, "cuStreamCreate", 1)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} returned {code}")

    def get(self, kind, name, *arguments):
        place = kind()
        self.call(name, ctypes.byref(place), *arguments)
        return place.value

    def upload(self, content):
        """Device memory with this content, which the host waits for."""
        address = self.get(ADDRESS, "cuMemAlloc_v2", SIZE(len(content)))
        place = ctypes.create_string_buffer(content, len(content))
        size = SIZE(len(content))
        self.call("cuMemcpyHtoDAsync_v2", ADDRESS(address), place, size, HANDLE(self.own))
        self.call("cuStreamSynchronize", HANDLE(self.own))
        return address

    def order(self, later, earlier):
        event = HANDLE(self.get(HANDLE, "cuEventCreate", 2))
        self.call("cuEventRecord", event, HANDLE(earlier))
        self.call("cuStreamWaitEvent", HANDLE(later), event, 0)
        self.call("cuEventDestroy_v2", event)

    def download(self, address, size, stream):
        place = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoHAsync_v2", place, ADDRESS(address), SIZE(size), HANDLE(stream))
        self.call("cuStreamSynchronize", HANDLE(stream))
        return place.raw


driver = None


def the_driver():
    global driver
    driver = driver or Driver()
    return driver


class Array:
    """Memory that work on `stream` writes."""

    def __init__(self, address, shape, stream):
        self.address, self.shape, self.stream = address, shape, stream

    def __dlpack_device__(self):
        return DEVICE

    def fields(self):
        strides = capsules.compact(self.shape)
        fixed = {"byte_offset": 0, "device": DEVICE, "dtype": (2, 32, 1)}
        return {"data": self.address, **fixed, "shape": self.shape, "strides": strides}

    def order(self, stream):
        """Orders the consumer's stream after the work on the array."""
        if stream == 0:
            raise ValueError("stream=0 is ambiguous")
        if stream != -1:
            the_driver().order(stream or 1, self.stream)

    def to_host(self):
        return the_driver().download(self.address, 48, self.stream)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) == capsules.CPU:
            content = ctypes.create_string_buffer(self.to_host(), 48)
            fields = {**self.fields(), "data": ctypes.addressof(content), "device": capsules.CPU}
            return Export(content, fields, versioned=max_version is not None).__dlpack__()
        self.order(stream)
        return Export(self, self.fields(), versioned=max_version is not None).__dlpack__()


kind = Array
current = [0]


@contextlib.contextmanager
def use(stream):
    current.append(stream.handle)
    yield
    current.pop()


def work_stream(device_type, device_id, out):
    ctypes.c_void_p.from_address(out).value = current[-1]
    return 0


STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
callback = STREAM(lambda *given: work_stream(*given))
table = DLPackExchangeAPI()
table.header.version.major, table.header.version.minor = 1, 3
table.current_work_stream = ctypes.cast(callback, ctypes.c_void_p).value
Array.__dlpack_c_exchange_api__ = capsules.new(
    ctypes.addressof(table), b"dlpack_exchange_api", None
)


def make(request):
    return NotImplemented


def make_on(request, stream):
    cuda = the_driver()
    source, target = cuda.upload(request.bits), cuda.upload(bytes(len(request.bits)))
    stream.close()
    arguments = (ADDRESS(target), ADDRESS(source), SIZE(len(request.bits)))
    cuda.call("cuMemcpyDtoDAsync_v2", *arguments, HANDLE(stream.handle))
    return kind(target, request.shape, stream.handle)


def consume(source):
    return NotImplemented


def asked(stream):
    """What the consumer asks for: its own stream."""
    return stream


def read_on(source, stream):
    capsule = source.__dlpack__(stream=asked(stream.handle), max_version=(1, 0))
    struct = capsules.take(capsule)
    try:
        assert isinstance(struct, DLManagedTensorVersioned)
        found = capsules.describe(struct)
        return the_driver().download(found.address, 48, stream.handle)
    finally:
        capsules.delete(struct)
