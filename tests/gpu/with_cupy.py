# SPDX-License-Identifier: Apache-2.0
"""The device functions with CuPy's arrays and streams."""

import ctypes
import unittest

import cupy
import numpy

import bindings as b

try:
    COUNT = cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    COUNT = 0

WAIT = r"""
extern "C" __global__ void wait_and_write(float* x, int n, long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
  for (int i = 0; i < n; ++i) x[i] = 7.0f;
}
"""


def bare(x):
    strides = [stride // x.itemsize for stride in x.strides]
    return b.tensor(x.data.ptr, (b.CUDA, x.device.id), list(x.shape), strides, (b.FLOAT, 32))


def floats(managed):
    what = managed.contents.dl_tensor
    shape = [what.shape[axis] for axis in range(what.ndim)]
    data = ctypes.string_at(what.data + what.byte_offset, 4 * int(numpy.prod(shape)))
    return numpy.frombuffer(data, dtype=numpy.float32).reshape(shape)


@unittest.skipUnless(COUNT, "CuPy finds no CUDA device")
class WithCupy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = b.load()

    def test_pointers(self):
        x = cupy.arange(1000, dtype=cupy.float32)
        info = self.library.pointer_info(x[5:].data.ptr)
        self.assertEqual((info.device.device_type, info.memory), (b.CUDA, b.MEMORY_DEVICE))
        self.library.validate(bare(x))
        managed = cupy.cuda.malloc_managed(4096)
        info = self.library.pointer_info(managed.ptr)
        self.assertEqual((info.device.device_type, info.memory), (b.CUDA_MANAGED, b.MEMORY_MANAGED))
        pinned = cupy.cuda.alloc_pinned_memory(4096)
        info = self.library.pointer_info(pinned.ptr)
        self.assertEqual((info.device.device_type, info.memory), (b.CUDA_HOST, b.MEMORY_PINNED))

    def test_the_consumer_waits_for_the_producer(self):
        kernel = cupy.RawKernel(WAIT, "wait_and_write")
        producer = cupy.cuda.Stream(non_blocking=True)
        consumer = cupy.cuda.Stream(non_blocking=True)
        x = cupy.zeros(1000, dtype=cupy.float32)
        kernel.compile()
        cupy.cuda.Device().synchronize()
        with producer:
            kernel((1,), (1,), (x, numpy.int32(1000), numpy.int64(200_000_000)))
        self.library.handoff(b.stream(producer.ptr), b.stream(consumer.ptr))
        self.assertFalse(producer.done, "the host waited")
        with consumer:
            y = x.copy()
        consumer.synchronize()
        self.assertTrue(bool((y == 7.0).all()))

    def test_copies(self):
        x = cupy.arange(120, dtype=cupy.float32).reshape(4, 5, 6)
        cupy.cuda.Device().synchronize()
        for view in (x, x[:, 1:3], x.transpose(2, 0, 1)):
            managed = self.library.copy(bare(view), staging=True)
            self.assertTrue((floats(managed) == view.get()).all())
            self.library.release(managed)

    def test_round_trip(self):
        x = cupy.arange(24, dtype=cupy.float32)
        capsule = self.library.wrap_legacy(x.data.ptr, (b.CUDA, 0), [4, 6])
        y = cupy.fromDlpack(capsule)
        self.assertEqual(y.data.ptr, x.data.ptr)
        self.assertEqual(y.shape, (4, 6))
        managed = self.library.import_tensor(y.toDlpack())
        self.assertEqual(managed.contents.dl_tensor.data, x.data.ptr)
        self.library.release(managed)
