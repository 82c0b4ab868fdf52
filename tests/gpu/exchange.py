# SPDX-License-Identifier: Apache-2.0
"""The checks of every framework on the GPU, through the C ABI and through the Python package.

A module derives a class from Exchange and Checks and gives it a Framework.
"""

import contextlib
import threading
import time

from cuda_driver import Driver
from gate import Gates

import bindings as b

COUNT = 24
SHAPE = [4, 6]
VALUES = [float(i) for i in range(COUNT)]


class Framework:
    """What a module implements for its framework; arrays are of float32."""

    has_streams = True
    target = None  # for dlbridge.to
    permissions = {}  # for dlbridge.adapt and dlbridge.to

    def make(self):
        """An array of VALUES in SHAPE that is ready."""
        raise NotImplementedError

    def address(self, array):
        raise NotImplementedError

    def values(self, array):
        """The elements, flat, once all work is done."""
        raise NotImplementedError

    def capsules(self):
        """Functions that export an array, each with its name."""
        return {
            "__dlpack__()": lambda x: x.__dlpack__(),
            "__dlpack__(max_version=(1, 0))": lambda x: x.__dlpack__(max_version=(1, 0)),
        }

    def take(self, producer):
        """The framework's own import of an object with __dlpack__."""
        raise NotImplementedError

    def views(self, array):
        """Views with other layouts, each with its shape and its strides in elements."""
        raise NotImplementedError

    def stream(self):
        """A new stream and its handle."""
        raise NotImplementedError

    def on(self, stream):
        """A context in which work goes to a stream."""
        raise NotImplementedError

    def fill(self, array, value):
        raise NotImplementedError

    def copy(self, array):
        raise NotImplementedError


class Interface:
    """Memory by CUDA's array interface, with the stream that produces it."""

    def __init__(self, address, stream):
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": tuple(SHAPE),
            "typestr": "<f4",
            "stream": stream,
        }


class Exchange:
    """The matrix. `make_framework` skips the module where the framework has no device."""

    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        cls.framework = cls.make_framework()
        cls.array = cls.framework.make()  # makes the primary context current
        cls.driver = Driver()
        if cls.driver.current() is None:
            cls.driver.use_primary_context()

    def describe(self, array, shape=None, strides=None):
        """A borrowed tensor of an array."""
        address = self.framework.address(array)
        return b.tensor(address, b.CUDA, shape or SHAPE, strides, b.FLOATS)

    # ----------------------------------------------------------------------------------- C ABI

    def test_pointer_info(self):
        address = self.framework.address(self.array)
        for inside in (0, 4):
            info = self.library.pointer_info(address + inside)
            self.measured |= {"base": info.base, "size": info.size, "context": info.context}
            self.assertEqual((info.device.device_type, info.device.device_id), b.CUDA)
            self.assertEqual(info.memory, b.Memory.DEVICE)

    def test_labels(self):
        self.library.validate(self.describe(self.array))
        wrong = self.describe(self.array)
        wrong.device.device_type = b.DeviceType.CPU
        with self.assertRaises(b.Rejected) as caught:
            self.library.validate(wrong)
        self.assertEqual(caught.exception.rule, "DEVICE_LABEL")

    def test_capsules(self):
        for name, export in self.framework.capsules().items():
            with self.check(f"imports the capsule of {name}") as measured:
                try:
                    capsule = export(self.array)
                except TypeError as error:
                    self.skipTest(str(error))
                measured["capsule"] = repr(capsule)
                managed = self.library.import_capsule(capsule)
                self.assertEqual(b.address_of(managed), self.framework.address(self.array))
                self.library.validate(managed.contents.dl_tensor)
                self.library.release(managed)

    def test_consumer(self):
        """The framework takes a wrapped pointer and releases it once."""
        array = self.framework.make()
        producer = b.Producer(self.library, self.framework.address(array), SHAPE)
        taken = self.framework.take(producer)
        self.measured |= {"kinds": producer.kinds, "streams": producer.streams}
        self.assertEqual(self.framework.address(taken), self.framework.address(array))
        self.assertEqual(self.framework.values(taken), VALUES)
        self.assertEqual(producer.released, [])
        del taken
        for _ in range(100):
            self.settle()
            if producer.released:
                break
            time.sleep(0.02)
        self.assertEqual(len(producer.released), 1)

    def settle(self):
        """Makes the framework release foreign tensors that it has kept."""

    def test_copies_to_the_host(self):
        for name, (view, shape, strides) in self.framework.views(self.array).items():
            with self.check(f"copies to the host: {name}"):
                what = self.describe(view, shape, strides)
                managed = self.library.copy(what, staging=True)
                found = list(memoryview(b.content(managed)).cast("f"))
                self.library.release(managed)
                self.assertEqual(found, self.framework.values(view))

    # --------------------------------------------------------------------------------- package

    def test_package_imports(self):
        dlbridge = b.need_package()
        tensor = dlbridge.from_dlpack(self.array, validate="device")
        self.measured |= {"version": tensor.version, "flags": tensor.flags}
        self.assertEqual((tensor.device, list(tensor.shape)), ("cuda:0", SHAPE))
        self.assertEqual(tensor.data_ptr + tensor.byte_offset, self.framework.address(self.array))
        self.assertEqual(memoryview(tensor.copy(device="cpu")).cast("B").cast("f").tolist(), VALUES)

    def test_package_round_trip(self):
        """from_dlpack of the package, and its tensor taken by the framework."""
        dlbridge = b.need_package()
        tensor = dlbridge.from_dlpack(self.array)
        taken = self.framework.take(dlbridge.adapt(tensor, **self.framework.permissions))
        self.assertEqual(self.framework.address(taken), self.framework.address(self.array))
        self.assertEqual(self.framework.values(taken), VALUES)

    def test_package_to(self):
        dlbridge = b.need_package()
        if self.framework.target is None:
            self.skipTest("dlbridge.to does not know the framework")
        taken = dlbridge.to(self.array, self.framework.target, **self.framework.permissions)
        self.measured["type"] = repr(type(taken))
        self.assertEqual(self.framework.values(taken), VALUES)

    def test_exchange_table(self):
        """The table of the C exchange API that cpython_api.h finds on the type."""
        b.need_package()
        from dlbridge import _core

        self.measured["versions"] = _core.exchange_versions(type(self.array))

    # --------------------------------------------------------------------------------- streams

    @contextlib.contextmanager
    def gated(self):
        """An array that a producer's stream fills with 7 once the gate is open."""
        if not self.framework.has_streams:
            self.skipTest("the framework has no streams that a caller chooses")
        gates = Gates(self.driver)
        array = self.framework.make()
        producer, handle = self.framework.stream()
        consumer, other = self.framework.stream()
        # The first call of each kind may wait for the device.
        with self.framework.on(producer):
            self.framework.fill(array, 1.0)
        with self.framework.on(consumer):
            self.framework.values(self.framework.copy(array))
        gate = gates.close(handle)
        try:
            with self.framework.on(producer):
                self.framework.fill(array, 7.0)
            yield array, gate, (producer, handle), (consumer, other)
        finally:
            gate.open()

    def consume(self, array, gate, consumer):
        """What the consumer's stream reads."""
        with self.framework.on(consumer):
            copied = self.framework.copy(array)
            self.assertTrue(gate.held(), "the host waited for the producer")
            gate.open()
            found = self.framework.values(copied)
        self.assertEqual(found, [7.0] * COUNT)

    def test_handoff(self):
        with self.gated() as (array, gate, producer, consumer):
            self.library.handoff(b.stream_of(producer[1]), b.stream_of(consumer[1]))
            self.consume(array, gate, consumer[0])

    def test_package_orders_its_consumer(self):
        """from_dlpack(stream=) orders the framework's current stream before the consumer's."""
        dlbridge = b.need_package()
        with self.gated() as (array, gate, producer, consumer):
            with self.framework.on(producer[0]):
                tensor = dlbridge.from_dlpack(array, stream=consumer[1])
            self.consume(array, gate, consumer[0])
            del tensor

    def test_package_orders_its_producer(self):
        """A tensor of the producer's stream, taken by the framework on another stream."""
        dlbridge = b.need_package()
        with self.gated() as (array, gate, producer, consumer):
            tensor = self.made_late(dlbridge, array, producer)
            with self.framework.on(consumer[0]):
                taken = self.framework.take(tensor)
            self.consume(taken, gate, consumer[0])

    def made_late(self, dlbridge, array, producer):
        """A tensor whose work is on the producer's stream."""
        source = Interface(self.framework.address(array), producer[1])
        return dlbridge.from_interface(source, stream=producer[1])

    def test_package_to_orders_its_producer(self):
        """`to` makes an array for the stream that the framework works on."""
        dlbridge = b.need_package()
        if self.framework.target is None:
            self.skipTest("dlbridge.to does not know the framework")
        with self.gated() as (array, gate, producer, consumer):
            tensor = self.made_late(dlbridge, array, producer)
            with self.framework.on(consumer[0]):
                taken = dlbridge.to(tensor, self.framework.target)
            self.consume(taken, gate, consumer[0])

    def test_package_adapt_orders_its_producer(self):
        dlbridge = b.need_package()
        with self.gated() as (array, gate, producer, consumer):
            tensor = self.made_late(dlbridge, array, producer)
            with self.framework.on(consumer[0]):
                taken = self.framework.take(dlbridge.adapt(tensor))
            self.consume(taken, gate, consumer[0])

    def test_package_imports_its_own_tensor(self):
        dlbridge = b.need_package()
        with self.gated() as (array, gate, producer, consumer):
            tensor = dlbridge.from_dlpack(
                self.made_late(dlbridge, array, producer), stream=consumer[1]
            )
            self.consume(array, gate, consumer[0])
            del tensor

    def test_package_copies_after_the_producer(self):
        """Copies to the host wait for the producer's work."""
        dlbridge = b.need_package()

        def imported(array, producer):
            with self.framework.on(producer[0]):
                return dlbridge.from_dlpack(array, device="cpu")

        def of_a_stream(array, producer):
            return self.made_late(dlbridge, array, producer).copy(device="cpu")

        def on_its_device(array, producer):
            with self.framework.on(producer[0]):
                tensor = dlbridge.from_dlpack(array, device="cuda:0")
            return tensor.copy(device="cpu")

        def exported(array, producer):
            tensor = self.made_late(dlbridge, array, producer)
            return dlbridge.from_dlpack(tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))

        for way in (imported, of_a_stream, on_its_device, exported):
            name = f"copies after the producer, {way.__name__}"
            with self.check(name), self.gated() as (array, gate, producer, _):
                timer = threading.Timer(0.1, gate.open)
                timer.start()
                found = memoryview(way(array, producer)).cast("B").cast("f").tolist()
                timer.join()
                self.assertEqual(found, [7.0] * COUNT)
