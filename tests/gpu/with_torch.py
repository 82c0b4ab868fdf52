# SPDX-License-Identifier: Apache-2.0
"""The device functions with PyTorch's tensors and streams."""

import ctypes
import subprocess
import sys
import unittest

import torch
from torch.utils import dlpack

import bindings as b

SLEEP = 200_000_000  # cycles: about a tenth of a second


def bare(x):
    """A DLTensor that describes a PyTorch tensor."""
    device = (b.CUDA, x.device.index) if x.is_cuda else (b.CPU, 0)
    return b.tensor(x.data_ptr(), device, list(x.shape), list(x.stride()), (b.FLOAT, 32))


def floats(managed):
    what = managed.contents.dl_tensor
    shape = [what.shape[axis] for axis in range(what.ndim)]
    count = 1
    for extent in shape:
        count *= extent
    data = ctypes.string_at(what.data + what.byte_offset, 4 * count)
    return torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)


@unittest.skipUnless(torch.cuda.is_available(), "PyTorch finds no CUDA device")
class WithTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = b.load()

    def test_pointers(self):
        x = torch.arange(1000.0, device="cuda")
        info = self.library.pointer_info(x[7:].data_ptr())
        self.assertEqual((info.device.device_type, info.device.device_id), (b.CUDA, 0))
        self.assertEqual(info.memory, b.MEMORY_DEVICE)
        pinned = torch.zeros(1000).pin_memory()
        self.assertEqual(self.library.pointer_info(pinned.data_ptr()).memory, b.MEMORY_PINNED)
        host = torch.zeros(1000)
        self.assertEqual(self.library.pointer_info(host.data_ptr()).memory, b.MEMORY_HOST)

    def test_labels(self):
        x = torch.zeros(1000, device="cuda")
        self.library.validate(bare(x))
        self.library.validate(bare(x[::2]))
        lie = bare(x)
        lie.device = b.DLDevice(b.CPU, 0)
        with self.assertRaises(b.Rejected) as caught:
            self.library.validate(lie)
        self.assertEqual(caught.exception.rule, b.RULE_DEVICE_LABEL)

    def test_round_trip(self):
        released = []
        release = b.DLBridgeRelease(
            lambda context, buffer, stream: released.append(buffer[0].handle)
        )
        x = torch.arange(24.0, device="cuda")
        y = dlpack.from_dlpack(
            self.library.wrap_legacy(x.data_ptr(), (b.CUDA, 0), [4, 6], release=release)
        )
        self.assertEqual(y.data_ptr(), x.data_ptr())
        self.assertTrue(torch.equal(y, x.reshape(4, 6)))
        managed = self.library.import_tensor(dlpack.to_dlpack(y))
        self.assertEqual(managed.contents.dl_tensor.data, x.data_ptr())
        self.library.validate(managed.contents.dl_tensor)
        del y
        self.assertEqual(released, [])
        self.library.release(managed)
        self.assertEqual(released, [x.data_ptr()])

    def test_the_consumer_waits_for_the_producer(self):
        producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
        x = torch.zeros(1 << 20, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(producer):
            torch.cuda._sleep(SLEEP)
            x.fill_(7.0)
        self.library.handoff(b.stream(producer.cuda_stream), b.stream(consumer.cuda_stream))
        self.assertFalse(producer.query(), "the host waited")
        with torch.cuda.stream(consumer):
            y = x.clone()
        consumer.synchronize()
        self.assertTrue(bool((y == 7.0).all()))

    def test_the_default_stream(self):
        consumer = torch.cuda.Stream()
        x = torch.zeros(1 << 20, device="cuda")
        torch.cuda.synchronize()
        torch.cuda._sleep(SLEEP)
        x.fill_(7.0)
        self.library.handoff(b.stream(1), b.stream(consumer.cuda_stream))
        with torch.cuda.stream(consumer):
            y = x.clone()
        consumer.synchronize()
        self.assertTrue(bool((y == 7.0).all()))

    def test_synchronize(self):
        producer = torch.cuda.Stream()
        with torch.cuda.stream(producer):
            torch.cuda._sleep(SLEEP)
        self.library.synchronize(b.stream(producer.cuda_stream))
        self.assertTrue(producer.query())

    def test_capture(self):
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        x = torch.zeros(1000, device="cuda")
        with torch.cuda.graph(graph):
            capturing = b.stream(torch.cuda.current_stream().cuda_stream)
            x.add_(1.0)
            with self.assertRaises(b.Rejected) as caught:
                self.library.handoff(capturing, b.stream(side.cuda_stream))
            self.library.handoff(capturing, b.stream(side.cuda_stream), b.ALLOW_CAPTURE)
            with torch.cuda.stream(side):
                x.mul_(2.0)
            self.library.handoff(b.stream(side.cuda_stream), capturing)
        self.assertEqual(caught.exception.status, "CAPTURE")
        graph.replay()
        torch.cuda.synchronize()
        self.assertTrue(bool((x == 2.0).all()))

    def test_copies_to_the_host(self):
        x = torch.arange(120.0, device="cuda").reshape(4, 5, 6)
        torch.cuda.synchronize()
        for view in (x, x[:, 1:3], x[1:, :, ::2], x[::2], x.permute(2, 0, 1)):
            managed = self.library.copy(bare(view), staging=True)
            self.assertTrue(torch.equal(floats(managed), view.cpu()), view.stride())
            self.library.release(managed)

    def test_copies_to_the_device(self):
        for source in (
            torch.arange(120.0).reshape(4, 30),
            torch.arange(120.0).reshape(4, 30)[:, 5:9],
        ):
            target = torch.zeros(source.shape, device="cuda")
            torch.cuda.synchronize()
            managed = self.library.copy(
                bare(source),
                device=(b.CUDA, 0),
                target=target.data_ptr(),
                size=4 * target.numel(),
            )
            self.assertTrue(torch.equal(target.cpu(), source))
            self.library.release(managed)

    def test_between_two_devices(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("there is only one device")
        x = torch.arange(120.0, device="cuda:0").reshape(12, 10)[:, 2:7]
        y = torch.zeros(12, 5, device="cuda:1")
        torch.cuda.synchronize()
        managed = self.library.copy(bare(x), device=(b.CUDA, 1), target=y.data_ptr(), size=240)
        self.assertTrue(torch.equal(y.cpu(), x.cpu()))
        self.library.release(managed)

    def test_another_process(self):
        x = torch.arange(1000.0, device="cuda")[100:]
        torch.cuda.synchronize()
        managed = self.library.wrap(x.data_ptr(), (b.CUDA, 0), [900])
        descriptor = self.library.ipc_export(managed)
        done = subprocess.run(
            [sys.executable, "-B", __file__, descriptor.hex()],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "seen\n"), done.stderr)
        self.library.release(managed)


def import_and_look(descriptor):
    library = b.load()
    managed = library.ipc_import(descriptor)
    copied = library.copy(managed.contents.dl_tensor)
    seen = torch.equal(floats(copied), torch.arange(1000.0)[100:])
    library.release(copied)
    library.release(managed)
    print("seen" if seen else "other values")


if __name__ == "__main__":
    import_and_look(bytes.fromhex(sys.argv[1]))
