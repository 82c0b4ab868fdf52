# SPDX-License-Identifier: Apache-2.0
"""tvm-ffi's tensors of memory on an NVIDIA GPU, which CuPy allocates and writes to."""

from importlib import metadata

import cupy
import for_cupy
import tvm_ffi
from dlbridge.conformance import Unsupported

title, version = "tvm-ffi", metadata.version("apache-tvm-ffi")
forks = False


def use(stream):
    return tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:0"), stream.handle)


def make(request):
    raise Unsupported("only the arrays of make_on")


def consume(source):
    return tvm_ffi.from_dlpack(source)


def make_on(request, stream):
    array = for_cupy.make_on(request, stream)
    use(stream).__enter__()  # it stays current
    # stream=-1: the array is not ordered before another stream by CuPy, which would hide a fault.
    return tvm_ffi.from_dlpack(array.__dlpack__(stream=-1))


def read_on(source, stream):
    with use(stream), for_cupy.on(stream):
        tensor = tvm_ffi.from_dlpack(source)
        memory = cupy.cuda.UnownedMemory(tensor.data_ptr(), 48, tensor)
        place = cupy.cuda.MemoryPointer(memory, 0)
        return cupy.ndarray(tuple(tensor.shape), cupy.float32, place).get().tobytes()
