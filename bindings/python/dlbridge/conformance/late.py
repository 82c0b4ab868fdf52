# SPDX-License-Identifier: Apache-2.0
"""Streams whose work is late: a gate holds it back until the kit opens it.

A device (cuda.py, sycl.py) has `device`, which is its type and id in DLPack, and stream(),
close(handle), allocate(size), write(address, content, stream), read(places, size, handle),
mark(handle), is_done(mark), order(later, earlier) and synchronize(handle).
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Iterator
from typing import Any

# A call of the library that has not returned after this time waits for the stream; the gate is then
# opened, so that it returns.
PATIENCE_SECONDS = 0.5
# The limit for a call that must not wait but may need long to prepare. Gates open after 5 seconds.
PREPARING_SECONDS = 3.0
# Work that waits for nothing is done after this time on an idle device.
_IDLE_SECONDS = 0.2


class Stream:
    """A stream for an adapter: `handle` is the stream as `__dlpack__` takes it. `close()` delays
    the work that is enqueued from then on."""

    def __init__(self, device: Any, handle: Any) -> None:
        self._device, self.handle = device, handle
        self._gate: Any = None
        self.waited = False

    def close(self) -> None:
        self._gate = self._device.close(self.handle)

    @property
    def is_late(self) -> bool:
        """Whether the work after `close` has not begun yet."""
        return self._gate is not None and not self.waited and self._gate.held()

    @property
    def was_closed(self) -> bool:
        return self._gate is not None

    def open(self) -> None:
        if self._gate is not None:
            self._gate.open()

    def _give_in(self) -> None:
        self.waited = True
        self.open()

    @contextlib.contextmanager
    def patiently(self, seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
        """Opens the gate for a call that waits for the stream; `waited` records that."""
        timer = threading.Timer(seconds, self._give_in)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


class Reading:
    """Elements that a stream copies to the host."""

    def __init__(self, device: Any, handle: Any, target: int, size: int) -> None:
        self._device, self._handle = device, handle
        self._target, self._size, self._mark = target, size, device.mark(handle)
        self.kept: Any = None

    def finish(self, producer: Stream) -> bytes:
        """The elements as the stream saw them. A stream that does not wait for the producer copies
        them while the producer's gate is still closed."""
        end = time.monotonic() + _IDLE_SECONDS
        while not self._device.is_done(self._mark) and time.monotonic() < end:
            time.sleep(0.001)
        producer.open()
        self._device.synchronize(self._handle)
        return ctypes.string_at(self._target, self._size)
