# SPDX-License-Identifier: Apache-2.0
"""The adapter of a producer that is right."""

import numpy
import scratchlib

title, version = "scratchlib", scratchlib.__version__
unsupported = ["bfloat16", "float8*"]
kind = scratchlib.Array


def base(request):
    return numpy.frombuffer(bytearray(request.bits), request.dtype).reshape(request.base_shape)


def make(request):
    values = request.view(base(request))
    values.flags.writeable = not request.read_only
    return kind(values)


def delayed(request):
    return scratchlib.late(base(request), kind)


def read(array):
    return array.values.tobytes()


def writable(array):
    return array.values.flags.writeable


def write(array, place, number):
    array.values[place] = number
