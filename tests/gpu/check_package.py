# SPDX-License-Identifier: Apache-2.0
"""The Python package, so cpython_api.h and a second copy of the library, without a framework."""

import subprocess
import sys

from checks import Checks
from cuda_driver import Driver
from exchange import Interface
from gate import Gates

import bindings as b

SHAPE = [4, 6]
SIZE = 4 * 24
OLD, NEW = bytes(SIZE), bytes(range(1, SIZE + 1))


class Package(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        cls.dlbridge = b.need_package()
        cls.driver = Driver()
        cls.driver.use_primary_context()
        cls.stream, cls.other = cls.driver.make_stream(), cls.driver.make_stream()
        cls.new = cls.filled(NEW)

    @classmethod
    def filled(cls, data):
        address = cls.driver.allocate(len(data))
        cls.driver.write(address, data, cls.stream)
        cls.driver.synchronize(cls.stream)
        return address

    def producer(self, **options):
        return b.Producer(self.library, self.new, SHAPE, **options)

    def on_host(self, tensor):
        return memoryview(tensor.copy(device="cpu")).tobytes()

    def test_library(self):
        from dlbridge import abi

        self.measured |= {"file": abi.library_file(), "version": abi.version_string()}
        info = abi.backend_info(abi.Backend.CUDA)
        self.measured["info"] = str(info)

    def test_doctor(self):
        command = (sys.executable, "-B", "-m", "dlbridge", "doctor")
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
        self.measured |= {"status": done.returncode, "output": done.stdout}
        print(done.stderr, file=sys.stderr)

    def test_levels(self):
        for level in ("none", "struct", "metadata", "device"):
            with self.check(f"from_dlpack(validate={level!r})") as measured:
                producer = self.producer()
                tensor = self.dlbridge.from_dlpack(producer, validate=level)
                measured |= {"kinds": producer.kinds, "streams": producer.streams}
                self.assertEqual((tensor.device, tensor.data_ptr), ("cuda:0", self.new))
                self.assertEqual(self.on_host(tensor), NEW)
                del tensor
                self.assertEqual(len(producer.released), 1)

    def test_a_wrong_label(self):
        host = b.Producer(self.library, id(self), [1])
        with self.assertRaises(BufferError) as caught:
            self.dlbridge.from_dlpack(host, validate="device")
        self.measured["rule"] = caught.exception.rule
        self.assertEqual(caught.exception.rule, "DEVICE_LABEL")

    def test_export(self):
        """The tensor's own capsule, imported by the C ABI of the other copy of the library."""
        tensor = self.dlbridge.from_dlpack(self.producer())
        for name, options in {"legacy": {}, "versioned": {"max_version": (1, 0)}}.items():
            with self.check(f"export, {name}"):
                managed = self.library.import_capsule(tensor.__dlpack__(**options))
                self.assertEqual(b.address_of(managed), self.new)
                self.library.validate(managed.contents.dl_tensor)
                self.library.release(managed)

    def test_interface(self):
        tensor = self.dlbridge.from_interface(Interface(self.new, self.stream))
        self.assertEqual((tensor.device, self.on_host(tensor)), ("cuda:0", NEW))

    # ---------------------------------------------------------------------------------- streams

    def gated(self):
        """Memory that gets the new bytes on the first stream, once the gate is open."""
        address, target = self.filled(OLD), self.filled(OLD)
        gates = Gates(self.driver)
        gate = gates.close(self.stream)
        self.addCleanup(gate.open)
        self.driver.copy_on_device(address, self.new, SIZE, self.stream)
        return gate, address, target

    def read_on_the_other(self, gate, address, target):
        self.driver.copy_on_device(target, address, SIZE, self.other)
        self.assertTrue(gate.held(), "the host waited for the producer")
        gate.open()
        self.assertEqual(self.driver.read(target, SIZE, self.other), NEW)

    def test_the_producer_orders_the_consumer(self):
        gate, address, target = self.gated()
        queue = b.stream_of(self.stream)
        producer = b.Producer(self.library, address, SHAPE, queue=queue)
        tensor = self.dlbridge.from_dlpack(producer, stream=self.other)
        self.measured["streams"] = producer.streams
        self.assertEqual(producer.streams, [self.other])
        self.read_on_the_other(gate, tensor.data_ptr, target)

    def test_the_package_orders_the_consumer(self):
        gate, address, target = self.gated()
        source = Interface(address, self.stream)
        tensor = self.dlbridge.from_interface(source, stream=self.stream, device="cuda:0")
        capsule = tensor.__dlpack__(stream=self.other, max_version=(1, 0))
        managed = self.library.import_capsule(capsule)
        self.read_on_the_other(gate, b.address_of(managed), target)
        self.library.release(managed)

    def test_the_interface_orders_the_consumer(self):
        gate, address, target = self.gated()
        source = Interface(address, self.stream)
        tensor = self.dlbridge.from_interface(source, stream=self.other, device="cuda:0")
        self.read_on_the_other(gate, tensor.data_ptr, target)
