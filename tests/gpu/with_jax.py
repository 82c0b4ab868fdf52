# SPDX-License-Identifier: Apache-2.0
"""The device functions with JAX's arrays."""

import ctypes
import unittest

import jax
import numpy

import bindings as b

try:
    DEVICES = jax.devices("cuda")
except RuntimeError:
    DEVICES = []


@unittest.skipUnless(DEVICES, "JAX finds no CUDA device")
class WithJax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = b.load()
        cls.array = jax.device_put(
            numpy.arange(120, dtype=numpy.float32).reshape(10, 12), DEVICES[0]
        )
        cls.array.block_until_ready()
        cls.address = cls.array.unsafe_buffer_pointer()

    def bare(self, shape, strides):
        return b.tensor(self.address, (b.CUDA, 0), shape, strides, (b.FLOAT, 32))

    def test_pointers(self):
        info = self.library.pointer_info(self.address)
        self.assertEqual((info.device.device_type, info.device.device_id), (b.CUDA, 0))
        self.assertEqual(info.memory, b.MEMORY_DEVICE)
        self.library.validate(self.bare([10, 12], [12, 1]))

    def test_copies(self):
        expected = numpy.asarray(self.array)
        cases = ((expected, [10, 12], [12, 1]), (expected.T, [12, 10], [1, 12]))
        for values, shape, strides in cases:
            managed = self.library.copy(self.bare(shape, strides), staging=True)
            what = managed.contents.dl_tensor
            data = ctypes.string_at(what.data + what.byte_offset, 480)
            self.assertEqual(data, numpy.ascontiguousarray(values).tobytes())
            self.library.release(managed)

    def test_round_trip(self):
        capsule = self.array.__dlpack__()
        managed = self.library.import_tensor(capsule)
        self.assertEqual(managed.contents.dl_tensor.data, self.address)
        self.library.validate(managed.contents.dl_tensor)
        self.library.release(managed)
