# SPDX-License-Identifier: Apache-2.0
"""An adapter that lies, hangs, crashes, and returns things of the wrong type."""

import ctypes
import os
import time

import numpy

title = "hostile"
forks = False


class Array(numpy.ndarray):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy is False:
            return 7
        if copy is True:
            os._exit(0)  # ends the process as if all were well
        if dl_device is not None:
            while True:
                time.sleep(1)
        if max_version == (0, 8):
            ctypes.string_at(16)  # crashes
        return numpy.asarray(self).__dlpack__(max_version=max_version)

    def __dlpack_device__(self):
        return "cuda:0"


def make(request):
    if request.read_only:
        return None
    if request.dtype == "int8":
        return "an array"
    if request.dtype == "int16":
        raise KeyboardInterrupt
    values = numpy.frombuffer(bytearray(request.bits), request.dtype)
    return values.reshape(request.base_shape).view(Array)


def consume(source, **keywords):
    capsule = source.__dlpack__(max_version=(1, 3))
    return None if keywords else capsule


def read(array):
    return "twelve numbers"


def shape(array):
    raise SystemExit("no shape")
