# SPDX-License-Identifier: Apache-2.0
"""Calls while a stream captures a graph: their results, and whether the capture survives.

The driver's own functions are measured: which of them break a capture, and which of those a thread
in the mode RELAXED may call. The library's functions must leave every capture intact.
"""

import concurrent.futures
import functools
import os
import pathlib

import captures
import memory
from checks import Checks
from cuda_driver import CAPTURE_MODES, RELAXED, Driver, DriverError

import bindings as b

# The names in the library's tables of driver functions; tests/gpu/bundle.py writes the file.
IN_USE = pathlib.Path(__file__).with_name("driver_calls.txt")
# A capture may forbid these even to a thread in the mode RELAXED: no document excludes that.
MAY_FAIL = ("ipc_export",)


def in_use():
    return IN_USE.read_text().split()


class Capturing:
    """A stream that captures a graph in one mode, and calls on this or another thread."""

    def __init__(self, driver, mode, pool):
        self._driver, self._mode, self._pool = driver, mode, pool

    def _called(self, function, guarded):
        if not guarded:
            return function(self._stream)
        before = self._driver.exchange_capture_mode(RELAXED)
        try:
            return function(self._stream)
        finally:
            self._driver.exchange_capture_mode(before)

    def measure(self, function, other_thread=False, guarded=False):
        """The result of a call, the capture's state after it, and the code of its end."""
        self._stream = self._driver.make_stream()
        self._driver.begin_capture(self._stream, CAPTURE_MODES[self._mode])
        try:
            if other_thread:
                result = self._pool.submit(self._called, function, guarded).result()
            else:
                result = self._called(function, guarded)
        finally:
            status = self._driver.capture_status(self._stream)
            end = self._driver.end_capture(self._stream)
        self._driver.result("cuStreamDestroy_v2", captures.HANDLE(self._stream))
        return [result, status, end]


class Captures(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        cls.driver = Driver()
        context = cls.driver.use_primary_context()
        cls.world = captures.World(cls.driver)
        push = cls.driver.push
        cls.pool = concurrent.futures.ThreadPoolExecutor(1, initializer=push, initargs=(context,))

    @classmethod
    def tearDownClass(cls):
        cls.world.exporter.end()

    def cells(self, function, guards=(False, True)):
        """One measurement per capture mode, thread, and mode of that thread."""
        for mode in CAPTURE_MODES:
            for thread in ("same", "other"):
                for guarded in guards:
                    name = f"{mode}, {thread} thread{', relaxed' if guarded else ''}"
                    capturing = Capturing(self.driver, mode, self.pool)
                    yield name, capturing.measure(function, thread == "other", guarded)

    def test_driver(self):
        for name, call in captures.CALLS.items():
            with self.check(name) as measured:
                self.measure(name, lambda _, call=call: call(self.world), measured)

    def test_driver_on_streams(self):
        for name, call in captures.ON_THE_STREAM.items():
            with self.check(f"{name}, another stream") as measured:
                self.measure(name, functools.partial(self.beside, call), measured)
            with self.check(f"{name}, the capturing stream") as measured:
                self.measure(name, lambda s, call=call: call(self.world, s), measured)

    def beside(self, call, _):
        return call(self.world, self.world.other)

    def measure(self, name, call, measured):
        """The cells of a function; the calls that prepare one may fail."""
        if not self.driver.has(name):
            self.skipTest(f"the driver has no {name}")
        try:
            measured.update(self.cells(call))
        except DriverError as error:
            self.skipTest(f"{name} could not be prepared: {error}")

    def test_every_call_in_use_is_measured(self):
        known = captures.CALLS.keys() | captures.ON_THE_STREAM.keys()
        self.assertEqual(sorted(set(in_use()) - known), [])

    # ------------------------------------------------------------------------------- the library

    def answer(self, function):
        """OK or the status of a call, which gets no stream."""

        def call(_):
            try:
                function()
            except b.Rejected as error:
                return [error.status, error.message]
            return "OK"

        return call

    def functions(self):
        """The library's functions, on streams and memory beside the capture."""
        library, world = self.library, self.world
        source = b.tensor(world.first, b.CUDA, [16, 64], [256, 1])
        streams = [b.stream_of(self.driver.make_stream()) for _ in range(2)]
        owned = library.wrap(world.first, b.CUDA, [memory.BYTES])
        target = {"device": b.CUDA, "target": world.second, "size": memory.BYTES}

        def released(managed):
            library.release(managed)

        return {
            "backend_info": library.backend_info,
            "pointer_info": lambda: library.pointer_info(world.first),
            "pointer_info of host memory": lambda: library.pointer_info(id(self), b.CPU),
            "validate": lambda: library.validate(source),
            "wrap": lambda: released(library.wrap(world.first, b.CUDA, [64])),
            "handoff": lambda: library.handoff(*streams),
            "handoff of the per-thread stream": lambda: library.handoff(b.stream_of(2), streams[0]),
            "handoff of the legacy stream": lambda: library.handoff(b.stream_of(1), streams[0]),
            "synchronize": lambda: library.synchronize(streams[0]),
            "copy to the host": lambda: released(library.copy(source)),
            "copy on a stream": lambda: released(library.copy(source, queue=streams[0])),
            "copy on the device": lambda: released(library.copy(source, **target)),
            "copy_async": lambda: released(library.copy_async(owned, streams[0], **target)),
            "release_after": lambda: library.release_after(
                library.wrap(world.first, b.CUDA, [64]), streams
            ),
            "collect": library.collect,
            "collect and wait": lambda: library.collect(wait=True),
            "ipc_export": lambda: self.exported(owned),
        }

    def exported(self, owned):
        for fd in self.library.ipc_export(owned)[1]:
            os.close(fd)

    def test_library(self):
        for name, function in self.functions().items():
            with self.check(f"dlbridge: {name}") as measured:
                call = self.answer(function)
                measured.update(self.cells(call, guards=(False,)))
                for cell, (result, status, end) in measured.items():
                    self.assertEqual((status, end), ("active", 0), cell)
                    if name not in MAY_FAIL:
                        self.assertEqual(result, "OK", cell)
