# SPDX-License-Identifier: Apache-2.0
"""CUDA's driver API by ctypes, as far as the tests call it.

A function that the driver lacks skips the check. Handles and addresses are integers.
"""

import ctypes
import os
import unittest

HANDLE = ctypes.c_void_p
ADDRESS = ctypes.c_uint64
SIZE = ctypes.c_size_t
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

NON_BLOCKING = 1
DISABLE_TIMING, INTERPROCESS = 2, 4
ATTACH_GLOBAL = 1
WRITE_COMBINED = 4
LEGACY, PER_THREAD = 1, 2
CAPTURE_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
RELAXED = 2
CAPTURE_STATUS = ("none", "active", "invalidated")
COMPUTE_MAJOR, COMPUTE_MINOR = 75, 76
HOST, DEVICE = 1, 2  # CUmemorytype


class DriverError(Exception):
    """A driver call that the test needs has failed."""

    def __init__(self, name, code):
        super().__init__(f"{name} failed with {code}")
        self.code = code


def out(kind):
    """A place for a result, and the pointer to pass."""
    place = kind()
    return place, ctypes.byref(place)


class Copy3D(ctypes.Structure):
    """CUDA_MEMCPY3D; its reserved fields are the contexts of CUDA_MEMCPY3D_PEER."""

    _fields_ = [
        *((f"src_{name}", SIZE) for name in ("x", "y", "z", "lod")),
        ("src_type", ctypes.c_uint32),
        ("src_host", HANDLE),
        ("src_device", ADDRESS),
        ("src_array", HANDLE),
        ("src_context", HANDLE),
        ("src_pitch", SIZE),
        ("src_height", SIZE),
        *((f"dst_{name}", SIZE) for name in ("x", "y", "z", "lod")),
        ("dst_type", ctypes.c_uint32),
        ("dst_host", HANDLE),
        ("dst_device", ADDRESS),
        ("dst_array", HANDLE),
        ("dst_context", HANDLE),
        ("dst_pitch", SIZE),
        ("dst_height", SIZE),
        ("width", SIZE),
        ("height", SIZE),
        ("depth", SIZE),
    ]


class Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D."""

    _fields_ = [
        ("src_x", SIZE),
        ("src_y", SIZE),
        ("src_type", ctypes.c_uint32),
        ("src_host", HANDLE),
        ("src_device", ADDRESS),
        ("src_array", HANDLE),
        ("src_pitch", SIZE),
        ("dst_x", SIZE),
        ("dst_y", SIZE),
        ("dst_type", ctypes.c_uint32),
        ("dst_host", HANDLE),
        ("dst_device", ADDRESS),
        ("dst_array", HANDLE),
        ("dst_pitch", SIZE),
        ("width", SIZE),
        ("height", SIZE),
    ]


class IpcHandle(ctypes.Structure):
    """CUipcMemHandle, which is passed by value."""

    _fields_ = [("bytes", ctypes.c_uint8 * 64)]


class Driver:
    def __init__(self, start=True):
        self._lib = ctypes.CDLL(os.environ.get("DLBRIDGE_LIBCUDA") or "libcuda.so.1")
        self._keep = []
        if start:
            self.call("cuInit", 0)

    def has(self, name):
        return hasattr(self._lib, name)

    def result(self, name, *arguments):
        """The code of a call."""
        if not self.has(name):
            raise unittest.SkipTest(f"the driver has no {name}")
        return getattr(self._lib, name)(*arguments)

    def call(self, name, *arguments):
        code = self.result(name, *arguments)
        if code != 0:
            raise DriverError(name, code)

    def get(self, kind, name, *arguments):
        """Calls a function whose first parameter is its result."""
        place, reference = out(kind)
        self.call(name, reference, *arguments)
        return place.value

    def error_name(self, code):
        place, reference = out(ctypes.c_char_p)
        known = self.result("cuGetErrorName", code, reference) == 0 and place.value
        return place.value.decode() if known else str(code)

    # ---------------------------------------------------------------------------------- contexts

    def use_primary_context(self, device=0):
        """Makes the primary context of a device current, as the runtime API does."""
        context = self.get(HANDLE, "cuDevicePrimaryCtxRetain", device)
        self.push(context)
        return context

    def push(self, context):
        self.call("cuCtxPushCurrent_v2", HANDLE(context))

    def pop(self):
        return self.get(HANDLE, "cuCtxPopCurrent_v2")

    def current(self):
        return self.get(HANDLE, "cuCtxGetCurrent")

    def has_primary_context(self, device=0):
        flags, active = ctypes.c_uint(), ctypes.c_int()
        self.call("cuDevicePrimaryCtxGetState", device, ctypes.byref(flags), ctypes.byref(active))
        return active.value != 0

    def make_context(self, device=0):
        """A context that is not the primary one; it is current now."""
        if self.has("cuCtxCreate_v4"):
            return self.get(HANDLE, "cuCtxCreate_v4", None, 0, device)
        return self.get(HANDLE, "cuCtxCreate_v2", 0, device)

    def attribute(self, number, device=0):
        """A device attribute, or None where the driver does not know it."""
        place, reference = out(ctypes.c_int)
        code = self.result("cuDeviceGetAttribute", reference, number, device)
        return place.value if code == 0 else None

    def free_bytes(self):
        free, total = SIZE(), SIZE()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    # ------------------------------------------------------------------------------------ memory

    def allocate(self, size):
        return self.get(ADDRESS, "cuMemAlloc_v2", SIZE(size))

    def free(self, address):
        self.call("cuMemFree_v2", ADDRESS(address))

    def allocate_managed(self, size):
        return self.get(ADDRESS, "cuMemAllocManaged", SIZE(size), ATTACH_GLOBAL)

    def allocate_pinned(self, size, flags=0):
        return self.get(HANDLE, "cuMemHostAlloc", SIZE(size), flags)

    def allocate_in_pool(self, size, stream):
        address = self.get(ADDRESS, "cuMemAllocAsync", SIZE(size), HANDLE(stream))
        self.synchronize(stream)
        return address

    # ----------------------------------------------------------------------------------- streams

    def make_stream(self, flags=NON_BLOCKING):
        return self.get(HANDLE, "cuStreamCreate", flags)

    def make_event(self, flags=DISABLE_TIMING):
        return self.get(HANDLE, "cuEventCreate", flags)

    def synchronize(self, stream):
        self.call("cuStreamSynchronize", HANDLE(stream))

    def write(self, address, data, stream):
        """Enqueues a copy to a device; the bytes are kept until the process ends."""
        self._keep.append(ctypes.create_string_buffer(data, len(data)))
        self.call(
            "cuMemcpyHtoDAsync_v2",
            ADDRESS(address),
            self._keep[-1],
            SIZE(len(data)),
            HANDLE(stream),
        )

    def copy_on_device(self, to, source, size, stream):
        arguments = ADDRESS(to), ADDRESS(source), SIZE(size), HANDLE(stream)
        self.call("cuMemcpyDtoDAsync_v2", *arguments)

    def read(self, address, size, stream):
        place = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoHAsync_v2", place, ADDRESS(address), SIZE(size), HANDLE(stream))
        self.synchronize(stream)
        return place.raw

    # ----------------------------------------------------------------------------------- capture

    def begin_capture(self, stream, mode=0):
        self.call("cuStreamBeginCapture_v2", HANDLE(stream), mode)

    def capture_status(self, stream):
        place, reference = out(ctypes.c_int)
        code = self.result("cuStreamIsCapturing", HANDLE(stream), reference)
        return CAPTURE_STATUS[place.value] if code == 0 else self.error_name(code)

    def end_capture(self, stream):
        """The code of the call; the graph is destroyed."""
        graph, reference = out(HANDLE)
        code = self.result("cuStreamEndCapture", HANDLE(stream), reference)
        if graph.value:
            self.call("cuGraphDestroy", graph)
        return code

    def exchange_capture_mode(self, mode):
        """Sets the mode of the calling thread and returns the one before."""
        place = ctypes.c_int(mode)
        self.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(place))
        return place.value
