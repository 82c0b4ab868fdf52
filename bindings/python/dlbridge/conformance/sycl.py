# SPDX-License-Identifier: Apache-2.0
"""The device of the checks of streams with SYCL: queues of dpctl, also on a CPU."""

from __future__ import annotations

import importlib
import threading
from typing import Any

from .adapters import Unsupported
from .late import Reading, Stream

# An atomic operation sees what the host writes. The limit ends a gate that is never opened.
_SECONDS = 5.0
_SOURCE = """
kernel void gate(global volatile int* flag) {
  while (atomic_or(flag, 0) == 0) {
  }
}
"""


class Device:
    """Queues of dpctl's default device."""

    device = (14, 0)

    def __init__(self) -> None:
        try:
            dpctl = importlib.import_module("dpctl")
            self._memory = importlib.import_module("dpctl.memory")
            program = importlib.import_module("dpctl.program")
        except ImportError as error:
            raise Unsupported(f"dpctl is not installed: {error}") from None
        self._dpctl = dpctl
        queue = self._queue()
        built = program.create_program_from_source(queue, _SOURCE)
        self._kernel = built.get_sycl_kernel("gate")
        # The first launch takes longer.
        gate = self.close(queue)
        gate.open()
        queue.wait()

    def _queue(self) -> Any:
        return self._dpctl.SyclQueue(property="in_order")

    def stream(self) -> Stream:
        return Stream(self, self._queue())

    def close(self, queue: Any) -> Gate:
        flag = self._memory.MemoryUSMShared(64, queue=queue)
        gate = Gate(flag)
        queue.submit_async(self._kernel, [flag], [1])
        return gate

    def read(self, places: list[int], size: int, queue: Any) -> Reading:
        """Enqueues reads of elements."""
        memory = self._memory
        target = memory.MemoryUSMHost(max(size * len(places), 1), queue=queue)
        for index, place in enumerate(places):
            parts = (_Part(target._pointer + index * size, size, queue), _Part(place, size, queue))
            queue.memcpy_async(*map(memory.as_usm_memory, parts), size)
        reading = Reading(self, queue, target._pointer, size * len(places))
        reading.kept = target
        return reading

    def mark(self, queue: Any) -> Any:
        return queue.submit_barrier()

    def is_done(self, event: Any) -> bool:
        return bool(event.execution_status == self._dpctl.event_status_type.complete)

    def synchronize(self, queue: Any) -> None:
        queue.wait()


class Gate:
    """Closed until the host sets a flag in shared memory."""

    def __init__(self, flag: Any) -> None:
        self._memory = flag
        self._flag = memoryview(flag).cast("B").cast("i")
        self._flag[0] = 0
        self._in_time = True
        self._limit = threading.Timer(_SECONDS, self._give_up)
        self._limit.daemon = True
        self._limit.start()

    def _give_up(self) -> None:
        self._in_time = False
        self._flag[0] = 1

    def open(self) -> None:
        self._limit.cancel()
        self._flag[0] = 1

    def held(self) -> bool:
        """False if the gate was not closed all the time until now."""
        return self._in_time and self._flag[0] == 0


class _Part:
    """Memory at an address, as dpctl takes it."""

    def __init__(self, address: int, size: int, queue: Any) -> None:
        self.__sycl_usm_array_interface__ = {
            "data": (address, False),
            "shape": (size,),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "syclobj": queue,
        }
