# SPDX-License-Identifier: Apache-2.0
"""JAX's arrays, through the C ABI and through the Python package."""

from unittest import SkipTest

from checks import Checks
from exchange import COUNT, SHAPE, Exchange, Framework

import bindings as b

jax = b.need_module("jax")
numpy = b.need_module("numpy")


class Jax(Framework):
    has_streams = False
    target = "jax"
    # JAX's arrays are immutable, and JAX never writes to imported ones.
    permissions = {"readonly": "drop"}

    def __init__(self, device):
        self._device = device

    def make(self):
        values = numpy.arange(COUNT, dtype=numpy.float32).reshape(SHAPE)
        return jax.device_put(values, self._device).block_until_ready()

    def address(self, array):
        return array.unsafe_buffer_pointer()

    def values(self, array):
        return numpy.asarray(array).ravel().tolist()

    def take(self, producer):
        return jax.dlpack.from_dlpack(producer)

    def views(self, array):
        return {"whole": (array, SHAPE, [SHAPE[1], 1])}


class WithJax(Exchange, Checks):
    @classmethod
    def make_framework(cls):
        try:
            return Jax(jax.devices("cuda")[0])
        except RuntimeError as error:
            raise SkipTest(f"jax finds no CUDA device: {error}") from error

    def settle(self):
        jax.numpy.zeros(1, device=self.framework._device).block_until_ready()

    def test_transposed(self):
        """A copy from strides that JAX cannot describe: the memory of its array, transposed."""
        what = self.describe(self.array, SHAPE[::-1], [1, SHAPE[1]])
        managed = self.library.copy(what, staging=True)
        found = list(memoryview(b.content(managed)).cast("f"))
        self.library.release(managed)
        expected = numpy.asarray(self.array).T.ravel().tolist()
        self.assertEqual(found, expected)
