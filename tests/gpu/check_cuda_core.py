# SPDX-License-Identifier: Apache-2.0
"""Buffers of cuda.core, which come from stream-ordered pools and have DLPack."""

from checks import Checks

import bindings as b

core = b.need_module("cuda.core")
SIZE = 96


class CudaCore(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        # Before its version 1 the package had its contents in `experimental`.
        package = core if hasattr(core, "Device") else b.need_module("cuda.core.experimental")
        device = package.Device(0)
        device.set_current()
        cls.stream = device.create_stream()
        cls.buffer = device.allocate(SIZE, stream=cls.stream)
        cls.stream.sync()
        cls.address = int(cls.buffer.handle)

    def test_pointer_info(self):
        info = self.library.pointer_info(self.address)
        self.measured |= {"base": info.base, "size": info.size, "context": info.context}
        self.assertEqual((info.memory, info.device.device_type), (b.Memory.DEVICE, b.CUDA[0]))

    def test_capsules(self):
        for name, options in {"legacy": {}, "versioned": {"max_version": (1, 0)}}.items():
            with self.check(f"imports a capsule, {name}") as measured:
                capsule = self.buffer.__dlpack__(**options)
                measured["capsule"] = repr(capsule)
                managed = self.library.import_capsule(capsule)
                self.assertEqual(b.address_of(managed), self.address)
                self.library.validate(managed.contents.dl_tensor)
                self.library.release(managed)

    def test_package(self):
        tensor = b.need_package().from_dlpack(self.buffer, validate="device")
        self.measured |= {"version": tensor.version, "dtype": tensor.dtype}
        self.assertEqual((tensor.device, tensor.data_ptr), ("cuda:0", self.address))
