# SPDX-License-Identifier: Apache-2.0
"""pybind11, which has no DLPack itself, with the header dlbridge/pybind11.hpp, by
modules/pybind11_arrays.cc."""

import pybind11_arrays
from dlbridge.conformance.extensions import address, array_by, dtype, maker, read  # noqa: F401

title, version = "pybind11", pybind11_arrays.version
code = "from pybind11_arrays import consume, make as make_array\n" + array_by("make_array")
make = maker(pybind11_arrays.make)


def consume(source):
    return pybind11_arrays.consume(source)


def writable(array):
    return array.writable
