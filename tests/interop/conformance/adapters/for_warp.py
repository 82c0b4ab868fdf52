# SPDX-License-Identifier: Apache-2.0
"""NVIDIA Warp on the CPU."""

import contextlib
import io
from importlib import metadata

import numpy
import warp
from dlbridge.conformance import Unsupported

title, version = "Warp", metadata.version("warp-lang")
unsupported = ["float8*", "complex*", "scalar", "negative"]
code = (
    "import numpy, warp\n"
    "array = warp.array(numpy.arange(12, dtype='float32').reshape(3, 4), device='cpu')\n"
    "consume = warp.from_dlpack\n"
)
# It prints its version and its devices.
with contextlib.redirect_stdout(io.StringIO()):
    warp.init()


def make(request):
    if request.read_only:
        raise Unsupported("Warp has no read-only arrays")
    dtype = getattr(warp, request.dtype, None)
    if dtype is None:
        raise Unsupported(f"Warp has no {request.dtype}")
    size = len(request.bits) // 12
    carrier = "bool" if request.dtype == "bool" else f"uint{8 * size}"
    values = numpy.frombuffer(bytearray(request.bits), carrier).reshape(request.base_shape)
    array = warp.array(values, dtype=getattr(warp, carrier), device="cpu", copy=True)
    array = array.view(dtype)
    if request.form.name == "transposed":
        return array.transpose()
    if request.form.name == "broadcast":
        return part(array, request)
    return request.view(array)


def part(array, request):
    """A view of any strides, which keeps the whole array alive."""
    strides = tuple(stride * 4 for stride in request.strides)
    view = warp.array(
        ptr=array.ptr, shape=request.shape, strides=strides, dtype=array.dtype, device="cpu"
    )
    view.whole = array
    return view


def consume(source):
    return warp.from_dlpack(source)


def writable(array):
    return True


def write(array, place, number):
    array.numpy()[place] = number
