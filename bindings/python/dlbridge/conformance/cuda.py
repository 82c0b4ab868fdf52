# SPDX-License-Identifier: Apache-2.0
"""The device of the checks of streams with CUDA.

The driver is that of the machine, or a fake whose work runs only when something waits for it
(tests/fakes of dlbridge). DLBRIDGE_LIBCUDA names its file.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from .adapters import Unsupported
from .gates import Gate, Gates
from .late import Reading, Stream

DEVICE = (2, 0)
LEGACY, PER_THREAD = 1, 2
_NON_BLOCKING, _NO_TIMING = 1, 2
_NOT_READY = 600
_HANDLE, _ADDRESS, _SIZE = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t


class Driver:
    """The driver API, as far as the checks call it. Raises Unsupported without a device."""

    def __init__(self) -> None:
        name = os.environ.get("DLBRIDGE_LIBCUDA") or "libcuda.so.1"
        try:
            self._lib = ctypes.CDLL(name)
        except OSError as error:
            text = f"there is no CUDA driver, and DLBRIDGE_LIBCUDA names none: {error}"
            raise Unsupported(text) from None
        count = ctypes.c_int()
        code = self._lib.cuInit(0) or self._lib.cuDeviceGetCount(ctypes.byref(count))
        if code or not count.value:
            raise Unsupported(f"CUDA has no device: the driver returned {code}")
        context = self.get(_HANDLE, "cuDevicePrimaryCtxRetain", DEVICE[1])
        self.call("cuCtxPushCurrent_v2", _HANDLE(context))

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._lib, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} returned {code}")

    def get(self, kind: Any, name: str, *arguments: Any) -> Any:
        """Calls a function whose first parameter is its result."""
        place = kind()
        self.call(name, ctypes.byref(place), *arguments)
        return place.value

    def attribute(self, number: int) -> int | None:
        place = ctypes.c_int()
        code = self._lib.cuDeviceGetAttribute(ctypes.byref(place), number, DEVICE[1])
        return None if code else place.value

    def allocate_pinned(self, size: int) -> int:
        return int(self.get(_HANDLE, "cuMemHostAlloc", _SIZE(size), 0))

    def is_done(self, event: Any) -> bool:
        code = self._lib.cuEventQuery(event)
        if code not in (0, _NOT_READY):
            raise RuntimeError(f"cuEventQuery returned {code}")
        return not code


class Device:
    """Memory and streams of one device, in its primary context."""

    device = DEVICE

    def __init__(self) -> None:
        self._driver = Driver()
        self._gates = Gates(self._driver)
        self._idle = self._new()
        self._kept: list[Any] = []
        # The first launch, and the first call of each kind, may wait for the device.
        first = self.stream()
        first.close()
        first.open()
        self.write(self.allocate(4), b"warm", first)
        self.synchronize(first.handle)

    def _new(self) -> int:
        return int(self._driver.get(_HANDLE, "cuStreamCreate", _NON_BLOCKING))

    def stream(self) -> Stream:
        """A stream that waits for no other one by itself."""
        return Stream(self, self._new())

    def close(self, handle: int) -> Gate:
        return self._gates.close(handle)

    def allocate(self, size: int) -> int:
        """Zeroed memory, which lives as long as the process."""
        address = int(self._driver.get(_ADDRESS, "cuMemAlloc_v2", _SIZE(size)))
        self._upload(address, bytes(size))
        return address

    def _upload(self, address: int, content: bytes) -> None:
        place = ctypes.create_string_buffer(content, len(content))
        arguments = (_ADDRESS(address), place, _SIZE(len(content)), _HANDLE(self._idle))
        self._driver.call("cuMemcpyHtoDAsync_v2", *arguments)
        self.synchronize(self._idle)

    def write(self, address: int, content: bytes, stream: Stream) -> None:
        """Enqueues a write. It copies within the device: a copy from the host may wait."""
        source = self.allocate(len(content))
        self._upload(source, content)
        sizes = (_ADDRESS(address), _ADDRESS(source), _SIZE(len(content)))
        self._driver.call("cuMemcpyDtoDAsync_v2", *sizes, _HANDLE(stream.handle))

    def read(self, places: list[int], size: int, handle: int) -> Reading:
        """Enqueues reads of elements."""
        target = self._driver.allocate_pinned(size * len(places))
        for index, place in enumerate(places):
            arguments = (_HANDLE(target + index * size), _ADDRESS(place), _SIZE(size))
            self._driver.call("cuMemcpyDtoHAsync_v2", *arguments, _HANDLE(handle))
        return Reading(self, handle, target, size * len(places))

    def mark(self, handle: int) -> Any:
        """An event after the work that a stream has now."""
        event = _HANDLE(self._driver.get(_HANDLE, "cuEventCreate", _NO_TIMING))
        self._driver.call("cuEventRecord", event, _HANDLE(handle))
        return event

    def order(self, later: int, earlier: Stream) -> None:
        """Work that `later` gets from now on waits for the work that `earlier` has now."""
        event = self.mark(earlier.handle)
        self._driver.call("cuStreamWaitEvent", _HANDLE(later), event, 0)

    def synchronize(self, handle: int) -> None:
        self._driver.call("cuStreamSynchronize", _HANDLE(handle))

    def is_done(self, event: Any) -> bool:
        return self._driver.is_done(event)
