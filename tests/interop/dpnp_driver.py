# SPDX-License-Identifier: Apache-2.0
"""The OpenCL handles of SYCL's objects, and dlbridge's device functions, over ctypes."""

import ctypes
import os
import pathlib
import sys
import tempfile

from bridge import Rejected
from capsules import DLDevice, DLManagedTensorVersioned
from structs import (
    DLBridgeBuffer,
    DLBridgeContextEntry,
    DLBridgeCopySpec,
    DLBridgeError,
    DLBridgePointerInfo,
    DLBridgePolicy,
    DLBridgeStream,
    sized,
)

ONEAPI = 14
CPU = 1
BACKEND_OPENCL = 5
BUFFER_ADDRESS = 1
COPY_ALLOW_STAGING = 1 << 8
STREAM_QUEUE = 3
LEVEL_DEVICE = 3
MEMORY = {1: "HOST", 5: "USM_HOST", 6: "USM_DEVICE", 7: "USM_SHARED"}


def use_intel_driver():
    """Selects the driver of this Python's packages. Must run before the first OpenCL call."""
    driver = pathlib.Path(sys.prefix) / "lib/libintelocl.so"
    if driver.exists():
        folder = tempfile.mkdtemp(prefix="dlbridge-icd-")
        (pathlib.Path(folder) / "intel.icd").write_text(f"{driver}\n")
        os.environ["OCL_ICD_VENDORS"] = f"{folder}/"
    return driver.exists()


class Devices:
    """The device functions of libdlbridge."""

    def __init__(self, path):
        self._lib = ctypes.CDLL(path)
        for name in ("dlbridge_status_name", "dlbridge_rule_name"):
            getattr(self._lib, name).restype = ctypes.c_char_p

    def _call(self, name, *arguments):
        error = DLBridgeError()
        status = getattr(self._lib, name)(*arguments, ctypes.byref(error))
        if status != 0:
            raise Rejected(
                self._lib.dlbridge_status_name(status).decode(),
                self._lib.dlbridge_rule_name(error.rule).decode(),
                error.message.decode(),
            )

    def pointer_info(self, address, device):
        buffer = DLBridgeBuffer(kind=BUFFER_ADDRESS, handle=address)
        info = sized(DLBridgePointerInfo)
        self._call("dlbridge_pointer_info", ctypes.byref(buffer), device, ctypes.byref(info))
        return info

    def validate(self, tensor, flags=0):
        policy = sized(DLBridgePolicy, level=LEVEL_DEVICE)
        self._call(
            "dlbridge_validate", ctypes.byref(tensor), ctypes.c_uint64(flags), ctypes.byref(policy)
        )

    def register(self, device, native_device, context, queue):
        entry = sized(
            DLBridgeContextEntry,
            backend=BACKEND_OPENCL,
            device=device,
            native_device=native_device,
            context=context,
            queue=queue,
            queue_kind=STREAM_QUEUE,
        )
        number = ctypes.c_uint64()
        self._call("dlbridge_context_register", ctypes.byref(entry), ctypes.byref(number))
        return number.value

    def unregister(self, number):
        self._call("dlbridge_context_unregister", ctypes.c_uint64(number))

    def find(self, device):
        entry = sized(DLBridgeContextEntry)
        self._call("dlbridge_context_find", device, ctypes.c_uint64(0), ctypes.byref(entry))
        return entry

    def handoff(self, producer, consumer):
        streams = [
            DLBridgeStream(BACKEND_OPENCL, STREAM_QUEUE, DLDevice(ONEAPI, 0), queue)
            for queue in (producer, consumer)
        ]
        self._call(
            "dlbridge_stream_handoff",
            ctypes.byref(streams[0]),
            ctypes.byref(streams[1]),
            ctypes.c_uint32(0),
        )

    def copy(self, tensor, queue=None, target=None, options=0):
        """Copies a borrowed tensor to new host memory, or to the memory of a target tensor."""
        spec = sized(DLBridgeCopySpec, options=options, device=DLDevice(CPU))
        if queue is not None:
            spec.stream = DLBridgeStream(BACKEND_OPENCL, STREAM_QUEUE, DLDevice(ONEAPI, 0), queue)
        if target is not None:
            spec.device = target.device
            spec.target = DLBridgeBuffer(kind=BUFFER_ADDRESS, handle=target.data)
            spec.target_offset = target.byte_offset
            info = self.pointer_info(target.data, target.device)
            spec.target_size = info.base + info.size - target.data
        out = ctypes.POINTER(DLManagedTensorVersioned)()
        self._call(
            "dlbridge_copy",
            ctypes.byref(tensor),
            ctypes.c_uint64(0),
            ctypes.byref(spec),
            ctypes.byref(out),
        )
        return out.contents

    def synchronize(self, queue):
        stream = DLBridgeStream(BACKEND_OPENCL, STREAM_QUEUE, DLDevice(ONEAPI, 0), queue)
        self._call("dlbridge_stream_synchronize", ctypes.byref(stream))


class Sycl:
    """sycl::get_native of dpctl's objects, through the member functions that implement it."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            path = next(line.split()[-1] for line in maps if "/libsycl.so" in line)
        self._lib = ctypes.CDLL(path)
        self._opencl = ctypes.CDLL("libOpenCL.so.1")  # the loaded one, which dpctl has chosen

    def _native(self, name, reference, *arguments):
        function = getattr(self._lib, name)
        function.restype = ctypes.c_uint64
        return function(ctypes.c_void_p(reference), *arguments)

    def context(self, context):
        return self._native("_ZNK4sycl3_V17context9getNativeEv", context.addressof_ref())

    def device(self, device):
        return self._native("_ZNK4sycl3_V16device9getNativeEv", device.addressof_ref())

    def queue(self, queue):
        kind = ctypes.c_int()
        return self._native(
            "_ZNK4sycl3_V15queue9getNativeERi", queue.addressof_ref(), ctypes.byref(kind)
        )

    def read(self, queue, address, size):
        """Bytes of USM, copied with the native queue."""
        found = ctypes.c_void_p()
        self._check("clGetCommandQueueInfo", queue, 0x1091, 8, ctypes.byref(found))  # the device
        platform = ctypes.c_void_p()
        self._check("clGetDeviceInfo", found.value, 0x1031, 8, ctypes.byref(platform))
        find = self._opencl.clGetExtensionFunctionAddressForPlatform
        find.restype = ctypes.c_void_p
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int,
            *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p),
            *(ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p),
        )
        copy = prototype(find(platform, b"clEnqueueMemcpyINTEL"))
        target = ctypes.create_string_buffer(size)
        code = copy(queue, 1, ctypes.addressof(target), address, size, 0, None, None)
        if code != 0:
            raise OSError(f"clEnqueueMemcpyINTEL failed with {code}")
        return target.raw

    def _check(self, name, handle, what, size, out):
        code = getattr(self._opencl, name)(
            ctypes.c_void_p(handle), ctypes.c_uint32(what), ctypes.c_size_t(size), out, None
        )
        if code != 0:
            raise OSError(f"{name} failed with {code}")
