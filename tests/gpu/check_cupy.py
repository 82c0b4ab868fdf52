# SPDX-License-Identifier: Apache-2.0
"""CuPy's arrays and streams, through the C ABI and through the Python package."""

from unittest import SkipTest

from checks import Checks
from exchange import COUNT, SHAPE, Exchange, Framework

import bindings as b

cupy = b.need_module("cupy")


class Cupy(Framework):
    target = "cupy"

    def make(self):
        array = cupy.arange(COUNT, dtype=cupy.float32).reshape(SHAPE)
        cupy.cuda.Device().synchronize()
        return array

    def address(self, array):
        return array.data.ptr

    def values(self, array):
        return array.get().ravel().tolist()

    def capsules(self):
        # toDlpack makes versioned capsules since CuPy 14.
        return super().capsules() | {"toDlpack": lambda x: x.toDlpack()}

    def take(self, producer):
        return cupy.from_dlpack(producer)

    def views(self, array):
        views = {"whole": array, "columns": array[:, 1:3], "transposed": array.T}
        return {
            name: (view, list(view.shape), [stride // 4 for stride in view.strides])
            for name, view in views.items()
        }

    def stream(self):
        stream = cupy.cuda.Stream(non_blocking=True)
        return stream, stream.ptr

    def on(self, stream):
        return stream

    def fill(self, array, value):
        array.fill(value)

    def copy(self, array):
        return array.copy()


class WithCupy(Exchange, Checks):
    @classmethod
    def make_framework(cls):
        if not cupy.cuda.is_available():
            raise SkipTest("cupy finds no CUDA device")
        return Cupy()

    def test_managed_and_pinned_memory(self):
        managed = cupy.cuda.malloc_managed(4096)
        info = self.library.pointer_info(managed.ptr)
        self.assertEqual((info.device.device_type, info.memory), (b.MANAGED[0], b.Memory.MANAGED))
        pinned = cupy.cuda.alloc_pinned_memory(4096)
        info = self.library.pointer_info(pinned.ptr)
        self.assertEqual((info.device.device_type, info.memory), (b.PINNED[0], b.Memory.PINNED))

    def test_memory_of_an_asynchronous_pool(self):
        pool = cupy.cuda.MemoryAsyncPool()
        memory = pool.malloc(4096)
        info = self.library.pointer_info(memory.ptr)
        self.measured |= {"base": info.base, "size": info.size, "context": info.context}
        self.assertEqual((info.device.device_type, info.memory), (b.CUDA[0], b.Memory.DEVICE))
