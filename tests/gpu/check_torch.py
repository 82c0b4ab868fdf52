# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors and streams, through the C ABI and through the Python package."""

from unittest import SkipTest

from checks import Checks
from exchange import COUNT, SHAPE, Exchange, Framework

import bindings as b

torch = b.need_module("torch")


class Torch(Framework):
    target = "torch"

    def make(self):
        array = torch.arange(float(COUNT), device="cuda").reshape(SHAPE)
        torch.cuda.synchronize()
        return array

    def address(self, array):
        return array.data_ptr()

    def values(self, array):
        return array.cpu().flatten().tolist()

    def capsules(self):
        return super().capsules() | {"to_dlpack": torch.utils.dlpack.to_dlpack}

    def take(self, producer):
        return torch.from_dlpack(producer)

    def views(self, array):
        views = {
            "whole": array,
            "columns": array[:, 1:3],
            "every second row": array[::2],
            "transposed": array.T,
            "every second column": array[:, ::2],
        }
        return {name: (view, list(view.shape), list(view.stride())) for name, view in views.items()}

    def stream(self):
        stream = torch.cuda.Stream()
        return stream, stream.cuda_stream

    def on(self, stream):
        return torch.cuda.stream(stream)

    def fill(self, array, value):
        array.fill_(value)

    def copy(self, array):
        return array.clone()


class WithTorch(Exchange, Checks):
    @classmethod
    def make_framework(cls):
        if not torch.cuda.is_available():
            raise SkipTest("torch finds no CUDA device")
        return Torch()

    def test_pinned_and_host_memory(self):
        pinned, host = torch.zeros(1000).pin_memory(), torch.zeros(1000)
        self.assertEqual(self.library.pointer_info(pinned.data_ptr()).memory, b.Memory.PINNED)
        self.assertEqual(self.library.pointer_info(host.data_ptr()).memory, b.Memory.HOST)

    def test_capture(self):
        """A hand-off in a graph of torch, which is replayed."""
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        x = torch.zeros(1000, device="cuda")
        x.add_(1.0).mul_(2.0).zero_()  # loads the kernels before the capture
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            capturing = b.stream_of(torch.cuda.current_stream().cuda_stream)
            joining = b.stream_of(side.cuda_stream)
            x.add_(1.0)
            with self.assertRaises(b.Rejected) as caught:
                self.library.handoff(capturing, joining)
            self.library.handoff(capturing, joining, b.HandoffOption.ALLOW_CAPTURE)
            with torch.cuda.stream(side):
                x.mul_(2.0)
            self.library.handoff(joining, capturing)
        self.assertEqual(caught.exception.status, "CAPTURE")
        graph.replay()
        torch.cuda.synchronize()
        self.assertTrue(bool((x == 2.0).all()))

    def test_a_capture_of_torch_survives(self):
        """Calls beside a capture: torch captures in the mode GLOBAL by default."""
        graph = torch.cuda.CUDAGraph()
        x, source = torch.zeros(1000, device="cuda"), torch.ones(1000, device="cuda")
        x.add_(1.0).zero_()
        torch.cuda.synchronize()
        what = b.tensor(source.data_ptr(), b.CUDA, [1000], None, b.FLOATS)
        with torch.cuda.graph(graph):
            x.add_(1.0)
            managed = self.library.copy(what)
            self.library.pointer_info(source.data_ptr())
        self.library.release(managed)
        graph.replay()
        torch.cuda.synchronize()
        self.assertTrue(bool((x == 1.0).all()))

    def test_copies_to_the_device(self):
        whole = torch.arange(120.0).reshape(4, 30)
        for name, source in {"whole": whole, "columns": whole[:, 5:9]}.items():
            with self.check(f"copies to the device: {name}"):
                target = torch.zeros(source.shape, device="cuda")
                torch.cuda.synchronize()
                shape, strides = list(source.shape), list(source.stride())
                what = b.tensor(source.data_ptr(), b.CPU, shape, strides, b.FLOATS)
                place = {"target": target.data_ptr(), "size": 4 * target.numel()}
                managed = self.library.copy(what, device=b.CUDA, **place)
                self.library.release(managed)
                self.assertTrue(torch.equal(target.cpu(), source))

    def test_between_two_devices(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("there is only one device")
        x = torch.arange(120.0, device="cuda:0").reshape(12, 10)[:, 2:7]
        y = torch.zeros(12, 5, device="cuda:1")
        torch.cuda.synchronize()
        what = b.tensor(x.data_ptr(), b.CUDA, [12, 5], [10, 1], b.FLOATS)
        device = (b.DeviceType.CUDA, 1)
        managed = self.library.copy(what, device=device, target=y.data_ptr(), size=240)
        self.library.release(managed)
        self.assertTrue(torch.equal(y.cpu(), x.cpu()))
