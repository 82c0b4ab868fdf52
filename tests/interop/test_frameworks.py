# SPDX-License-Identifier: Apache-2.0
"""Real capsules imported, copied and downgraded by dlbridge, and imported again."""

import functools
import gc
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/demo"))

import frameworks  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
import tvm_ffi  # noqa: E402
from bridge import (  # noqa: E402
    COPY,
    DROP_READ_ONLY,
    VOUCH_WRITABLE,
    Export,
    Handover,
    Library,
    Rejected,
)
from capsules import IS_COPIED, READ_ONLY, look, release, wrap  # noqa: E402
from frameworks import JAX, NUMPY, ONNX, TENSORFLOW, VALUES, address  # noqa: E402

PRODUCERS = [NUMPY, JAX, TENSORFLOW, ONNX]


def with_each_producer(test):
    @functools.wraps(test)
    def run(self):
        for producer in PRODUCERS:
            with self.subTest(producer.name):
                test(self, producer, producer.make())
            frameworks.settle()

    return run


def import_numpy(tensor):
    return np.from_dlpack(Handover(wrap(tensor)))


def where(array):
    return array.__array_interface__["data"][0]


class FrameworksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = Library(os.environ["DLBRIDGE_LIBRARY"])

    @with_each_producer
    def test_unknown_writability_is_read_only(self, producer, value):
        tensor = self.library.take(producer.export(value))
        self.assertEqual(tensor.flags, READ_ONLY)
        self.assertEqual((tensor.version.major, tensor.version.minor), (1, 3))
        array = import_numpy(tensor)
        self.assertFalse(array.flags.writeable)
        np.testing.assert_array_equal(array, VALUES)

    @with_each_producer
    def test_a_caller_may_vouch(self, producer, value):
        tensor = self.library.take(producer.export(value), VOUCH_WRITABLE)
        self.assertEqual(tensor.flags, 0)
        self.assertTrue(import_numpy(tensor).flags.writeable)

    @with_each_producer
    def test_nothing_is_copied(self, producer, value):
        capsule = producer.export(value)
        before = address(look(capsule))
        array = import_numpy(self.library.take(capsule))
        self.assertEqual(where(array), before)

    @with_each_producer
    def test_a_copy_says_so_and_may_be_written_to(self, producer, value):
        capsule = producer.export(value)
        before = address(look(capsule))
        tensor = self.library.take(capsule, COPY)
        self.assertEqual(tensor.flags, IS_COPIED)
        array = import_numpy(tensor)
        self.assertNotEqual(where(array), before)
        self.assertTrue(array.flags.writeable)
        array[:] = -1
        np.testing.assert_array_equal(producer.values(value), VALUES)

    @with_each_producer
    def test_tvm_ffi_imports_what_was_upgraded(self, producer, value):
        capsule = producer.export(value)
        before = address(look(capsule))
        taken = tvm_ffi.from_dlpack(wrap(self.library.take(capsule)))
        self.assertEqual(taken.data_ptr(), before)
        np.testing.assert_array_equal(np.from_dlpack(taken), VALUES)

    def test_a_read_only_array_is_imported_as_such(self):
        frozen = VALUES.copy()
        frozen.flags.writeable = False
        capsule = frozen.__dlpack__(max_version=(1, 3))
        tensor = self.library.take(capsule, VOUCH_WRITABLE)
        self.assertEqual(tensor.flags, READ_ONLY)
        self.assertFalse(import_numpy(tensor).flags.writeable)

    def test_a_read_only_array_is_not_downgraded_in_silence(self):
        frozen = VALUES.copy()
        frozen.flags.writeable = False
        tensor = self.library.take(frozen.__dlpack__(max_version=(1, 3)))
        with self.assertRaises(Rejected) as rejected:
            self.library.downgrade(tensor)
        self.assertEqual(rejected.exception.status, "UNREPRESENTABLE")
        self.assertEqual(rejected.exception.rule, "LEGACY_READ_ONLY")
        legacy = self.library.downgrade(tensor, DROP_READ_ONLY)
        again = self.library.upgrade(legacy, VOUCH_WRITABLE)
        self.assertEqual(again.flags & READ_ONLY, READ_ONLY)
        release(again)

    def test_jax_imports_a_read_only_numpy_array_by_way_of_a_downgrade(self):
        frozen = frameworks.aligned_values()
        frozen.flags.writeable = False
        tensor = self.library.take(frozen.__dlpack__(max_version=(1, 3)))
        taken = jax.dlpack.from_dlpack(Export(self.library, tensor, DROP_READ_ONLY))
        np.testing.assert_array_equal(np.array(taken), VALUES)

    def test_a_round_trip_hands_the_original_back(self):
        original = look(capsule := np.zeros(3).__dlpack__(max_version=(1, 3)))
        before = address(original)
        legacy = self.library.downgrade(original)
        again = self.library.upgrade(legacy)
        self.assertEqual(address(again), before)
        self.assertEqual(again.manager_ctx, original.manager_ctx)
        del again, original
        del capsule  # the capsule owns it again, and its destructor releases it

    def test_the_producers_tensor_lives_as_long_as_its_last_owner(self):
        array = VALUES.copy()
        references = sys.getrefcount(array)
        taken = import_numpy(self.library.take(array.__dlpack__()))
        self.assertEqual(sys.getrefcount(array), references + 1)
        view = taken[1:]
        del taken
        self.assertEqual(sys.getrefcount(array), references + 1)
        del view
        gc.collect()
        self.assertEqual(sys.getrefcount(array), references)

    def test_negative_strides_arrive(self):
        array = VALUES[::-1, ::-1]
        taken = import_numpy(self.library.take(array.__dlpack__()))
        np.testing.assert_array_equal(taken, array)
        self.assertEqual(taken.strides, array.strides)

    def test_a_copy_of_negative_strides_is_compact(self):
        array = VALUES[::-1, ::-1]
        taken = import_numpy(self.library.take(array.__dlpack__(), COPY))
        np.testing.assert_array_equal(taken, array)
        self.assertTrue(taken.flags.c_contiguous)


if __name__ == "__main__":
    unittest.main()
