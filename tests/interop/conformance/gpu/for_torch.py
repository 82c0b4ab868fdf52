# SPDX-License-Identifier: Apache-2.0
"""PyTorch on an NVIDIA GPU."""

import torch
from dlbridge.conformance import Unsupported

title, version = "PyTorch", torch.__version__
forks = False


def need_device():
    if not torch.cuda.is_available():
        raise Unsupported("PyTorch finds no CUDA device")


def on(stream):
    return torch.cuda.stream(torch.cuda.ExternalStream(stream.handle))


def make(request):
    raise Unsupported("only the arrays of make_on")


def consume(source, **keywords):
    return torch.from_dlpack(source, **keywords)


def make_on(request, stream):
    need_device()
    source = torch.frombuffer(bytearray(request.bits), dtype=torch.float32).cuda()
    # The work on an exported tensor is that of the current stream: it stays current.
    torch.cuda.set_stream(torch.cuda.ExternalStream(stream.handle))
    array = torch.zeros_like(source)
    array.copy_(source)  # loads the kernel: that may wait
    array.zero_()
    torch.cuda.synchronize()
    stream.close()
    return array.copy_(source).reshape(request.shape)


def read_on(source, stream):
    need_device()
    with on(stream):
        return torch.from_dlpack(source).cpu().numpy().tobytes()


def use(stream):
    return on(stream)
