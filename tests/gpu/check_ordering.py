# SPDX-License-Identifier: Apache-2.0
"""Order between streams, shown by data.

A closed gate holds the producer's work back: a consumer that does not wait reads the old bytes.
"""

import ctypes
import os
import threading

from checks import Checks
from cuda_driver import HANDLE, LEGACY, PER_THREAD, Driver
from gate import Gates

import bindings as b

SIZE = 4096
OLD, NEW = bytes(SIZE), bytes(i % 251 + 1 for i in range(SIZE))
WRONG = "the bytes are not those that the producer wrote"


class Ordering(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        cls.driver = Driver()
        cls.context = cls.driver.use_primary_context()
        cls.gates = Gates(cls.driver)
        cls.producer, cls.consumer, cls.idle = (cls.driver.make_stream() for _ in range(3))
        cls.memory = {name: cls.driver.allocate(SIZE) for name in ("new", "between", "target")}
        cls.driver.write(cls.memory["new"], NEW, cls.idle)
        # The first launch, and the first call of each kind, may wait for the device.
        cls.gates.close(cls.idle).open()
        cls.driver.synchronize(cls.idle)

    def reset(self):
        for name in ("between", "target"):
            self.driver.write(self.memory[name], OLD, self.idle)
        self.driver.synchronize(self.idle)

    def produce(self, stream):
        """Writes the new bytes into `between` once the gate is open."""
        self.reset()
        gate = self.gates.close(stream)
        self.addCleanup(gate.open)
        memory = self.memory
        self.driver.copy_on_device(memory["between"], memory["new"], SIZE, stream)
        return gate

    def consume(self, stream):
        memory = self.memory
        self.driver.copy_on_device(memory["target"], memory["between"], SIZE, stream)

    def finish(self, gate, stream):
        """Opens the gate; what the consumer read."""
        self.assertTrue(gate.held(), "the host waited for the producer")
        gate.open()
        return self.driver.read(self.memory["target"], SIZE, stream)

    def test_control(self):
        """Without a hand-off the consumer reads the old bytes: the other checks can fail."""
        gate = self.produce(self.producer)
        self.consume(self.consumer)
        found = self.driver.read(self.memory["target"], SIZE, self.consumer)
        self.assertTrue(gate.held())
        gate.open()
        self.driver.synchronize(self.producer)
        self.assertEqual(found, OLD)

    def test_driver_events(self):
        """The driver's own event orders the streams: the gate does not hinder it."""
        event = HANDLE(self.driver.make_event())
        gate = self.produce(self.producer)
        self.driver.call("cuEventRecord", event, HANDLE(self.producer))
        self.driver.call("cuStreamWaitEvent", HANDLE(self.consumer), event, 0)
        self.consume(self.consumer)
        self.assertTrue(self.finish(gate, self.consumer) == NEW, WRONG)

    def test_handoff(self):
        blocking = self.driver.make_stream(0)
        streams = {
            "non-blocking": (self.producer, self.consumer),
            "to a blocking stream": (self.producer, blocking),
            "from a blocking stream": (blocking, self.consumer),
            "to the legacy stream": (self.producer, LEGACY),
            "from the legacy stream": (LEGACY, self.consumer),
            "to the per-thread stream": (self.producer, PER_THREAD),
            "from the per-thread stream": (PER_THREAD, self.consumer),
        }
        for name, (producer, consumer) in streams.items():
            with self.check(f"handoff, {name}"):
                gate = self.produce(producer)
                self.library.handoff(b.stream_of(producer), b.stream_of(consumer))
                self.consume(consumer)
                found = self.finish(gate, consumer)
                self.driver.synchronize(producer)  # nothing is left to the next row
                self.assertTrue(found == NEW, WRONG)

    def test_handoff_to_itself(self):
        gate = self.produce(self.producer)
        self.library.handoff(b.stream_of(self.producer), b.stream_of(self.producer))
        self.consume(self.producer)
        self.assertTrue(self.finish(gate, self.producer) == NEW, WRONG)

    def test_handoff_on_a_thread_without_a_context(self):
        gate = self.produce(self.producer)
        streams = b.stream_of(self.producer), b.stream_of(self.consumer)
        thread = threading.Thread(target=self.library.handoff, args=streams)
        thread.start()
        thread.join()
        self.consume(self.consumer)
        self.assertTrue(self.finish(gate, self.consumer) == NEW, WRONG)

    def test_many_handoffs_at_once(self):
        """More than the library keeps events for."""
        streams = [self.driver.make_stream() for _ in range(80)]
        gate = self.produce(self.producer)
        for before, after in zip([self.producer, *streams], streams, strict=False):
            self.library.handoff(b.stream_of(before), b.stream_of(after))
        self.consume(streams[-1])
        self.assertTrue(self.finish(gate, streams[-1]) == NEW, WRONG)

    def test_current_context_is_unchanged(self):
        self.library.handoff(b.stream_of(self.producer), b.stream_of(LEGACY))
        self.library.synchronize(b.stream_of(self.producer))
        self.assertEqual(self.driver.current(), self.context)

    def open_soon(self, gate):
        """Opens a gate from another thread, for calls that wait."""
        timer = threading.Timer(0.1, gate.open)
        timer.start()
        self.addCleanup(timer.join)

    def test_synchronize(self):
        gate = self.produce(self.producer)
        self.open_soon(gate)
        self.library.synchronize(b.stream_of(self.producer))
        found = self.driver.read(self.memory["between"], SIZE, self.idle)
        self.assertTrue(found == NEW, WRONG)

    def test_copy_on_a_stream(self):
        gate = self.produce(self.producer)
        self.open_soon(gate)
        source = b.tensor(self.memory["between"], b.CUDA, [SIZE])
        managed = self.library.copy(source, queue=b.stream_of(self.producer))
        found = b.content(managed)
        self.library.release(managed)
        self.assertTrue(found == NEW, WRONG)

    # ------------------------------------------------------------------------- ordered by streams

    def owned(self, name, released):
        """A dlbridge-owned tensor on memory; its release is counted."""
        release = b.RELEASE(lambda *_: released.append(name))
        self.addCleanup(lambda: release)  # lives as long as the check
        return self.library.wrap(self.memory[name], b.CUDA, [SIZE], release=release)

    def test_copy_async(self):
        self.library.need("copy_async", "collect")
        released = []
        gate = self.produce(self.producer)
        source = self.owned("between", released)
        options = {"device": b.CUDA, "target": self.memory["target"], "size": SIZE}
        copied = self.library.copy_async(source, b.stream_of(self.producer), **options)
        self.library.release(source)
        self.library.collect()
        self.assertEqual(released, [], "the source was released before the copy had read it")
        self.assertTrue(self.finish(gate, self.producer) == NEW, WRONG)
        self.measured["left"] = self.library.collect(wait=True)
        self.assertEqual((released, self.measured["left"]), (["between"], 0))
        self.library.release(copied)

    def test_copy_async_to_the_host(self):
        self.library.need("copy_async", "collect")
        place = self.driver.allocate_pinned(SIZE)
        gate = self.produce(self.producer)
        source = self.owned("between", [])
        options = {"device": b.PINNED, "target": place, "size": SIZE}
        copied = self.library.copy_async(source, b.stream_of(self.producer), **options)
        self.assertTrue(gate.held(), "the host waited for the producer")
        gate.open()
        self.driver.synchronize(self.producer)
        self.assertEqual(ctypes.string_at(place, SIZE), NEW)
        self.library.collect(wait=True)
        self.library.release(copied)
        self.library.release(source)

    def test_release_after(self):
        """The memory stays until the stream has read it; then it is released."""
        self.library.need("release_after", "collect")
        released = []
        gate = self.produce(self.producer)
        self.consume(self.producer)
        self.library.release_after(self.owned("between", released), [b.stream_of(self.producer)])
        self.library.collect()
        self.assertEqual(released, [], "released before the stream had read the memory")
        self.assertTrue(self.finish(gate, self.producer) == NEW, WRONG)
        self.measured["left"] = self.library.collect(wait=True)
        self.assertEqual((released, self.measured["left"]), (["between"], 0))

    def test_release_after_several_streams(self):
        if os.environ.get("DLBRIDGE_GPU_SANITIZER"):
            self.skipTest("memcheck runs one kernel at a time: the second gate waits for the first")
        self.library.need("release_after", "collect")
        released = []
        first, second = self.produce(self.producer), self.gates.close(self.consumer)
        self.addCleanup(second.open)
        streams = [b.stream_of(self.producer), b.stream_of(self.consumer)]
        self.library.release_after(self.owned("between", released), streams)
        first.open()
        self.driver.synchronize(self.producer)
        self.library.collect()
        self.assertTrue(second.held())
        self.assertEqual(released, [], "released before the second stream was there")
        second.open()
        self.library.collect(wait=True)
        self.assertEqual(released, ["between"])

    def test_release_after_on_a_capturing_stream(self):
        """The tensor stays the caller's, and the capture survives."""
        self.library.need("release_after", "collect")
        released = []
        managed = self.owned("between", released)
        self.driver.begin_capture(self.consumer)
        try:
            with self.assertRaises(b.Rejected) as caught:
                self.library.release_after(managed, [b.stream_of(self.consumer)])
        finally:
            status = self.driver.capture_status(self.consumer)
            end = self.driver.end_capture(self.consumer)
        self.measured |= {"status": caught.exception.status, "capture": status, "end": end}
        self.assertEqual((status, end, released), ("active", 0, []))
        self.library.release(managed)
        self.assertEqual(released, ["between"])

    # -------------------------------------------------------------------------------- captures

    def test_handoff_of_a_capture(self):
        """Rejected by default; with ALLOW_CAPTURE the consumer joins the graph and comes back."""
        producer, consumer = b.stream_of(self.producer), b.stream_of(self.consumer)
        self.driver.begin_capture(self.producer)
        try:
            self.measured["to"] = self.status(producer, consumer)
            self.measured["from"] = self.status(consumer, producer)
            self.library.handoff(producer, consumer, b.HandoffOption.ALLOW_CAPTURE)
            self.library.handoff(consumer, producer)
        finally:
            self.measured["end"] = self.driver.end_capture(self.producer)
        self.assertEqual(self.measured, {"to": "CAPTURE", "from": "CAPTURE", "end": 0})
        self.library.handoff(producer, consumer)

    def status(self, *streams):
        try:
            self.library.handoff(*streams)
        except b.Rejected as error:
            return error.status
        return "OK"
