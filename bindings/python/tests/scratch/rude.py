# SPDX-License-Identifier: Apache-2.0
"""An adapter that harms its process: it forks, ignores signals, closes files, and prints."""

import os
import signal
import sys

import numpy

title = 7
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"\x00\xff garbage \x1b[31m" * 1000)
print('{"end": ["export-int8"], "cell": {"status": "passed"}}')
sys.stdout.close()


class Odd(BaseException):
    """Not an Exception."""


def make(request):
    if request.dtype == "int8":
        os.fork()  # both processes run on
        raise Odd("from both")
    if request.dtype == "int16":
        os.closerange(3, 100)
    if request.dtype == "int32":
        os.kill(os.getpid(), signal.SIGTERM)
    if request.dtype == "int64":
        os.abort()
    if request.dtype == "uint8":
        sys.exit("an exit")
    if request.dtype == "uint16":
        return numpy  # which is not an array
    values = numpy.frombuffer(bytearray(request.bits), request.dtype)
    return request.view(values.reshape(request.base_shape))


def consume(source):
    return numpy.from_dlpack(source)
