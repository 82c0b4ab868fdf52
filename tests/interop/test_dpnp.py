# SPDX-License-Identifier: Apache-2.0
"""Real kDLOneAPI tensors: dpnp's arrays on SYCL's OpenCL device, with SYCL's context registered."""

import ctypes
import os
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/demo"))

from bridge import VOUCH_WRITABLE, Handover, Library, Rejected  # noqa: E402
from capsules import DLDevice, DLTensor, look, release, wrap  # noqa: E402
from dpnp_driver import COPY_ALLOW_STAGING, CPU, MEMORY, ONEAPI, Devices, Sycl, use_intel_driver  # noqa: E402

if not use_intel_driver():
    print("skipped: this Python has no intel-opencl-rt (tests/interop/requirements-dpnp.txt)")
    sys.exit(77)

import dpctl  # noqa: E402
import dpnp  # noqa: E402
import numpy as np  # noqa: E402

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6)
SIZE = VALUES.nbytes


class OnOneApi(Handover):
    """A capsule and its device."""

    def __init__(self, capsule, device):
        super().__init__(capsule)
        self._device = device

    def __dlpack_device__(self):
        return self._device


def make(usm_type="device"):
    return dpnp.array(VALUES, usm_type=usm_type)


def copy_of(tensor, **changes):
    """A tensor that shares another tensor's fields, except for the changes."""
    bare = DLTensor.from_buffer_copy(tensor)
    for name, value in changes.items():
        setattr(bare, name, value)
    return bare


def random_view(chance):
    """A view of a new array, most with steps, cut, backwards or transposed."""
    shape = [chance.randint(1, 9) for _ in range(chance.randint(1, 4))]
    dtype = chance.choice([np.uint8, np.int16, np.float32, np.float64])
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    array = dpnp.array(values, usm_type=chance.choice(["device", "shared", "host"]))
    parts = [
        slice(chance.randrange(extent), extent, chance.choice([1, 1, 2, 3]))
        if chance.random() < 0.7
        else slice(None, None, -1)
        for extent in shape
    ]
    return array[tuple(parts)].transpose(*chance.sample(range(len(shape)), len(shape)))


class DpnpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = os.environ["DLBRIDGE_LIBRARY"]
        cls.library = Library(path)
        cls.devices = Devices(path)
        cls.sycl = Sycl()
        array = make()
        cls.queue = array.sycl_queue
        cls.label = array.__dlpack_device__()
        cls.device = DLDevice(int(cls.label[0]), int(cls.label[1]))
        cls.context = cls.sycl.context(cls.queue.sycl_context)
        cls.native = cls.sycl.device(cls.queue.sycl_device)

    def setUp(self):
        self.entry = self.devices.register(
            self.device, self.native, self.context, self.sycl.queue(self.queue)
        )

    def tearDown(self):
        if self.entry is not None:
            self.devices.unregister(self.entry)

    def forget(self):
        self.devices.unregister(self.entry)
        self.entry = None

    def rejection_of(self, call, *arguments):
        with self.assertRaises(Rejected) as rejected:
            call(*arguments)
        return rejected.exception

    def test_arrays_are_labelled_one_api(self):
        self.assertEqual(self.device.device_type, ONEAPI)

    def test_the_table_has_sycls_context(self):
        entry = self.devices.find(self.device)
        self.assertEqual(entry.context, self.context)
        self.assertEqual(entry.native_device, self.native)
        self.assertEqual(entry.id, self.entry)

    def test_usm_is_found_by_that_context(self):
        for usm_type in ("device", "shared", "host"):
            with self.subTest(usm_type):
                array = make(usm_type)
                tensor = look(capsule := array.__dlpack__()).dl_tensor
                for offset in (0, 1, SIZE - 1):
                    info = self.devices.pointer_info(tensor.data + offset, self.device)
                    self.assertEqual(MEMORY[info.memory], f"USM_{usm_type.upper()}")
                    self.assertEqual(info.base, tensor.data)
                    self.assertEqual(info.size, SIZE)
                    self.assertEqual(info.context, self.context)
                    self.assertEqual(info.device.device_type, ONEAPI)
                    self.assertEqual(info.device.device_id, self.device.device_id)
                    self.assertEqual(info.properties, 0)
                info = self.devices.pointer_info(tensor.data + SIZE, self.device)
                self.assertEqual(MEMORY[info.memory], "HOST")
                del capsule

    def test_nobody_knows_usm_whose_context_is_not_registered(self):
        self.forget()
        tensor = look(capsule := make().__dlpack__()).dl_tensor
        info = self.devices.pointer_info(tensor.data, self.device)
        self.assertEqual(MEMORY[info.memory], "HOST")
        rejection = self.rejection_of(self.devices.validate, tensor)
        self.assertEqual(rejection.rule, "DEVICE_LABEL")
        del capsule

    def test_both_capsules_are_where_they_say(self):
        for version in (None, (1, 0)):
            with self.subTest(version):
                array = make()
                capsule = array.__dlpack__(max_version=version)
                tensor = look(capsule).dl_tensor
                self.assertEqual(tensor.device.device_id, self.device.device_id)
                self.devices.validate(tensor)
                view = array[1:, ::2]
                inner = look(part := view.__dlpack__(max_version=version)).dl_tensor
                self.devices.validate(inner)
                del part

    def test_a_lie_in_the_label_is_rejected(self):
        tensor = look(capsule := make().__dlpack__()).dl_tensor
        rejection = self.rejection_of(
            self.devices.validate, copy_of(tensor, device=DLDevice(CPU, 0))
        )
        self.assertEqual(rejection.rule, "DEVICE_LABEL")
        self.assertIn("cpu", str(rejection))
        self.assertIn(f"oneapi:{self.device.device_id}", str(rejection))
        host = VALUES.copy()
        rejection = self.rejection_of(self.devices.validate, copy_of(tensor, data=host.ctypes.data))
        self.assertEqual(rejection.rule, "DEVICE_LABEL")
        self.assertIn("unregistered host memory", str(rejection))
        del capsule

    def test_an_extent_that_leaves_the_allocation_is_rejected(self):
        array = make()
        tensor = look(capsule := array.__dlpack__()).dl_tensor
        for change in ({"data": tensor.data + 4}, {"byte_offset": 4}):
            rejection = self.rejection_of(self.devices.validate, copy_of(tensor, **change))
            self.assertEqual(rejection.rule, "ALLOCATION_BOUNDS")
        del capsule

    def test_an_upgraded_array_is_imported_again(self):
        array = make()
        tensor = self.library.take(array.__dlpack__(), VOUCH_WRITABLE)
        self.assertEqual(tensor.dl_tensor.device.device_type, ONEAPI)
        self.devices.validate(tensor.dl_tensor, tensor.flags)
        again = dpnp.from_dlpack(OnOneApi(wrap(tensor), self.label))
        np.testing.assert_array_equal(dpnp.asnumpy(again), VALUES)
        again[0, 0] = 77
        self.assertEqual(float(array[0, 0]), 77.0)

    def test_a_downgraded_array_is_imported_again(self):
        tensor = self.library.take(make().__dlpack__(max_version=(1, 0)))
        legacy = self.library.downgrade(tensor)
        self.devices.validate(legacy.dl_tensor)
        again = dpnp.from_dlpack(OnOneApi(wrap(legacy), self.label))
        np.testing.assert_array_equal(dpnp.asnumpy(again), VALUES)

    def test_a_round_trip_releases_the_array(self):
        array = make()
        before = sys.getrefcount(array)
        release(self.library.take(array.__dlpack__()))
        self.assertEqual(sys.getrefcount(array), before)

    def views_of(self, array):
        """Layouts that driver copies of runs and rectangles can express."""
        return {
            "whole": array,
            "rows": array[1:3],
            "columns": array[:, ::2],
            "a rectangle": array[1:, 2:5],
            "transposed": array.T,
            "backwards": array[::-1, ::-1],
        }

    def test_arrays_are_copied_to_the_host(self):
        for usm_type in ("device", "shared", "host"):
            views = self.views_of(array := make(usm_type))
            views["a broadcast"] = dpnp.broadcast_to(array[2], (3, 6))
            for name, view in views.items():
                for queue in (None, self.sycl.queue(self.queue)):
                    with self.subTest(name, usm_type=usm_type, queue=queue is not None):
                        self.queue.wait()
                        tensor = look(capsule := view.__dlpack__()).dl_tensor
                        copied = self.devices.copy(tensor, queue)
                        seen = np.from_dlpack(OnOneApi(wrap(copied), (CPU, 0)))
                        np.testing.assert_array_equal(seen, dpnp.asnumpy(view))
                        del capsule

    def test_host_memory_is_copied_to_arrays(self):
        for name, view in self.views_of(VALUES).items():
            for queue in (None, self.sycl.queue(self.queue)):
                with self.subTest(name, queue=queue is not None):
                    array = dpnp.zeros(view.shape, dtype=dpnp.float32)
                    self.queue.wait()
                    target = look(capsule := array.__dlpack__()).dl_tensor
                    source = look(host := view.__dlpack__()).dl_tensor
                    release(self.devices.copy(source, queue, target))
                    np.testing.assert_array_equal(dpnp.asnumpy(array), view)
                    del capsule, host

    def test_arrays_are_copied_to_arrays(self):
        for name, view in self.views_of(make()).items():
            with self.subTest(name):
                array = dpnp.zeros(view.shape, dtype=dpnp.float32)
                self.queue.wait()
                target = look(capsule := array.__dlpack__()).dl_tensor
                source = look(other := view.__dlpack__()).dl_tensor
                release(self.devices.copy(source, self.sycl.queue(self.queue), target))
                np.testing.assert_array_equal(dpnp.asnumpy(array), dpnp.asnumpy(view))
                del capsule, other

    def test_a_copy_comes_behind_the_work_of_sycls_queue(self):
        for count in range(1, 6):
            array = dpnp.full(1 << 20, count, dtype=dpnp.float32)
            array = array * 2 + 1
            tensor = look(capsule := array.__dlpack__()).dl_tensor
            copied = self.devices.copy(tensor, self.sycl.queue(self.queue))
            seen = np.from_dlpack(OnOneApi(wrap(copied), (CPU, 0)))
            np.testing.assert_array_equal(seen, 2 * count + 1)
            del capsule

    def test_many_elements_backwards_need_the_host(self):
        array = dpnp.arange(5000, dtype=dpnp.float32)
        self.queue.wait()
        tensor = look(capsule := array[::-1].__dlpack__()).dl_tensor
        rejection = self.rejection_of(self.devices.copy, tensor)
        self.assertEqual(rejection.status, "UNSUPPORTED")
        copied = self.devices.copy(tensor, options=COPY_ALLOW_STAGING)
        seen = np.from_dlpack(OnOneApi(wrap(copied), (CPU, 0)))
        np.testing.assert_array_equal(seen, np.arange(5000, dtype=np.float32)[::-1])
        del capsule

    def test_a_queue_of_sycls_hands_over_to_another(self):
        consumer = dpctl.SyclQueue(self.queue.sycl_context, self.queue.sycl_device)
        producer_queue = self.sycl.queue(self.queue)
        consumer_queue = self.sycl.queue(consumer)
        self.assertNotEqual(producer_queue, consumer_queue)
        for count in range(1, 6):
            array = dpnp.full(1 << 20, count, dtype=dpnp.float32)
            array = array * 2 + 1
            tensor = look(capsule := array.__dlpack__()).dl_tensor
            self.devices.handoff(producer_queue, consumer_queue)
            seen = self.sycl.read(consumer_queue, tensor.data, 4 << 20)
            np.testing.assert_array_equal(np.frombuffer(seen, np.float32), 2 * count + 1)
            del capsule

    def slow_work(self, value, size):
        """An array whose kernels are still on SYCL's queue; each element will be 2 * value + 1."""
        array = dpnp.full(size, value, dtype=dpnp.float32)
        for _ in range(20):
            array = dpnp.sin(array) * 0 + array
        return array * 2 + 1

    def test_work_after_a_handoff_of_an_out_of_order_queue_to_itself_waits(self):
        self.assertFalse(self.queue.is_in_order)  # SYCL's default
        queue = self.sycl.queue(self.queue)
        size, wrong = 1 << 18, 0
        for count in range(100):
            array = self.slow_work(count, size)
            tensor = look(capsule := array.__dlpack__()).dl_tensor
            self.devices.handoff(queue, queue)
            seen = np.frombuffer(self.sycl.read(queue, tensor.data, 4 * size), np.float32)
            wrong += int((seen != 2 * count + 1).sum())
            self.queue.wait()
            del capsule
        self.assertEqual(wrong, 0)

    def test_copies_on_an_out_of_order_queue_wait(self):
        size = 1 << 18
        for count in range(20):
            array = self.slow_work(count, size)
            tensor = look(capsule := array.__dlpack__()).dl_tensor
            copied = self.devices.copy(tensor, self.sycl.queue(self.queue))
            seen = np.from_dlpack(OnOneApi(wrap(copied), (CPU, 0)))
            np.testing.assert_array_equal(seen, 2 * count + 1)
            del capsule

    def test_random_layouts_are_copied_or_rejected(self):
        chance = random.Random(3)
        for number in range(300):
            view = random_view(chance)
            expected = dpnp.asnumpy(view)
            tensor = look(capsule := view.__dlpack__()).dl_tensor
            for queue in (None, self.sycl.queue(self.queue)):
                for options in (0, COPY_ALLOW_STAGING):
                    with self.subTest(number, queue=queue is not None, options=options):
                        try:
                            copied = self.devices.copy(tensor, queue, options=options)
                        except Rejected as rejection:
                            self.assertEqual(rejection.status, "UNSUPPORTED")
                            self.assertEqual(options, 0)
                            continue
                        seen = np.from_dlpack(OnOneApi(wrap(copied), (CPU, 0)))
                        np.testing.assert_array_equal(seen, expected)
            del capsule

    def test_a_queue_of_sycls_hands_over_to_itself(self):
        """SYCL's default queue is out of order: only the hand-off orders the read."""
        self.assertFalse(self.queue.is_in_order)
        queue = self.sycl.queue(self.queue)
        wrong = 0
        for count in range(100):
            array = dpnp.full(1 << 18, count, dtype=dpnp.float32)
            for _ in range(5):
                array = dpnp.sin(array) * 0 + array
            array = array * 2 + 1
            tensor = look(capsule := array.__dlpack__()).dl_tensor
            self.devices.handoff(queue, queue)
            seen = np.frombuffer(self.sycl.read(queue, tensor.data, 4 << 18), np.float32)
            wrong += int((seen != 2 * count + 1).sum())
            self.queue.wait()
            del capsule
        self.assertEqual(wrong, 0)

    def test_the_host_waits_for_a_queue_of_sycls(self):
        array = dpnp.full(1 << 20, 3, dtype=dpnp.float32, usm_type="shared") * 5
        self.devices.synchronize(self.sycl.queue(self.queue))
        tensor = look(capsule := array.__dlpack__()).dl_tensor
        values = (ctypes.c_float * (1 << 20)).from_address(tensor.data)
        np.testing.assert_array_equal(np.frombuffer(values, np.float32), 15)
        del capsule


if __name__ == "__main__":
    unittest.main()
