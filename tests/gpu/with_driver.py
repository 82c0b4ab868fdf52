# SPDX-License-Identifier: Apache-2.0
"""Tests that need only a driver."""

import ctypes
import os
import subprocess
import sys
import threading
import unittest

from cuda_driver import Driver

import bindings as b

SIZE = 1 << 16
PATTERN = bytes((i * 7 + i // 256) % 251 for i in range(SIZE))


def content(managed):
    """The bytes of a host tensor whose elements are bytes."""
    what = managed.contents.dl_tensor
    count = 1
    for axis in range(what.ndim):
        count *= what.shape[axis]
    return ctypes.string_at(what.data + what.byte_offset, count)


class WithDriver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = b.load()
        cls.driver = Driver()
        cls.driver.make_context()
        cls.first = cls.driver.make_stream()
        cls.second = cls.driver.make_stream()

    def rejected(self, status, function, *arguments, **options):
        with self.assertRaises(b.Rejected) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.status, status, caught.exception.message)
        return caught.exception

    def filled(self):
        address = self.driver.allocate(SIZE)
        self.driver.write(address, PATTERN, self.first)
        self.driver.synchronize(self.first)
        return address


class Pointers(WithDriver):
    def test_device_memory(self):
        address = self.driver.allocate(SIZE)
        for inside in (0, 1, SIZE - 1):
            info = self.library.pointer_info(address + inside)
            self.assertEqual((info.device.device_type, info.device.device_id), (b.CUDA, 0))
            self.assertEqual(info.memory, b.MEMORY_DEVICE)
            self.assertEqual(info.base, address)
            self.assertGreaterEqual(info.size, SIZE)
            self.assertEqual(info.context, self.driver.current())

    def test_managed_memory(self):
        address = self.driver.allocate_managed(SIZE)
        info = self.library.pointer_info(address + 5)
        self.assertEqual((info.device.device_type, info.device.device_id), (b.CUDA_MANAGED, 0))
        self.assertEqual((info.memory, info.base), (b.MEMORY_MANAGED, address))

    def test_pinned_memory(self):
        address = self.driver.allocate_pinned(SIZE)
        info = self.library.pointer_info(address + 5)
        self.assertEqual((info.device.device_type, info.device.device_id), (b.CUDA_HOST, 0))
        self.assertEqual((info.memory, info.base), (b.MEMORY_PINNED, address))
        self.assertGreaterEqual(info.size, SIZE)

    def test_memory_of_a_pool(self):
        address = self.driver.allocate_in_pool(SIZE, self.first)
        info = self.library.pointer_info(address)
        self.assertEqual((info.device.device_type, info.device.device_id), (b.CUDA, 0))
        self.assertEqual(info.memory, b.MEMORY_DEVICE)

    def test_memory_unknown_to_the_driver(self):
        place = ctypes.create_string_buffer(64)
        for address in (ctypes.addressof(place), 0):
            self.assertEqual(self.library.pointer_info(address).memory, b.MEMORY_HOST)

    def test_a_correct_label(self):
        address = self.driver.allocate(SIZE)
        self.library.validate(b.tensor(address, (b.CUDA, 0), [SIZE]))
        self.library.validate(b.tensor(address, (b.CUDA, 0), [1], byte_offset=SIZE - 1))
        managed = self.driver.allocate_managed(SIZE)
        self.library.validate(b.tensor(managed, (b.CUDA_MANAGED, 0), [SIZE]))
        pinned = self.driver.allocate_pinned(SIZE)
        self.library.validate(b.tensor(pinned, (b.CUDA_HOST, 0), [SIZE]))
        self.library.validate(b.tensor(pinned, (b.CPU, 0), [SIZE]))

    def test_a_wrong_label(self):
        address = self.driver.allocate(SIZE)
        for label in ((b.CPU, 0), (b.CUDA, 1), (b.CUDA_HOST, 0), (b.CUDA_MANAGED, 0)):
            what = b.tensor(address, label, [SIZE])
            error = self.rejected("INVALID_TENSOR", self.library.validate, what)
            self.assertEqual(error.rule, b.RULE_DEVICE_LABEL)
            self.assertIn("cuda:0", error.message)

    def test_an_extent_that_leaves_the_allocation(self):
        address = self.driver.allocate(SIZE)
        size = self.library.pointer_info(address).size
        what = b.tensor(address, (b.CUDA, 0), [size + 1])
        error = self.rejected("INVALID_TENSOR", self.library.validate, what)
        self.assertEqual(error.rule, b.RULE_ALLOCATION_BOUNDS)
        self.assertIn(str(size), error.message)


class Streams(WithDriver):
    def gate(self):
        """Blocks the first stream until the returned event is set."""
        event = threading.Event()
        self.driver.launch(event.wait, self.first)
        self.addCleanup(event.set)
        return event

    def order(self, producer, consumer):
        source, between, target = self.filled(), self.filled(), self.filled()
        zeros = bytes(SIZE)
        self.driver.write(between, zeros, self.first)
        self.driver.write(target, zeros, self.first)
        self.driver.synchronize(self.first)
        gate = self.gate()
        self.driver.copy_on_device(between, source, SIZE, self.first)
        self.library.handoff(producer, consumer)
        self.assertFalse(gate.is_set(), "the host waited")
        self.driver.copy_on_device(target, between, SIZE, self.second)
        gate.set()
        self.assertEqual(self.driver.read(target, SIZE, self.second), PATTERN)

    def test_the_consumer_waits_for_the_producer(self):
        for _ in range(3):
            self.order(b.stream(self.first), b.stream(self.second))

    def test_the_current_context_is_unchanged(self):
        before = self.driver.current()
        self.library.handoff(b.stream(self.first), b.stream(1))
        self.library.handoff(b.stream(2), b.stream(self.first))
        self.library.synchronize(b.stream(self.first))
        self.assertEqual(self.driver.current(), before)

    def test_special_streams(self):
        for special in (1, 2):
            self.library.handoff(b.stream(special), b.stream(self.second))
            self.library.handoff(b.stream(self.first), b.stream(special))
            self.library.synchronize(b.stream(special))

    def test_a_thread_without_a_context(self):
        problems = []

        def work():
            try:
                self.library.handoff(b.stream(self.first), b.stream(1))
                self.library.handoff(b.stream(1), b.stream(self.second))
            except b.Rejected as error:
                problems.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(problems, [])

    def test_captures(self):
        producer, consumer = b.stream(self.first), b.stream(self.second)
        self.driver.begin_capture(self.first)
        try:
            self.rejected("CAPTURE", self.library.handoff, producer, consumer)
            self.rejected("CAPTURE", self.library.handoff, consumer, producer)
            self.rejected("CAPTURE", self.library.synchronize, producer)
            # The consumer joins the capture, which the second call brings back to the producer.
            self.library.handoff(producer, consumer, b.ALLOW_CAPTURE)
            self.library.handoff(consumer, producer)
        finally:
            self.driver.end_capture(self.first)
        self.library.handoff(producer, consumer)

    def test_a_capture_on_an_unrelated_stream(self):
        other = self.driver.make_stream()
        address = self.filled()
        self.driver.begin_capture(other)
        try:
            self.library.handoff(b.stream(self.first), b.stream(self.second))
            managed = self.library.copy(b.tensor(address, (b.CUDA, 0), [SIZE]))
        finally:
            self.driver.end_capture(other)
        self.assertEqual(content(managed), PATTERN)
        self.library.release(managed)

    def test_a_device_that_does_not_exist(self):
        far = b.stream(1, self.library.backend_info().device_count)
        self.rejected("INVALID_ARGUMENT", self.library.synchronize, far)


class Copies(WithDriver):
    def test_from_the_device(self):
        source = b.tensor(self.filled(), (b.CUDA, 0), [SIZE])
        for queue in (None, b.stream(self.first), b.stream(1)):
            managed = self.library.copy(source, queue=queue)
            self.assertEqual(content(managed), PATTERN)
            self.assertTrue(managed.contents.flags & b.IS_COPIED)
            self.library.release(managed)

    def test_strided_from_the_device(self):
        address = self.filled()
        source = b.tensor(address, (b.CUDA, 0), [4, 6, 10], [4096, 256, 1], byte_offset=3)
        managed = self.library.copy(source)
        expected = b"".join(
            PATTERN[3 + z * 4096 + y * 256 :][:10] for z in range(4) for y in range(6)
        )
        self.assertEqual(content(managed), expected)
        self.library.release(managed)

    def test_transposed_from_the_device(self):
        source = b.tensor(self.filled(), (b.CUDA, 0), [200, 100], [1, 200])
        managed = self.library.copy(source, staging=True)
        expected = bytes(PATTERN[x + y * 200] for x in range(200) for y in range(100))
        self.assertEqual(content(managed), expected)
        self.library.release(managed)

    def test_to_the_device(self):
        place = ctypes.create_string_buffer(PATTERN, SIZE)
        source = b.tensor(ctypes.addressof(place), (b.CPU, 0), [16, 64], [256, 1])
        target = self.driver.allocate(SIZE)
        managed = self.library.copy(source, device=(b.CUDA, 0), target=target, size=SIZE)
        expected = b"".join(PATTERN[row * 256 :][:64] for row in range(16))
        self.assertEqual(self.driver.read(target, 1024, self.first), expected)
        self.library.release(managed)

    def test_on_the_device(self):
        target = self.driver.allocate(SIZE)
        source = b.tensor(self.filled(), (b.CUDA, 0), [16, 64], [256, 1])
        managed = self.library.copy(source, device=(b.CUDA, 0), target=target, size=SIZE)
        expected = b"".join(PATTERN[row * 256 :][:64] for row in range(16))
        self.assertEqual(self.driver.read(target, 1024, self.first), expected)
        self.library.release(managed)


class Tensors(WithDriver):
    def test_wrap_releases_once(self):
        released = []
        release = b.DLBridgeRelease(
            lambda context, buffer, stream: released.append(buffer[0].handle)
        )
        address = self.filled()
        managed = self.library.wrap(address, (b.CUDA, 0), [SIZE // 4], release=release)
        self.library.validate(managed.contents.dl_tensor)
        self.assertEqual(released, [])
        self.library.release(managed)
        self.assertEqual(released, [address])

    def test_another_process(self):
        managed = self.library.wrap(self.filled(), (b.CUDA, 0), [SIZE // 4])
        descriptor = self.library.ipc_export(managed)
        done = subprocess.run(
            [sys.executable, "-B", __file__, "import", descriptor.hex()],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "seen\n"), done.stderr)
        self.library.release(managed)

    def test_memory_of_a_pool_is_not_shared(self):
        address = self.driver.allocate_in_pool(SIZE, self.first)
        managed = self.library.wrap(address, (b.CUDA, 0), [SIZE // 4])
        self.rejected("UNSUPPORTED", self.library.ipc_export, managed)
        self.library.release(managed)


class Processes(WithDriver):
    def test_a_forked_child(self):
        self.library.backend_info()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self.library.pointer_info(0)
            except b.Rejected as error:
                code = 0 if error.status == "FORKED" else 2
            os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_pointer_query_creates_no_context(self):
        done = subprocess.run(
            [sys.executable, "-B", __file__, "look"], capture_output=True, text=True, check=False
        )
        self.assertEqual((done.returncode, done.stdout), (0, "no context\n"), done.stderr)


def import_and_look(descriptor):
    library, driver = b.load(), Driver()
    managed = library.ipc_import(descriptor)
    library.validate(managed.contents.dl_tensor)
    what = managed.contents.dl_tensor
    driver.make_context()
    seen = driver.read(what.data + what.byte_offset, SIZE, driver.make_stream())
    library.release(managed)
    print("seen" if seen == PATTERN else "other bytes")


def look():
    place = ctypes.create_string_buffer(64)
    library = b.load()
    library.pointer_info(ctypes.addressof(place))
    driver = Driver.__new__(Driver)
    driver._lib = ctypes.CDLL(os.environ.get("DLBRIDGE_LIBCUDA") or "libcuda.so.1")
    print("a context" if driver.has_context() else "no context")


if __name__ == "__main__":
    if sys.argv[1] == "import":
        import_and_look(bytes.fromhex(sys.argv[2]))
    else:
        look()
