# SPDX-License-Identifier: Apache-2.0
"""Raw driver calls to make while a stream is capturing a graph: one recipe for each function.

Most functions are called on things beside the stream that captures. Those of `ON_THE_STREAM` are
also called with the capturing stream itself.
"""

import ctypes

import memory
from cuda_driver import (
    ADDRESS,
    DEVICE,
    DISABLE_TIMING,
    HANDLE,
    INTERPROCESS,
    NON_BLOCKING,
    RELAXED,
    SIZE,
    Copy2D,
    Copy3D,
    IpcHandle,
    out,
)

LENGTH = 64
MAX_PITCH, P2P_ACCESS = 11, 3
MEMORY_TYPE = 2


class World:
    """What the recipes use, made before a stream begins to capture."""

    def __init__(self, driver):
        self.driver = driver
        self.context = driver.current()
        self.other = driver.make_stream()
        self.event = driver.make_event()
        driver.call("cuEventRecord", HANDLE(self.event), HANDLE(self.other))
        self.first, self.second = driver.allocate(memory.BYTES), driver.allocate(memory.BYTES)
        self.place = ctypes.create_string_buffer(memory.BYTES)
        self.ipc = IpcHandle()
        self.exporter = memory.Exporter()
        self.kept = []

    def raw(self, name, *arguments):
        return self.driver.result(name, *arguments)

    def made(self, kind, name, *arguments):
        """A call that makes an object; it is kept until the process ends."""
        place, reference = out(kind)
        self.kept.append(place)
        return self.raw(name, reference, *arguments)

    def disposable(self, make, *arguments):
        """An object for a call that ends it, made without disturbing the capture."""
        before = self.driver.exchange_capture_mode(RELAXED)
        try:
            return make(*arguments)
        finally:
            self.driver.exchange_capture_mode(before)


def copy_2d(w):
    what = Copy2D(src_type=DEVICE, src_device=w.first, src_pitch=512)
    what.dst_type, what.dst_device, what.dst_pitch = DEVICE, w.second, 512
    what.width, what.height = LENGTH, 2
    return what


def copy_3d(w, contexts=False):
    what = Copy3D(src_type=DEVICE, src_device=w.first, src_pitch=512, src_height=2)
    what.dst_type, what.dst_device, what.dst_pitch, what.dst_height = DEVICE, w.second, 512, 2
    what.width, what.height, what.depth = LENGTH, 2, 2
    if contexts:
        what.src_context = what.dst_context = w.context
    return what


def pointer_attributes(w):
    numbers, value = (ctypes.c_uint32 * 1)(MEMORY_TYPE), ctypes.c_uint64()
    values = (HANDLE * 1)(ctypes.addressof(value))
    return w.raw("cuPointerGetAttributes", 1, numbers, values, ADDRESS(w.first))


def address_range(w):
    base, size = ADDRESS(), SIZE()
    references = ctypes.byref(base), ctypes.byref(size)
    return w.raw("cuMemGetAddressRange_v2", *references, ADDRESS(w.first))


def capture_info(w, stream):
    status, identity = ctypes.c_int(), ctypes.c_uint64()
    references = ctypes.byref(status), ctypes.byref(identity)
    return w.raw("cuStreamGetCaptureInfo_v2", HANDLE(stream), *references, None, None, None)


def push_pop(w, asked):
    """The result of one of the pair; the other is called so that the stack is as before."""
    results = {"cuCtxPushCurrent_v2": w.raw("cuCtxPushCurrent_v2", HANDLE(w.context))}
    if results["cuCtxPushCurrent_v2"] == 0:
        results["cuCtxPopCurrent_v2"] = w.raw("cuCtxPopCurrent_v2", out(HANDLE)[1])
    return results[asked]


def exchange_mode(w):
    place = ctypes.c_int(0)
    code = w.raw("cuThreadExchangeStreamCaptureMode", ctypes.byref(place))
    w.driver.exchange_capture_mode(place.value)
    return code


def memory_info(w):
    free, total = SIZE(), SIZE()
    return w.raw("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))


def primary_state(w):
    flags, active = ctypes.c_uint(), ctypes.c_int()
    return w.raw("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))


def primary_release(w):
    w.disposable(w.driver.get, HANDLE, "cuDevicePrimaryCtxRetain", 0)
    return w.raw("cuDevicePrimaryCtxRelease_v2", 0)


def destroy(w, name, make):
    return w.raw(name, HANDLE(w.disposable(make)))


def free(w):
    return w.raw("cuMemFree_v2", ADDRESS(w.disposable(w.driver.allocate, LENGTH)))


def allocation_granularity(w):
    properties = memory.virtual_properties(0)
    return w.made(SIZE, "cuMemGetAllocationGranularity", ctypes.byref(properties), 0)


def create_virtual(w):
    properties = memory.virtual_properties(memory.FILE_DESCRIPTOR)
    size = w.disposable(memory.granularity, w.driver, properties)
    zero = ctypes.c_uint64(0)
    handle, reference = out(ctypes.c_uint64)
    code = w.raw("cuMemCreate", reference, SIZE(size), ctypes.byref(properties), zero)
    w.kept.append(handle)
    return code


def new_virtual(w):
    """A handle of virtual memory and its size."""
    properties = memory.virtual_properties(memory.FILE_DESCRIPTOR)
    size = w.disposable(memory.granularity, w.driver, properties)
    arguments = SIZE(size), ctypes.byref(properties), ctypes.c_uint64(0)
    return w.disposable(w.driver.get, ctypes.c_uint64, "cuMemCreate", *arguments), size


def export_virtual(w):
    handle, _ = new_virtual(w)
    zero = ctypes.c_uint64(0)
    return w.made(ctypes.c_int, "cuMemExportToShareableHandle", ctypes.c_uint64(handle), 1, zero)


def import_virtual(w):
    handle, _ = new_virtual(w)
    zero = ctypes.c_uint64(0)
    arguments = ctypes.c_uint64(handle), memory.FILE_DESCRIPTOR, zero
    fd = w.disposable(w.driver.get, ctypes.c_int, "cuMemExportToShareableHandle", *arguments)
    imported = ctypes.c_uint64
    name = "cuMemImportFromShareableHandle"
    return w.made(imported, name, HANDLE(fd), memory.FILE_DESCRIPTOR)


def release_virtual(w):
    return w.raw("cuMemRelease", ctypes.c_uint64(new_virtual(w)[0]))


def properties_of_handle(w):
    handle, _ = new_virtual(w)
    kind = memory.AllocationProperties
    return w.made(kind, "cuMemGetAllocationPropertiesFromHandle", ctypes.c_uint64(handle))


def reserve_virtual(w):
    size = w.disposable(memory.granularity, w.driver, memory.virtual_properties(0))
    arguments = SIZE(size), SIZE(0), ADDRESS(0), ctypes.c_uint64(0)
    return w.made(ADDRESS, "cuMemAddressReserve", *arguments)


def free_reserved(w):
    size = w.disposable(memory.granularity, w.driver, memory.virtual_properties(0))
    address = w.disposable(memory.reserve, w.driver, size)
    return w.raw("cuMemAddressFree", ADDRESS(address), SIZE(size))


def map_virtual(w, asked):
    """The steps from a handle to memory and back; the result of one of them."""
    handle, size = new_virtual(w)
    address, zero = w.disposable(memory.reserve, w.driver, size), ctypes.c_uint64(0)
    access = memory.Access(memory.ON_DEVICE, memory.READ_WRITE)
    place = ADDRESS(address)
    steps = {
        "cuMemMap": (place, SIZE(size), SIZE(0), ctypes.c_uint64(handle), zero),
        "cuMemSetAccess": (place, SIZE(size), ctypes.byref(access), SIZE(1)),
        "cuMemUnmap": (place, SIZE(size)),
    }
    for name, arguments in steps.items():
        if name == asked:
            return w.raw(name, *arguments)
        w.disposable(w.driver.call, name, *arguments)
    raise AssertionError(asked)


def retain_handle(w):
    made = w.disposable(memory.virtual, w.driver)
    return w.made(ctypes.c_uint64, "cuMemRetainAllocationHandle", HANDLE(made.address))


def allocate_async(w, stream):
    return w.made(ADDRESS, "cuMemAllocAsync", SIZE(LENGTH), HANDLE(stream))


def free_async(w, stream):
    arguments = ADDRESS, "cuMemAllocAsync", SIZE(LENGTH), HANDLE(w.other)
    address = w.disposable(w.driver.get, *arguments)
    return w.raw("cuMemFreeAsync", ADDRESS(address), HANDLE(stream))


def pool(w):
    properties = memory.PoolProperties(
        type=1, handle_types=memory.FILE_DESCRIPTOR, location=memory.ON_DEVICE
    )
    return w.disposable(w.driver.get, HANDLE, "cuMemPoolCreate", ctypes.byref(properties))


def create_pool(w):
    properties = memory.PoolProperties(type=1, location=memory.ON_DEVICE)
    return w.made(HANDLE, "cuMemPoolCreate", ctypes.byref(properties))


def export_pool(w):
    zero = ctypes.c_uint64(0)
    return w.made(ctypes.c_int, "cuMemPoolExportToShareableHandle", HANDLE(pool(w)), 1, zero)


def import_pool(w):
    arguments = HANDLE(pool(w)), memory.FILE_DESCRIPTOR, ctypes.c_uint64(0)
    fd = w.disposable(w.driver.get, ctypes.c_int, "cuMemPoolExportToShareableHandle", *arguments)
    zero = ctypes.c_uint64(0)
    return w.made(HANDLE, "cuMemPoolImportFromShareableHandle", HANDLE(fd), 1, zero)


def pool_pointer(w):
    """An allocation of a pool, and the same pool as this process imports it."""
    made = pool(w)
    arguments = SIZE(LENGTH), HANDLE(made), HANDLE(w.other)
    name = "cuMemAllocFromPoolAsync"
    address = w.disposable(w.driver.get, ADDRESS, name, *arguments)
    return address, w.disposable(import_of, w, made)


def import_of(w, made):
    zero = ctypes.c_uint64(0)
    name = "cuMemPoolExportToShareableHandle"
    fd = w.driver.get(ctypes.c_int, name, HANDLE(made), memory.FILE_DESCRIPTOR, zero)
    name = "cuMemPoolImportFromShareableHandle"
    return w.driver.get(HANDLE, name, HANDLE(fd), memory.FILE_DESCRIPTOR, zero)


def export_pointer(w):
    address, _ = pool_pointer(w)
    return w.made(IpcHandle, "cuMemPoolExportPointer", ADDRESS(address))


def import_pointer(w):
    address, made = pool_pointer(w)
    data, reference = out(IpcHandle)
    w.disposable(w.driver.call, "cuMemPoolExportPointer", reference, ADDRESS(address))
    return w.made(ADDRESS, "cuMemPoolImportPointer", HANDLE(made), reference)


def pool_access(w):
    access = memory.Access(memory.ON_DEVICE, memory.READ_WRITE)
    return w.raw("cuMemPoolSetAccess", HANDLE(pool(w)), ctypes.byref(access), SIZE(1))


def ipc_event(w):
    event = w.disposable(w.driver.make_event, DISABLE_TIMING | INTERPROCESS)
    return w.made(IpcHandle, "cuIpcGetEventHandle", HANDLE(event))


def peer_attribute(w):
    return w.made(ctypes.c_int, "cuDeviceGetP2PAttribute", P2P_ACCESS, 0, 0)


def memory_handle(w):
    return w.raw("cuIpcGetMemHandle", ctypes.byref(w.ipc), ADDRESS(w.first))


def open_memory(w):
    return w.made(ADDRESS, "cuIpcOpenMemHandle_v2", w.exporter.memory_handle(), 1)


def close_memory(w):
    arguments = ADDRESS, "cuIpcOpenMemHandle_v2", w.exporter.memory_handle(), 1
    return w.raw("cuIpcCloseMemHandle", ADDRESS(w.disposable(w.driver.get, *arguments)))


def open_event(w):
    return w.made(HANDLE, "cuIpcOpenEventHandle", w.exporter.event_handle())


# Functions whose answer does not depend on a stream.
CALLS = {
    "cuInit": lambda w: w.raw("cuInit", 0),
    "cuDriverGetVersion": lambda w: w.made(ctypes.c_int, "cuDriverGetVersion"),
    "cuGetErrorName": lambda w: w.raw("cuGetErrorName", 1, out(ctypes.c_char_p)[1]),
    "cuDeviceGetCount": lambda w: w.made(ctypes.c_int, "cuDeviceGetCount"),
    "cuDeviceGet": lambda w: w.made(ctypes.c_int, "cuDeviceGet", 0),
    "cuDeviceGetAttribute": lambda w: w.made(ctypes.c_int, "cuDeviceGetAttribute", MAX_PITCH, 0),
    "cuDeviceGetUuid_v2": lambda w: w.raw("cuDeviceGetUuid_v2", ctypes.byref(w.ipc), 0),
    "cuDeviceCanAccessPeer": lambda w: w.made(ctypes.c_int, "cuDeviceCanAccessPeer", 0, 0),
    "cuDeviceGetP2PAttribute": peer_attribute,
    "cuPointerGetAttributes": pointer_attributes,
    "cuPointerGetAttribute": lambda w: w.made(
        ctypes.c_uint64, "cuPointerGetAttribute", MEMORY_TYPE, ADDRESS(w.first)
    ),
    "cuMemGetAddressRange_v2": address_range,
    "cuMemGetInfo_v2": memory_info,
    "cuCtxGetCurrent": lambda w: w.made(HANDLE, "cuCtxGetCurrent"),
    "cuCtxPushCurrent_v2": lambda w: push_pop(w, "cuCtxPushCurrent_v2"),
    "cuCtxPopCurrent_v2": lambda w: push_pop(w, "cuCtxPopCurrent_v2"),
    "cuCtxGetDevice": lambda w: w.made(ctypes.c_int, "cuCtxGetDevice"),
    "cuCtxGetId": lambda w: w.raw("cuCtxGetId", HANDLE(w.context), out(ctypes.c_uint64)[1]),
    "cuDevicePrimaryCtxRetain": lambda w: w.made(HANDLE, "cuDevicePrimaryCtxRetain", 0),
    "cuDevicePrimaryCtxRelease_v2": primary_release,
    "cuDevicePrimaryCtxGetState": primary_state,
    "cuStreamCreate": lambda w: w.made(HANDLE, "cuStreamCreate", NON_BLOCKING),
    "cuStreamDestroy_v2": lambda w: destroy(w, "cuStreamDestroy_v2", w.driver.make_stream),
    "cuThreadExchangeStreamCaptureMode": exchange_mode,
    "cuEventCreate": lambda w: w.made(HANDLE, "cuEventCreate", DISABLE_TIMING),
    "cuEventDestroy_v2": lambda w: destroy(w, "cuEventDestroy_v2", w.driver.make_event),
    "cuEventQuery": lambda w: w.raw("cuEventQuery", HANDLE(w.event)),
    "cuEventSynchronize": lambda w: w.raw("cuEventSynchronize", HANDLE(w.event)),
    "cuMemAlloc_v2": lambda w: w.made(ADDRESS, "cuMemAlloc_v2", SIZE(LENGTH)),
    "cuMemFree_v2": free,
    "cuMemHostAlloc": lambda w: w.made(HANDLE, "cuMemHostAlloc", SIZE(LENGTH), 0),
    "cuMemGetAllocationGranularity": allocation_granularity,
    "cuMemCreate": create_virtual,
    "cuMemRelease": release_virtual,
    "cuMemAddressReserve": reserve_virtual,
    "cuMemAddressFree": free_reserved,
    "cuMemMap": lambda w: map_virtual(w, "cuMemMap"),
    "cuMemSetAccess": lambda w: map_virtual(w, "cuMemSetAccess"),
    "cuMemUnmap": lambda w: map_virtual(w, "cuMemUnmap"),
    "cuMemRetainAllocationHandle": retain_handle,
    "cuMemGetAllocationPropertiesFromHandle": properties_of_handle,
    "cuMemExportToShareableHandle": export_virtual,
    "cuMemImportFromShareableHandle": import_virtual,
    "cuMemPoolCreate": create_pool,
    "cuMemPoolDestroy": lambda w: w.raw("cuMemPoolDestroy", HANDLE(pool(w))),
    "cuMemPoolSetAccess": pool_access,
    "cuMemPoolExportToShareableHandle": export_pool,
    "cuMemPoolImportFromShareableHandle": import_pool,
    "cuMemPoolExportPointer": export_pointer,
    "cuMemPoolImportPointer": import_pointer,
    "cuIpcGetMemHandle": memory_handle,
    "cuIpcOpenMemHandle_v2": open_memory,
    "cuIpcCloseMemHandle": close_memory,
    "cuIpcGetEventHandle": ipc_event,
    "cuIpcOpenEventHandle": open_event,
}

# Functions with a stream: called with a stream beside the capture and with the capturing one.
ON_THE_STREAM = {
    "cuStreamGetCtx": lambda w, s: w.raw("cuStreamGetCtx", HANDLE(s), out(HANDLE)[1]),
    "cuStreamGetDevice": lambda w, s: w.raw("cuStreamGetDevice", HANDLE(s), out(ctypes.c_int)[1]),
    "cuStreamGetId": lambda w, s: w.raw("cuStreamGetId", HANDLE(s), out(ctypes.c_uint64)[1]),
    "cuStreamIsCapturing": lambda w, s: w.raw(
        "cuStreamIsCapturing", HANDLE(s), out(ctypes.c_int)[1]
    ),
    "cuStreamGetCaptureInfo_v2": capture_info,
    "cuStreamQuery": lambda w, s: w.raw("cuStreamQuery", HANDLE(s)),
    "cuStreamSynchronize": lambda w, s: w.raw("cuStreamSynchronize", HANDLE(s)),
    "cuStreamWaitEvent": lambda w, s: w.raw("cuStreamWaitEvent", HANDLE(s), HANDLE(w.event), 0),
    "cuEventRecord": lambda w, s: w.raw(
        "cuEventRecord", HANDLE(w.disposable(w.driver.make_event)), HANDLE(s)
    ),
    "cuMemcpyDtoHAsync_v2": lambda w, s: w.raw(
        "cuMemcpyDtoHAsync_v2", w.place, ADDRESS(w.first), SIZE(LENGTH), HANDLE(s)
    ),
    "cuMemcpyHtoDAsync_v2": lambda w, s: w.raw(
        "cuMemcpyHtoDAsync_v2", ADDRESS(w.first), w.place, SIZE(LENGTH), HANDLE(s)
    ),
    "cuMemcpyDtoDAsync_v2": lambda w, s: w.raw(
        "cuMemcpyDtoDAsync_v2", ADDRESS(w.second), ADDRESS(w.first), SIZE(LENGTH), HANDLE(s)
    ),
    "cuMemcpyPeerAsync": lambda w, s: w.raw(
        "cuMemcpyPeerAsync",
        ADDRESS(w.second),
        HANDLE(w.context),
        ADDRESS(w.first),
        HANDLE(w.context),
        SIZE(LENGTH),
        HANDLE(s),
    ),
    "cuMemcpy2DAsync_v2": lambda w, s: w.raw(
        "cuMemcpy2DAsync_v2", ctypes.byref(copy_2d(w)), HANDLE(s)
    ),
    "cuMemcpy3DAsync_v2": lambda w, s: w.raw(
        "cuMemcpy3DAsync_v2", ctypes.byref(copy_3d(w)), HANDLE(s)
    ),
    "cuMemcpy3DPeerAsync": lambda w, s: w.raw(
        "cuMemcpy3DPeerAsync", ctypes.byref(copy_3d(w, contexts=True)), HANDLE(s)
    ),
    "cuMemAllocAsync": allocate_async,
    "cuMemFreeAsync": free_async,
}
