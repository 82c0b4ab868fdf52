# SPDX-License-Identifier: Apache-2.0
"""dlbridge's tensors of memory on an NVIDIA GPU, which CuPy allocates and writes to."""

import cupy
import dlbridge
import for_cupy
from dlbridge.conformance import Unsupported

title, version = "dlbridge", dlbridge.__version__
forks = False


def make(request):
    raise Unsupported("only the arrays of make_on")


def consume(source, **keywords):
    return dlbridge.from_dlpack(source, **keywords)


def make_on(request, stream):
    return dlbridge.from_dlpack(for_cupy.make_on(request, stream), stream=stream.handle)


def read_on(source, stream):
    tensor = dlbridge.from_dlpack(source, stream=stream.handle)
    memory = cupy.cuda.UnownedMemory(tensor.data_ptr, tensor.nbytes, tensor)
    array = cupy.ndarray(tensor.shape, cupy.float32, cupy.cuda.MemoryPointer(memory, 0))
    with for_cupy.on(stream):
        return array.get().tobytes()
