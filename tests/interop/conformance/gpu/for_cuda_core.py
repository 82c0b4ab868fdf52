# SPDX-License-Identifier: Apache-2.0
"""The views of cuda.core, a consumer that gets its stream as an argument."""

import ctypes
from importlib import metadata

from cuda.bindings import driver
from cuda.core import utils
from dlbridge.conformance import Unsupported

title, version = "cuda.core", metadata.version("cuda-core")
forks = False


def consume(source):
    raise Unsupported("only the views of read_on")


def read_on(source, stream):
    view = utils.StridedMemoryView.from_dlpack(source, stream_ptr=stream.handle)
    place = ctypes.create_string_buffer(48)
    for call in (
        lambda: driver.cuMemcpyDtoHAsync(ctypes.addressof(place), view.ptr, 48, stream.handle),
        lambda: driver.cuStreamSynchronize(stream.handle),
    ):
        assert not int(call()[0])
    return place.raw
