# SPDX-License-Identifier: Apache-2.0
"""Counts the calls of producers' deleters.

The counter replaces the deleter in the producer's struct and calls the original. Closures live
until the process ends, so that a second call is reported instead of crashing.
"""

import ctypes
import gc
import threading
import time

from capsules import DLManagedTensor, address_of

_DELETER = DLManagedTensor.Deleter  # acquires the GIL: deleters run on any thread
_ORIGINAL = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)  # keeps it: some deleters are in Python


class Deleter:
    """The deleter of one producer's tensor."""

    def __init__(self, producer, struct, keep=None):
        self.producer = producer
        self.calls = 0
        self._lock = threading.Lock()
        self._original = address_of(struct.deleter)
        self._keep = keep  # memory that a crafted struct needs
        self._closure = _DELETER(self._run)
        struct.deleter = self._closure

    def _run(self, struct):
        with self._lock:
            self.calls += 1
            first = self.calls == 1
        if first and self._original:
            _ORIGINAL(self._original)(struct)


class Deleters:
    """All tensors that producers exported."""

    def __init__(self):
        self.all = []

    def count(self, producer, struct, keep=None):
        deleter = Deleter(producer, struct, keep)
        self.all.append(deleter)
        return deleter

    def settle(self, nudge, seconds=10.0):
        """Waits for deleters that frameworks defer; `nudge` makes the frameworks run them."""
        end = time.monotonic() + seconds
        while any(d.calls == 0 for d in self.all) and time.monotonic() < end:
            gc.collect()
            nudge()
            time.sleep(0.01)
