# SPDX-License-Identifier: Apache-2.0
"""Every kind of memory that a pointer may point to, each with its maker."""

import ctypes
import json
import subprocess
import sys
import unittest
from typing import Any, NamedTuple

from cuda_driver import (
    ADDRESS,
    DISABLE_TIMING,
    HANDLE,
    INTERPROCESS,
    SIZE,
    Driver,
    IpcHandle,
    out,
)

BYTES = 1 << 16
# Of memory for another process: smaller allocations may share a block, which is opened as a whole.
BLOCK = 2 << 20
FILE_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class Location(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", HANDLE),
        ("flags", ctypes.c_uint8 * 8),
    ]


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class PoolProperties(ctypes.Structure):
    """CUmemPoolProps."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", HANDLE),
        ("max_size", SIZE),
        ("usage", ctypes.c_uint16),
        ("reserved", ctypes.c_uint8 * 54),
    ]


class Memory(NamedTuple):
    address: int
    size: int
    keep: Any = None  # what must stay alive as long as the memory


ON_DEVICE = Location(1, 0)


def virtual_properties(handle_types):
    return AllocationProperties(type=1, handle_types=handle_types, location=ON_DEVICE)


def granularity(driver, properties):
    """2 MiB, the size of all devices so far, where the driver does not report it."""
    if not driver.has("cuMemGetAllocationGranularity"):
        return 2 << 20
    return driver.get(SIZE, "cuMemGetAllocationGranularity", ctypes.byref(properties), 0)


def reserve(driver, size):
    arguments = SIZE(size), SIZE(0), ADDRESS(0), ctypes.c_uint64(0)
    return driver.get(ADDRESS, "cuMemAddressReserve", *arguments)


def map_at(driver, address, size, handle):
    """Maps an allocation and lets the device use it."""
    zero = ctypes.c_uint64(0)
    driver.call("cuMemMap", ADDRESS(address), SIZE(size), SIZE(0), ctypes.c_uint64(handle), zero)
    access = Access(ON_DEVICE, READ_WRITE)
    driver.call("cuMemSetAccess", ADDRESS(address), SIZE(size), ctypes.byref(access), SIZE(1))


def alloc(driver):
    return Memory(driver.allocate(BYTES), BYTES)


def inside(driver):
    """An address inside an allocation."""
    return Memory(driver.allocate(BYTES) + 256, BYTES - 256)


def managed(driver):
    return Memory(driver.allocate_managed(BYTES), BYTES)


def pinned(driver):
    return Memory(driver.allocate_pinned(BYTES), BYTES)


def registered(driver):
    place = ctypes.create_string_buffer(3 * BYTES)
    address = -(-ctypes.addressof(place) // 4096) * 4096
    driver.call("cuMemHostRegister_v2", HANDLE(address), SIZE(BYTES), 0)
    return Memory(address, BYTES, place)


def pool(driver):
    return Memory(driver.allocate_in_pool(BYTES, driver.make_stream()), BYTES)


def pool_with_handles(driver):
    """A pool that another process may import."""
    properties = PoolProperties(type=1, handle_types=FILE_DESCRIPTOR, location=ON_DEVICE)
    made = driver.get(HANDLE, "cuMemPoolCreate", ctypes.byref(properties))
    stream = driver.make_stream()
    arguments = SIZE(BYTES), HANDLE(made), HANDLE(stream)
    address = driver.get(ADDRESS, "cuMemAllocFromPoolAsync", *arguments)
    driver.synchronize(stream)
    return Memory(address, BYTES)


def _virtual(driver, handle_types, reserved=1):
    """One mapped granule at the start of a range of `reserved` granules."""
    properties = virtual_properties(handle_types)
    size = granularity(driver, properties)
    none = ctypes.c_uint64(0)
    handle = driver.get(ctypes.c_uint64, "cuMemCreate", SIZE(size), ctypes.byref(properties), none)
    address = reserve(driver, reserved * size)
    map_at(driver, address, size, handle)
    return Memory(address, size)


def virtual(driver):
    return _virtual(driver, 0)


def virtual_with_handles(driver):
    """Mapped memory that another process may import."""
    return _virtual(driver, FILE_DESCRIPTOR)


def virtual_reserved(driver):
    """Addresses without memory."""
    size = granularity(driver, virtual_properties(0))
    return Memory(reserve(driver, size), size)


def virtual_partly(driver):
    """A range whose second half has no memory."""
    memory = _virtual(driver, 0, reserved=2)
    return Memory(memory.address, 2 * memory.size)


class Exporter:
    """Another process with memory and events to share, which ends with this object."""

    def __init__(self, count=40):
        command = (sys.executable, "-B", __file__, str(count))
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._handles = json.loads(self._child.stdout.readline() or "{}")

    def _handle(self, kind):
        if not self._handles.get(kind):
            raise unittest.SkipTest(f"the other process has no more handles of {kind}")
        return IpcHandle.from_buffer_copy(bytes.fromhex(self._handles[kind].pop()))

    def memory_handle(self):
        return self._handle("memory")

    def event_handle(self):
        return self._handle("events")

    def end(self):
        self._child.communicate()


def imported(driver):
    """Memory of another process."""
    exporter = Exporter(1)
    place, reference = out(ADDRESS)
    driver.call("cuIpcOpenMemHandle_v2", reference, exporter.memory_handle(), 1)
    return Memory(place.value, BLOCK, exporter)


def host(driver):
    place = ctypes.create_string_buffer(BYTES)
    return Memory(ctypes.addressof(place), BYTES, place)


def null(driver):
    return Memory(0, 0)


MAKERS = (
    alloc,
    inside,
    managed,
    pinned,
    registered,
    pool,
    pool_with_handles,
    virtual,
    virtual_with_handles,
    virtual_reserved,
    virtual_partly,
    imported,
    host,
    null,
)


def export(count):
    """The other process of an exporter; it lives until its standard input ends."""
    driver = Driver()
    driver.use_primary_context()
    handles = {"memory": [], "events": []}
    for _ in range(count):
        handle = IpcHandle()
        address = ADDRESS(driver.allocate(BLOCK))
        driver.call("cuIpcGetMemHandle", ctypes.byref(handle), address)
        handles["memory"].append(bytes(handle).hex())
        if driver.has("cuIpcGetEventHandle"):
            event = HANDLE(driver.make_event(DISABLE_TIMING | INTERPROCESS))
            driver.call("cuIpcGetEventHandle", ctypes.byref(handle), event)
            handles["events"].append(bytes(handle).hex())
    print(json.dumps(handles), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    export(int(sys.argv[1]))
