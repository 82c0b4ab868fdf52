# SPDX-License-Identifier: Apache-2.0
"""self_overlap of dlbridge_layout against NumPy's exact solver, on random layouts up to 4 axes."""

import ctypes
import os
import pathlib
import random
import sys
import unittest

import numpy as np
from numpy._core import _multiarray_tests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from structs import DLBridgeLayout, DLTensor, sized  # noqa: E402

LAYOUTS = 30_000
NO, YES = 0, 1


def numpy_says(shape, strides):
    """NumPy's exact answer, without a limit of work. The array is never read."""
    array = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), shape, strides)
    return YES if _multiarray_tests.internal_overlap(array, max_work=-1) else NO


class Describer:
    def __init__(self, path):
        self._layout = ctypes.CDLL(path).dlbridge_layout
        self._layout.restype = ctypes.c_int32
        self._layout.argtypes = [
            ctypes.POINTER(DLTensor),
            ctypes.c_uint64,
            ctypes.POINTER(DLBridgeLayout),
            ctypes.c_void_p,
        ]

    def overlap(self, shape, strides):
        ndim = len(shape)
        extents = (ctypes.c_int64 * max(ndim, 1))(*shape)
        steps = (ctypes.c_int64 * max(ndim, 1))(*strides)
        tensor = DLTensor(data=1 << 40, ndim=ndim)
        tensor.device.device_type = 1
        tensor.dtype.bits, tensor.dtype.lanes = 8, 1
        tensor.shape, tensor.strides = extents, steps
        layout = sized(DLBridgeLayout)
        status = self._layout(tensor, 0, layout, None)
        if status != 0:
            raise AssertionError(f"status {status} for {shape}, {strides}")
        return layout.self_overlap


def random_layout(dice):
    """A random layout. Small ones overlap often; long strides and extents need a real search."""
    ndim = dice.randint(0, 4)
    most, reach = dice.choice([(5, 12), (6, 40), (12, 300), (30, 3000)])
    shape = [0 if dice.random() < 0.02 else dice.randint(1, most) for _ in range(ndim)]
    strides = [0 if dice.random() < 0.03 else dice.randint(-reach, reach) for _ in range(ndim)]
    if dice.random() < 0.25:  # nearly compact, so that both answers occur
        product = 1
        for axis in dice.sample(range(ndim), ndim):
            strides[axis] = product + dice.randint(-1, 1)
            product *= max(shape[axis], 1)
    return tuple(shape), tuple(strides)


class OverlapTest(unittest.TestCase):
    def test_agrees_with_numpys_exact_solver(self):
        describer = Describer(os.environ["DLBRIDGE_LIBRARY"])
        dice = random.Random(61)
        overlapping = 0
        for _ in range(LAYOUTS):
            shape, strides = random_layout(dice)
            expected = numpy_says(shape, strides)
            overlapping += expected
            self.assertEqual(describer.overlap(shape, strides), expected, (shape, strides))
        self.assertGreater(overlapping, LAYOUTS // 10)
        self.assertLess(overlapping, LAYOUTS * 9 // 10)


if __name__ == "__main__":
    unittest.main()
