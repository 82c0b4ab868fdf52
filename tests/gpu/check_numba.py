# SPDX-License-Identifier: Apache-2.0
"""Numba's device arrays, which have CUDA's array interface but no DLPack."""

from unittest import SkipTest

from checks import Checks

import bindings as b

b.need_module("numba")
numpy, cuda = b.need_module("numpy"), b.need_module("numba.cuda")


class Numba(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        if not cuda.is_available():
            raise SkipTest("numba finds no CUDA device")
        cls.values = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
        cls.array = cuda.to_device(cls.values)
        cuda.synchronize()
        cls.address = cls.array.__cuda_array_interface__["data"][0]

    def test_pointer_info(self):
        info = self.library.pointer_info(self.address)
        self.assertEqual((info.memory, info.device.device_type), (b.Memory.DEVICE, b.CUDA[0]))

    def test_package(self):
        dlbridge = b.need_package()
        tensor = dlbridge.from_interface(self.array, validate="device")
        self.assertEqual((tensor.device, tensor.data_ptr), ("cuda:0", self.address))
        found = memoryview(tensor.copy(device="cpu")).tobytes()
        self.assertEqual(found, self.values.tobytes())

    def test_consumer(self):
        """Numba takes a pointer that the library copied from."""
        view = cuda.from_cuda_array_interface(self.array.__cuda_array_interface__)
        managed = self.library.copy(b.tensor(self.address, b.CUDA, [4, 6], None, b.FLOATS))
        self.assertEqual(b.content(managed), view.copy_to_host().tobytes())
        self.library.release(managed)
