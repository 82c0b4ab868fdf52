# SPDX-License-Identifier: Apache-2.0
"""CuPy, whose arrays are all on an NVIDIA GPU."""

import cupy
import numpy
from dlbridge.conformance import Unsupported

title, version = "CuPy", cupy.__version__
forks = False


def on(stream):
    return cupy.cuda.ExternalStream(stream.handle)


def make(request):
    raise Unsupported("only the arrays of make_on")


def consume(source, **keywords):
    if source.__dlpack_device__()[0] == 1:
        raise Unsupported("CuPy imports no arrays of the CPU")
    return cupy.from_dlpack(source, **keywords)


def make_on(request, stream):
    source = cupy.asarray(numpy.frombuffer(request.bits, request.dtype))
    # The work on an exported array is that of the current stream: it stays current.
    on(stream).use()
    array = cupy.zeros_like(source)
    cupy.copyto(array, source)  # what the first copy needs may wait
    array.fill(0)
    cupy.cuda.Device().synchronize()
    stream.close()
    cupy.copyto(array, source)
    return array.reshape(request.shape)


def read_on(source, stream):
    with on(stream):
        return cupy.from_dlpack(source).get().tobytes()


def use(stream):
    return on(stream)
