# SPDX-License-Identifier: Apache-2.0
"""JAX on an NVIDIA GPU. It has streams of its own, and none that a caller chooses: its work is late
because it waits for an array of CuPy that is late."""

import cupy
import jax
import numpy
from dlbridge.conformance import Unsupported

title, version = "JAX", jax.__version__
forks = False


def need_device():
    if jax.default_backend() != "gpu":
        raise Unsupported("JAX finds no CUDA device")


def make(request):
    raise Unsupported("only the arrays of make_on")


def consume(source, **keywords):
    return jax.dlpack.from_dlpack(source, **keywords)


@jax.jit
def negative(array):
    return -array


def make_on(request, stream):
    need_device()
    values = -numpy.frombuffer(request.bits, request.dtype).reshape(request.shape)
    source = cupy.asarray(values)
    with cupy.cuda.ExternalStream(stream.handle):
        array = cupy.zeros_like(source)
        cupy.copyto(array, source)  # what the first copy and the first call need may wait
        negative(jax.dlpack.from_dlpack(array)).block_until_ready()
        array.fill(0)
        cupy.cuda.Device().synchronize()
        stream.close()
        cupy.copyto(array, source)
        return negative(jax.dlpack.from_dlpack(array))


def read_on(source, stream):
    need_device()
    return numpy.asarray(jax.dlpack.from_dlpack(source)).tobytes()
