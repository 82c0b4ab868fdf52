# SPDX-License-Identifier: Apache-2.0
"""The functions of CUDA's driver API that the tests call, by ctypes; the fake has all of them."""

import ctypes
import os

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
NON_BLOCKING = 1


class Driver:
    def __init__(self):
        self._lib = ctypes.CDLL(os.environ.get("DLBRIDGE_LIBCUDA") or "libcuda.so.1")
        self._call("cuInit", 0)
        self._context = ctypes.c_void_p()
        self._keep = []

    def _call(self, name, *arguments):
        result = getattr(self._lib, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} failed with {result}")

    def make_context(self, device=0):
        """Makes the primary context of a device current, as the runtime API does."""
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._call("cuCtxPushCurrent_v2", self._context)

    def has_context(self, device=0):
        flags, active = ctypes.c_uint(), ctypes.c_int()
        self._call("cuDevicePrimaryCtxGetState", device, ctypes.byref(flags), ctypes.byref(active))
        return active.value != 0

    def current(self):
        context = ctypes.c_void_p()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        return context.value

    def allocate(self, size):
        out = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(size))
        return out.value

    def allocate_managed(self, size):
        out = ctypes.c_uint64()
        self._call("cuMemAllocManaged", ctypes.byref(out), ctypes.c_size_t(size), 1)
        return out.value

    def allocate_pinned(self, size, flags=0):
        out = ctypes.c_void_p()
        self._call("cuMemHostAlloc", ctypes.byref(out), ctypes.c_size_t(size), flags)
        return out.value

    def allocate_in_pool(self, size, stream):
        out = ctypes.c_uint64()
        self._call(
            "cuMemAllocAsync", ctypes.byref(out), ctypes.c_size_t(size), ctypes.c_void_p(stream)
        )
        self.synchronize(stream)
        return out.value

    def make_stream(self, flags=NON_BLOCKING):
        out = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(out), flags)
        return out.value

    def synchronize(self, stream):
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def write(self, address, data, stream):
        """Enqueues a copy to a device; the bytes are kept until the process ends."""
        self._keep.append(ctypes.create_string_buffer(data, len(data)))
        self._call(
            "cuMemcpyHtoDAsync_v2",
            ctypes.c_uint64(address),
            self._keep[-1],
            ctypes.c_size_t(len(data)),
            ctypes.c_void_p(stream),
        )

    def copy_on_device(self, to, source, size, stream):
        self._call(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(to),
            ctypes.c_uint64(source),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream),
        )

    def read(self, address, size, stream):
        place = ctypes.create_string_buffer(size)
        self._call(
            "cuMemcpyDtoHAsync_v2",
            place,
            ctypes.c_uint64(address),
            ctypes.c_size_t(size),
            ctypes.c_void_p(stream),
        )
        self.synchronize(stream)
        return place.raw

    def launch(self, function, stream):
        """Runs a Python function when the stream reaches it."""
        self._keep.append(HOST_FUNCTION(lambda _: function()))
        self._call("cuLaunchHostFunc", ctypes.c_void_p(stream), self._keep[-1], None)

    def begin_capture(self, stream):
        self._call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), 0)

    def end_capture(self, stream):
        graph = ctypes.c_void_p()
        self._call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
